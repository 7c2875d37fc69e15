/* iswitch-report.h - the account of an aggregation switch */
#ifndef INNET_SWITCH_ISWITCH_REPORT_H
#define INNET_SWITCH_ISWITCH_REPORT_H

#include "cmd/innet-switch/iswitch-filter.h"

/* The report of innet-switch(1) as text, which the caller frees; or NULL. */
char *iswitch_report_json(const struct iswitch *s,
    const struct iswitch_passed *p, bool pretty);

/* Write the report to path, whole or not at all ("-": standard output). */
int iswitch_report_write(const char *path, const struct iswitch *s,
    const struct iswitch_passed *p);

/* One line on standard error; JSON if wished. */
void iswitch_report_summary(const struct iswitch *s,
    const struct iswitch_passed *p, bool live, bool json);

#endif
