/*
 * dlp-sessions.h - the sessions of program dlp that captures show:
 * innet-wire(5)
 *
 * An aggregator is known by its port.  A session of it is a job whose vectors
 * have one segment: a gradient goes up, an aggregate comes down, and the step
 * is the iteration.
 */
#ifndef INNET_AOM_SESSIONS_H
#define INNET_AOM_SESSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-aom/timing/job.h"
#include "cmd/innet-aom/timing/packets.h"
#include "common/base/hashmap.h"

enum { SESSIONS_MAX = 4096, SESSIONS_WORKERS_MAX = 65536 };

/* What is known of the steps of an aggregator, besides its job. */
struct session {
	struct job job;
	bool late;		/* answers at once, from the step before */
	bool answered;		/* a step was: */
	uint32_t step;		/* the newest such */
};

struct session_worker {
	uint32_t session, member;
	bool sent;		/* a gradient: */
	uint32_t step;		/* of that step, its newest */
	bool out;		/* which came when that was answered */
	bool zero;		/* and was all zeros */
	bool refused;		/* another step was current */
	unsigned file;		/* in which it was seen first */
};

struct sessions {
	struct job_context context;
	uint16_t port;		/* of aggregators; 0: the usual ones */
	bool late;		/* all do */
	struct session **session;	/* owned, and what they point to */
	uint32_t n;
	struct hashmap at;	/* sessions by address */
	struct session_worker *worker;
	uint32_t workers, room;
	struct hashmap worker_at;	/* by session and address */
	uint64_t bad;		/* of another length */
	uint64_t too_many;	/* packets of aggregators, workers */
};

bool sessions_claim(const void *sessions, uint8_t tos, uint16_t sport,
    uint16_t dport);

void sessions_receive(struct sessions *s, const struct packet *p);

void sessions_end(struct sessions *s);
void sessions_free(struct sessions *s);

#endif
