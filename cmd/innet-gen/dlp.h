/* dlp.h - generate a session of the Distributed Learning Protocol */
#ifndef INNET_GEN_DLP_H
#define INNET_GEN_DLP_H

#include "cmd/innet-gen/gen.h"

/*
 * Write the packets of cf->workers workers (at most 32) in cf->count steps (at
 * most 2^31 - 1) to cf->out.  cf->jitter_ns must be less than cf->interval_ns.
 * Return the exit status.
 */
int dlp_session(const struct conf *cf);

#endif
