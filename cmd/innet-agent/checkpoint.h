/*
 * checkpoint.h - what training needs to go on as if it had not ended
 *
 * A checkpoint is a policy (policy-file.h), whose weights name the iteration
 * of the gradient stream, and behind it the state of all else: settings that
 * must be the same, games, generators, the optimizer, the counts; then the
 * CRC-32C of all that.  It is taken after a lesson, for then nothing is under
 * way, and written whole or not at all, in the machine's own byte order.
 */
#ifndef INNET_AGENT_CHECKPOINT_H
#define INNET_AGENT_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/net/optimizer.h"
#include "cmd/innet-agent/snapshot.h"

struct checkpoint {
	const char *path;	/* borrowed; NULL: none is written */
	uint64_t every;		/* updates between those that are written */
	struct learner *l;	/* borrowed, as the next two */
	struct optimizer *optimizer;
	uint64_t *iteration;	/* the stream's; NULL: alone */
	void (*more)(void *arg, struct snapshot *s);	/* names more parts, */
	void *arg;		/* unless it is NULL */
	struct snapshot last;	/* the newest, owned; empty: none yet */
	uint64_t updates;	/* of it */
	uint64_t written;	/* updates of that in the file */
	bool there;		/* the file has one of this run */
};

/* The state as it is now is the newest. */
void checkpoint_take(struct checkpoint *c);

/* Go on from the file at path: 0, or -1 with a message. */
int checkpoint_load(struct checkpoint *c, const char *path);

/*
 * A lesson is over.  What cannot be written gives a message; training goes on,
 * and the next may do better.
 */
void checkpoint_lesson(void *checkpoint);

/*
 * The end: the newest is in the file, 0, or -1 with a message.  Where there is
 * none, for no lesson was over, the file is the policy alone.
 */
int checkpoint_end(struct checkpoint *c);

/* Give back memory. */
void checkpoint_free(struct checkpoint *c);

#endif
