/* job.c - store the members and the counts of a job */
#include "cmd/innet-aom/timing/job.h"

#include <stdlib.h>

#include "common/base/message.h"
#include "common/wire/seg.h"

void
job_init(struct job *j, struct job_context *context, const union addr *at,
    int32_t number)
{
	*j = (struct job){ .context = context, .at = *at, .number = number };
}

void
job_free(struct job *j)
{
	free(j->member);
	free(j->closing);
	durations_free(&j->iteration);
}

int32_t
job_add_member(struct job *j, const union addr *at)
{
	if (j->members == JOB_MEMBERS_MAX)
		return -1;
	if (j->members == j->room) {
		j->room = j->room == 0 ? 4 : 2 * j->room;
		j->member = realloc(j->member, j->room * sizeof(*j->member));
		if (j->member == NULL)
			err(1, "no memory for %u members", j->room);
	}
	j->member[j->members] = (struct job_member){ .at = *at, .worker = -1 };
	return (int32_t)j->members++;
}

void
job_add_time(struct job *j, uint64_t ns)
{
	if (!durations_add(&j->iteration, ns))
		err(1, "no memory for %zu times",
		    durations_kept(&j->iteration) +
		    1);
}

void
job_count(struct job *j, int32_t m, enum job_count what, uint64_t by)
{
	j->n[what] += by;
	if (m >= 0)
		j->member[m].n[what] += by;
}

void
job_count_at(struct job *j, int32_t m, int64_t t, enum job_count what)
{
	struct job_iteration *it = &j->it[t & 1];

	job_count(j, m, what, 1);
	if (it->open && it->iteration == t)
		it->n[what]++;
}

void
job_mark_loss(struct job *j, int64_t t, uint64_t now_ns, bool sure)
{
	struct job_iteration *it = &j->it[t & 1];

	if (!it->open || it->iteration != t)
		return;
	if (it->repair_from_ns == 0)
		it->repair_from_ns = now_ns;
	it->lost |= sure;
}

int64_t
job_unwrap(const struct job *j, uint32_t iteration)
{
	const uint32_t d = (iteration - (uint32_t)j->newest) &
	    (SEG_ITERATIONS - 1);

	if (!j->begun)
		return iteration;
	return j->newest + (d < SEG_ITERATIONS / 2 ? (int64_t)d :
	    (int64_t)d - SEG_ITERATIONS);
}
