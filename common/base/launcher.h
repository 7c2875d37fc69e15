/*
 * launcher.h - read rank and number of ranks from a job launcher
 *
 * mpirun and srun pass them in the environment.  The innermost launcher counts:
 * in a batch job of Slurm every process has a SLURM_PROCID, also those that
 * mpirun started.  In a job array the variables tell which task of the array
 * this is.  Only for tools: without a launcher the functions exit with status
 * 2.
 */
#ifndef INNET_BASE_LAUNCHER_H
#define INNET_BASE_LAUNCHER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"
#include "common/base/num.h"
#include "common/base/opt.h"

/* Return the number in the first of n variables that is set, in [min, max]. */
static inline uint64_t
launcher_number(const char *option, const char *const names[], size_t n,
    uint64_t min, uint64_t max)
{
	char list[128];
	size_t len = 0;
	uint64_t v = 0;

	for (size_t i = 0; i < n && len < sizeof(list); i++) {
		const char *s = getenv(names[i]);

		if (s != NULL) {
			opt_check(names[i], s, num_u64(s, min, max, &v));
			return v;
		}
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
		    i == 0 ? "" : i + 1 < n ? ", " : " and ", names[i]);
	}
	errx(2, n == 1 ? "%s auto: %s is not set; start this as a Slurm job "
	    "array, or give a number" :
	    "%s auto: none of %s is set; start this under mpirun or srun, or "
	    "give a number", option, list);
}

/* Return the rank of this process, at most max. */
static inline uint64_t
launcher_rank(const char *option, uint64_t max)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_RANK",
	    "PMIX_RANK", "PMI_RANK", "SLURM_PROCID" };

	return launcher_number(option, names, sizeof(names) / sizeof(*names),
	    0, max);
}

/* Return the number of ranks, 1 to max. */
static inline uint64_t
launcher_size(const char *option, uint64_t max)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_SIZE",
	    "PMI_SIZE", "SLURM_NTASKS" };

	return launcher_number(option, names, sizeof(names) / sizeof(*names),
	    1, max);
}

/* Return one of the numbers that Slurm gives to a task of a job array. */
static inline uint64_t
launcher_slurm(const char *option, const char *name)
{
	return launcher_number(option, &name, 1, 0, UINT32_MAX);
}

/*
 * Store the place of this task in its job array, from 0, and the number of its
 * tasks: for --array=3-9:2 task 7 has place 2 of 4.  The indices must be one
 * step apart, because otherwise the variables do not tell the place.
 */
static inline void
launcher_array(const char *option, uint64_t *at, uint64_t *of)
{
	const uint64_t id = launcher_slurm(option, "SLURM_ARRAY_TASK_ID");
	const uint64_t min = launcher_slurm(option, "SLURM_ARRAY_TASK_MIN");
	const uint64_t max = launcher_slurm(option, "SLURM_ARRAY_TASK_MAX");
	uint64_t step = 1;

	*of = launcher_slurm(option, "SLURM_ARRAY_TASK_COUNT");
	if (getenv("SLURM_ARRAY_TASK_STEP") != NULL)
		step = launcher_slurm(option, "SLURM_ARRAY_TASK_STEP");
	if (step == 0 || id < min || id > max || (id - min) % step != 0 ||
	    max - min != (*of - 1) * step)
		errx(2, "%s auto: the indices of the job array must have equal "
		    "steps", option);
	*at = (id - min) / step;
}

#endif
