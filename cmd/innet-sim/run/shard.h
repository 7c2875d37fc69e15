/*
 * shard.h - do a part of all runs in this process, and join the parts later
 *
 * A part is a file, I-of-N.part, that consists of lines of JSON.  The first
 * line describes the simulation; it is the same in all parts.  The second line
 * describes what this part did.  Then there is a line for each of its runs,
 * with all figures in full precision.  The last line has the CRC-32C of all
 * lines before it.  Therefore N processes produce the same bytes as one
 * process.  They can run on any machines, and need a shared folder only at the
 * end.
 */
#ifndef INNET_SIM_SHARD_H
#define INNET_SIM_SHARD_H

#include "cmd/innet-sim/run/runner.h"

enum { SHARD_PARTS_MAX = 100000 };

/*
 * Parse a shard such as "3/8", or "auto" for the position of this job in the
 * job array.  Returns NULL, or an error message.
 */
const char *shard_parse(const char *s, struct runner_shard *to);

/*
 * Write the shard of r, whose runs are done, to the folder dir, which is
 * created if needed.  `scenario` is the text of the scenario with all
 * settings.  Returns 0, or 1 after a warning.
 */
int shard_write(const struct runner *r, const char *dir, const char *scenario,
    double seconds);

/* All parts of a sharded simulation. */
struct shard_parts {
	const char *dir;	/* borrowed */
	char **path;
	size_t n;
	char *what;	/* the first line, which is the same in all parts */
	uint64_t of;		/* number of parts that must exist */
	double seconds;		/* total time of all parts */
};

/*
 * Open the parts in dir.  Returns the scenario of the parts, which the caller
 * frees, and sets the seed, the number of runs and the kind of rows in r.
 * Exits 1 if there are no parts, or if they do not belong together.
 */
cJSON *shard_open(struct shard_parts *s, const char *dir, struct runner *r);

/*
 * Read all rows of r, whose points must have been read.  If parts are missing,
 * print their numbers and exit 1.  Also exit 1 if a part is damaged.  Frees the
 * memory that s owns.
 */
void shard_read(struct shard_parts *s, struct runner *r);

#endif
