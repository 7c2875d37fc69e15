/*
 * timing-options.h - the options of innet-aom for the programs iswitch and dlp
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
	const char *columns;	/* NULL: the default columns */
	bool total, async, late, strict, quiet, verbose;
	uint64_t from_ns, until_ns;
	bool relative_from, relative_until;	/* to the first packet */
	bool has_switch;
	union addr at;		/* address of the switch */
	uint16_t port;		/* UDP port of program dlp; 0: both default
				 * ports */
};

/*
 * Read the command line.  An option that the program does not have is an error,
 * which ends the process with status 2.
 */
struct timing_options timing_options_parse(const char *program, int argc,
    char *argv[]);

#endif
