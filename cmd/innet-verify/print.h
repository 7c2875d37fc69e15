/* print.h - a verdict for people, for programs, and as a run to repeat */
#ifndef INNET_VERIFY_PRINT_H
#define INNET_VERIFY_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "cmd/innet-verify/solve.h"

struct how {
	const char *write;	/* the schedule's file; NULL: not given */
	FILE *json;		/* where it goes; NULL: nowhere */
	bool quiet, verbose;
};

/* What can be seen of a: exits if it cannot be written. */
void print(const struct spec *s, const struct objective *o,
    const struct how *how, const struct answer *a);

/* On a terminal: what is being asked, on a line that is then written over. */
void print_progress(const struct answer *a);

#endif
