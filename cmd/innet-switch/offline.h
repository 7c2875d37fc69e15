/* offline.h - run the switch on captures: read captures and write one */
#ifndef INNET_SWITCH_OFFLINE_H
#define INNET_SWITCH_OFFLINE_H

#include "cmd/innet-switch/conf.h"

/*
 * Run the switch, then write the summary and the report.  Returns the exit
 * status.
 */
int offline_run(struct conf *cf);

#endif
