/*
 * job-resend.h - results that a member gets once more, and how often
 *
 * What of a member's comes over and over, by whoever sends it, is not answered
 * as often: one limit for the sums of a job and for the answers of a server
 * (job-async-server.h), whatever asks for them.
 */
#ifndef INNET_ISWITCH_JOB_RESEND_H
#define INNET_ISWITCH_JOB_RESEND_H

#include <stdbool.h>
#include <stdint.h>

#include "common/iswitch/job-whole-vectors.h"

/* Results that member m has been given so far: the job's, or its own. */
static inline uint64_t
job_given(const struct job *j, const struct member *m)
{
	const uint32_t id = (uint32_t)(m - j->members.m);

	return !j->cf->server ? j->n[JOB_RESULTS] + j->n[JOB_FROM_PARENT] :
	    (uint64_t)job_async_server_member(&j->ps, id)->round * j->ps.segs;
}

/*
 * May member m, who was heard just now, have a result again?  Four for each
 * new one, as many as he may lack of what is kept saved up at most, and ten a
 * second.
 */
static inline bool
job_may_resend(struct job *j, struct member *m)
{
	const uint64_t results = job_given(j, m);
	const uint64_t most = JOB_AGAIN_EACH * (uint64_t)j->a.s.segs *
	    (j->a.s.depth > 2 ? j->a.s.depth : 2);

	m->again += JOB_AGAIN_EACH * (results - m->again_results);
	m->again = m->again > most ? most : m->again;
	m->again_results = results;
	if (m->again == 0 && m->heard_ns - m->again_ns >= JOB_AGAIN_MS *
	    UINT64_C(1000000)) {
		m->again_ns = m->heard_ns;
		m->again = 1;
	}
	if (m->again == 0) {
		j->n[JOB_WITHHELD]++;
		return false;
	}
	m->again--;
	return true;
}

/* False if it is not sent, for it was too often. */
static inline bool
job_resend(struct job *j, struct member *m, const uint8_t *p)
{
	if (!job_may_resend(j, m))
		return false;
	sums_kept_at(&j->a, p)->posted = outbox_add(j->out, POST_ONE, j->self,
	    &m->at, job_tos(j), p, sums_result_bytes(&j->a, p));
	return true;
}

/* The same of segment i of a server's answer to member id, of round t. */
static inline bool
job_resend_served(struct job *j, uint32_t id, const uint8_t *p, int64_t t,
    uint32_t i)
{
	if (!job_may_resend(j, &j->members.m[id]))
		return false;
	job_async_server_member(&j->ps, id)->posted[t %
	    JOB_ASYNC_SERVER_KEPT] = job_post_served(j, id, p, i);
	return true;
}

#endif
