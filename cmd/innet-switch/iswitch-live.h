/* iswitch-live.h - the aggregation switch on UDP sockets */
#ifndef INNET_SWITCH_ISWITCH_LIVE_H
#define INNET_SWITCH_ISWITCH_LIVE_H

#include "common/aggport.h"

/* Serve until the end, and write report unless it is NULL.  The exit status. */
int iswitch_live_run(const struct aggport_conf *cf, const char *report,
    bool json);

#endif
