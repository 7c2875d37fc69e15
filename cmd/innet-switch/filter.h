/*
 * filter.h - the switch as a filter: captures in, a capture out
 *
 * The stamps of the captures are the clock.  Inputs are merged in order of
 * time; the first given wins ties.  What the queue decides is in egress.h.
 */
#ifndef INNET_SWITCH_FILTER_H
#define INNET_SWITCH_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clusters.h"
#include "common/egress.h"
#include "common/pcapio.h"

#include "cmd/innet-switch/feed.h"

struct filter_conf {
	struct egress_conf egress;
	uint64_t propagation_ns;
	bool regular_queued;		/* regular traffic takes slots */
	const struct clusters *clusters;	/* of bare packets, or NULL */
	struct feed_conf feed;
	struct pcapio_in *departures;	/* NULL: the link decides */
};

/* Where a filter, or the live switch, counts what is not an update. */
struct filter_passed {
	uint64_t packets;		/* read */
	uint64_t regular, models, weights;	/* passed beside the queue */
	uint64_t time_backwards;
	uint64_t departures_differ;	/* not what --departures names */
	/* live alone: */
	uint64_t kernel;		/* dropped by the kernel (SO_RXQ_OVFL) */
	uint64_t unreachable;		/* errors that came back */
	uint64_t no_route;		/* models for workers never heard */
	uint64_t send_failed;		/* not taken by the kernel */
	uint64_t impaired_lost, impaired_dup, impaired_reordered;
};

/*
 * Run n open inputs through e (made with cf->egress) into out, or nowhere if
 * it is NULL.  The exit status, 0 or 1; what was wrong has been said.
 */
int filter_run(const struct filter_conf *cf, struct egress *e,
    struct filter_passed *passed, struct pcapio_in *in, size_t n,
    struct pcapio_out *out);

#endif
