/*
 * ages-options.h - what innet-aom was asked for
 */
#ifndef INNET_AOM_CONF_H
#define INNET_AOM_CONF_H

#include <stdbool.h>

#include "cmd/innet-aom/ages/rows.h"

enum print_form { PRINT_TABLE, PRINT_JSON, PRINT_CSV };

struct ages_options {
	struct run_files run, other;	/* other.received.n 0: no other */
	struct age_rules rules;			/* but for source */
	enum print_form form;
	const char *series, *table;
	struct view view;
	struct format format;		/* if has_format */
	const char *filter;		/* which are innet's, or NULL */
	bool bare, has_format, estimates, strict, quiet, verbose;
};

/* The settings of the command line, of olaf; misuse ends the program. */
struct ages_options ages_options_parse(int argc, char *argv[]);

#endif
