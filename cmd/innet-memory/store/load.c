/* load.c - read a checkpoint file if it is complete and undamaged */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/wire/stream.h"

#include "cmd/innet-memory/store/load.h"
#include "cmd/innet-memory/store/save.h"
#include "cmd/innet-memory/store/table-checkpoint.h"

/*
 * Read from a file; this is a reader_source whose arg points to the descriptor.
 */
static const char *
read_file(void *arg, void *p, size_t len)
{
	const int fd = *(const int *)arg;
	ssize_t n;

	for (size_t done = 0; done < len; done += (size_t)n) {
		n = read(fd, (uint8_t *)p + done, len - done);
		if (n == -1 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return n == 0 ? "the file ends here" : strerror(errno);
	}
	return NULL;
}

/*
 * If `why` is not NULL, the target refused b.  In this case, drop b and fail
 * with this reason.
 */
static void
accept_or_drop(struct reader *r, const char *why, struct blob *b)
{
	if (why == NULL)
		return;
	blob_drop(r->account, b);
	reader_refuse(r, "%s", why);
}

static void
load_string(struct reader *r, const struct load_target *into)
{
	struct blob *key = reader_get_counted(r);
	const uint64_t version = reader_get_uint(r, 8);
	struct blob *value = reader_get_counted(r);

	if (value != NULL)
		accept_or_drop(r, into->string(into->arg, key, version, value),
		    value);
	blob_drop(r->account, key);
}

static void
load_list(struct reader *r, const struct load_target *into)
{
	struct blob *key = reader_get_counted(r), *b;
	const uint64_t version = reader_get_uint(r, 8),
		       n = reader_get_uint(r, 8);
	const char *why = NULL;

	/* each element has at least a u64 length */
	if (reader_good(r) && n > r->left / 8)
		reader_refuse(r, "%" PRIu64 " elements, which the file does "
		    "not have", n);
	if (reader_good(r))
		why = into->list(into->arg, key, version, n);
	if (why != NULL)
		reader_refuse(r, "%s", why);
	blob_drop(r->account, key);
	for (uint64_t i = 0; i < n && reader_good(r); i++) {
		b = reader_get_counted(r);
		if (b != NULL)
			accept_or_drop(r, into->element(into->arg, b), b);
	}
}

static void
load_table(struct reader *r, const struct load_target *into)
{
	struct table *t = table_read(r);
	const char *why;

	if (t == NULL)
		return;
	why = into->table(into->arg, t);
	if (why == NULL)
		return;
	table_close(t);
	reader_refuse(r, "%s", why);
}

/* Read all records until the end of the file. */
static void
load_records(struct reader *r, const struct load_target *into)
{
	const char *why;
	uint64_t v;

	for (;;) {
		const char kind = (char)reader_get_uint(r, 1);

		if (!reader_good(r) || kind == 'E')
			return;
		switch (kind) {
		case 'V':
			why = into->clock(into->arg, reader_get_uint(r, 8));
			if (why != NULL)
				reader_refuse(r, "%s", why);
			break;
		case 'X':
			v = reader_get_uint(r, 8);
			why =
			    reader_good(r) ? into->expiry(into->arg, v) : NULL;
			if (why != NULL)
				reader_refuse(r, "%s", why);
			break;
		case 'S': load_string(r, into); break;
		case 'L': load_list(r, into); break;
		case 'T': load_table(r, into); break;
		default:
			reader_refuse(r, "a record of an unknown kind");
		}
	}
}

static void
load_all(struct reader *r, const struct load_target *into)
{
	char magic[SAVE_MAGIC_BYTES];
	uint8_t end[4];
	uint32_t crc;

	reader_get_bytes(r, magic, sizeof(magic));
	if (reader_good(r) && memcmp(magic, SAVE_MAGIC, sizeof(magic)) != 0) {
		r->offset = 0;
		reader_refuse(r, "not a checkpoint of innet-memory");
	}
	r->version = (unsigned)reader_get_uint(r, 4);
	if (r->version < 1 || r->version > SAVE_VERSION)
		reader_refuse(r, "a checkpoint of another version of "
		    "innet-memory");
	load_records(r, into);
	if (reader_good(r) && r->left > 0)
		reader_refuse(r, "%" PRIu64 " bytes after the end", r->left);
	crc = r->crc;
	if (reader_good(r) && reader_get_rest(r, end, sizeof(end)) &&
	    stream_get_le(end, sizeof(end)) != crc)
		reader_refuse(r,
		    "damaged: the CRC-32C is wrong");
}

bool
load_file(struct reader *r, int fd, struct account *account,
    const struct load_target *into)
{
	struct stat st;

	reader_open(r, read_file, &fd, 0, account);
	if (reader_good(r) && fstat(fd, &st) == -1)
		reader_refuse(r, "%s", strerror(errno));
	else if (reader_good(r) && st.st_size < SAVE_HEAD_BYTES + 5)
		reader_refuse(r,
		    "too short for a checkpoint: %" PRIu64 " bytes",
		    (uint64_t)st.st_size);
	if (reader_good(r)) {
		r->left = (uint64_t)st.st_size - sizeof(r->crc);
		load_all(r, into);
	}
	return reader_close(r);
}
