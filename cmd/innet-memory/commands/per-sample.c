/* per-sample.c - PER.SAMPLE: draw experiences */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/stream.h"

#include "cmd/innet-memory/commands/per.h"

enum {
	REF_BYTES = 4,
	FETCHED = 256,	/* number of experiences to prefetch together */
	COPIED = 8,	/* number of experiences to prefetch ahead of a copy */
	COPIED_BYTES = 4096	/* limit on the bytes to prefetch of an
				 * experience */
};

struct sample_request {
	struct table *t;
	uint64_t n;
	double beta;
	bool strata, refs, binary, sum;
	bool counted;	/* draws are counted: true for PER.SAMPLE, false for
			 * PER.SAMPLE_RO */
};

/*
 * Read and check the arguments of a request.  If timeout_ms is NULL, the draws
 * will not be counted.
 */
static bool
read_request(struct client *c, const struct resp_args *a,
    struct sample_request *k, uint64_t *timeout_ms)
{
	enum { BETA, STRATIFIED, TIMEOUT, REFS, BINARY, SUM, WORDS };
	static const char *const words[] = {
		"beta", "stratified", "timeout", "refs", "binary", "sum",
		NULL
	};
	const uint64_t most_ms = INT64_MAX / 1000000;
	size_t seen[WORDS] = { 0 };
	bool good = true;

	*k = (struct sample_request){ .t = per_find_table(c, a), .beta = 0.4,
		.counted = timeout_ms != NULL };
	if (k->t == NULL || !per_read_whole(c, a, 2, "batch", 1,
	    TABLE_CAPACITY_MAX, &k->n) || !per_check_count(c, k->n))
		return false;
	for (size_t i = 3; i < a->n && good; i++) {
		const int word = per_find_word(a, i, words);

		if (!per_check_once(c, words, word, i, seen))
			return false;
		switch (k->counted || word != TIMEOUT ? word : PER_NO_WORD) {
		case BETA:
			good = per_read_real(c, a, ++i, "beta", 0,
			    PRIORITIES_POWER_MAX,
			    &k->beta);
			break;
		case TIMEOUT:
			good = per_read_whole(c, a, ++i, "timeout", 0, most_ms,
			    timeout_ms);
			break;
		case STRATIFIED: k->strata = true; break;
		case REFS: k->refs = true; break;
		case BINARY: k->binary = true; break;
		case SUM: k->sum = true; break;
		default:
			per_reply_no_word(c, a, i);
			good = false;
		}
	}
	if (good && k->refs && k->t->frames.stack == 0) {
		reply_error(c, "ERR refs: the table has no frames; declare "
		    "them with PER.FRAMES");
		good = false;
	}
	return good;
}

/*
 * Return NULL, or the reason why no batch can be drawn now.  The table must
 * hold at least as many experiences as the batch.  If experiences may be drawn
 * any number of times, one experience with a priority above 0 is enough.  If
 * the number of draws is limited, a whole batch of draws must be left.
 */
static const char *
check_ready(const struct sample_request *k, char *why, size_t size)
{
	const struct replay_buffer *b = &k->t->buf;
	const size_t live =
	    b->settings.selector == REPLAY_BUFFER_PER ? b->per.live : b->have;

	if (b->have < k->n)
		snprintf(why, size, "LIMIT the table holds %zu experiences, "
		    "but %" PRIu64 " are requested", b->have, k->n);
	else if (live < (b->settings.times > 0 ? k->n : 1))
		snprintf(why, size, "LIMIT %zu of %zu experiences have a "
		    "priority above 0, but %" PRIu64 " are requested", live,
		    b->have, k->n);
	else if (!sample_ratio_allows_sample(&b->settings.limit, b->inserted,
	    b->sampled, k->n))
		sample_ratio_explain(&b->settings.limit, false, b->inserted,
		    b->sampled, k->n, why, size);
	else
		return NULL;
	return why;
}

static void
reply_ids(struct client *c, const struct replay_buffer_draw *d, size_t n)
{
	reply_array(c, n);
	for (size_t i = 0; i < n; i++)
		reply_int(c, (int64_t)d[i].id);
}

static void
store_f32(uint8_t *p, float v)
{
	uint32_t u;

	memcpy(&u, &v, sizeof(u));
	stream_put_le(p, u, 4);
}

/* Reply with the ids, probabilities and weights in binary. */
static void
reply_packed(struct client *c, const struct replay_buffer_draw *d, size_t n)
{
	uint8_t p[8];

	reply_bulk_begin(c, 8 * n);
	for (size_t i = 0; i < n; i++) {
		stream_put_le(p, d[i].id, 8);
		reply_bulk_bytes(c, p, 8);
	}
	reply_bulk_end(c);
	reply_bulk_begin(c, 4 * n);
	for (size_t i = 0; i < n; i++) {
		store_f32(p, (float)d[i].prob);
		reply_bulk_bytes(c, p, 4);
	}
	reply_bulk_end(c);
	reply_bulk_begin(c, 4 * n);
	for (size_t i = 0; i < n; i++) {
		store_f32(p, d[i].weight);
		reply_bulk_bytes(c, p, 4);
	}
	reply_bulk_end(c);
}

static void
reply_draws(struct client *c, const struct replay_buffer_draw *d, size_t n)
{
	reply_ids(c, d, n);
	reply_array(c, n);
	for (size_t i = 0; i < n; i++)
		reply_double(c, d[i].prob);
	reply_array(c, n);
	for (size_t i = 0; i < n; i++)
		reply_double(c, (double)d[i].weight);
}

static void
reply_tail(struct client *c, const struct experience *x)
{
	if (x->tail != NULL)
		reply_bulk_piece(c, x->tail, x->at);
	else
		reply_bulk_bytes(c, frames_tail(x), x->len);
	reply_bulk_end(c);
}

static void
reply_by_value(struct client *c, const struct frames *f,
    const struct experience *x)
{
	reply_bulk_begin(c, frames_len(f, x));
	for (unsigned i = 0; i < frames_per(f); i++)
		reply_bulk_piece(c, frame_blob(x->frame[i]), 0);
	reply_tail(c, x);
}

/*
 * Reply with experience x by reference.  Add frames that are not listed yet to
 * fresh[].
 */
static void
reply_by_reference(struct client *c, const struct frames *f,
    const struct experience *x, struct frame **fresh, uint32_t *n)
{
	uint8_t ref[2 * FRAMES_STACK_MAX * REF_BYTES];
	const size_t len = frames_per(f) * REF_BYTES;
	bool first;
	uint32_t at;

	for (unsigned i = 0; i < frames_per(f); i++) {
		at = frames_list_index(f, x->frame[i], n, &first);
		if (first)
			fresh[at] = x->frame[i];
		stream_put_le(ref + i * REF_BYTES, at, REF_BYTES);
	}
	reply_bulk_begin(c, len + frames_tail_len(x));
	reply_bulk_bytes(c, ref, len);
	reply_tail(c, x);
}

/*
 * Prefetch the data of a group of draws, which begins at draw i.  The data are
 * spread over the memory.  With this prefetch, a draw takes two thirds of the
 * time of a draw without prefetch.
 */
static void
prefetch_group(const struct frames *f, const struct replay_buffer_draw *d,
    size_t i, size_t n)
{
	if (i % FETCHED != 0)
		return;
	d += i;
	n = n - i < FETCHED ? n - i : FETCHED;
	for (int step = 0; step < FRAMES_STEPS; step++) {
		for (size_t k = 0; k < n; k++)
			frames_prefetch(f, d[k].item, (enum frames_step)step);
	}
}

/*
 * Prefetch the bytes of x that will be copied soon, in its frames and its tail.
 */
static void
prefetch_copied(const struct frames *f, const struct experience *x)
{
	const size_t len = frames_tail_len(x);
	const size_t most = COPIED_BYTES / (frames_per(f) + 1);
	const size_t frame = f->bytes < most ? f->bytes : most;

	for (unsigned i = 0; i < frames_per(f); i++)
		prefetch_bytes(frame_blob(x->frame[i])->bytes, frame);
	prefetch_bytes(frames_tail(x), len < COPIED_BYTES ? len : COPIED_BYTES);
}

static void
reply_frames(struct client *c, struct frames *f,
    const struct replay_buffer_draw *d, size_t n, struct frame **fresh)
{
	uint32_t listed = 0;

	frames_begin_listing(f);
	for (size_t i = 0; i < n; i++) {
		prefetch_group(f, d, i, n);
		reply_by_reference(c, f, d[i].item, fresh, &listed);
	}
	reply_array(c, listed);
	for (uint32_t i = 0; i < listed; i++)
		reply_blob(c, frame_blob(fresh[i]));
}

/* The sum of a table's priorities before the draw. */
struct draw_sum {
	uint64_t sum;
	int shift;
	size_t have;
};

static void
reply_sum(struct client *c, const struct draw_sum *s)
{
	reply_array(c, 3);
	reply_int(c, (int64_t)s->sum);
	reply_int(c, s->shift);
	reply_int(c, (int64_t)s->have);
}

/* Reply with the n draws in d. */
static void
reply_sample(struct client *c, const struct sample_request *k,
    const struct replay_buffer_draw *d, size_t n, struct frame **fresh,
    const struct draw_sum *before)
{
	struct frames *f = &k->t->frames;

	reply_array(c, 4 + (size_t)k->refs + (size_t)k->sum);
	if (k->binary)
		reply_packed(c, d, n);
	else
		reply_draws(c, d, n);
	reply_array(c, n);
	if (k->refs)
		reply_frames(c, f, d, n, fresh);
	for (size_t i = 0; i < n && !k->refs; i++) {
		prefetch_group(f, d, i, n);
		if (i + COPIED < n)
			prefetch_copied(f, d[i + COPIED].item);
		reply_by_value(c, f, d[i].item);
	}
	if (k->sum)
		reply_sum(c, before);
}

static void
draw_and_reply(struct client *c, const struct resp_args *a,
    const struct sample_request *k)
{
	struct replay_buffer *b = &k->t->buf;
	struct replay_buffer_draw *d = malloc(k->n * sizeof(*d));
	const size_t frames = k->refs ? k->n * frames_per(&k->t->frames) : 0;
	struct frame **fresh = malloc((frames + 1) * sizeof(struct frame *));
	struct draw_sum before = { .have = b->have };
	size_t n = 0;

	before.sum = replay_buffer_draw_sum(b, &before.shift);
	if (d != NULL && fresh != NULL && !k->counted)
		n = replay_buffer_sample_uncounted(b, host_rng(c), k->n,
		    k->beta, k->strata, d);
	else if (d != NULL && fresh != NULL)
		n = replay_buffer_sample(b, host_rng(c), k->n, k->beta,
		    k->strata, d);
	if (n > 0)
		reply_sample(c, k, d, n, fresh, &before);
	else
		reply_oom(c);
	if (k->counted) {
		host_mark_sampled(c, a, k->t, d, n);
		replay_buffer_drop_worn(b);
	}
	free(d);
	free(fresh);
}

static bool
try_sample(struct client *c, const struct resp_args *a, uint64_t *timeout_ms,
    bool late)
{
	char say[200];
	const char *why;
	struct sample_request k;

	if (!read_request(c, a, &k, timeout_ms))
		return true;
	why = check_ready(&k, say, sizeof(say));
	if (why != NULL && !late)
		return false;
	if (why != NULL)
		reply_error(c, "%s", why);
	else
		draw_and_reply(c, a, &k);
	return true;
}

static bool
retry_sample(struct client *c, const struct resp_args *a, bool late)
{
	uint64_t timeout_ms;

	return try_sample(c, a, &timeout_ms, late);
}

void
per_sample(struct client *c, const struct resp_args *a)
{
	per_answer_or_wait(c, a, try_sample, retry_sample);
}

/* Draw without counting, so that the command also works on a replica. */
void
per_sample_ro(struct client *c, const struct resp_args *a)
{
	char say[200];
	const char *why;
	struct sample_request k;

	if (!read_request(c, a, &k, NULL))
		return;
	if (k.t->buf.settings.times > 0 || k.t->buf.settings.limit.hi > 0) {
		reply_error(c, "ERR this table limits its samples and must "
		    "count them; use PER.SAMPLE");
		return;
	}
	why = check_ready(&k, say, sizeof(say));
	if (why != NULL)
		reply_error(c, "%s", why);
	else
		draw_and_reply(c, a, &k);
}
