/*
 * rank.h - run one rank of a job whose gradients MPI sums
 *
 * The rank takes a gradient from the training process, or a synthetic one, sums
 * it over all ranks by MPI_Allreduce, and answers with the sum: the sync mode
 * of innet-stream(5).
 */
#ifndef INNET_MPI_RANK_H
#define INNET_MPI_RANK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct rank_conf {
	char **argv;			/* the command, NULL-terminated */
	uint32_t synthetic;		/* elements; 0: run the command */
	uint64_t count;			/* gradients; 0: no limit */
	uint64_t give_up_ns;		/* limit of each wait */
	uint64_t silence_ns;		/* limit for a silent command */
	volatile sig_atomic_t *stop;	/* the signal to stop, or 0 */
	const sigset_t *wait_mask;	/* signal mask while waiting */
	FILE *json;			/* stream of --json, or NULL */
	bool check, quiet, progress;
};

/* Run the rank, from MPI_Init to MPI_Finalize; return the exit status. */
int rank_run(const struct rank_conf *cf);

/*
 * Handle a signal.  Within a call of MPI, which cannot be ended otherwise, it
 * ends the process; SIGALRM, its time limit, prints what the rank waited for.
 */
void rank_signal(int sig);

#endif
