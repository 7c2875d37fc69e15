/*
 * timing-options.h - what innet-aom of program iswitch or dlp was asked for
 */
#ifndef INNET_AOM_TIMING_OPTIONS_H
#define INNET_AOM_TIMING_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-aom/timing/packets.h"
#include "cmd/innet-aom/timing/timing-rows.h"

struct timing_options {
	enum timing_program program;
	enum timing_grouping grouping;
	enum figures_form form;
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
 * Read the command line; an option that the program has no use for is misuse,
 * which ends the process with status 2.
 */
struct timing_options timing_options_parse(const char *program, int argc,
    char *argv[]);

#endif
