/*
 * worker.h - settings of innet-worker, and its modes
 *
 * A mode is one way to carry gradients over the network.  Each mode has a file
 * in this folder with one function, and a line in the table of main.c.
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
#include "common/net/timer.h"
#include "common/net/udp-io.h"
#include "common/queue/txctl.h"
#include "common/traffic/impair.h"
#include "common/wire/control.h"
#include "common/wire/dlp.h"
#include "common/auth/key-change.h"
#include "common/auth/tag.h"
#include "common/wire/seg.h"
#include "common/wire/stream-order.h"
#include "common/wire/stream.h"

#define WORKER_STRAGGLER_NS UINT64_C(3600000000000)	/* largest value of
							 * --straggler */

enum {
	WORKER_FLOATS_MAX = UINT16_MAX,	/* largest value of --floats */
	WORKER_STALENESS_MAX = 255
};

/* Settings of a DLP session. */
struct worker_dlp {
	bool median;	/* the aggregator sends the median, not the mean */
	bool leads, resets; /* CONFIGURE is sent; RESET is sent before
			     * CONFIGURE */
	struct dlp_session session;	/* the session to configure if `leads`
					 * is true */
};

struct worker_conf {
	const struct worker_mode *mode;
	union addr to;			/* the switch or the server */
	const char *to_name;		/* name of the switch or server, as the
					 * user wrote it */
	uint16_t job, cluster;
	uint32_t worker;
	uint16_t members;	/* number of members of the job; 0: the value
				 * of the switch */
	struct control_rule rule;	/* rule of the job; all 0: the rule of
					 * the switch */
	uint32_t floats;	/* number of floats in a segment; 0: the value
				 * of the job */
	uint32_t window;	/* number of segments in flight; 0: automatic */
	uint32_t check;	/* check that each sum is the sum of this number of
			 * workers; 0: do not check */
	const struct key *key;		/* key of control messages */
	struct key_change *key_change;	/* change of that key */
	enum tag_auth auth;
	double gamma;	/* the learning rate of an asynchronous job */
	enum stream_direction direction; /* direction of gradients, if the user
					  * gave it */
	uint64_t staleness;	/* limit on the staleness of gradients, in
				 * rounds; staler gradients are discarded */
	uint64_t pace_bps;		/* rate at which vectors are sent, in
					 * bits/s; 0: no limit */
	uint64_t every;	/* N: print the CRC of every N-th round */
	struct worker_dlp dlp;
	enum txctl_kind control;
	uint64_t threshold_ns;
	uint64_t mtu;			/* MTU; 0: use the MTU of the path */
	uint64_t give_up_ns;	/* the worker fails after this time without an
				 * answer */
	uint64_t silence_ns;		/* longest silence of the child before
					 * the worker fails */
	uint64_t duration_ns;		/* longest duration; TIMER_NEVER: until
					 * the child ends */
	uint64_t count;			/* number of gradients; 0: no limit */
	uint32_t synthetic; /* number of elements of synthetic vectors; 0: run a
			     * child */
	uint64_t interval_ns;		/* time between synthetic gradients */
	uint64_t jitter_ns;
	struct rng rng;
	struct impair impair;		/* faults of sent packets */
	bool stdio;	/* instead of running a child, exchange the stream on
			 * standard input and output */
	char **argv;	/* the command line of the child, NULL-terminated */
	struct pcapio_out *capture;	/* capture of all packets, or NULL */
	volatile sig_atomic_t *stop, *summarize, *hup;
	const sigset_t *wait_mask;
	uint64_t spin_ns;		/* how long to poll after a packet */
	bool no_offload;		/* UDP_SEGMENT and UDP_GRO are not
					 * used */
	FILE *json;			/* file of --json, or NULL */
	bool quiet, verbose, progress;
};

/*
 * Handle SIGHUP.  If the capture was moved away, start a new one.  If the key
 * file has changed, read it again.  If neither has changed, the signal ends the
 * worker.
 */
static inline void
worker_hang_up(const struct worker_conf *cf)
{
	const bool moved = cf->capture != NULL && rotate_was_moved(cf->capture);

	if (moved)
		rotate_reopen(cf->capture);
	if (!key_change_reload(cf->key_change, timer_mono_ns()) && !moved)
		*cf->stop = SIGHUP;
}

/* Once a second: flush the capture, change the key, and handle SIGHUP. */
static inline void
worker_tick_files(const struct worker_conf *cf)
{
	if (cf->capture != NULL)
		(void)pcapio_flush_or_warn(cf->capture);
	key_change_tick(cf->key_change, timer_mono_ns());
	if (*cf->hup == 0)
		return;
	*cf->hup = 0;
	worker_hang_up(cf);
}

/* Return the key of data tags, or NULL if tags are tokens. */
static inline const struct key *
worker_tag_key(const struct worker_conf *cf)
{
	return cf->key->set ? cf->key : NULL;
}

/* Do data packets have tags? */
static inline bool
worker_tags_data(const struct worker_conf *cf)
{
	return cf->auth == TAG_AUTH_ALL;
}

/* Return the ToS of segments. */
static inline uint8_t
worker_tos(const struct worker_conf *cf)
{
	return worker_tags_data(cf) ? SEG_TAGGED_TOS : SEG_TOS;
}

/* Does the result in p have the expected format and a correct tag? */
static inline bool
worker_accepts_result(const struct worker_conf *cf, struct segment_tag *tags,
    uint8_t tos, const struct udpio_packet *p)
{
	return !worker_tags_data(cf) ? tos == SEG_TOS :
	    segment_tag_check(tags, tos, p->data, p->len);
}

/* Return the number of floats in a segment that fits an MTU. */
static inline uint32_t
worker_floats(const struct worker_conf *cf, size_t mtu)
{
	const uint32_t n = seg_floats(mtu, cf->to.sa.sa_family == AF_INET6);

	return !worker_tags_data(cf) ? n : n < SEG_TAG_FLOATS ? 0 :
	    n - SEG_TAG_FLOATS;
}

struct worker_mode {
	const char *name;		/* name of the mode in the hello */
	const char *options;		/* options that choose the mode */
	int (*run)(const struct worker_conf *cf);
	const char *port;	/* default port of --switch; NULL: 46638 */
	uint32_t elements_max;		/* limit on a vector's length; 0: the
					 * stream's limit */
	bool no_cluster; /* the workers of this mode belong to no cluster */
};

/* Return the limit on the elements of a vector. */
static inline uint32_t
worker_elements_max(const struct worker_mode *m)
{
	return m->elements_max > 0 ? m->elements_max : STREAM_ELEMENTS_MAX;
}

/* Run a mode until the end.  Returns the exit status. */
int olaf_run(const struct worker_conf *cf);
int sync_run(const struct worker_conf *cf);
int async_run(const struct worker_conf *cf);
int dlp_run(const struct worker_conf *cf);

#endif
