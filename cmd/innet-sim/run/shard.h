/*
 * shard.h - a part of all runs here, the others elsewhere; put together again
 *
 * A part is a file, I-of-N.part, of lines of JSON: all that says what was
 * simulated, which is the same in every part of a whole; what this part did;
 * a line for each of its runs, every figure as it was; and the CRC-32C of all
 * these.  So N processes anywhere, which need only share a folder in the end,
 * make what one makes alone, to the last byte.
 */
#ifndef INNET_SIM_SHARD_H
#define INNET_SIM_SHARD_H

#include "cmd/innet-sim/run/runner.h"

enum { SHARD_PARTS_MAX = 100000 };

/* "3/8", or "auto": as the job array has it.  NULL, or what is wrong. */
const char *shard_parse(const char *s, struct runner_shard *to);

/*
 * Write the shard of r, which is done, to the folder dir, which is created if
 * needed; scenario is the text of the scenario with all settings.  Return 0, or
 * 1 after a warning.
 */
int shard_write(const struct runner *r, const char *dir, const char *scenario,
    double seconds);

/* The parts of a whole. */
struct shard_parts {
	const char *dir;	/* borrowed */
	char **path;
	size_t n;
	char *what;		/* the first line, of each of them */
	uint64_t of;		/* parts that there should be */
	double seconds;		/* that they took, one after the other */
};

/*
 * The scenario that the parts in dir are of, the caller's, and r's seed, runs
 * and rows.  Exits 1 if there are none, or they are not of one whole.
 */
cJSON *shard_open(struct shard_parts *s, const char *dir, struct runner *r);

/*
 * All of r's rows, whose points are read.  Exits 1 if parts are missing, which
 * are named, or damaged.  Frees what s has.
 */
void shard_read(struct shard_parts *s, struct runner *r);

#endif
