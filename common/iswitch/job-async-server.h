/*
 * job-async-server.h - the state of an asynchronous parameter server
 *
 * This is the baseline server of iSwitch's Figure 3.  It uses the same packets
 * as an aggregation switch.  As soon as a vector is complete, the server adds
 * it to a total G.  It answers only the sender of the vector, with the part of
 * G that this sender has not received yet:
 *
 * 	answer = (float)(G - sent),  sent <- sent + answer
 *
 * G and `sent` are binary64 and the answer is binary32, so each answer corrects
 * the rounding error of the answer before it.  A worker applies an answer like
 * a result with one contribution: w <- w - gamma answer.  So the worker gets
 * the weights of the server, which are w0 - gamma G.  The answers to each
 * member have consecutive round numbers, and the server keeps the last
 * JOB_ASYNC_SERVER_KEPT of them.  If a member starts again with w0, one answer
 * brings it all of G.
 *
 * The server collects one vector of each member at a time.  When a segment of a
 * newer push arrives, the server discards an incomplete older push and counts
 * it.
 *
 * The code for jobs and addresses is in other files.  job_async_server_free()
 * frees the memory.
 */
#ifndef INNET_ISWITCH_JOB_ASYNC_SERVER_H
#define INNET_ISWITCH_JOB_ASYNC_SERVER_H

#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/vec.h"
#include "common/wire/seg.h"

enum { JOB_ASYNC_SERVER_KEPT = 16 };	/* number of answers that are kept for
					 * each member */

/* How a segment that arrived was handled. */
enum job_async_server_verdict {
	JOB_ASYNC_SERVER_ADDED,
	JOB_ASYNC_SERVER_WHOLE,		/* the segment was added, and the vector
					 * is complete now */
	JOB_ASYNC_SERVER_DUPLICATE
};

struct job_async_server_member {
	double *sent_total;		/* owned; sum of the answers that this
					 * member got; NULL: the member is
					 * unknown */
	uint8_t *vector;		/* the vector that the member is
					 * sending */
	bool *received;			/* by segment index: has this segment of
					 * `vector` arrived? */
	uint32_t received_count;
	uint32_t push;			/* number of the push that `vector`
					 * belongs to, as in packets */
	bool has_push;			/* the member has sent a push since it
					 * joined */
	int64_t round;			/* round of the next answer to this
					 * member */
	uint8_t *answer;		/* packets of the last
					 * JOB_ASYNC_SERVER_KEPT answers */
	/*
	 * The outbox round in which each answer was posted.  Only the caller
	 * uses this field.
	 */
	uint64_t posted[JOB_ASYNC_SERVER_KEPT];
};

struct job_async_server {
	uint32_t elements, floats, segs;
	size_t stride;			/* number of bytes in the packet of a
					 * segment */
	uint32_t head;			/* number of bytes in the packet of a
					 * segment before the floats */
	double *total;			/* G: sum of all vectors, by element */
	struct job_async_server_member *m;	/* members by id */
	uint32_t room;			/* number of members for which `m` has
					 * room */
	uint64_t vectors, incomplete, nonfinite;
};

/*
 * Return the number of bytes of memory for the total and for the vectors of
 * `members` members.
 */
static inline uint64_t job_async_server_bytes(uint32_t elements,
    uint32_t floats, uint32_t members);

/*
 * Initialise s with a total of 0.  The floats of a packet begin after `head`
 * bytes.  Returns false if there is no memory.
 */
static inline bool job_async_server_init(struct job_async_server *s,
    uint32_t elements, uint32_t floats, uint32_t head);

/* Free the memory of s. */
static inline void job_async_server_free(struct job_async_server *s);

/* Return the member with this id, or NULL if the member is unknown. */
static inline struct job_async_server_member *job_async_server_member(
    const struct job_async_server *s, uint32_t id);

/*
 * Add the member with this id, which is unknown so far.  Returns false if there
 * is no memory.
 */
static inline bool job_async_server_add_member(struct job_async_server *s,
    uint32_t id);

/* Restart member m, which has the initial weights, at round `first`. */
static inline void job_async_server_restart_member(struct job_async_server *s,
    struct job_async_server_member *m, int64_t first);

/* Accept any number for the next push of member m. */
static inline void job_async_server_reset_push(struct job_async_server *s,
    struct job_async_server_member *m);

/* Store segment g from member m.  The caller has checked the length of g. */
static inline enum job_async_server_verdict job_async_server_add_segment(
    struct job_async_server *s, struct job_async_server_member *m,
    const struct seg *g);

/* Has segment i of `push`, or of a later push, arrived from member m? */
static inline bool job_async_server_has(const struct job_async_server_member *m,
    uint32_t push, uint32_t i);

/* Add the complete vector of member m to the total if it is finite. */
static inline void job_async_server_add_vector(struct job_async_server *s,
    const struct job_async_server_member *m);

/*
 * Write the packets of the next answer to member m, and return the round of
 * that answer.
 */
static inline int64_t job_async_server_make_answer(struct job_async_server *s,
    struct job_async_server_member *m);

/* Return the packet of segment i in the answer of `round` to member m. */
static inline uint8_t *job_async_server_packet(const struct job_async_server *s,
    const struct job_async_server_member *m, int64_t round, uint32_t i);

/*
 * Return the packet of segment i in the answer of `round` to member m.  Returns
 * NULL if that answer has not been made, is from a round before `first`, or is
 * no longer kept.
 */
static inline const uint8_t *job_async_server_find_packet(
    const struct job_async_server *s, const struct job_async_server_member *m,
    int64_t first, int64_t round, uint32_t i);

/* implementation */

static inline uint64_t
job_async_server_bytes(uint32_t elements, uint32_t floats, uint32_t members)
{
	const uint64_t segs = seg_count(elements, floats);
	const uint64_t packets = segs * (SEG_HEADER_BYTES + SEG_TAG_BYTES +
	    4 * (uint64_t)floats);

	return 8 * (uint64_t)elements + members * (12 * (uint64_t)elements +
	    segs + JOB_ASYNC_SERVER_KEPT * packets +
	    sizeof(struct job_async_server_member));
}

/* Free the memory of a member.  After this, the member is unknown. */
static inline void
job_async_server_free_member(struct job_async_server_member *m)
{
	free(m->sent_total);
	free(m->vector);
	free(m->received);
	free(m->answer);
	*m = (struct job_async_server_member){ 0 };
}

static inline void
job_async_server_free(struct job_async_server *s)
{
	for (uint32_t i = 0; i < s->room; i++)
		job_async_server_free_member(&s->m[i]);
	free(s->m);
	free(s->total);
	*s = (struct job_async_server){ 0 };
}

static inline bool
job_async_server_init(struct job_async_server *s, uint32_t elements,
    uint32_t floats, uint32_t head)
{
	*s = (struct job_async_server){ .elements = elements, .floats = floats,
	    .segs = seg_count(elements, floats),
	    .stride = head + 4 * (size_t)floats, .head = head };
	s->total = calloc(elements, sizeof(*s->total));
	return s->total != NULL;
}

static inline struct job_async_server_member *
job_async_server_member(const struct job_async_server *s, uint32_t id)
{
	return id < s->room && s->m[id].sent_total != NULL ? &s->m[id] : NULL;
}

static inline bool
job_async_server_add_member(struct job_async_server *s, uint32_t id)
{
	struct job_async_server_member *m = s->m;
	uint32_t room = s->room;

	while (room <= id)
		room = room == 0 ? 8 : room * 2;
	if (room > s->room) {
		m = realloc(m, room * sizeof(*m));
		if (m == NULL)
			return false;
		memset(m + s->room, 0, (room - s->room) * sizeof(*m));
		s->m = m;
		s->room = room;
	}
	m += id;
	m->vector = malloc(4 * (size_t)s->elements);
	m->received = calloc(s->segs, sizeof(*m->received));
	m->answer = malloc(JOB_ASYNC_SERVER_KEPT * s->segs * s->stride);
	m->sent_total = calloc(s->elements, sizeof(*m->sent_total));
	if (m->vector != NULL && m->received != NULL && m->answer != NULL &&
	    m->sent_total != NULL)
		return true;
	job_async_server_free_member(m);
	return false;
}

static inline uint8_t *
job_async_server_packet(const struct job_async_server *s,
    const struct job_async_server_member *m,
    int64_t round, uint32_t i)
{
	return m->answer + ((size_t)(round % JOB_ASYNC_SERVER_KEPT) * s->segs +
	    i) *
	    s->stride;
}

static inline const uint8_t *
job_async_server_find_packet(const struct job_async_server *s,
    const struct job_async_server_member *m, int64_t first,
    int64_t round, uint32_t i)
{
	return round >= first && round < m->round &&
	    m->round - round <= JOB_ASYNC_SERVER_KEPT ?
	    job_async_server_packet(s, m, round, i) :
	    NULL;
}

static inline void
job_async_server_restart_member(struct job_async_server *s,
    struct job_async_server_member *m, int64_t first)
{
	memset(m->sent_total, 0, s->elements * sizeof(*m->sent_total));
	m->round = first;
}

static inline void
job_async_server_reset_push(struct job_async_server *s,
    struct job_async_server_member *m)
{
	memset(m->received, 0, s->segs * sizeof(*m->received));
	m->received_count = 0;
	m->has_push = false;
}

static inline enum job_async_server_verdict
job_async_server_add_segment(struct job_async_server *s,
    struct job_async_server_member *m, const struct seg *g)
{
	if (!m->has_push || seg_before(m->push, g->iteration)) {
		s->incomplete +=
		    m->received_count > 0 && m->received_count < s->segs;
		job_async_server_reset_push(s, m);
		m->has_push = true;
		m->push = g->iteration;
	}
	if (g->iteration != m->push || m->received[g->index])
		return JOB_ASYNC_SERVER_DUPLICATE;
	memcpy(m->vector + 4 * (size_t)g->index * s->floats, g->vec,
	    4 * (size_t)g->n);
	m->received[g->index] = true;
	return ++m->received_count == s->segs ? JOB_ASYNC_SERVER_WHOLE :
	    JOB_ASYNC_SERVER_ADDED;
}

static inline bool
job_async_server_has(const struct job_async_server_member *m, uint32_t push,
    uint32_t i)
{
	return m->has_push && (seg_before(push, m->push) ||
	    (push == m->push && m->received[i]));
}

static inline void
job_async_server_add_vector(struct job_async_server *s,
    const struct job_async_server_member *m)
{
	if (!vec_finite(m->vector, s->elements)) {
		s->nonfinite++;
		return;
	}
	s->vectors++;
	for (uint32_t k = 0; k < s->elements; k++)
		s->total[k] += (double)vec_get(m->vector, k);
}

static inline int64_t
job_async_server_make_answer(struct job_async_server *s,
    struct job_async_server_member *m)
{
	const uint32_t t = (uint32_t)m->round & (SEG_ITERATIONS - 1);
	uint32_t k = 0;

	for (uint32_t i = 0; i < s->segs; i++) {
		uint8_t *p = job_async_server_packet(s, m, m->round, i);
		const uint32_t n = seg_floats_at(s->elements, s->floats, i);

		seg_put(p, t, 1, i);
		p += s->head;
		for (uint32_t e = 0; e < n; e++, k++) {
			const double lacks = s->total[k] - m->sent_total[k];
			const float a = (float)(lacks > (double)FLT_MAX ?
			    (double)FLT_MAX : lacks < -(double)FLT_MAX ?
			    -(double)FLT_MAX : lacks);

			vec_set(p, e, a);
			m->sent_total[k] += (double)a;
		}
	}
	return m->round++;
}

#endif
