/*
 * Unit tests of save.h and load.h: loading restores everything that was saved,
 * or nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd/innet-memory/store/load.h"
#include "cmd/innet-memory/store/save.h"
#include "cmd/innet-memory/store/table-checkpoint.h"
#include "common/base/rng.h"
#include "tests/unit/tap.h"

enum { FRAME = 24, STACK = 2, STEPS = 50, CAPACITY = 32, BIG = 70000 };

static struct account account = { .limit = SIZE_MAX };

/* Return a table after an episode longer than its capacity and updates. */
static struct table *
make_table(bool frames, enum replay_buffer_selector selector)
{
	const struct replay_buffer_settings settings = { .capacity = CAPACITY,
		.alpha = 0.7, .selector = selector, .times = 30,
		.limit = { 0.5, 40, 1000 } };
	struct table *t = table_open(&account, "t\0x", 3, &settings);
	struct replay_buffer_draw d[20];
	struct experience *x;
	void *item;
	float priority;
	struct rng rng = rng_seed(1);
	uint8_t p[2 * STACK * FRAME + STEPS];
	uint64_t id[STEPS];

	t->frames.bytes = frames ? FRAME : 0;
	t->frames.stack = frames ? STACK : 0;
	for (unsigned i = 0; i < STEPS; i++) {
		const size_t len = frames_per(&t->frames) * FRAME + i % 3;

		memset(p, 0, sizeof(p));
		for (unsigned k = 0; frames && k < 2 * STACK; k++)
			p[k * FRAME] = (uint8_t)(i + k % STACK + k / STACK);
		p[len - (len > 0)] = (uint8_t)i;
		x = frames ? frames_split(&t->frames,
		    frames_get_last(&t->frames, 1), p, len) :
		    frames_reference_copy(&t->frames, NULL, p, len);
		if (frames)
			frames_set_last(&t->frames, 1, x);
		item = x;
		priority = i % 5 == 0 ? -1 : (float)i / 7;
		replay_buffer_add_batch(&t->buf, &priority, &item, 1, &id[i]);
	}
	for (unsigned i = 0; i < STEPS; i += 3)
		replay_buffer_update_priorities(&t->buf, &id[i], &(float){0.25},
		    1);
	replay_buffer_remove(&t->buf, id[STEPS - 4]);
	for (unsigned i = 0; i < 9; i++)
		replay_buffer_sample(&t->buf, &rng, 20, 0.4, true, d);
	replay_buffer_drop_worn(&t->buf);
	return t;
}

/* Write two strings, a list and tables. */
static void
write_records(struct writer *s, void *arg)
{
	static char big[BIG];
	struct table **t = arg;

	save_clock(s, 77);
	save_string(s, "", 0, 1, "v", 1);
	save_string(s, "params", 6, UINT64_MAX, big, sizeof(big));
	save_list(s, "l", 1, 5, 2);
	writer_put_counted(s, "", 0);
	writer_put_counted(s, "two", 3);
	for (; *t != NULL; t++)
		table_write(s, *t);
}

struct got {
	struct table *table[8];
	unsigned tables;
	char said[200];
};

static const char *
got_clock(void *arg, uint64_t version)
{
	struct got *g = arg;

	snprintf(g->said, sizeof(g->said), "clock %ju", (uintmax_t)version);
	return NULL;
}

static void
note_record(struct got *g, const char *what, const struct blob *b, uint64_t n)
{
	const size_t at = strlen(g->said);

	snprintf(g->said + at, sizeof(g->said) - at, " %s '%.*s' %ju", what,
	    (int)b->len, (const char *)b->bytes, (uintmax_t)n);
}

static const char *
got_string(void *arg, const struct blob *key, uint64_t version,
    struct blob *value)
{
	note_record(arg, "key", key, version);
	note_record(arg, "of", key, value->len);
	blob_drop(&account, value);
	return NULL;
}

static const char *
got_list(void *arg, const struct blob *key, uint64_t version, uint64_t n)
{
	note_record(arg, "version", key, version);
	note_record(arg, "list", key, n);
	return NULL;
}

static const char *
got_element(void *arg, struct blob *b)
{
	note_record(arg, "with", b, b->len);
	blob_drop(&account, b);
	return NULL;
}

static const char *
got_table(void *arg, struct table *t)
{
	struct got *g = arg;

	if (g->tables == 8)
		return "a table more than there is room for";
	g->table[g->tables++] = t;
	return NULL;
}

static const char *
got_expiry(void *arg, uint64_t at_ms)
{
	struct got *g = arg;
	const size_t at = strlen(g->said);

	snprintf(g->said + at, sizeof(g->said) - at, " until %ju",
	    (uintmax_t)at_ms);
	return NULL;
}

static bool
load_checkpoint(int fd, struct got *g, struct reader *l)
{
	const struct load_target into = { g, got_clock, got_string, got_list,
		got_element, got_table, got_expiry };

	*g = (struct got){ 0 };
	lseek(fd, 0, SEEK_SET);
	return load_file(l, fd, &account, &into);
}

static void
free_loaded(struct got *g)
{
	while (g->tables > 0)
		table_close(g->table[--g->tables]);
}

static bool
same_experience(const struct frames *f, const struct experience *x,
    const struct frames *g, const struct experience *y)
{
	bool same = frames_len(f, x) == frames_len(g, y) &&
	    (frames_tail_len(x) == 0 || memcmp(frames_tail(x), frames_tail(y),
	    frames_tail_len(x)) == 0);

	for (unsigned i = 0; i < frames_per(f) && same; i++)
		same = memcmp(frame_blob(x->frame[i])->bytes,
		    frame_blob(y->frame[i])->bytes, f->bytes) == 0;
	return same;
}

static bool
same_items(const struct table *a, const struct table *b)
{
	struct replaydump_entry x, y;
	size_t i = 0, j = 0;

	while (replaydump_next(&a->buf, &i, &x)) {
		if (!replaydump_next(&b->buf, &j, &y) || x.id != y.id ||
		    x.priority != y.priority || x.times != y.times ||
		    !same_experience(&a->frames, x.item, &b->frames, y.item))
			return false;
	}
	return !replaydump_next(&b->buf, &j, &y);
}

static bool
same_table(const struct table *a, const struct table *b)
{
	const struct replaydump_state x = replaydump_get_state(&a->buf);
	const struct replaydump_state y = replaydump_get_state(&b->buf);

	return a->name_len == b->name_len &&
	    memcmp(a->name, b->name, a->name_len) == 0 &&
	    a->frames.count == b->frames.count &&
	    a->frames.tail_bytes == b->frames.tail_bytes &&
	    a->buf.settings.capacity == b->buf.settings.capacity &&
	    a->buf.settings.alpha == b->buf.settings.alpha &&
	    a->buf.settings.selector == b->buf.settings.selector &&
	    a->buf.settings.times == b->buf.settings.times &&
	    a->buf.settings.limit.lo == b->buf.settings.limit.lo &&
	    a->buf.settings.limit.hi == b->buf.settings.limit.hi &&
	    a->buf.settings.limit.slack == b->buf.settings.limit.slack &&
	    x.inserted == y.inserted && x.sampled == y.sampled &&
	    x.updated == y.updated && x.stale == y.stale &&
	    x.evicted == y.evicted && x.removed == y.removed &&
	    x.worn == y.worn && x.head == y.head && x.newest == y.newest &&
	    x.highest == y.highest && same_items(a, b);
}

static void
test_round(int fd, struct table **t, unsigned n)
{
	struct got g;
	struct reader l;
	bool same = true;

	ok(save_to(fd, write_records, t) == 0, "a checkpoint of %u tables is "
	    "written", n);
	if (!ok(load_checkpoint(fd, &g, &l), "is loaded%s", l.why))
		return;
	ok(strcmp(g.said, "clock 77 key '' 1 of '' 1 key 'params' "
	    "18446744073709551615 of 'params' 70000 version 'l' 5 "
	    "list 'l' 2 with '' 0 "
	    "with 'two' 3") == 0, "its strings and lists are restored: "
	    "%s", g.said);
	for (unsigned i = 0; i < n; i++)
		same = same && same_table(t[i], g.table[i]);
	ok(g.tables == n && same, "its tables, ids and counters are restored");
	free_loaded(&g);
}

/* With any byte changed the file is refused, and no memory is kept. */
static void
test_damage(int fd)
{
	const off_t size = lseek(fd, 0, SEEK_END);
	unsigned missed = 0, unnamed = 0, unturned = 0;
	const size_t used = account.used;
	struct got g;
	struct reader l;
	uint8_t b, bad;

	for (off_t i = 0; i < size; i += i > 300 && i < BIG ? 997 : 7) {
		unturned += pread(fd, &b, 1, i) != 1;
		bad = (uint8_t)(b ^ (1 << i % 8));
		unturned += pwrite(fd, &bad, 1, i) != 1;
		missed += load_checkpoint(fd, &g, &l);
		unnamed += strncmp(l.why, "byte ", 5) != 0;
		free_loaded(&g);
		unturned += pwrite(fd, &b, 1, i) != 1;
	}
	ok(missed == 0 && unturned == 0, "any flipped bit is detected");
	ok(unnamed == 0, "the error names the record");
	missed = 0;
	for (off_t i = size - 1; i >= 0; i -= i > size - 2000 ? 1 : 911) {
		unturned += ftruncate(fd, i) != 0;
		missed += load_checkpoint(fd, &g, &l);
		free_loaded(&g);
	}
	ok(missed == 0 && unturned == 0, "a file that was cut anywhere is "
	    "refused");
	ok(account.used == used, "a refused file leaves no memory in use");
}

/* With any limit of memory all is loaded or nothing. */
static void
test_limit(int fd)
{
	const size_t used = account.used;
	unsigned failed = 0, left = 0, silent = 0;
	struct got g;
	struct reader l;
	bool good = false;

	for (size_t more = 0; !good; more += 997) {
		account.limit = used + more;
		good = load_checkpoint(fd, &g, &l);
		free_loaded(&g);
		failed += !good;
		left += account.used != used;
		silent += !good && strstr(l.why, "no memory") == NULL;
	}
	ok(failed > 50 && left == 0, "without enough memory nothing is loaded");
	ok(silent == 0, "the error says that memory is missing");
	account.limit = SIZE_MAX;
}

static void
test_file(struct table **t)
{
	char path[] = "/tmp/test-checkpoint.XXXXXX", tmp[64];
	struct got g;
	struct reader l;
	int fd;

	close(mkstemp(path));
	snprintf(tmp, sizeof(tmp), "%s.tmp", path);
	ok(save_file(path, write_records, t) == 0 && access(tmp, F_OK) == -1,
	    "saving makes the file and leaves no temporary file");
	fd = open(path, O_RDONLY);
	ok(load_checkpoint(fd, &g, &l), "the file is loaded");
	free_loaded(&g);
	close(fd);
	unlink(path);
	ok(save_file("/dev/full", write_records, t) == ENOSPC,
	    "a full disk gives ENOSPC");
	ok(save_file("/no/such", write_records, t) == ENOENT,
	    "a missing folder gives ENOENT");
	fd = open("/dev/null", O_RDONLY);
	ok(!load_checkpoint(fd, &g, &l) && strstr(l.why, "too short") != NULL,
	    "an empty file is not a checkpoint");
	close(fd);
}

int
main(void)
{
	struct table *t[] = { make_table(true, REPLAY_BUFFER_PER),
		make_table(false, REPLAY_BUFFER_PER),
		make_table(true, REPLAY_BUFFER_LIFO),
		make_table(false, REPLAY_BUFFER_FIFO), NULL };
	struct table *none[] = { NULL };
	int fd = memfd_create("checkpoint", MFD_CLOEXEC);

	test_round(fd, none, 0);
	if (ftruncate(fd, lseek(fd, 0, SEEK_SET)) != 0)
		return 1;
	test_round(fd, t, 4);
	test_limit(fd);
	test_damage(fd);
	test_file(t);
	for (unsigned i = 0; t[i] != NULL; i++)
		table_close(t[i]);
	ok(account.used == 0, "the account is 0 in the end");
	close(fd);
	return tap_end();
}
