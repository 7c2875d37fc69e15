/*
 * checkpoint.h - save and restore the state of training
 *
 * A checkpoint begins with a policy (policy-file.h) whose weights carry the
 * iteration of the gradient stream.  The policy is followed by the settings
 * that must be the same when training continues, the state of the environments,
 * random generators and optimizer, and the counts of steps, episodes and
 * gradients.  The last four bytes are the CRC-32C of all bytes before them.  A
 * checkpoint is taken after a learning phase, when nothing is in progress.  The
 * checkpoint is written completely or not at all, in the byte order of the
 * machine.
 */
#ifndef INNET_AGENT_CHECKPOINT_H
#define INNET_AGENT_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-agent/learner.h"
#include "cmd/innet-agent/net/optimizer.h"
#include "cmd/innet-agent/snapshot.h"

struct checkpoint {
	const char *path;	/* path of the file, borrowed; NULL: write no
				 * checkpoint */
	uint64_t every;		/* number of updates between two writes of the
				 * file */
	struct learner *l;	/* the learner, optimizer and iteration are
				 * borrowed */
	struct optimizer *optimizer;
	uint64_t *iteration;	/* iteration of the stream; NULL: no stream */
	/* If not NULL, more(arg, s) names further parts of the state. */
	void (*more)(void *arg, struct snapshot *s);
	void *arg;
	struct snapshot last;	/* newest checkpoint; empty: none; owned */
	uint64_t updates;	/* number of updates before the newest
				 * checkpoint */
	uint64_t written;	/* number of updates before the checkpoint in
				 * the file */
	bool there;		/* the file was written in this run */
};

/* Make the current state the newest checkpoint, in memory only. */
void checkpoint_take(struct checkpoint *c);

/*
 * Restore the state from the file at path.  Return 0, or -1 after printing a
 * message.
 */
int checkpoint_load(struct checkpoint *c, const char *path);

/*
 * Take a checkpoint after a learning phase and, if it is due, write it to the
 * file.  The argument is a struct checkpoint.  If the file cannot be written,
 * print a message; training continues, and the next write may succeed.
 */
void checkpoint_lesson(void *checkpoint);

/*
 * Write the newest checkpoint to the file, unless it is there already.  If no
 * learning phase was completed, write only the policy.  Return 0, or -1 after
 * printing a message.
 */
int checkpoint_end(struct checkpoint *c);

/* Free the newest checkpoint. */
void checkpoint_free(struct checkpoint *c);

#endif
