/* per-add.c - PER.ADD: add experiences by value or by reference to frames */
#include <stdlib.h>

#include "common/wire/stream.h"

#include "cmd/innet-memory/commands/per.h"

/*
 * Largest number of frames in a request, and the size of a frame's index in
 * bytes.
 */
enum { FRAMES_MOST = 65536, INDEX_BYTES = 2 };
/* number of items to prefetch together, so that they fit in the cache */
enum { FETCHED = 1024 };

/* A request that was checked and found valid. */
struct add_request {
	struct table *t;
	const struct resp_args *a;
	uint64_t frames;	/* number of frames */
	/*
	 * index of the first argument with a frame; index of the first argument
	 * with a pair
	 */
	size_t first_frame, first;
	size_t n;		/* number of experiences */
	float *priority;
	void **x;		/* array with one struct experience for each
				 * pair */
	uint64_t *id;
	struct frame **frame;	/* frames found or created so far */
	bool by_reference;
};

static void
free_request(struct add_request *d)
{
	free(d->priority);
	free(d->x);
	free(d->id);
	free(d->frame);
}

static bool
open_request(struct client *c, struct add_request *d)
{
	d->priority = calloc(d->n, sizeof(*d->priority));
	d->x = calloc(d->n, sizeof(*d->x));
	d->id = calloc(d->n, sizeof(*d->id));
	d->frame = calloc(d->frames + 1, sizeof(*d->frame));
	if (d->priority != NULL && d->x != NULL && d->id != NULL &&
	    d->frame != NULL)
		return true;
	reply_oom(c);
	return false;
}

/*
 * Read the frames that begin at argument *i, and set *i to the argument after
 * them.
 */
static bool
read_frames(struct client *c, struct add_request *d, size_t *i)
{
	const struct frames *f = &d->t->frames;

	if (f->stack == 0) {
		reply_error(c, "ERR frames: the table has none; declare them "
		    "with PER.FRAMES");
		return false;
	}
	if (!per_read_whole(c, d->a, *i, "frames", 1, FRAMES_MOST, &d->frames))
		return false;
	d->by_reference = true;
	d->first_frame = *i + 1;
	*i = d->first_frame + (size_t)d->frames;
	if (*i > d->a->n) {
		reply_error(c, "ERR frames: %zu should follow, but only %zu "
		    "arguments do", (size_t)d->frames,
		    d->a->n - d->first_frame);
		return false;
	}
	for (size_t k = d->first_frame; k < *i; k++) {
		if (d->a->v[k].len == f->bytes)
			continue;
		reply_error(c, "ERR frame %zu (argument %zu): %zu bytes, not "
		    "the %zu of a frame of this table", k - d->first_frame, k,
		    d->a->v[k].len, f->bytes);
		return false;
	}
	return true;
}

/* Read the options.  The pairs begin after the options. */
static bool
read_options(struct client *c, struct add_request *d, uint64_t *timeout_ms)
{
	static const char *const words[] = { "timeout", "frames", NULL };
	const uint64_t most_ms = INT64_MAX / 1000000;
	size_t i = 2, seen[2] = { 0 };

	while (i < d->a->n) {
		const int word = per_find_word(d->a, i, words);

		if (word == PER_NO_WORD)
			break;
		if (!per_check_once(c, words, word, i, seen))
			return false;
		i++;
		if (word == 0) {
			if (!per_read_whole(c, d->a, i++, "timeout", 0, most_ms,
			    timeout_ms))
				return false;
		} else if (!read_frames(c, d, &i)) {
			return false;
		}
	}
	d->first = i;
	d->n = (d->a->n - i) / 2;
	if (d->n > 0 && (d->a->n - i) % 2 == 0)
		return per_check_count(c, d->n);
	reply_error(c, "ERR give one or more pairs of a priority and a blob: "
	    "%zu arguments are left", d->a->n - i);
	return false;
}

static uint64_t
read_index(const uint8_t *p, unsigned i)
{
	return stream_get_le(p + i * INDEX_BYTES, INDEX_BYTES);
}

/* Return true if the blob in argument k can be an experience of the table. */
static bool
check_blob(struct client *c, const struct add_request *d, size_t k)
{
	const struct frames *f = &d->t->frames;
	const struct resp_arg *v = &d->a->v[k];
	const size_t least = frames_per(f) * (d->by_reference ? INDEX_BYTES :
	    f->bytes);

	if (v->len < least) {
		reply_error(c, "ERR blob (argument %zu): %zu bytes, less than "
		    "the %zu of %u %s", k, v->len, least, frames_per(f),
		    d->by_reference ? "indices of frames" : "frames");
		return false;
	}
	for (unsigned i = 0; d->by_reference && i < frames_per(f); i++) {
		if (read_index(v->p, i) < d->frames)
			continue;
		reply_error(c, "ERR blob (argument %zu): it refers to frame %u "
		    "of %u", k, (unsigned)read_index(v->p, i),
		    (unsigned)d->frames);
		return false;
	}
	return true;
}

/* Read and check the whole request. */
static bool
read_request(struct client *c, struct add_request *d, uint64_t *timeout_ms)
{
	d->t = per_find_table(c, d->a);
	if (d->t == NULL || !read_options(c, d, timeout_ms) ||
	    !open_request(c, d))
		return false;
	for (size_t i = 0; i < d->n; i++) {
		if (!per_read_priority(c, d->a, d->first + 2 * i, true,
		    &d->priority[i]) ||
		    !check_blob(c, d, d->first + 2 * i + 1))
			return false;
	}
	return true;
}

/*
 * Return frame k of the request as a frame of the table, or NULL if there is no
 * memory.
 */
static struct frame *
get_frame(struct add_request *d, const struct experience *prev, size_t k)
{
	const struct resp_arg *v = &d->a->v[d->first_frame + k];
	struct frames *f = &d->t->frames;

	if (d->frame[k] == NULL)
		d->frame[k] = frames_find(f, prev, v->p);
	if (d->frame[k] == NULL)
		d->frame[k] = v->bulk != NULL ?
		    frames_new_from_blob(f, v->bulk) :
		    frames_new_copy(f, v->p);
	return d->frame[k];
}

/*
 * Create experience i of the request; `prev` is the experience before it.
 * Return NULL if there is no memory.  The frames within a request are distinct,
 * so only the first experience is compared with the last experience of the
 * previous request.
 */
static struct experience *
make_experience(struct add_request *d, const struct experience *prev, size_t i)
{
	struct frames *f = &d->t->frames;
	const struct resp_arg *v = &d->a->v[d->first + 2 * i + 1];
	const size_t skip = frames_per(f) * INDEX_BYTES;
	struct frame *own[2 * FRAMES_STACK_MAX];

	if (f->stack > 0 && !d->by_reference)
		return frames_split(f, prev, v->p, v->len);
	for (unsigned at = 0; at < frames_per(f); at++) {
		own[at] = get_frame(d, i == 0 ? prev : NULL,
		    (size_t)read_index(v->p, at));
		if (own[at] == NULL)
			return NULL;
	}
	return v->bulk != NULL ? frames_reference(f, own, v->bulk, skip) :
	    frames_reference_copy(f, own, v->p + skip, v->len - skip);
}

/* Create all experiences or none; return false if there is no memory. */
static bool
make_experiences(struct add_request *d, uint64_t stream)
{
	struct frames *f = &d->t->frames;
	const struct experience *prev = frames_get_last(f, stream);
	size_t n;

	for (n = 0; n < d->n; n++) {
		d->x[n] = make_experience(d, prev, n);
		if (d->x[n] == NULL)
			break;
		prev = d->x[n];
	}
	if (n == d->n)
		return true;
	/*
	 * hold the frames of the request, because dropping its experiences
	 * could free them
	 */
	for (size_t k = 0; k < d->frames; k++) {
		if (d->frame[k] != NULL)
			d->frame[k]->uses++;
	}
	for (size_t i = 0; i < n; i++)
		frames_drop(f, d->x[i]);
	for (size_t k = 0; k < d->frames; k++) {
		if (d->frame[k] != NULL) {
			d->frame[k]->uses--;
			frames_drop_unused(f, d->frame[k]);
		}
	}
	return false;
}

static bool
may_insert(const struct table *t, size_t n)
{
	return sample_ratio_allows_insert(&t->buf.settings.limit,
	    t->buf.inserted, t->buf.sampled, n);
}

static void
reply_limit(struct client *c, const struct add_request *d)
{
	const struct replay_buffer *b = &d->t->buf;
	char why[200];

	sample_ratio_explain(&b->settings.limit, true, b->inserted, b->sampled,
	    d->n, why, sizeof(why));
	reply_error(c, "%s", why);
}

/*
 * Prefetch the experiences that will be evicted, because they are not in the
 * cache.
 */
static void
prefetch_evicted(const struct add_request *d)
{
	const struct replay_buffer *b = &d->t->buf;
	const size_t n = d->n < FETCHED ? d->n : FETCHED;

	for (int step = 0; step < FRAMES_STEPS; step++) {
		for (size_t i = 0; i < n; i++) {
			const void *x = replay_buffer_next_evicted(b, i);

			if (x != NULL)
				frames_prefetch(&d->t->frames, x,
				    (enum frames_step)step);
		}
	}
}

static void
store_experiences(struct client *c, struct add_request *d)
{
	const uint64_t stream = host_stream_id(c);

	prefetch_evicted(d);
	if (!make_experiences(d, stream)) {
		reply_oom(c);
		return;
	}
	replay_buffer_add_batch(&d->t->buf, d->priority, d->x,
	    d->n, d->id);
	frames_set_last(&d->t->frames, stream, d->x[d->n - 1]);
	host_mark_changed(c, d->a);
	reply_array(c, d->n);
	for (size_t i = 0; i < d->n; i++)
		reply_int(c, (int64_t)d->id[i]);
}

static bool
try_add(struct client *c, const struct resp_args *a, uint64_t *timeout_ms,
    bool late)
{
	struct add_request d = { .a = a };
	bool done = true;

	if (read_request(c, &d, timeout_ms)) {
		if (host_is_replicated(c) || may_insert(d.t, d.n))
			store_experiences(c, &d);
		else if (late)
			reply_limit(c, &d);
		else
			done = false;
	}
	free_request(&d);
	return done;
}

static bool
retry_add(struct client *c, const struct resp_args *a, bool late)
{
	uint64_t timeout_ms;

	return try_add(c, a, &timeout_ms, late);
}

void
per_add(struct client *c, const struct resp_args *a)
{
	per_answer_or_wait(c, a, try_add, retry_add);
}
