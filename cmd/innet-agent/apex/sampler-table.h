/*
 * sampler-table.h - batches from tables of innet-memory, which draw them
 *
 * Each server draws a share of a batch, in proportion to the sum of its
 * priorities (shards.h).  A new table is as large as --buffer, or as the
 * server's memory allows.
 */
#ifndef INNET_AGENT_APEX_SAMPLER_TABLE_H
#define INNET_AGENT_APEX_SAMPLER_TABLE_H

#include "cmd/innet-agent/apex/sampler-state.h"

/*
 * Check that each table that exists draws as the learner wants and has the
 * capacity and alpha that options gave.  Return false with sm->lost if not.
 */
bool sampler_table_check(struct sampler *sm);

/* Remove all tables but the first; return false with sm->lost on failure. */
bool sampler_table_clear(struct sampler *sm);

/*
 * Request a batch from all shards; with b not NULL, first send the priorities
 * that b has.  If a connection fails, the next sampler_table_draw() repairs it.
 */
void sampler_table_request(struct sampler *sm, const struct batch *b);

/*
 * Fill b from the oldest request, or from a new one if there is none;
 * prioritized: b has new priorities, which go first.
 */
enum sampler_result sampler_table_draw(struct sampler *sm, struct batch *b,
    bool prioritized);

#endif
