/*
 * options.h - the options of innet-aom, those of all its programs
 *
 * --help prints one table, so there is one.  Each program reads the command
 * line once more with that table and refuses the options of the others.
 */
#ifndef INNET_AOM_OPTIONS_H
#define INNET_AOM_OPTIONS_H

#include "common/base/opt.h"

/* Options that have no letter. */
enum {
	O_SENT = OPT_LONG, O_BY, O_CONSTITUENTS, O_COUNTERS, O_FROM, O_UNTIL,
	O_JSON, O_CSV, O_SERIES, O_COMPARE, O_COMPARE_SENT, O_COMPARE_COUNTERS,
	O_FORMAT, O_TABLE, O_TOTAL, O_COLUMNS, O_FIELD, O_FILTER, O_OFFSET,
	O_ESTIMATE, O_END, O_STRICT, O_SWITCH, O_OUT_OF_STEP, O_UDP_PORT,
	O_ANSWER_EARLY
};

/* Every option that there is, with the words of --help. */
extern const struct opt_tool options_tool;

/*
 * Return the program that --program names: "olaf" (the default), "iswitch" or
 * "dlp".  Misuse of any option ends the process.
 */
const char *options_program(int argc, char *argv[]);

/* Return the long name of the option that opt_next() gave as ch. */
const char *options_name(int ch);

#endif
