/*
 * sampler-table.h - request batches from tables of innet-memory, which draw
 * them
 *
 * Each server draws a share of a batch.  The share is proportional to the sum
 * of the priorities on the server (shards.h).  A new table has the capacity
 * that --buffer gives, or the largest capacity for which the server's memory
 * suffices.
 */
#ifndef INNET_AGENT_APEX_SAMPLER_TABLE_H
#define INNET_AGENT_APEX_SAMPLER_TABLE_H

#include "cmd/innet-agent/apex/sampler-state.h"

/*
 * Check that each existing table draws in the way that the learner needs, and
 * has the capacity and alpha that the options specify.  On failure, set
 * sm->lost and return false.
 */
bool sampler_table_check(struct sampler *sm);

/*
 * Remove all tables except the first.  On failure, set sm->lost and return
 * false.
 */
bool sampler_table_clear(struct sampler *sm);

/*
 * Request a batch from all shards.  If b is not NULL, send the priorities in b
 * first.  If a connection fails, the next sampler_table_draw() repairs it.
 */
void sampler_table_request(struct sampler *sm, const struct batch *b);

/*
 * Fill b from the reply to the oldest request, or make a request if there is
 * none.  If `prioritized` is set, b has new priorities, which are sent first.
 */
enum sampler_result sampler_table_draw(struct sampler *sm, struct batch *b,
    bool prioritized);

#endif
