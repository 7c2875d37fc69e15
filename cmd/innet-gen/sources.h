/*
 * sources.h - three sources of updates: workers, bursts, and a recorded run
 *
 * Each source passes updates to the writer in the order of their due times.
 * Updates that are due at the same time are ordered by cluster, then by worker.
 * A source ends when it has passed all updates to the writer, when the writer
 * refuses an update, or when --duration is over.
 */
#ifndef INNET_GEN_SOURCES_H
#define INNET_GEN_SOURCES_H

#include "cmd/innet-gen/gen.h"
#include "cmd/innet-gen/writer.h"
#include "common/traffic/schedule.h"

/*
 * Return the time between two updates of a worker in this cluster, in units of
 * 2^-32 ns.  The time does not include the effect of --speeds.
 */
unsigned __int128 source_step(const struct conf *cf, uint32_t cluster);

/* Return the arrival settings that all workers share. */
struct arrivals_conf source_arrivals(const struct conf *cf);

/*
 * Return an array with the arrivals of n workers, cluster by cluster.
 * --interval, --groups and --speeds determine the arrivals.  The caller frees
 * the array.
 */
struct arrivals *source_pace(const struct conf *cf, size_t n, struct rng *r);

/*
 * Pass the updates of independent workers to the writer: --arrivals periodic,
 * poisson, onoff and lognormal.
 */
void source_workers(const struct conf *cf, struct writer *w);

/*
 * Pass the updates of --arrivals bursts to the writer (Olaf paper, section 8.1,
 * Table 1).
 */
void source_bursts(const struct conf *cf, struct writer *w);

/*
 * Read cf->schedule and clone its clusters, or print an error and exit.  The
 * schedule repeats every *again_ns until --duration is over.  If *again_ns is
 * 0, the schedule does not repeat.
 */
struct schedule source_read(const struct conf *cf, uint64_t *again_ns);

/*
 * Pass the updates of s to the writer.  Repeat s every again_ns, unless
 * again_ns is 0.
 */
void source_schedule(const struct schedule *s, uint64_t again_ns,
    struct writer *w);

/*
 * Write the table of --cluster-table for the clusters of s, or for the clusters
 * of cf if s is NULL.  On failure, print an error and return false.
 */
bool source_table(const struct conf *cf, const struct schedule *s);

#endif
