/*
 * rounds.h - the pushes and rounds of a member of an asynchronous job
 *
 * The segments that a member sends have the number of its push, and the
 * segments that it receives have the number of a round of the job
 * (innet-iswitch(7)).  A round is complete for a member when it has all
 * segments of that round and of the rounds before it.  The time from one
 * complete round to the next is an iteration.
 *
 * The staleness of a gradient is t_s - t_w: the number of rounds that were
 * complete when the first segment of the gradient was seen, minus the number of
 * rounds that were complete when the first segment of the previous push was
 * seen.  This assumes that a worker reads its weights when it sends a gradient.
 * Gradients that a worker discards are not in the capture.  A parameter server
 * answers each push separately.  With such a server, the staleness is the
 * number of pushes of other members that were complete since the previous push.
 *
 * A round of the job is reported when it is complete for all members, but at
 * the latest ROUNDS_KEPT rounds later.  At most ROUNDS_KEPT rounds are open.
 */
#ifndef INNET_AOM_ROUNDS_H
#define INNET_AOM_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-aom/timing/job.h"

enum { ROUNDS_KEPT = 16 };

/* One push or round of a member. */
struct rounds_part {
	bool open;
	int64_t number;
	uint32_t vectors;	/* number of vectors in the sum of the round */
	struct job_side side;
};

struct rounds {
	bool begun;		/* push is set */
	struct rounds_part push;	/* the newest push */
	bool has_shown;
	int64_t shown;		/* number of complete rounds when `push`
				 * began */
	bool has_base;		/* used with a parameter server: base is set */
	uint64_t base;		/* number of vectors that the server had applied
				 * when it answered the member's last push */
	struct rounds_part round[ROUNDS_KEPT];	/* by number % ROUNDS_KEPT */
	bool has_round;		/* newest is set */
	int64_t newest;
	bool has_next;		/* next is set */
	int64_t next;
	bool has_over;		/* over_ns, the end of round next - 1, is set */
	uint64_t over_ns;
};

/*
 * Add segment s, which member m sent or received; s has the iteration number of
 * its packet.
 */
void rounds_add_segment(struct job *j, struct job_context *context, uint32_t m,
    const struct job_segment *s);

/* Record that member m of j joins and has all rounds before `next`. */
void rounds_join(struct job *j, struct job_context *context, uint32_t m,
    uint32_t next);

/* End and free the rounds of member m. */
void rounds_end(struct job *j, struct job_context *context, uint32_t m);

/* Report the job's rounds up to number `last`, in order. */
void rounds_close(struct job *j, struct job_context *context, int64_t last);

#endif
