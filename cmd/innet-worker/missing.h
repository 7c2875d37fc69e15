/*
 * missing.h - whom a job waits for, in words
 *
 * From the text of a switch's answer to Members (innet-wire(5)).
 */
#ifndef INNET_WORKER_MISSING_H
#define INNET_WORKER_MISSING_H

#include "common/iswitch/sync-worker.h"

enum { MISSING_BYTES = 256 };

/* Say it, to follow a sentence; "" if there is nothing to say. */
void missing_say(const struct sync_worker *l, char text[MISSING_BYTES]);

#endif
