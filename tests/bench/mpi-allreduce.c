/*
 * mpi-allreduce - mpi-allreduce BYTES ROUNDS: measure how long MPI takes for a
 * sum
 *
 * Every rank contributes the same vector of BYTES / 4 float32 each round, and
 * starts the next round as soon as it has the sum, like innet-worker --interval
 * 0.  Rank 0 prints percentiles over the rounds of all ranks.  The program
 * checks the first and the last sum, whose time is not measured.  mpirun
 * chooses transport and algorithm.
 */
#include <sys/types.h>

#include <err.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/num.h"
#include "common/base/stats.h"

enum { WARM_ROUNDS = 2 };

/* Return element i of rank 0; rank r has r + 1 times as much. */
static float
element(size_t i)
{
	return (float)(i % 97);
}

static void
sum(const float *mine, float *all, size_t floats)
{
	MPI_Allreduce(mine, all, (int)floats, MPI_FLOAT, MPI_SUM,
	    MPI_COMM_WORLD);
}

/*
 * Sum one round into a vector of wrong values, all of which must become right.
 */
static void
check(const float *mine, float *all, size_t floats, int ranks)
{
	const float times = (float)(ranks * (ranks + 1) / 2);

	for (size_t i = 0; i < floats; i++)
		all[i] = -1;
	sum(mine, all, floats);
	for (size_t i = 0; i < floats; i++)
		if (all[i] != times * element(i))
			errx(1, "element %zu of the sum is %g, not %g", i,
			    (double)all[i], (double)(times * element(i)));
}

int
main(int argc, char *argv[])
{
	uint64_t bytes, rounds;
	float *mine, *all;
	double *ms, *every = NULL;
	size_t floats, n;
	int rank, ranks;

	MPI_Init(&argc, &argv);
	if (argc != 3 || num_u64(argv[1], 4, INT32_MAX, &bytes) != NULL ||
	    num_u64(argv[2], 1, 1000000, &rounds) != NULL)
		errx(2, "usage: mpi-allreduce BYTES ROUNDS");
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);

	floats = (size_t)bytes / 4;
	n = (size_t)rounds * (size_t)ranks;
	mine = malloc(floats * sizeof(*mine));
	all = malloc(floats * sizeof(*all));
	ms = malloc((size_t)rounds * sizeof(*ms));
	if (rank == 0)
		every = malloc(n * sizeof(*every));
	if (mine == NULL || all == NULL || ms == NULL ||
	    (rank == 0 && every == NULL))
		err(1, "%zu floats, %zu rounds", floats, n);
	for (size_t i = 0; i < floats; i++)
		mine[i] = (float)(rank + 1) * element(i);

	check(mine, all, floats, ranks);
	MPI_Barrier(MPI_COMM_WORLD);
	for (size_t k = 0; k < WARM_ROUNDS; k++)
		sum(mine, all, floats);
	for (size_t k = 0; k < rounds; k++) {
		const double begin = MPI_Wtime();

		sum(mine, all, floats);
		ms[k] = (MPI_Wtime() - begin) * 1e3;
	}
	check(mine, all, floats, ranks);

	MPI_Gather(ms, (int)rounds, MPI_DOUBLE, every, (int)rounds, MPI_DOUBLE,
	    0, MPI_COMM_WORLD);
	if (rank == 0) {
		printf("{\"bytes\":%zu,\"ranks\":%d,\"rounds\":%zu,"
		    "\"mean_ms\":%.4f,\"median_ms\":%.4f,\"p10_ms\":%.4f,"
		    "\"p90_ms\":%.4f}\n",
		    floats * 4, ranks, (size_t)rounds,
		    stats_mean(every, n), stats_percentile(every, n, 0.5),
		    stats_percentile(every, n, 0.1),
		    stats_percentile(every, n, 0.9));
	}
	free(every);
	free(ms);
	free(all);
	free(mine);
	MPI_Finalize();
	return 0;
}
