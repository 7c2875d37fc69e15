/*
 * timing.h - innet-aom of programs iswitch and dlp: the times of iterations
 */
#ifndef INNET_AOM_TIMING_H
#define INNET_AOM_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-aom/timing/job.h"
#include "cmd/innet-aom/timing/packets.h"
#include "cmd/innet-aom/timing/figures.h"
#include "common/base/opt.h"

enum timing_program { TIMING_ISWITCH, TIMING_DLP };
enum timing_by { TIMING_JOB, TIMING_MEMBER, TIMING_ITERATION };

struct timing_conf {
	enum timing_program program;
	enum timing_by by;
	enum sheet_print print;
	const char *path[PACKETS_FILES_MAX];
	size_t files;
	const char *columns;	/* or NULL */
	bool total, async, late, strict, quiet, verbose;
	uint64_t from_ns, until_ns;
	bool relative_from, relative_until;	/* to the first packet */
	bool has_switch;
	union addr at;		/* the switch */
	uint16_t port;		/* of dlp; 0: both usual ones */
};

/*
 * The command line again, of a table of all options; those that the program has
 * no use for are misuse.
 */
struct timing_conf timing_parse(const struct opt_tool *tool,
    const char *program, int argc, char *argv[]);

/* The whole run; the exit status. */
int timing_run(const struct timing_conf *cf);

/* timing-rows.c: the columns of a program's rows, and rows. */
const struct sheet_column *timing_columns(enum timing_program program,
    enum timing_by by);
void timing_job_row(struct sheet *s, struct job *j);
void timing_member_rows(struct sheet *s, const struct job *j);
void timing_iteration_row(struct sheet *s, const struct job *j,
    const struct job_closed *c);

/* Add the sums of j to those of all, whose address has no family. */
void timing_add(struct job *all, const struct job *j);

#endif
