/* ages-options.h - the options of innet-aom for the program olaf */
#ifndef INNET_AOM_CONF_H
#define INNET_AOM_CONF_H

#include <stdbool.h>

#include "cmd/innet-aom/ages/rows.h"

enum print_form { PRINT_TABLE, PRINT_JSON, PRINT_CSV };

struct ages_options {
	struct run_files run;
	struct run_files other;		/* the files of --compare, if received.n
					 * > 0 */
	struct age_rules rules;			/* `source` is not set */
	enum print_form form;
	const char *series, *table;
	struct view view;
	struct format format;		/* valid if has_format */
	const char *filter; /* pcap filter for innet's packets, or NULL */
	bool bare, has_format, estimates, strict, quiet, verbose;
};

/* Read the command line.  Misuse ends the process with status 2. */
struct ages_options ages_options_parse(int argc, char *argv[]);

#endif
