/* table-checkpoint.c - write a table into a checkpoint and read it back */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hashmap.h"

#include "cmd/innet-memory/store/table-checkpoint.h"

static void
write_settings(struct writer *w, const struct table *t)
{
	const struct replay_buffer_settings *settings = &t->buf.settings;

	writer_put_uint(w, settings->capacity, 8);
	writer_put_f64(w, settings->alpha);
	writer_put_uint(w, settings->selector, 4);
	writer_put_uint(w, settings->times, 4);
	writer_put_f64(w, settings->limit.lo);
	writer_put_f64(w, settings->limit.hi);
	writer_put_uint(w, settings->limit.slack, 8);
	writer_put_uint(w, t->frames.bytes, 8);
	writer_put_uint(w, t->frames.stack, 4);
}

static void
write_counters(struct writer *w, const struct table *t)
{
	const struct replaydump_state at = replaydump_get_state(&t->buf);

	writer_put_uint(w, at.inserted, 8);
	writer_put_uint(w, at.sampled, 8);
	writer_put_uint(w, at.updated, 8);
	writer_put_uint(w, at.stale, 8);
	writer_put_uint(w, at.evicted, 8);
	writer_put_uint(w, at.removed, 8);
	writer_put_uint(w, at.worn, 8);
	writer_put_uint(w, at.head, 4);
	writer_put_uint(w, at.newest, 4);
	writer_put_f32(w, at.highest);
}

/*
 * Write every frame once, and put its number into the map.  The number is not
 * stored in the frame, because the frames are spread over the memory, and the
 * kernel copies each page that the child process changes.
 */
static void
write_frames(struct writer *w, const struct table *t, struct hashmap *number)
{
	struct replaydump_entry e;
	uint32_t n = 0, *have;
	size_t at = 0;

	writer_put_uint(w, t->frames.count, 4);
	while (replaydump_next(&t->buf, &at, &e)) {
		const struct experience *x = e.item;

		for (unsigned i = 0; i < frames_per(&t->frames); i++) {
			have = hashmap_put(number, (uintptr_t)x->frame[i], n);
			if (have == NULL) {
				writer_fail(w, ENOMEM);
				return;
			}
			if (*have != n)
				continue;
			writer_put_bytes(w, frame_blob(x->frame[i])->bytes,
			    t->frames.bytes);
			n++;
		}
	}
	assert(n == t->frames.count);
}

static void
write_items(struct writer *w, const struct table *t,
    const struct hashmap *number)
{
	struct replaydump_entry e;
	size_t at = 0;

	writer_put_uint(w, t->buf.have, 8);
	while (replaydump_next(&t->buf, &at, &e)) {
		const struct experience *x = e.item;

		writer_put_uint(w, e.id, 8);
		writer_put_f32(w, e.priority);
		writer_put_uint(w, t->buf.settings.times > 0 ? e.times : 0, 4);
		for (unsigned i = 0; i < frames_per(&t->frames); i++)
			writer_put_uint(w, *hashmap_get(number,
			    (uintptr_t)x->frame[i]), 4);
		writer_put_counted(w, frames_tail(x), frames_tail_len(x));
	}
}

static void
write_holes(struct writer *w, const struct replay_buffer *b)
{
	if (b->settings.selector != REPLAY_BUFFER_LIFO)
		return;
	writer_put_uint(w, b->used, 4);
	for (size_t i = 0; i < b->used; i++)
		writer_put_uint(w, replay_buffer_slot_id(b, i) >> 32, 4);
}

size_t
table_checkpoint_bytes(const struct table *t)
{
	const size_t settings = 8 + 8 + 4 + 4 + 8 + 8 + 8 + 8 + 4;
	const size_t counters = 7 * 8 + 4 + 4 + 4;
	const size_t item = 8 + 4 + 4 + 4 * (size_t)frames_per(&t->frames) + 8;
	const size_t holes = t->buf.settings.selector == REPLAY_BUFFER_LIFO ?
	    4 + 4 * t->buf.used : 0;

	return settings + counters + 4 + t->frames.count * t->frames.bytes +
	    8 + t->buf.have * item + t->frames.tail_bytes + holes;
}

void
table_write_parts(struct writer *w, const struct table *t)
{
	struct hashmap number = { 0 };

	write_settings(w, t);
	write_counters(w, t);
	write_frames(w, t, &number);
	if (writer_good(w))
		write_items(w, t, &number);
	write_holes(w, &t->buf);
	hashmap_free(&number);
}

void
table_write(struct writer *w, const struct table *t)
{
	writer_put_bytes(w, "T", 1);
	writer_put_counted(w, t->name, t->name_len);
	table_write_parts(w, t);
}

/*
 * Read the settings of a table and of its frames; return false if they are
 * invalid.
 */
static bool
read_settings(struct reader *r, struct replay_buffer_settings *settings,
    struct frames *f)
{
	uint64_t bytes, stack;
	const char *why;

	*settings = (struct replay_buffer_settings){ 0 };
	settings->capacity = reader_get_uint(r, 8);
	settings->alpha = reader_get_f64(r);
	settings->selector = (enum replay_buffer_selector)reader_get_uint(r, 4);
	settings->times = (uint32_t)reader_get_uint(r, 4);
	settings->limit.lo = reader_get_f64(r);
	settings->limit.hi = reader_get_f64(r);
	settings->limit.slack = reader_get_uint(r, 8);
	bytes = reader_get_uint(r, 8);
	stack = reader_get_uint(r, 4);
	why = table_check_settings(settings);
	if (why == NULL && (bytes > 0 || stack > 0))
		why = table_check_frames(bytes, stack);
	if (why != NULL)
		reader_refuse(r, "%s", why);
	*f = (struct frames){ .bytes = (size_t)bytes,
		.stack = (unsigned)stack };
	return reader_good(r);
}

/* Read the settings, and return an empty table with this name, or NULL. */
static struct table *
read_empty_table(struct reader *r, const void *name, size_t len)
{
	struct replay_buffer_settings settings;
	struct frames frames;
	struct table *t = NULL;

	if (read_settings(r, &settings, &frames))
		t = table_open(r->account, name, len, &settings);
	if (t != NULL) {
		t->frames.bytes = frames.bytes;
		t->frames.stack = frames.stack;
	} else {
		reader_refuse(r, "no memory for %zu slots", settings.capacity);
	}
	return t;
}

static void
read_counters(struct reader *r, struct table *t)
{
	struct replaydump_state at;

	at.inserted = reader_get_uint(r, 8);
	at.sampled = reader_get_uint(r, 8);
	at.updated = reader_get_uint(r, 8);
	at.stale = reader_get_uint(r, 8);
	at.evicted = reader_get_uint(r, 8);
	at.removed = reader_get_uint(r, 8);
	at.worn = reader_get_uint(r, 8);
	at.head = (uint32_t)reader_get_uint(r, 4);
	at.newest = (uint32_t)reader_get_uint(r, 4);
	at.highest = reader_get_f32(r);
	if (reader_good(r) && !replaydump_resume(&t->buf, &at))
		reader_refuse(r, "counters that are not possible for a table");
}

/*
 * The frames of a table while it is read.  The array counts as a user of each
 * frame.
 */
struct frame_array {
	struct frame **one;
	size_t n, room;
};

/*
 * Make room for another frame; `want` is the total number of frames.  Return
 * false if there is no memory.  The array grows only with the frames that were
 * read, because `want` may be wrong in a damaged file.
 */
static bool
grow_array(struct account *account, struct frame_array *all, size_t want)
{
	const size_t twice = all->room == 0 ? 1024 : 2 * all->room;
	const size_t room = twice < want ? twice : want;
	struct frame **more;

	if (all->n < all->room)
		return true;
	more = account_alloc(account, room * sizeof(*more));
	if (more == NULL)
		return false;
	if (all->one != NULL) {
		memcpy(more, all->one, all->n * sizeof(*more));
		account_free(account, all->one, all->room * sizeof(*more));
	}
	all->one = more;
	all->room = room;
	return true;
}

/* Read the frames of a table. */
static void
read_frames(struct reader *r, struct table *t, struct frame_array *all)
{
	const uint32_t want = (uint32_t)reader_get_uint(r, 4);
	struct frame *one;

	if (want > 0 && (t->frames.stack == 0 ||
	    want > r->left / t->frames.bytes))
		reader_refuse(r, "%" PRIu32 " frames, which the file does not "
		    "have",
		    want);
	while (all->n < want && reader_good(r)) {
		one = grow_array(r->account, all, want) ?
		    frames_new_blank(&t->frames) : NULL;
		if (one == NULL) {
			reader_refuse(r, "no memory for %" PRIu32 " frames",
			    want);
			break;
		}
		one->uses = 1;
		all->one[all->n++] = one;
		reader_get_bytes(r, frame_blob(one)->bytes, t->frames.bytes);
	}
}

/* Drop all frames, and return the number of frames that no item uses. */
static size_t
drop_array(struct table *t, struct frame_array *all)
{
	size_t unused = 0;

	for (size_t i = 0; i < all->n; i++) {
		unused += --all->one[i]->uses == 0;
		frames_drop_unused(&t->frames, all->one[i]);
	}
	if (all->one != NULL)
		account_free(t->frames.account, all->one,
		    all->room * sizeof(*all->one));
	return unused;
}

/* Read an item into *e, and return its experience or NULL. */
static struct experience *
read_item(struct reader *r, struct table *t, const struct frame_array *all,
    struct replaydump_entry *e)
{
	struct frame *own[2 * FRAMES_STACK_MAX];
	uint8_t shot[FRAMES_TAIL_HELD];
	struct experience *x;
	struct blob *tail;
	uint64_t len;
	uint32_t k;

	e->id = reader_get_uint(r, 8);
	e->priority = reader_get_f32(r);
	e->times = (uint32_t)reader_get_uint(r, 4);
	for (unsigned i = 0; i < frames_per(&t->frames); i++) {
		k = (uint32_t)reader_get_uint(r, 4);
		if (k >= all->n) {
			reader_refuse(r, "frame %" PRIu32 " of %zu", k, all->n);
			return NULL;
		}
		own[i] = all->one[k];
	}
	len = reader_get_uint(r, 8);
	if (len < sizeof(shot)) {
		reader_get_bytes(r, shot, (size_t)len);
		x = reader_good(r) ? frames_reference_copy(&t->frames, own,
		    shot, (size_t)len) : NULL;
	} else {
		tail = reader_get_blob(r, len);
		x = tail == NULL ? NULL : frames_reference(&t->frames, own,
		    tail, 0);
		blob_drop(r->account, tail);
	}
	if (x == NULL && reader_good(r))
		reader_refuse(r, "no memory for another experience");
	return x;
}

/*
 * Restore n items.  If some of these items cannot have been in the buffer, drop
 * them and fail.
 */
static void
restore_items(struct reader *r, struct table *t, struct replaydump_entry *e,
    size_t n)
{
	const size_t good = reader_good(r) ? replaydump_restore(&t->buf, e, n) :
	    0;

	for (size_t i = good; i < n; i++)
		frames_drop(&t->frames, e[i].item);
	if (good < n)
		reader_refuse(r, "id %" PRIu64 " is not possible in this table",
		    e[good].id);
}

static void
read_items(struct reader *r, struct table *t, const struct frame_array *all)
{
	struct replaydump_entry e[REPLAY_BUFFER_GROUP];
	uint64_t left = reader_get_uint(r, 8);
	size_t n;

	while (left > 0 && reader_good(r)) {
		for (n = 0; n < REPLAY_BUFFER_GROUP && n < left; n++) {
			e[n].item = read_item(r, t, all, &e[n]);
			if (e[n].item == NULL)
				break;
		}
		restore_items(r, t, e, n);
		left -= n;
	}
	if (reader_good(r))
		replaydump_finish(&t->buf);
	if (reader_good(r) && !replay_buffer_counters_add_up(&t->buf))
		reader_refuse(r, "counters that do not agree");
}

static void
read_holes(struct reader *r, struct replay_buffer *b)
{
	uint32_t n, generation;

	if (b->settings.selector != REPLAY_BUFFER_LIFO || r->version < 2)
		return;
	n = (uint32_t)reader_get_uint(r, 4);
	if (n > b->settings.capacity || n < b->used)
		reader_refuse(r, "%" PRIu32 " used slots, but only %zu slots",
		    n,
		    b->settings.capacity);
	for (uint32_t i = 0; i < n && reader_good(r); i++) {
		generation = (uint32_t)reader_get_uint(r, 4);
		if ((b->slot[i].generation & REPLAY_BUFFER_LIVE) == 0)
			replaydump_set_generation(b, i, generation, 0);
		b->used = n;
	}
}

struct table *
table_read_parts(struct reader *r, const void *name, size_t len)
{
	struct table *t = read_empty_table(r, name, len);
	struct frame_array all = { 0 };
	size_t unused;

	if (t == NULL)
		return NULL;
	read_counters(r, t);
	read_frames(r, t, &all);
	read_items(r, t, &all);
	unused = drop_array(t, &all);
	read_holes(r, &t->buf);
	if (unused > 0)
		reader_refuse(r, "%zu frames that no item uses", unused);
	if (reader_good(r))
		return t;
	table_close(t);
	return NULL;
}

struct table *
table_read(struct reader *r)
{
	struct blob *name = reader_get_counted(r);
	struct table *t = NULL;

	if (name != NULL && (name->len < 1 || name->len > TABLE_NAME_MAX))
		reader_refuse(r, "a table's name must have 1 to 255 bytes");
	if (reader_good(r))
		t = table_read_parts(r, name->bytes, name->len);
	blob_drop(r->account, name);
	return t;
}
