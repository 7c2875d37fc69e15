/*
 * child.h - the training process that innet-worker carries
 *
 * Its standard input and output are pipes with the gradient stream, as
 * tcpclient gives a program its connection.  Nothing here blocks: what is to
 * be written waits in a buffer, what was read is handed out message by
 * message.
 */
#ifndef INNET_WORKER_CHILD_H
#define INNET_WORKER_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/stream.h"

struct child {
	const char *name;		/* argv[0], for messages */
	pid_t pid;			/* 0: none is running */
	int to, from;			/* our ends of the pipes, or -1 */
	struct stream_in in;
	uint8_t *out;			/* what is still to be written */
	size_t out_at, out_have, out_room;
	int status;			/* of wait(2), once pid is 0 */
};

/* Start argv or exit 1; wait_mask is the signal mask the child gets. */
void child_start(struct child *c, char *argv[], const sigset_t *wait_mask);

/* Queue a message for the child and write what goes without waiting. */
void child_send(struct child *c, const struct stream_head *h,
    const void *body);

/* The pipe has room: write on.  The child's end of file closes it. */
void child_write(struct child *c);

/*
 * The next message: 1; 0 none yet; -1 the child has ended its output; -2 it
 * is no gradient stream, which has been said.
 */
int child_next(struct child *c, struct stream_head *h, const uint8_t **body);

/*
 * End it: close its input and read on, wait up to patience_ns, then SIGTERM,
 * then as long again, then SIGKILL.  0, or 1 after a line if it failed; how it
 * exits does not count as a failure if the end was asked for.
 */
int child_end(struct child *c, uint64_t patience_ns, bool asked);

/* Has it ended, whoever may still hold its pipe? */
bool child_gone(struct child *c);

/* Bytes of results that it has not read yet. */
size_t child_behind(const struct child *c);

#endif
