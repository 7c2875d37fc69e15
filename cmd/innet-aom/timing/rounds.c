/* rounds.c - track the pushes and rounds of an asynchronous job */
#include "cmd/innet-aom/timing/rounds.h"

#include <stdlib.h>

#include "common/base/message.h"
#include "common/wire/seg.h"

/* Extend a 24-bit number to the value that is nearest to `other`. */
static int64_t
unwrap_near(int64_t other, int64_t number)
{
	const uint32_t d = ((uint32_t)number - (uint32_t)other) &
	    (SEG_ITERATIONS - 1);

	return other + (d < SEG_ITERATIONS / 2 ? (int64_t)d :
	    (int64_t)d - SEG_ITERATIONS);
}

static bool
is_whole(const struct job *j, const struct rounds_part *p)
{
	return p->open && job_segs(j) > 0 && p->side.segments.n == job_segs(j);
}

static void
clear_part(struct job_context *context, struct rounds_part *p)
{
	if (p->open)
		bitmap_clear(&p->side.segments, &context->budget);
	p->open = false;
}

/* End a push, because another push begins or the capture ends. */
static void
end_push(struct job *j, struct job_context *context, struct job_member *m)
{
	struct rounds_part *p = &m->rounds->push;

	if (is_whole(j, p)) {
		const uint64_t ns = p->side.last_ns - p->side.first_ns;

		stats_sum_add(&m->phase[JOB_SEND], ns);
		stats_sum_add(&j->phase[JOB_SEND], ns);
	}
	clear_part(context, p);
}

static void
count_staleness(struct job *j, struct job_member *m, uint64_t stale)
{
	stats_sum_add(&m->staleness, stale);
	stats_sum_add(&j->staleness, stale);
	if (stale > j->stale_most)
		j->stale_most = stale;
}

/*
 * Apply a push that a server has received completely.  The answer to its sender
 * includes all pushes that were applied so far.
 */
static void
apply_push(struct job *j, struct job_member *m)
{
	struct rounds *r = m->rounds;

	if (r->has_base)
		count_staleness(j, m, j->applied - r->base);
	r->has_base = true;
	r->base = ++j->applied;
}

/* Add the staleness of a gradient when its first segment appears. */
static void
add_staleness(struct job *j, struct job_member *m, bool follows)
{
	struct rounds *r = m->rounds;

	if (follows && r->has_shown && r->has_next && !j->answers)
		count_staleness(j, m, (uint64_t)(r->next - r->shown));
	r->has_shown = r->has_next;
	r->shown = r->next;
}

/*
 * Return the push to which a segment from a member belongs, or NULL if the push
 * is over.
 */
static struct rounds_part *
get_push(struct job *j, struct job_context *context, struct job_member *m,
    int64_t number)
{
	struct rounds *r = m->rounds;
	struct rounds_part *p = &r->push;
	const int64_t n = r->begun ? unwrap_near(p->number, number) : number;
	const bool again = r->begun && n < p->number - JOB_BEHIND;

	if (p->open && n == p->number)
		return p;
	if (r->begun && n <= p->number && !again)
		return NULL;
	end_push(j, context, m);
	j->restarts += again;
	add_staleness(j, m, !r->begun || n == p->number + 1);
	*p = (struct rounds_part){ .open = true, .number = n };
	r->begun = true;
	m->iterations++;
	return p;
}

/*
 * Return the round to which a segment sent to a member belongs, or NULL if the
 * round is over.
 */
static struct rounds_part *
get_round(struct job_context *context, struct rounds *r, int64_t number)
{
	const int64_t n = r->has_round || r->has_next ?
	    unwrap_near(r->newest, number) : number;
	struct rounds_part *p = &r->round[(uint64_t)n % ROUNDS_KEPT];

	if (p->open && p->number == n)
		return p;
	if (r->has_round && n <= r->newest - ROUNDS_KEPT)
		return NULL;
	if (r->has_next && n < r->next)
		return NULL;
	clear_part(context, p);
	*p = (struct rounds_part){ .open = true, .number = n };
	if (!r->has_round || n > r->newest)
		r->newest = n;
	r->has_round = true;
	return p;
}

void
rounds_close(struct job *j, struct job_context *context, int64_t last)
{
	struct job_closed *c;

	do {
		c = NULL;
		for (int i = 0; i < ROUNDS_KEPT && j->closing != NULL; i++) {
			struct job_closed *of = &j->closing[i];

			if (of->members > 0 && of->iteration <= last &&
			    (c == NULL || of->iteration < c->iteration))
				c = of;
		}
		if (c == NULL)
			return;
		c->whole = c->time.count > 0;
		if (c->whole)
			c->iteration_ns = stats_sum_mean(&c->time);
		if (context->report != NULL)
			context->report(context->arg, j, c);
		c->members = 0;
	} while (true);
}

/* Return the entry of a round of the job, or NULL if the round was reported. */
static struct job_closed *
get_closing(struct job *j, struct job_context *context, int64_t number)
{
	struct job_closed *c;

	if (j->closing == NULL)
		j->closing = calloc(ROUNDS_KEPT, sizeof(*j->closing));
	if (j->closing == NULL)
		err(1, "rounds");
	c = &j->closing[(uint64_t)number % ROUNDS_KEPT];
	if (c->members > 0 && c->iteration == number)
		return c;
	if (c->members > 0 && c->iteration > number)
		return NULL;
	rounds_close(j, context, number - ROUNDS_KEPT);
	*c = (struct job_closed){ .iteration = number, .slowest = -1,
	    .start_ns = UINT64_MAX };
	return c;
}

/*
 * Record that one more member has completed a round.  If `timed` is set, the
 * member took ns since its previous round.
 */
static void
add_round(struct job *j, struct job_context *context,
    const struct rounds_part *p, bool timed, uint64_t ns)
{
	struct job_closed *c = get_closing(j, context, p->number);

	if (c == NULL)
		return;
	c->members++;
	if (p->side.first_ns < c->start_ns)
		c->start_ns = p->side.first_ns;
	if (p->vectors > c->vectors)
		c->vectors = p->vectors;
	c->n[JOB_RESULTS] += p->side.segments.n;
	stats_sum_add(&c->phase[JOB_RECEIVE],
	    p->side.last_ns - p->side.first_ns);
	if (timed)
		stats_sum_add(&c->time, ns);
	if (c->members >= j->members)
		rounds_close(j, context, p->number);
}

/* End round `next` of member m, because this round is now complete. */
static void
end_round(struct job *j, struct job_context *context, struct job_member *m,
    uint64_t now_ns)
{
	struct rounds *r = m->rounds;
	struct rounds_part *p = &r->round[(uint64_t)r->next % ROUNDS_KEPT];
	const uint64_t ns = p->side.last_ns - p->side.first_ns;

	stats_sum_add(&m->phase[JOB_RECEIVE], ns);
	stats_sum_add(&j->phase[JOB_RECEIVE], ns);
	if (r->has_over)
		job_add_time(j, now_ns - r->over_ns);
	if (!j->answers)	/* with a server, each member has its own
				 * rounds */
		add_round(j, context, p, r->has_over, now_ns - r->over_ns);
	r->has_over = true;
	r->over_ns = now_ns;
	clear_part(context, p);
	r->next++;
	if (r->next > j->newest) {
		j->newest = r->next;
		j->iterations++;
	}
}

/*
 * End the round `next` of m and the rounds after it, as long as they are
 * complete.
 */
static void
end_rounds(struct job *j, struct job_context *context, struct job_member *m,
    const struct rounds_part *whole, uint64_t now_ns)
{
	struct rounds *r = m->rounds;

	/* `whole` is the first round, or earlier rounds were not captured */
	if (!r->has_next || whole->number - r->next > ROUNDS_KEPT / 2) {
		r->has_next = true;
		r->next = whole->number;
		r->has_over = false;
	}
	while (r->round[(uint64_t)r->next % ROUNDS_KEPT].number == r->next &&
	    is_whole(j, &r->round[(uint64_t)r->next % ROUNDS_KEPT]))
		end_round(j, context, m, now_ns);
}

static struct rounds *
get_rounds(struct job_member *m)
{
	if (m->rounds == NULL)
		m->rounds = calloc(1, sizeof(*m->rounds));
	if (m->rounds == NULL)
		err(1, "rounds");
	return m->rounds;
}

void
rounds_add_segment(struct job *j, struct job_context *context, uint32_t k,
    const struct job_segment *s)
{
	const enum job_count once = s->down ? JOB_RESULTS : JOB_SEGMENTS,
	    again = s->down ? JOB_RESENT : JOB_RETRANSMITTED;
	struct job_member *m = &j->member[k];
	struct rounds_part *p;

	if (j->segs != 0 && s->index >= j->segs) {
		job_count(j, (int32_t)k, JOB_MISMATCHED, 1);
		return;
	}
	get_rounds(m);
	j->has_rounds = true;
	p = s->down ? get_round(context, m->rounds, s->iteration) :
	    get_push(j, context, m, s->iteration);
	if (p == NULL) {
		job_count(j, (int32_t)k, JOB_LATE, 1);
		return;
	}
	switch (bitmap_add(&p->side.segments, &context->budget, s->index)) {
	case BITMAP_NEW: break;
	case BITMAP_NO_ROOM: context->no_room++; return;
	case BITMAP_REPEATED:
		job_count(j, (int32_t)k, s->file == p->side.file ? again :
		    JOB_COPIES, 1);
		return;
	}
	if (p->side.segments.n == 1) {
		p->side.first_ns = s->stamp_ns;
		p->side.file = s->file;
	}
	p->side.last_ns = s->stamp_ns;
	if (s->index >= j->most)
		j->most = s->index + 1;
	job_count(j, (int32_t)k, once, 1);
	if (s->down && s->vectors > p->vectors)
		p->vectors = s->vectors;
	if (!s->down && j->answers && is_whole(j, p))
		apply_push(j, m);
	if (s->down && is_whole(j, p))
		end_rounds(j, context, m, p, s->stamp_ns);
}

void
rounds_join(struct job *j, struct job_context *context, uint32_t m,
    uint32_t next)
{
	struct rounds *r = j->member[m].rounds;

	if (r != NULL && r->has_round && unwrap_near(r->newest, next) <
	    r->newest - ROUNDS_KEPT) {
		rounds_end(j, context, m);
		rounds_close(j, context, INT64_MAX);
		r = NULL;
	}
	if (j->mode != JOB_ASYNC || (r != NULL && (r->begun || r->has_round)))
		return;
	r = get_rounds(&j->member[m]);
	j->has_rounds = true;
	r->has_next = r->has_shown = true;
	r->next = r->shown = r->newest = next;
	/* before the first push, the member has the server's state */
	r->has_base = j->applied == 0;
}

void
rounds_end(struct job *j, struct job_context *context, uint32_t k)
{
	struct job_member *m = &j->member[k];

	if (m->rounds == NULL)
		return;
	end_push(j, context, m);
	for (int i = 0; i < ROUNDS_KEPT; i++)
		clear_part(context, &m->rounds->round[i]);
	free(m->rounds);
	m->rounds = NULL;
}
