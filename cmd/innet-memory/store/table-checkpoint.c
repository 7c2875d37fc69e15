/* table-file.c - a table into a checkpoint and out of one; see save.h */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/hashmap.h"

#include "cmd/innet-memory/store/table.h"

static void
save_settings(struct saver *s, const struct table *t)
{
	const struct replay_table_conf *conf = &t->buf.conf;

	save_uint(s, conf->capacity, 8);
	save_f64(s, conf->alpha);
	save_uint(s, conf->pick, 4);
	save_uint(s, conf->times, 4);
	save_f64(s, conf->limit.lo);
	save_f64(s, conf->limit.hi);
	save_uint(s, conf->limit.slack, 8);
	save_uint(s, t->frames.bytes, 8);
	save_uint(s, t->frames.stack, 4);
}

static void
save_counters(struct saver *s, const struct table *t)
{
	const struct replaydump_state at = replaydump_state(&t->buf);

	save_uint(s, at.inserted, 8);
	save_uint(s, at.sampled, 8);
	save_uint(s, at.updated, 8);
	save_uint(s, at.stale, 8);
	save_uint(s, at.evicted, 8);
	save_uint(s, at.removed, 8);
	save_uint(s, at.worn, 8);
	save_uint(s, at.head, 4);
	save_uint(s, at.newest, 4);
	save_f32(s, at.highest);
}

/*
 * Every frame once; its number goes into the map.  Nothing is noted in the
 * frames themselves: they lie all over the memory, which the server's child
 * that saves would have to have for itself then.
 */
static void
save_frames(struct saver *s, const struct table *t, struct hashmap *number)
{
	struct replaydump_entry e;
	uint32_t n = 0, *have;
	size_t at = 0;

	save_uint(s, t->frames.count, 4);
	while (replaydump_next(&t->buf, &at, &e)) {
		const struct experience *x = e.item;

		for (unsigned i = 0; i < frames_per(&t->frames); i++) {
			have = hashmap_put(number, (uintptr_t)x->frame[i], n);
			if (have == NULL) {
				save_fail(s, ENOMEM);
				return;
			}
			if (*have != n)
				continue;
			save_bytes(s, frame_blob(x->frame[i])->bytes,
			    t->frames.bytes);
			n++;
		}
	}
	assert(n == t->frames.count);
}

static void
save_items(struct saver *s, const struct table *t,
    const struct hashmap *number)
{
	struct replaydump_entry e;
	size_t at = 0;

	save_uint(s, t->buf.have, 8);
	while (replaydump_next(&t->buf, &at, &e)) {
		const struct experience *x = e.item;

		save_uint(s, e.id, 8);
		save_f32(s, e.priority);
		save_uint(s, t->buf.conf.times > 0 ? e.times : 0, 4);
		for (unsigned i = 0; i < frames_per(&t->frames); i++)
			save_uint(s, *hashmap_get(number,
			    (uintptr_t)x->frame[i]), 4);
		save_counted(s, frames_tail(x), frames_tail_len(x));
	}
}

static void
save_holes(struct saver *s, const struct replay_table *b)
{
	if (b->conf.pick != REPLAY_TABLE_LIFO)
		return;
	save_uint(s, b->used, 4);
	for (size_t i = 0; i < b->used; i++)
		save_uint(s, replay_table_id(b, i) >> 32, 4);
}

size_t
table_saved_bytes(const struct table *t)
{
	const size_t settings = 8 + 8 + 4 + 4 + 8 + 8 + 8 + 8 + 4;
	const size_t counters = 7 * 8 + 4 + 4 + 4;
	const size_t item = 8 + 4 + 4 + 4 * (size_t)frames_per(&t->frames) + 8;
	const size_t holes = t->buf.conf.pick == REPLAY_TABLE_LIFO ?
	    4 + 4 * t->buf.used : 0;

	return settings + counters + 4 + t->frames.count * t->frames.bytes +
	    8 + t->buf.have * item + t->frames.tail_bytes + holes;
}

void
table_save_parts(struct saver *s, const struct table *t)
{
	struct hashmap number = { 0 };

	save_settings(s, t);
	save_counters(s, t);
	save_frames(s, t, &number);
	if (save_good(s))
		save_items(s, t, &number);
	save_holes(s, &t->buf);
	hashmap_free(&number);
}

void
table_save(struct saver *s, const struct table *t)
{
	save_bytes(s, "T", 1);
	save_counted(s, t->name, t->name_len);
	table_save_parts(s, t);
}

/* Settings, and of frames; false if they cannot be. */
static bool
load_settings(struct load *l, struct replay_table_conf *conf, struct frames *f)
{
	uint64_t bytes, stack;
	const char *why;

	*conf = (struct replay_table_conf){ 0 };
	conf->capacity = load_uint(l, 8);
	conf->alpha = load_f64(l);
	conf->pick = (enum replay_table_pick)load_uint(l, 4);
	conf->times = (uint32_t)load_uint(l, 4);
	conf->limit.lo = load_f64(l);
	conf->limit.hi = load_f64(l);
	conf->limit.slack = load_uint(l, 8);
	bytes = load_uint(l, 8);
	stack = load_uint(l, 4);
	why = table_wrong(conf);
	if (why == NULL && (bytes > 0 || stack > 0))
		why = table_frames_wrong(bytes, stack);
	if (why != NULL)
		load_refuse(l, "%s", why);
	*f = (struct frames){ .bytes = (size_t)bytes,
		.stack = (unsigned)stack };
	return load_good(l);
}

/* An empty table of this name and the settings that follow, or NULL. */
static struct table *
load_empty(struct load *l, const void *name, size_t len)
{
	struct replay_table_conf conf;
	struct frames frames;
	struct table *t = NULL;

	if (load_settings(l, &conf, &frames))
		t = table_open(l->blobs, name, len, &conf);
	if (t != NULL) {
		t->frames.bytes = frames.bytes;
		t->frames.stack = frames.stack;
	} else {
		load_refuse(l, "no memory for %zu slots", conf.capacity);
	}
	return t;
}

static void
load_counters(struct load *l, struct table *t)
{
	struct replaydump_state at;

	at.inserted = load_uint(l, 8);
	at.sampled = load_uint(l, 8);
	at.updated = load_uint(l, 8);
	at.stale = load_uint(l, 8);
	at.evicted = load_uint(l, 8);
	at.removed = load_uint(l, 8);
	at.worn = load_uint(l, 8);
	at.head = (uint32_t)load_uint(l, 4);
	at.newest = (uint32_t)load_uint(l, 4);
	at.highest = load_f32(l);
	if (load_good(l) && !replaydump_resume(&t->buf, &at))
		load_refuse(l, "counters that a table cannot have");
}

/* The n frames, used by this list alone yet.  NULL if there are none. */
static struct frame **
load_frames(struct load *l, struct table *t, uint32_t *n)
{
	const uint32_t want = (uint32_t)load_uint(l, 4);
	struct frame **all;

	*n = 0;
	if (want > 0 && (t->frames.stack == 0 ||
	    want > l->left / t->frames.bytes))
		load_refuse(l, "%" PRIu32 " frames, which are not here", want);
	if (want == 0 || !load_good(l))
		return NULL;
	all = calloc(want, sizeof(struct frame *));
	if (all == NULL)
		load_refuse(l, "no memory for %" PRIu32 " frames", want);
	while (*n < want && load_good(l)) {
		struct frame *one = frames_blank(&t->frames);

		if (one == NULL) {
			load_refuse(l, "no memory for %" PRIu32 " frames",
			    want);
			break;
		}
		one->uses = 1;	/* by all[] */
		all[(*n)++] = one;
		load_bytes(l, frame_blob(one)->bytes, t->frames.bytes);
	}
	return all;
}

/* One item, or NULL. */
static struct experience *
load_item(struct load *l, struct table *t, struct frame *const *all,
    uint32_t n, struct replaydump_entry *e)
{
	struct frame *own[2 * FRAMES_STACK_MAX];
	uint8_t shot[FRAMES_TAIL_HELD];
	struct experience *x;
	struct blob *tail;
	uint64_t len;
	uint32_t k;

	e->id = load_uint(l, 8);
	e->priority = load_f32(l);
	e->times = (uint32_t)load_uint(l, 4);
	for (unsigned i = 0; i < frames_per(&t->frames); i++) {
		k = (uint32_t)load_uint(l, 4);
		if (k >= n) {
			load_refuse(l, "frame %" PRIu32 " of %" PRIu32, k, n);
			return NULL;
		}
		own[i] = all[k];
	}
	len = load_uint(l, 8);
	if (len < sizeof(shot)) {
		load_bytes(l, shot, (size_t)len);
		x = load_good(l) ? frames_refer_copy(&t->frames, own, shot,
		    (size_t)len) : NULL;
	} else {
		tail = load_blob(l, len);
		x = tail == NULL ? NULL : frames_refer(&t->frames, own, tail,
		    0);
		blob_drop(l->blobs, tail);
	}
	if (x == NULL && load_good(l))
		load_refuse(l, "no memory for an experience more");
	return x;
}

/* Put n items back; those that cannot be are dropped, and it is said. */
static void
restore(struct load *l, struct table *t, struct replaydump_entry *e, size_t n)
{
	const size_t good = load_good(l) ? replaydump_restore(&t->buf, e, n) :
	    0;

	for (size_t i = good; i < n; i++)
		frames_drop(&t->frames, e[i].item);
	if (good < n)
		load_refuse(l, "id %" PRIu64 " cannot have been in the table",
		    e[good].id);
}

static void
load_items(struct load *l, struct table *t, struct frame *const *all,
    uint32_t frames)
{
	struct replaydump_entry e[REPLAY_TABLE_GROUP];
	uint64_t left = load_uint(l, 8);
	size_t n;

	t->buf.per.slice = 0;	/* nobody is served meanwhile */
	while (left > 0 && load_good(l)) {
		for (n = 0; n < REPLAY_TABLE_GROUP && n < left; n++) {
			e[n].item = load_item(l, t, all, frames, &e[n]);
			if (e[n].item == NULL)
				break;
		}
		restore(l, t, e, n);
		left -= n;
	}
	t->buf.per.slice = TABLE_SLICE;
	if (load_good(l) && !replay_table_whole(&t->buf))
		load_refuse(l, "counters that do not add up");
}

static void
load_holes(struct load *l, struct replay_table *b)
{
	uint32_t n, generation;

	if (b->conf.pick != REPLAY_TABLE_LIFO || l->version < 2)
		return;
	n = (uint32_t)load_uint(l, 4);
	if (n > b->conf.capacity || n < b->used)
		load_refuse(l, "%" PRIu32 " slots that were used, of %zu", n,
		    b->conf.capacity);
	for (uint32_t i = 0; i < n && load_good(l); i++) {
		generation = (uint32_t)load_uint(l, 4) &
		    (REPLAY_TABLE_LIVE - 1);
		if ((b->slot[i].generation & REPLAY_TABLE_LIVE) == 0)
			b->slot[i].generation = generation;
		b->used = n;
	}
}

struct table *
table_load_parts(struct load *l, const void *name, size_t len)
{
	struct table *t = load_empty(l, name, len);
	struct frame **all;
	uint32_t n, unused = 0;

	if (t == NULL)
		return NULL;
	load_counters(l, t);
	all = load_frames(l, t, &n);
	load_items(l, t, all, n);
	for (uint32_t i = 0; i < n; i++) {
		unused += --all[i]->uses == 0;
		frames_unused(&t->frames, all[i]);
	}
	load_holes(l, &t->buf);
	if (unused > 0)
		load_refuse(l, "%" PRIu32 " frames of no item", unused);
	free(all);
	if (load_good(l))
		return t;
	table_close(t);
	return NULL;
}

struct table *
table_load(struct load *l)
{
	struct blob *name = load_counted(l);
	struct table *t = NULL;

	if (name != NULL && (name->len < 1 || name->len > TABLE_NAME_MAX))
		load_refuse(l, "a table's name is 1 to 255 bytes");
	if (load_good(l))
		t = table_load_parts(l, name->bytes, name->len);
	blob_drop(l->blobs, name);
	return t;
}
