/*
 * rank.h - run one rank of a job whose gradients MPI sums
 *
 * The rank gets gradients from the training process, or creates synthetic ones.
 * It sums each gradient over all ranks with MPI_Allreduce, and sends the sum
 * back in the sync mode of innet-stream(5).
 */
#ifndef INNET_MPI_RANK_H
#define INNET_MPI_RANK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct rank_conf {
	char **argv;			/* command; ends with NULL */
	uint32_t synthetic;	/* number of elements, or 0 for a command */
	uint64_t count;			/* number of gradients; 0: no limit */
	uint64_t give_up_ns;		/* longest time that a call of an MPI
					 * function may take */
	uint64_t silence_ns;	/* longest time for which the command may send
				 * nothing */
	volatile sig_atomic_t *stop;	/* signal to stop, or 0 */
	const sigset_t *wait_mask;	/* signal mask while waiting */
	FILE *json;			/* output of --json, or NULL */
	bool check, quiet, progress;
};

/* Run the rank, from MPI_Init to MPI_Finalize; return the exit status. */
int rank_run(const struct rank_conf *cf);

/*
 * Handle a signal.  A call of an MPI function cannot be interrupted, so a
 * signal that arrives during such a call ends the process.  SIGALRM, which is
 * sent when the time limit of the call is reached, first prints what the rank
 * waited for.
 */
void rank_signal(int sig);

#endif
