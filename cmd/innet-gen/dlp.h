/* dlp.h - a session of the Distributed Learning Protocol, the workers' part */
#ifndef INNET_GEN_DLP_H
#define INNET_GEN_DLP_H

#include "cmd/innet-gen/gen.h"

/*
 * Write cf->workers (at most 32) and cf->count steps (at most 2^31 - 1) to
 * cf->out; jitter_ns is below interval_ns.  The exit status.
 */
int dlp_session(const struct conf *cf);

#endif
