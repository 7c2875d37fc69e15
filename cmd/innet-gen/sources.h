/*
 * sources.h - three sources of updates: workers, bursts, and a recorded run
 *
 * Each source puts updates into the writer in the order of their due times.
 * Updates that are due together are ordered by cluster, then by worker.  A
 * source ends when all updates are put, the writer refuses one, or --duration
 * is over.
 */
#ifndef INNET_GEN_SOURCES_H
#define INNET_GEN_SOURCES_H

#include "cmd/innet-gen/gen.h"
#include "cmd/innet-gen/writer.h"
#include "common/traffic/schedule.h"

/*
 * Return the time between updates of a worker in this cluster, in 2^-32 ns,
 * without --speeds.
 */
unsigned __int128 source_step(const struct conf *cf, uint32_t cluster);

/* Return the arrival settings that all workers share. */
struct arrivals_conf source_arrivals(const struct conf *cf);

/*
 * Return the arrivals of n workers, cluster by cluster, by --interval, --groups
 * and --speeds.  The caller frees them.
 */
struct arrivals *source_pace(const struct conf *cf, size_t n, struct rng *r);

/* Put the updates of independent workers: periodic, poisson, onoff, lognormal.
 */
void source_workers(const struct conf *cf, struct writer *w);

/* Put the updates of clusters that send bursts (Olaf section 8.1, Table 1). */
void source_bursts(const struct conf *cf, struct writer *w);

/*
 * Read cf->schedule and clone it, or print what is wrong and exit 1.  It
 * repeats every *again_ns until --duration is over, or not at all if that is 0.
 */
struct schedule source_read(const struct conf *cf, uint64_t *again_ns);

/* Put the updates of a recorded run. */
void source_schedule(const struct schedule *s, uint64_t again_ns,
    struct writer *w);

/*
 * Write the prefix,cluster table of s, or of cf if s is NULL; print why and
 * return false if that fails.
 */
bool source_table(const struct conf *cf, const struct schedule *s);

#endif
