/*
 * options.h - the options of all programs of innet-aom
 *
 * There is one table of options, because --help prints the options of all
 * programs.  Each program reads the command line again with this table and
 * refuses the options of the other programs.
 */
#ifndef INNET_AOM_OPTIONS_H
#define INNET_AOM_OPTIONS_H

#include "common/base/opt.h"

/* The options that have no letter. */
enum {
	O_SENT = OPT_LONG, O_BY, O_CONSTITUENTS, O_COUNTERS, O_FROM, O_UNTIL,
	O_JSON, O_CSV, O_SERIES, O_COMPARE, O_COMPARE_SENT, O_COMPARE_COUNTERS,
	O_FORMAT, O_TABLE, O_TOTAL, O_COLUMNS, O_FIELD, O_FILTER, O_OFFSET,
	O_ESTIMATE, O_END, O_STRICT, O_SWITCH, O_OUT_OF_STEP, O_UDP_PORT,
	O_ANSWER_EARLY
};

/* The table of all options, with their help texts. */
extern const struct opt_tool options_tool;

/*
 * Return the program that --program names: "olaf" (the default), "iswitch" or
 * "dlp".  Misuse of any option ends the process with status 2.
 */
const char *options_program(int argc, char *argv[]);

/* Return the long name of the option that opt_next() returned as ch. */
const char *options_name(int ch);

#endif
