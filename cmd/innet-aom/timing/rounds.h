/*
 * rounds.h - the pushes and rounds of one member of a job out of step
 *
 * What a member sends counts its own pushes, and what it gets the rounds of the
 * job, each segment by itself (innet-iswitch(7)).  A round is over for a member
 * when it has all of its segments, and those of the rounds before; from one
 * such to the next is an iteration.  A gradient's staleness is t_s - t_w: the
 * rounds that were over when its first segment was seen, less those when the
 * first of the push before was.  That is so where weights are handed out when a
 * gradient is sent, and what was discarded meanwhile is not seen.  Behind a
 * server, which answers each push by itself, it is the pushes of others that
 * were whole between the one before and this.
 *
 * A round of the job is reported when it is over for all members, or
 * ROUNDS_KEPT rounds later.
 *
 * ROUNDS_KEPT rounds are open.  Owns its memory: rounds_free().
 */
#ifndef INNET_AOM_ROUNDS_H
#define INNET_AOM_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-aom/timing/job.h"

enum { ROUNDS_KEPT = 16 };

/* One push, or round, of a member. */
struct rounds_part {
	bool open;
	int64_t number;
	uint32_t vectors;	/* inside */
	struct job_side side;
};

struct rounds {
	bool begun;		/* a push was seen: */
	struct rounds_part push;	/* its newest */
	bool has_shown;
	int64_t shown;		/* rounds over when that began */
	bool has_base;		/* behind a server: it was told of: */
	uint64_t base;		/* vectors that are applied */
	struct rounds_part round[ROUNDS_KEPT];	/* by number */
	bool has_round;		/* of a round: */
	int64_t newest;
	bool has_next;		/* a round was whole, all before this are */
	int64_t next;
	bool has_over;		/* the one before next ended, and is known */
	uint64_t over_ns;
};

/* Member m sent a segment, or got one; iteration is as on the wire. */
void rounds_add_segment(struct job *j, struct job_context *context, uint32_t m,
    const struct job_segment *s);

/* Member m of j joins, and has the rounds before next. */
void rounds_join(struct job *j, struct job_context *context, uint32_t m,
    uint32_t next);

/* No more comes to member m. */
void rounds_end(struct job *j, struct job_context *context, uint32_t m);

/* Report what there is of the job's rounds up to last, in order. */
void rounds_close(struct job *j, struct job_context *context, int64_t last);

#endif
