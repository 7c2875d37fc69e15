/*
 * ages-options.h - what innet-aom was asked for
 */
#ifndef INNET_AOM_CONF_H
#define INNET_AOM_CONF_H

#include <stdbool.h>

#include "cmd/innet-aom/ages/rows.h"
#include "common/base/opt.h"

enum print { PRINT_TABLE, PRINT_JSON, PRINT_CSV };

struct conf {
	struct inputs run, other;	/* other.received.n 0: no other */
	struct how how;			/* but for source */
	enum print print;
	const char *series, *table;
	struct view view;
	struct format format;		/* if has_format */
	const char *filter;		/* which are innet's, or NULL */
	bool bare, has_format, estimates, strict, quiet, verbose;
};

/* The program that is asked for, and all options there are. */
const char *conf_program(int argc, char *argv[],
    const struct opt_tool **all);

/* The settings of the command line, of olaf; misuse ends the program. */
struct conf conf_parse(int argc, char *argv[]);

#endif
