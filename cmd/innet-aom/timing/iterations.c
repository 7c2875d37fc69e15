/* iterations.c - track the iterations of a synchronous job */
#include "cmd/innet-aom/timing/iterations.h"

#include <string.h>

/* Return whether a member's part has all segments of the result. */
static bool
has_result(const struct job *j, const struct job_part *p)
{
	return job_segs(j) > 0 && p->down.segments.n == job_segs(j);
}

/* Return whether the first segment of a member's vector was captured. */
static bool
has_begun(const struct job_part *p)
{
	return p->up.segments.n > 0 && bitmap_has_first(&p->up.segments);
}

static bool
has_sent(const struct job *j, const struct job_part *p)
{
	return job_segs(j) > 0 && p->up.segments.n == job_segs(j);
}

/* Add the durations of the phases of member m in an iteration that is over. */
static void
add_phases(struct job *j, struct job_member *m, const struct job_part *p,
    struct job_closed *c)
{
	const struct job_side *up = &p->up, *down = &p->down;
	uint64_t ns[JOB_PHASES], from = up->last_ns;

	if (has_begun(p) && m->has_done && m->done == p->iteration - 1 &&
	    m->done_ns <= up->first_ns) {
		ns[JOB_COMPUTE] = up->first_ns - m->done_ns;
		stats_sum_add(&m->phase[JOB_COMPUTE], ns[JOB_COMPUTE]);
		stats_sum_add(&c->phase[JOB_COMPUTE], ns[JOB_COMPUTE]);
	}
	if (!has_begun(p) || !has_sent(j, p))
		return;
	ns[JOB_SEND] = up->last_ns - up->first_ns;
	stats_sum_add(&m->phase[JOB_SEND], ns[JOB_SEND]);
	stats_sum_add(&c->phase[JOB_SEND], ns[JOB_SEND]);
	if (!has_result(j, p) || down->last_ns < up->last_ns)
		return;
	if (down->first_ns > from)
		from = down->first_ns;
	ns[JOB_WAIT] = from - up->last_ns;
	ns[JOB_RECEIVE] = down->last_ns - from;
	for (int k = JOB_WAIT; k <= JOB_RECEIVE; k++) {
		stats_sum_add(&m->phase[k], ns[k]);
		stats_sum_add(&c->phase[k], ns[k]);
	}
	stats_sum_add(&m->aggregation, down->last_ns - up->first_ns);
	stats_sum_add(&j->aggregation, down->last_ns - up->first_ns);
}

/* The times of an iteration, computed from its parts. */
struct iteration_sums {
	/* Times of the first segment that was sent and of the last result. */
	uint64_t first_ns, last_ns;
	/*
	 * Times at which the slowest and the second slowest member had sent
	 * their vectors.
	 */
	uint64_t slowest_ns, second_ns;
	int32_t slowest;
	bool begun, sent, results;	/* true for all members */
	uint32_t got;		/* number of members for which a result was
				 * seen */
};

static void
add_part(const struct job *j, uint32_t m, const struct job_part *p,
    struct job_closed *c, struct iteration_sums *y)
{
	const struct job_side *up = &p->up, *down = &p->down;

	c->members++;
	y->results &= has_result(j, p);
	y->got += down->segments.n > 0;
	if (down->segments.n > 0 && down->last_ns > y->last_ns)
		y->last_ns = down->last_ns;
	if (down->segments.n > 0 && down->first_ns < c->start_ns)
		c->start_ns = down->first_ns;
	if (up->segments.n == 0)
		return;
	c->contributors++;
	y->begun &= has_begun(p);
	y->sent &= has_sent(j, p);
	if (up->first_ns < y->first_ns)
		y->first_ns = up->first_ns;
	if (y->slowest == -1 || up->last_ns > y->slowest_ns) {
		y->second_ns = y->slowest_ns;
		y->slowest_ns = up->last_ns;
		y->slowest = (int32_t)m;
	} else if (up->last_ns > y->second_ns) {
		y->second_ns = up->last_ns;
	}
}

/*
 * Clear the parts of an iteration.  Record which members got its result, and
 * when they got it.
 */
static void
clear_parts(struct job *j, struct job_context *context,
    const struct job_iteration *it)
{
	for (uint32_t k = it->list, next; k != 0; k = next) {
		struct job_member *m = &j->member[k - 1];
		struct job_part *p = &m->part[it->iteration & 1];

		next = p->next;
		if (has_result(j, p)) {
			m->has_done = true;
			m->done = it->iteration;
			m->done_ns = p->down.last_ns;
		}
		bitmap_clear(&p->up.segments, &context->budget);
		bitmap_clear(&p->down.segments, &context->budget);
		p->open = false;
	}
}

static void
close_iteration(struct job *j, struct job_context *context,
    struct job_iteration *it)
{
	struct job_closed c = { .iteration = it->iteration, .slowest = -1,
	    .vectors = it->vectors, .start_ns = UINT64_MAX };
	struct iteration_sums y = { .slowest = -1, .first_ns = UINT64_MAX,
	    .begun = true, .sent = true, .results = true };

	if (!it->open)
		return;
	memcpy(c.n, it->n, sizeof(c.n));
	for (uint32_t k = it->list; k != 0;) {
		struct job_member *m = &j->member[k - 1];
		const struct job_part *p = &m->part[it->iteration & 1];

		add_part(j, k - 1, p, &c, &y);
		m->iterations += p->up.segments.n > 0;
		add_phases(j, m, p, &c);
		k = p->next;
	}
	if (y.first_ns < c.start_ns)
		c.start_ns = y.first_ns;
	c.whole = c.contributors > 0 && y.begun && y.results && (!it->first ||
	    c.contributors == c.members) && y.last_ns >= y.first_ns;
	if (c.whole) {
		c.iteration_ns = y.last_ns - y.first_ns;
		job_add_time(j, c.iteration_ns);
		c.repaired = it->lost &&
		    it->repair_from_ns < y.last_ns;
	}
	if (c.repaired) {
		c.repair_ns = y.last_ns - it->repair_from_ns;
		stats_sum_add(&j->repair, c.repair_ns);
	}
	if (c.contributors > 1 && y.begun && y.sent) {
		c.slowest = y.slowest;
		c.slowest_by_ns = y.slowest_ns - y.second_ns;
		j->member[y.slowest].slowest++;
		stats_sum_add(&j->slowest_by, c.slowest_by_ns);
	}
	for (int k = 0; k < JOB_PHASES; k++)
		stats_sum_merge(&j->phase[k], &c.phase[k]);
	if (c.vectors > 0)
		j->missing += job_missing(j, c.vectors);
	j->iterations++;
	if (context->report != NULL)
		context->report(context->arg, j, &c);
	clear_parts(j, context, it);
	it->open = false;
}

/* Close the iterations before t, in order. */
static void
close_before(struct job *j, struct job_context *context, int64_t t)
{
	struct job_iteration *a = &j->it[(j->newest - 1) & 1],
	    *b = &j->it[j->newest & 1];

	if (a->open && a->iteration < t)
		close_iteration(j, context, a);
	if (b->open && b->iteration < t)
		close_iteration(j, context, b);
}

void
iterations_end(struct job *j, struct job_context *context)
{
	close_before(j, context, INT64_MAX);
}

/* Return iteration t; open it if it is new.  Return NULL if t is over. */
static struct job_iteration *
get_iteration(struct job *j, struct job_context *context, int64_t t, bool down)
{
	const bool first = !j->begun;
	struct job_iteration *it = &j->it[t & 1];
	bool restarted = false;

	if (j->begun && t < j->newest - JOB_BEHIND && !down) {
		close_before(j, context, INT64_MAX); /* the job restarts */
		for (uint32_t m = 0; m < j->members; m++)
			j->member[m].has_done = false;
		j->restarts++;
		restarted = true;
	} else if (j->begun && t < j->newest - 1) {
		return NULL;
	} else if (j->begun && t > j->newest) {
		close_before(j, context, t - 1);
	}
	if (first || restarted || t > j->newest)
		j->newest = t;
	j->begun = true;
	if (it->open && it->iteration == t)
		return it;
	*it = (struct job_iteration){ .open = true, .iteration = t,
	    .first = first || restarted || (t < j->newest &&
	    j->it[j->newest & 1].first) };
	return it;
}

/* Return the part of member m in an iteration; create the part if needed. */
static struct job_part *
get_part(struct job *j, uint32_t m, struct job_iteration *it)
{
	struct job_part *p = &j->member[m].part[it->iteration & 1];

	if (p->open && p->iteration == it->iteration)
		return p;
	*p = (struct job_part){ .open = true, .iteration = it->iteration,
	    .next = it->list };
	it->list = m + 1;
	return p;
}

void
iterations_add_segment(struct job *j, struct job_context *context, uint32_t m,
    const struct job_segment *s)
{
	const enum job_count once = s->down ? JOB_RESULTS : JOB_SEGMENTS,
	    again = s->down ? JOB_RESENT : JOB_RETRANSMITTED;
	struct job_iteration *it;
	struct job_side *side;
	struct job_part *p;

	if (j->segs != 0 && s->index >= j->segs) {
		job_count(j, (int32_t)m, JOB_MISMATCHED, 1);
		return;
	}
	it = get_iteration(j, context, s->iteration, s->down);
	if (it == NULL) {
		job_count(j, (int32_t)m, JOB_LATE, 1);
		return;
	}
	p = get_part(j, m, it);
	side = s->down ? &p->down : &p->up;
	switch (bitmap_add(&side->segments, &context->budget, s->index)) {
	case BITMAP_NEW: break;
	case BITMAP_NO_ROOM: context->no_room++; return;
	case BITMAP_REPEATED:
		job_count_at(j, (int32_t)m, s->iteration, s->file ==
		    side->file ? again : JOB_COPIES);
		if (s->file == side->file)
			job_mark_loss(j, s->iteration, s->stamp_ns, true);
		return;
	}
	if (side->segments.n == 1) {
		side->first_ns = s->stamp_ns;
		side->file = s->file;
	}
	side->last_ns = s->stamp_ns;
	if (s->index >= j->most)
		j->most = s->index + 1;
	if (s->down && s->vectors > it->vectors)
		it->vectors = s->vectors;
	job_count_at(j, (int32_t)m, s->iteration, once);
}
