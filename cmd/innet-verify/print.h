/* print.h - print a verdict for people, and write the schedule */
#ifndef INNET_VERIFY_PRINT_H
#define INNET_VERIFY_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "cmd/innet-verify/solve.h"

struct print_options {
	const char *write; /* file for the schedule; NULL: write no schedule */
	FILE *json;		/* stream for the verdict as JSON; NULL: none */
	bool quiet, verbose;
};

/* Print the answer a and write its schedule; exit if writing fails. */
void print_answer(const struct spec *s, const struct objective *o,
    const struct print_options *options, const struct answer *a);

/* Show the current question on a line that the next question overwrites. */
void print_progress(const struct answer *a);

#endif
