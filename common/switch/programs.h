/*
 * programs.h - the table of the programs of a switch
 */
#ifndef INNET_SWITCH_PROGRAMS_H
#define INNET_SWITCH_PROGRAMS_H

#include <stddef.h>
#include <string.h>

#include "common/dlp/program.h"
#include "common/iswitch/program.h"
#include "common/olaf/program.h"

static const struct program *const programs[] = {
	&olaf_program,
	&iswitch_program,
	&dlp_program,
	NULL
};

/* Return the program with this name, or NULL. */
static inline const struct program *
programs_find(const char *name)
{
	for (size_t i = 0; programs[i] != NULL; i++) {
		if (strcmp(programs[i]->name, name) == 0)
			return programs[i];
	}
	return NULL;
}

#endif
