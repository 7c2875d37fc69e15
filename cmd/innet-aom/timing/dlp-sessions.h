/*
 * dlp-sessions.h - find the sessions of program dlp in captures (innet-wire(5))
 *
 * An aggregator is recognised by its port.  A session of an aggregator is a job
 * whose vectors have one segment.  A worker sends a gradient, the aggregator
 * sends an aggregate, and each step is an iteration.
 */
#ifndef INNET_AOM_SESSIONS_H
#define INNET_AOM_SESSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-aom/timing/job.h"
#include "cmd/innet-aom/timing/packets.h"
#include "common/base/hashmap.h"

enum { SESSIONS_MAX = 4096, SESSIONS_WORKERS_MAX = 65536 };

/* A session of an aggregator: the job, and state that the job does not have. */
struct session {
	struct job job;
	/* The aggregator answers with the aggregate of the previous step. */
	bool late;
	bool answered;		/* at least one step was answered */
	uint32_t step;		/* newest step that was answered */
};

struct session_worker {
	uint32_t session, member;
	bool sent;		/* the worker has sent a gradient */
	uint32_t step;		/* step of the worker's newest gradient */
	bool out;		/* the gradient was sent after the step was
				 * answered */
	bool zero;		/* the gradient is all zeros */
	bool refused;		/* the aggregator was at another step when the
				 * gradient was sent */
	unsigned file;		/* index of the capture that showed the gradient
				 * first */
};

struct sessions {
	struct job_context context;
	uint16_t port;		/* UDP port of aggregators; 0: the ports 1234
				 * and 12344 */
	bool late;		/* all aggregators answer late */
	struct session **session;	/* array and its elements are owned */
	uint32_t n;
	struct hashmap at;	/* sessions by address */
	struct session_worker *worker;
	uint32_t workers, room;
	struct hashmap worker_at;	/* maps a session and an address to the
					 * worker */
	uint64_t bad;		/* malformed packets */
	uint64_t too_many;	/* number of packets beyond the limits */
};

/* Return whether a packet between these ports belongs to program dlp. */
bool sessions_claim(const void *sessions, uint8_t tos, uint16_t sport,
    uint16_t dport);

/* Receive a packet; call this in order of time. */
void sessions_receive(struct sessions *s, const struct packet *p);

/* Close all steps at the end of the captures. */
void sessions_end(struct sessions *s);
/* Free all memory of s. */
void sessions_free(struct sessions *s);

#endif
