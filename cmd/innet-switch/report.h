/* report.h - the account of a switch as JSON and as a line */
#ifndef INNET_SWITCH_REPORT_H
#define INNET_SWITCH_REPORT_H

#include "common/tally.h"

#include "cmd/innet-switch/filter.h"

/* The report of innet-switch(1) as text, which the caller frees; or NULL. */
char *report_json(const struct egress *e, const struct filter_passed *p,
    bool pretty);

/* Write the report to path, whole or not at all ("-": standard output). */
int report_write(const char *path, const struct egress *e,
    const struct filter_passed *p);

/* Write text, and the end of its last line, to path likewise. */
int report_text(const char *path, const char *text);

/* One line on standard error; JSON if wished. */
void report_summary(const struct egress *e, const struct filter_passed *p,
    bool json);

#endif
