/*
 * rank.h - one rank of a job whose gradients MPI sums
 *
 * Takes a gradient from the training process, or makes one up, sums it over
 * all ranks by MPI_Allreduce, and answers with the sum: the sync mode of
 * innet-stream(5).
 */
#ifndef INNET_MPI_RANK_H
#define INNET_MPI_RANK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct rank_conf {
	char **argv;			/* the command, NULL-terminated */
	uint32_t synthetic;		/* elements; 0: a command is run */
	uint64_t count;			/* gradients; 0: no limit */
	uint64_t give_up_ns;		/* without what is waited for */
	uint64_t silence_ns;		/* of the command, at most */
	volatile sig_atomic_t *stop;	/* the signal that asked us to */
	const sigset_t *wait_mask;	/* signals let in while waiting */
	FILE *json;			/* where it goes; NULL: nowhere */
	bool check, quiet, progress;
};

/* Work until the end, MPI and all.  The exit status. */
int rank_run(const struct rank_conf *cf);

/*
 * A signal has come.  Within a call of MPI, which nothing else can end, it
 * ends the process: SIGALRM, the end of its time, says what was waited for.
 */
void rank_signal(int sig);

#endif
