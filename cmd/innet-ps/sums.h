/* sums.h - the servers of sums: --rule sync and async, iSwitch's baselines */
#ifndef INNET_PS_SUMS_H
#define INNET_PS_SUMS_H

#include <stdbool.h>

#include "common/aggport.h"

/* Serve until the end.  The exit status. */
int sums_run(const struct aggport_conf *cf, bool json);

#endif
