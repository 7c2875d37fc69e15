/*
 * Fuzz a checkpoint of innet-memory.  The input is the records after the
 * header.  The target adds the header, an end and a right CRC, so that the
 * fuzzer gets past these.  A file that loads is written again: both files must
 * load equally and then be equal, the account must be 0 in the end, and no file
 * may use more memory than the limit.
 */
#include "cmd/innet-memory/store/load.h"
#include "cmd/innet-memory/store/save.h"
#include "cmd/innet-memory/store/table-checkpoint.h"
#include "common/base/crc32c.h"
#include "common/wire/stream.h"
#include "tests/fuzz/fuzz.h"

enum { LIMIT_BYTES = 4 << 20 };

static struct account account;

/* Write each record to the next file as soon as it is read. */
static const char *
take_clock(void *arg, uint64_t version)
{
	save_clock(arg, version);
	return NULL;
}

static const char *
take_string(void *arg, const struct blob *key, uint64_t version,
    struct blob *value)
{
	if (key->len == 3)
		return "it has three letters";
	save_string(arg, key->bytes, key->len, version, value->bytes,
	    value->len);
	blob_drop(&account, value);
	return NULL;
}

static const char *
take_list(void *arg, const struct blob *key, uint64_t version, uint64_t n)
{
	save_list(arg, key->bytes, key->len, version, n);
	return NULL;
}

static const char *
take_element(void *arg, struct blob *b)
{
	writer_put_counted(arg, b->bytes, b->len);
	blob_drop(&account, b);
	return NULL;
}

static const char *
take_table(void *arg, struct table *t)
{
	must(t->buf.have <= t->buf.settings.capacity,
	    "a table is not over-full");
	must(replay_buffer_counters_add_up(&t->buf), "its counters add up");
	table_write(arg, t);
	table_close(t);
	return NULL;
}

static const char *
take_expiry(void *arg, uint64_t at_ms)
{
	save_expiry(arg, at_ms);
	return NULL;
}

struct turn {
	int from;
	bool good;
};

static void
copy(struct writer *s, void *arg)
{
	const struct load_target into = { s, take_clock, take_string, take_list,
		take_element, take_table, take_expiry };
	struct turn *turn = arg;
	struct reader l;

	turn->good = load_file(&l, turn->from, &account, &into);
	must(turn->good == (l.why[0] == '\0'), "a refusal says why");
	must(turn->good || strncmp(l.why, "byte ", 5) == 0, "and where");
	must(account.used == 0, "the account is even");
	must(account.most <= LIMIT_BYTES, "no file passes the limit");
}

/*
 * Read `from`, and write its content to a new file; return whether it was
 * valid.
 */
static bool
again(int from, int *to)
{
	struct turn turn = { .from = from };

	account = (struct account){ .limit = LIMIT_BYTES };
	*to = fuzz_file(NULL, 0);
	must(save_to(*to, copy, &turn) == 0, "it can be written");
	must(lseek(*to, 0, SEEK_SET) == 0, "and read again");
	close(from);
	return turn.good;
}

static void
equal(int a, int b)
{
	static char x[2][1 << 16];
	ssize_t n;

	must(lseek(a, 0, SEEK_SET) == 0 && lseek(b, 0, SEEK_SET) == 0,
	    "files have a beginning");
	do {
		n = read(a, x[0], sizeof(x[0]));
		must(read(b, x[1], sizeof(x[1])) == n, "of equal length");
		must(n <= 0 || memcmp(x[0], x[1], (size_t)n) == 0,
		    "a file of what a file held is that file");
	} while (n > 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	const size_t bytes = SAVE_HEAD_BYTES + len + 5;
	uint8_t *file = malloc(bytes);
	int first, second, third;

	if (file == NULL)
		abort();
	memcpy(file, SAVE_MAGIC, SAVE_MAGIC_BYTES);
	stream_put_le(file + SAVE_MAGIC_BYTES, SAVE_VERSION, 4);
	if (len > 0)
		memcpy(file + SAVE_HEAD_BYTES, p, len);
	file[bytes - 5] = 'E';
	stream_put_le(file + bytes - 4, crc32c(0, file, bytes - 4), 4);
	if (again(fuzz_file(file, bytes), &first)) {
		must(again(first, &second), "what was saved loads");
		must(again(dup(second), &third), "and again");
		equal(second, third);
		close(second);
		close(third);
		file[bytes - 1] ^= 1;
		must(!again(fuzz_file(file, bytes), &second),
		    "with another CRC it is refused");
		close(second);
	} else {
		close(first);
	}
	again(fuzz_file(p, len), &second);
	close(second);
	free(file);
	return 0;
}
