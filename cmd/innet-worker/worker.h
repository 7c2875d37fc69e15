/*
 * worker.h - what innet-worker is told, and its modes
 *
 * A mode is one way to carry gradients over the network: a file of its own
 * beside this one, with one function, and a line in main.c's table.
 */
#ifndef INNET_WORKER_WORKER_H
#define INNET_WORKER_WORKER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/rng.h"
#include "common/capture/rotate.h"
#include "common/auth/segment-tag.h"
#include "common/net/udp-io.h"
#include "common/queue/txctl.h"
#include "common/traffic/impair.h"
#include "common/wire/dlp.h"
#include "common/auth/key.h"
#include "common/auth/tag.h"
#include "common/wire/seg.h"
#include "common/wire/stream-order.h"
#include "common/wire/stream.h"

enum {
	WORKER_FLOATS_MAX = UINT16_MAX,	/* --floats max */
	WORKER_STALENESS_MAX = 255
};

/* A worker's part in a session of DLP. */
struct worker_dlp {
	bool median;			/* what the aggregator sends twice */
	bool leads, resets;		/* CONFIGURE, and RESET before it */
	struct dlp_session session;	/* to lead with */
};

struct worker_conf {
	const struct worker_mode *mode;
	union addr to;			/* the switch, or the server */
	const char *to_name;		/* as given */
	uint16_t job, cluster;
	uint32_t worker;
	uint32_t floats;		/* of a segment; 0: as the job has */
	uint32_t window;		/* segments in flight; 0: as it fits */
	uint32_t check;			/* sums of so many workers; 0: none */
	const struct key *key;		/* of control messages */
	enum tag_auth auth;
	double gamma;			/* the learning rate, asynchronous */
	enum stream_direction direction;	/* of gradients, if told us */
	uint64_t staleness;		/* rounds; staler is discarded */
	uint64_t pace_bps;		/* bits/s of vectors; 0: no limit */
	uint64_t every;			/* rounds whose CRC is told */
	struct worker_dlp dlp;
	enum txctl_kind control;
	uint64_t threshold_ns;
	uint64_t mtu;			/* 0: the path's */
	uint64_t give_up_ns;		/* without what is waited for */
	uint64_t silence_ns;		/* of the child, at most */
	uint64_t duration_ns;		/* TIMER_NEVER: until the child ends */
	uint64_t count;			/* gradients; 0: no limit */
	uint32_t synthetic;		/* elements; 0: a child is run */
	uint64_t interval_ns;		/* of synthetic gradients */
	uint64_t jitter_ns;
	struct rng rng;
	struct impair impair;		/* of what is sent */
	char **argv;			/* the child, NULL-terminated */
	struct pcapio_out *capture;	/* of what passes, or NULL */
	volatile sig_atomic_t *stop, *summarize, *hup;
	const sigset_t *wait_mask;
	bool no_offload;		/* without UDP_SEGMENT and UDP_GRO */
	FILE *json;			/* where it goes; NULL: nowhere */
	bool quiet, verbose, progress;
};

/*
 * Once a second: what has passed goes to the disk.  At SIGHUP it goes on in a
 * new file, if that one was moved away; else SIGHUP ends the worker.
 */
static inline void
worker_flush_capture(const struct worker_conf *cf)
{
	if (cf->capture == NULL)
		return;
	(void)pcapio_flush_or_warn(cf->capture);
	if (*cf->hup == 0)
		return;
	*cf->hup = 0;
	if (rotate_was_moved(cf->capture))
		rotate_reopen(cf->capture);
	else
		*cf->stop = SIGHUP;
}

/* What data is proved with; NULL: tokens. */
static inline const struct hmac_sha256_ctx *
worker_tag_key(const struct worker_conf *cf)
{
	return cf->key->set ? &cf->key->start : NULL;
}

/* Is data proved? */
static inline bool
worker_tags_data(const struct worker_conf *cf)
{
	return cf->auth == TAG_AUTH_ALL;
}

/* The ToS of segments. */
static inline uint8_t
worker_tos(const struct worker_conf *cf)
{
	return worker_tags_data(cf) ? SEG_TAGGED_TOS : SEG_TOS;
}

/* Has the result p the form that it must have, and a good proof? */
static inline bool
worker_accepts_result(const struct worker_conf *cf, struct segment_tag *tags,
    uint8_t tos, const struct udpio_packet *p)
{
	return !worker_tags_data(cf) ? tos == SEG_TOS :
	    segment_tag_check(tags, tos, p->data, p->len);
}

/* The most floats that a segment carries, and that fit an MTU. */
static inline uint32_t
worker_floats(const struct worker_conf *cf, size_t mtu)
{
	const uint32_t n = seg_floats(mtu, cf->to.sa.sa_family == AF_INET6);

	return !worker_tags_data(cf) ? n : n < SEG_TAG_FLOATS ? 0 :
	    n - SEG_TAG_FLOATS;
}

struct worker_mode {
	const char *name;		/* for the hello */
	const char *options;		/* that choose it */
	int (*run)(const struct worker_conf *cf);
	const char *port;		/* of --switch; NULL: 46638 */
	uint32_t elements_max;		/* of a vector; 0: the stream's */
	bool no_cluster;		/* its workers belong to none */
};

static inline uint32_t
worker_elements_max(const struct worker_mode *m)
{
	return m->elements_max > 0 ? m->elements_max : STREAM_ELEMENTS_MAX;
}

/* Work until the end.  The exit status. */
int olaf_run(const struct worker_conf *cf);
int sync_run(const struct worker_conf *cf);
int async_run(const struct worker_conf *cf);
int dlp_run(const struct worker_conf *cf);

#endif
