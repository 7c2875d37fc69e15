/*
 * sampler.h - draw a learner's batches from a replay memory on other machines
 *
 * The next batch is drawn while the learner learns from this one.  One exchange
 * sends the priorities of the batch just used and draws another, so a draw
 * knows all priorities but those of the batch that is in use meanwhile.
 *
 * If the memory is a table and its reply is small, the learner requests a batch
 * and reads it one lesson later.  Then it needs no second processor, which
 * actors may have taken.  Otherwise a thread does the exchanges, because it is
 * work to receive large replies or to draw from a list.  Without prefetching
 * the learner waits for each exchange.
 */
#ifndef INNET_AGENT_APEX_SAMPLER_H
#define INNET_AGENT_APEX_SAMPLER_H

#include "cmd/innet-agent/apex/sampler-state.h"

/* Open it; the caller has set cf, stop and reserve.  Exits 1 without memory. */
void sampler_open(struct sampler *sm);

/* Start the thread, if the mode has one; exits 1 if that fails. */
void sampler_start(struct sampler *sm);

/* Return the memory that the learner's algorithm draws from. */
struct memory sampler_memory(struct sampler *sm);

/* End the thread; from here on the caller may read all of *sm. */
void sampler_stop(struct sampler *sm);

/* Close the connections and free the memory. */
void sampler_close(struct sampler *sm);

#endif
