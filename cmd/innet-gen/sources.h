/*
 * sources.h - who has an update when: three ways
 *
 * Each puts updates into the writer in order of their due time, equal ones by
 * cluster, then worker, until they are all there, the writer says stop, or
 * --duration is over.
 */
#ifndef INNET_GEN_SOURCES_H
#define INNET_GEN_SOURCES_H

#include "cmd/innet-gen/gen.h"
#include "cmd/innet-gen/writer.h"
#include "common/traffic/schedule.h"

/* Time between a worker's updates in cluster, in 2^-32 ns, before --speeds. */
unsigned __int128 source_step(const struct conf *cf, uint32_t cluster);

/* What cf says of everyone's arrivals. */
struct arrivals_conf source_arrivals(const struct conf *cf);

/*
 * The paces of n workers, cluster by cluster, by --interval, --groups and
 * --speeds.  The caller frees them.
 */
struct arrivals *source_pace(const struct conf *cf, size_t n, struct rng *r);

/* Workers on their own: periodic, poisson, onoff, lognormal. */
void source_workers(const struct conf *cf, struct writer *w);

/* Whole clusters that burst (reproduces Olaf section 8.1, Table 1). */
void source_bursts(const struct conf *cf, struct writer *w);

/*
 * Read and clone cf->schedule, or say what is wrong in it and exit 1.  It
 * begins again every *again_ns, until --duration; 0: it does not.
 */
struct schedule source_read(const struct conf *cf, uint64_t *again_ns);

void source_schedule(const struct schedule *s, uint64_t again_ns,
    struct writer *w);

/* Write the prefix,cluster table of s, or of cf.  False: said why not. */
bool source_table(const struct conf *cf, const struct schedule *s);

#endif
