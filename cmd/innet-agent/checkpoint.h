/*
 * checkpoint.h - save and restore the state of training
 *
 * A checkpoint is a policy (policy-file.h) whose weights name the iteration of
 * the gradient stream.  Behind it stand the settings that must be the same, the
 * state of environments, random generators and optimizer, the counts, and the
 * CRC-32C of all that.  It is taken after a lesson, when nothing is in
 * progress, and written whole or not at all, in the machine's own byte order.
 */
#ifndef INNET_AGENT_CHECKPOINT_H
#define INNET_AGENT_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/net/optimizer.h"
#include "cmd/innet-agent/snapshot.h"

struct checkpoint {
	const char *path;	/* borrowed; NULL: write none */
	uint64_t every;		/* updates from one written to the next */
	struct learner *l;	/* borrowed, like the next two */
	struct optimizer *optimizer;
	uint64_t *iteration;	/* of the gradient stream; NULL: no stream */
	void (*more)(void *arg, struct snapshot *s);	/* names more parts, */
	void *arg;		/* unless it is NULL */
	struct snapshot last;	/* the newest, owned; empty: none yet */
	uint64_t updates;	/* of it */
	uint64_t written;	/* updates of the one in the file */
	bool there;		/* this run has written the file */
};

/* Take the present state as the newest checkpoint. */
void checkpoint_take(struct checkpoint *c);

/* Restore the state in the file at path: 0, or -1 with a message. */
int checkpoint_load(struct checkpoint *c, const char *path);

/*
 * Take a checkpoint after a lesson, and write it if it is due; the argument is
 * a struct checkpoint.  If it cannot be written, print a message; training goes
 * on and the next one may succeed.
 */
void checkpoint_lesson(void *checkpoint);

/*
 * Write the newest checkpoint, unless it is in the file: 0, or -1 with a
 * message.  If no lesson was completed, write the policy alone.
 */
int checkpoint_end(struct checkpoint *c);

/* Free the newest checkpoint. */
void checkpoint_free(struct checkpoint *c);

#endif
