/*
 * launcher.h - read the rank and the number of ranks from a job launcher
 *
 * mpirun and srun pass these numbers in environment variables.  If several
 * launchers are nested, the variables of the innermost one are used, because in
 * a batch job of Slurm every process has a SLURM_PROCID, even if mpirun started
 * it.  In a job array, other variables contain the number of the task in the
 * array.  These functions are for tools only, because they exit with status 2
 * if there is no launcher.
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

/*
 * Return the value of the first of n environment variables that is set.  If no
 * variable is set, or if the value is not in [min, max], print an error and
 * exit with status 2.
 */
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
	errx(2, n == 1 ? "%s auto: %s is not set; start the tool as a "
	    "Slurm job array, or give a number" :
	    "%s auto: none of %s is set; start the tool under mpirun or "
	    "srun, or give a number", option, list);
}

/* Return the rank of this process, which must be at most max. */
static inline uint64_t
launcher_rank(const char *option, uint64_t max)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_RANK",
	    "PMIX_RANK", "PMI_RANK", "SLURM_PROCID" };

	return launcher_number(option, names, sizeof(names) / sizeof(*names),
	    0, max);
}

/* Return the number of ranks, which must be from 1 to max. */
static inline uint64_t
launcher_size(const char *option, uint64_t max)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_SIZE",
	    "PMI_SIZE", "SLURM_NTASKS" };

	return launcher_number(option, names, sizeof(names) / sizeof(*names),
	    1, max);
}

/*
 * Return one of the numbers that Slurm passes to a task of a job array in
 * environment variables.
 */
static inline uint64_t
launcher_slurm(const char *option, const char *name)
{
	return launcher_number(option, &name, 1, 0, UINT32_MAX);
}

/*
 * Store in *at the position of this task in its job array, counted from 0, and
 * in *of the number of tasks in the array.  With --array=3-9:2, task 7 has
 * position 2 of 4.  The difference between successive indices must be constant,
 * because otherwise the position cannot be computed from the variables.
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
