/* offline.h - the switch in a trace: captures in, a capture out */
#ifndef INNET_SWITCH_OFFLINE_H
#define INNET_SWITCH_OFFLINE_H

#include "cmd/innet-switch/conf.h"

/* Run it, write summary and report.  The exit status. */
int offline_run(struct conf *cf);

#endif
