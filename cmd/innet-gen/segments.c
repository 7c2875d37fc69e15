/*
 * segments.c - generate the Joins and gradients of iSwitch workers; see
 * segments.h
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-gen/segments.h"
#include "cmd/innet-gen/sources.h"
#include "common/base/files.h"
#include "common/base/message.h"
#include "common/base/rng.h"
#include "common/base/timed-queue.h"
#include "common/base/vec.h"
#include "common/capture/pcapio.h"
#include "common/iswitch/membership.h"
#include "common/queue/link.h"
#include "common/traffic/synthetic.h"
#include "common/wire/frame.h"
#include "common/wire/seg.h"
#include "common/wire/update.h"

enum {
	JOIN_GAP_NS = 1000,
	OPEN_NS = 1000000000	/* time from the last Join until all jobs are
				 * open */
};

#define STAMP_END_NS ((uint64_t)4294967296000000000)

struct worker {
	uint32_t cluster, number;
	uint32_t done;		/* number of iterations or pushes written */
	uint32_t index;		/* index of the next segment */
	struct link link;
	struct arrivals arrivals;	/* of asynchronous pushes */
	uint64_t due_ns;	/* due time of the last push, counted from
				 * begin_ns */
};

struct segments {
	const struct conf *cf;
	struct pcapio_out out;
	struct rng values, times;
	struct arrivals_conf kind;	/* of asynchronous pushes */
	struct timed_queue next;	/* workers, ordered by the time of their
					 * next frame */
	uint64_t begin_ns;	/* time at which the first iteration begins */
	uint64_t n;		/* number of segments written */
	bool stamp_overflow;	/* a time was too late for a pcap file */
};

/*
 * Write a frame from w to the switch at at_ns, with a payload of `bytes` bytes.
 */
static void
put_frame(struct segments *g, const struct worker *w, uint8_t tos,
    const uint8_t *payload, size_t bytes, uint64_t at_ns)
{
	struct frame_flow flow = { .sport = UPDATE_PORT,
	    .dport = UPDATE_PORT };
	uint8_t *p = pcapio_room(&g->out);
	struct frame f;
	size_t head;

	at_ns += g->cf->start_ns;
	if (at_ns >= STAMP_END_NS) {
		g->stamp_overflow = true;
		return;
	}
	frame_worker_addr(flow.src, (uint16_t)w->cluster, w->number);
	memcpy(flow.dst, frame_switch_addr, sizeof(frame_switch_addr));
	head = frame_put(p, &flow, tos, bytes, &f);
	memcpy(p + head, payload, bytes);
	frame_put_checksum(p, &f);
	pcapio_commit(&g->out, at_ns, (uint32_t)(head + bytes),
	    (uint32_t)(head + bytes));
}

/* Write the Join of w. */
static void
put_join(struct segments *g, const struct worker *w, uint64_t at_ns)
{
	const struct membership_conf cf = { .type = CONTROL_WORKER,
	    .async = g->cf->async,
	    .job = (uint16_t)w->cluster, .cluster = (uint16_t)w->cluster,
	    .number = w->number, .elements = (uint32_t)g->cf->elements,
	    .floats = (uint16_t)g->cf->floats, .xid = 1,
	    .give_up_ns = MEMBERSHIP_NEVER };
	const struct membership_place at = { .next = 1 };
	uint8_t msg[MEMBERSHIP_MESSAGE_BYTES];
	struct membership m;

	membership_init(&m, &cf, at_ns);
	put_frame(g, w, CONTROL_TOS, msg, membership_next(&m, at_ns, &at, msg),
	    at_ns);
}

/*
 * Draw the time of the next push of w, an asynchronous worker; return
 * TIMED_QUEUE_NEVER if this time is after the end of --duration.
 */
static uint64_t
next_push_ns(struct segments *g, struct worker *w)
{
	uint64_t at;

	w->due_ns = w->done == 0 ?
	    arrivals_first(&g->kind, &w->arrivals, &g->times) :
	    arrivals_next(&g->kind, &w->arrivals, &g->times, w->due_ns);
	at = g->begin_ns + w->due_ns;
	return at < g->cf->duration_ns ? at : TIMED_QUEUE_NEVER;
}

/* Return the time when w begins its next vector, at now_ns or later. */
static uint64_t
next_vector_ns(struct segments *g, struct worker *w, uint64_t now_ns)
{
	uint64_t at = g->begin_ns + w->done * g->cf->interval_ns;

	if (g->cf->async)
		at = next_push_ns(g, w);
	else if (g->cf->jitter_ns > 0)
		at += rng_below(&g->times, g->cf->jitter_ns);
	return at > now_ns ? at : now_ns;
}

/*
 * Start the next frame of w at at_ns; return the time when the frame has left.
 */
static uint64_t
start_frame(const struct segments *g, struct worker *w, uint64_t at_ns)
{
	const uint32_t n = seg_floats_at((uint32_t)g->cf->elements,
	    (uint32_t)g->cf->floats, w->index);

	return at_ns == TIMED_QUEUE_NEVER
		   ? at_ns
		   : link_start_frame(&w->link, at_ns,
			 FRAME_V4_BYTES + SEG_HEADER_BYTES + 4 * n);
}

/* Write the n floats of w's next segment at p. */
static void
fill_vector(struct segments *g, const struct worker *w, uint8_t *p, uint32_t n)
{
	const uint32_t at = w->index * (uint32_t)g->cf->floats;

	for (uint32_t i = 0; i < n; i++)
		vec_set(p, i, g->cf->async ?
		    (float)synthetic_value(w->number, w->done, at + i) :
		    (float)rng_uniform(&g->values, -1, 1));
}

/*
 * Write the next segment of w, whose frame has left at now_ns.  Return the time
 * when the following frame will have left, or TIMED_QUEUE_NEVER if there is no
 * following frame.
 */
static uint64_t
put_segment(struct segments *g, struct worker *w, uint64_t now_ns)
{
	const uint32_t all = (uint32_t)g->cf->elements,
	    floats = (uint32_t)g->cf->floats,
	    n = seg_floats_at(all, floats, w->index);
	uint8_t msg[SEG_HEADER_BYTES + 4 * SEG_FLOATS_MAX_V4];
	uint8_t *p = seg_put(msg, seg_step(1, (int32_t)(w->done %
	    SEG_ITERATIONS)), 1, w->index);
	uint64_t next_ns = now_ns;

	fill_vector(g, w, p, n);
	put_frame(g, w, SEG_TOS, msg, SEG_HEADER_BYTES + 4 * (size_t)n, now_ns);
	g->n++;
	if (++w->index == seg_count(all, floats)) {
		w->index = 0;
		if (++w->done == g->cf->count)
			return TIMED_QUEUE_NEVER;
		next_ns = next_vector_ns(g, w, now_ns);
	}
	return start_frame(g, w, next_ns);
}

/* Queue the next frame of w, which will have left at at_ns. */
static void
queue_frame(struct segments *g, struct worker *w, uint64_t at_ns)
{
	if (at_ns != TIMED_QUEUE_NEVER &&
	    !timed_queue_push(&g->next, at_ns, w))
		err(1, "no memory for workers");
}

/* Write all segments, and complete each asynchronous push that has begun. */
static void
put_segments(struct segments *g)
{
	const uint64_t end = g->cf->async ? TIMED_QUEUE_NEVER :
	    g->cf->duration_ns;
	uint64_t at;

	while ((at = timed_queue_due(&g->next)) < end &&
	       at != TIMED_QUEUE_NEVER && *g->cf->stop == 0 &&
	       !g->stamp_overflow && g->out.failed == 0) {
		struct worker *w = timed_queue_pop(&g->next);

		queue_frame(g, w, put_segment(g, w, at));
	}
}

/* Write the Join of every worker, and queue the worker's first frame. */
static void
start_workers(struct segments *g, struct worker *v, size_t n)
{
	const struct conf *cf = g->cf;
	struct arrivals *pace = cf->async ? source_pace(cf, n, &g->times) :
	    NULL;

	g->begin_ns = n * JOIN_GAP_NS + OPEN_NS;
	for (size_t k = 0; k < n; k++) {
		struct worker *w = &v[k];

		*w = (struct worker){ .cluster = (uint32_t)(k / cf->workers +
		    1), .number = (uint32_t)(k % cf->workers),
		    .link = { .rate_bps = cf->port_rate,
		    .extra_bytes = cf->extra_bytes,
		    .frame_ns = cf->frame_ns } };
		if (pace != NULL)
			w->arrivals = pace[k];
		put_join(g, w, k * JOIN_GAP_NS);
		queue_frame(g, w, start_frame(g, w, next_vector_ns(g, w, 0)));
	}
	free(pace);
}

static void
print_summary(const struct segments *g, bool failed)
{
	const struct conf *cf = g->cf;

	if (cf->json != NULL)
		fprintf(cf->json, "{\"jobs\":%" PRIu64 ",\"workers\":%" PRIu64
		    ",\"segments\":%" PRIu64 ",\"packets\":%" PRIu64 "}\n",
		    cf->clusters, cf->clusters * cf->workers, g->n,
		    g->out.packets);
	else if (!cf->quiet && !failed)
		warnx("%" PRIu64 " jobs of %" PRIu64 " workers, %" PRIu64
		    " segments in %" PRIu64 " packets", cf->clusters,
		    cf->workers, g->n, g->out.packets);
}

int
segments_write(const struct conf *cf)
{
	const size_t n = cf->clusters * cf->workers;
	struct segments g = { .cf = cf, .values = rng_seed(cf->seed),
	    .times = rng_seed(cf->seed ^ 0x6a6974746572),
	    .kind = source_arrivals(cf) };
	struct worker *v = calloc(n, sizeof(*v));
	int rc;

	if (v == NULL)
		err(1, "no memory for %zu workers", n);
	pcapio_create_or_exit(&g.out, cf->out);
	start_workers(&g, v, n);
	put_segments(&g);
	if (g.stamp_overflow)
		warnx("segment %" PRIu64 ": a pcap file cannot hold times "
		    "after the year 2106; the output ends before this segment",
		    g.n);
	rc = pcapio_close_or_warn(&g.out) != 0 || g.stamp_overflow;
	timed_queue_free(&g.next);
	free(v);
	print_summary(&g, rc != 0);
	if (cf->json != NULL)
		rc |= files_flush(cf->json);
	return rc;
}
