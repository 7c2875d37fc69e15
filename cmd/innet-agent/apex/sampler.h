/*
 * sampler.h - draw the batches of a learner from a replay memory on other
 * machines
 *
 * The next batch is drawn while the learner learns from the current one.  One
 * exchange sends the priorities of the batch that was just used and draws
 * another.  So a draw uses all new priorities except those of the batch from
 * which the learner is learning.
 *
 * If the memory is a table and its reply is small, the learner requests a
 * batch, learns from another one, and then reads the reply.  This needs no
 * second processor, which actors may be using.  Otherwise a thread does the
 * exchanges, because receiving large replies or drawing from a list takes
 * processor time.  Without prefetching, the learner waits for each exchange.
 */
#ifndef INNET_AGENT_APEX_SAMPLER_H
#define INNET_AGENT_APEX_SAMPLER_H

#include "cmd/innet-agent/apex/sampler-state.h"

/*
 * Open sm.  The caller has set cf, stop and reserve.  Exits with status 1 if
 * there is no memory.
 */
void sampler_open(struct sampler *sm);

/* Start the thread if the mode uses one.  Exits with status 1 on failure. */
void sampler_start(struct sampler *sm);

/* Return the memory from which the learner's algorithm draws. */
struct memory sampler_memory(struct sampler *sm);

/* End the thread.  After that, the caller may read all members of *sm. */
void sampler_stop(struct sampler *sm);

/* Close the connections and free the memory. */
void sampler_close(struct sampler *sm);

#endif
