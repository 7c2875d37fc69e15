/*
 * gen.h - the settings of innet-gen, and an update that is ready to be sent
 *
 * A source (sources.h) decides when each worker has an update, and the writer
 * (writer.h) turns the update into frames.  Times are in ns after --start.
 */
#ifndef INNET_GEN_H
#define INNET_GEN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/traffic/arrivals.h"

enum { GROUPS_MAX = 256 };

/* Workers of clusters `from` to `to` send an update every interval_ns. */
struct group {
	uint32_t from, to;
	uint64_t interval_ns;
};

struct conf {
	const char *out;
	uint64_t clusters, workers;	/* number of clusters; number of workers
					 * in each cluster */
	uint64_t count;			/* number of updates per worker */
	uint64_t duration_ns;		/* UINT64_MAX: no limit */
	uint64_t payload_bytes;		/* number of payload bytes in an
					 * update's first packet */
	uint64_t elements;		/* number of floats in a vector */
	uint64_t floats;		/* number of floats in a packet */
	uint64_t mtu;
	uint64_t interval_ns;
	uint64_t rate;	/* rate of all workers together in bits/s, or 0 */
	uint64_t port_rate;	/* rate of the port in bits/s; 0: no port */
	uint64_t frame_ns;		/* additional time that each frame
					 * occupies the port */
	uint32_t extra_bytes;	/* additional bytes of each frame at the port */
	uint64_t burst;	/* number of updates that a worker sends in a burst */
	uint64_t jitter_ns;
	uint64_t start_ns;		/* ns since the epoch */
	uint64_t seed;
	uint64_t regular;	/* rate of background traffic in bits/s */
	uint64_t scale;	/* number of clusters after cloning, or 0 */
	double speeds;			/* share by which the speeds of workers
					 * differ */
	enum arrivals_kind arrivals;
	enum arrivals_rewards rewards;
	bool iswitch, dlp;	/* selected program; Olaf if neither is set */
	bool async;			/* iswitch: asynchronous jobs */
	bool aligned, bare, quiet, verbose;
	FILE *json;			/* stream of --json, or NULL */
	const char *schedule;		/* path of a schedule, or NULL */
	const char *table; /* path of the cluster table to write, or NULL */
	struct group group[GROUPS_MAX];
	size_t groups;
	const volatile sig_atomic_t *stop; /* signal that asked to stop, or 0 */
};

/* An update that is ready to be sent. */
struct ready {
	uint64_t deadline_ns;
	uint32_t cluster, worker;
	uint32_t sequence;		/* from 1 */
	float reward;
};

#endif
