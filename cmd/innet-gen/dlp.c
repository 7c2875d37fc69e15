/*
 * dlp.c - generate the packets that workers send in a session of the
 * Distributed Learning Protocol
 *
 * The session begins with a CONFIGURE packet.  Then each worker sends a SETUP
 * packet and a poll.  After that, each worker sends a gradient in every
 * interval, in the order of the workers, or in a random order with --jitter.
 * The capture has no answers, and no worker waits for an answer, because
 * innet-switch generates the answers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-gen/dlp.h"
#include "common/base/files.h"
#include "common/base/message.h"
#include "common/base/rng.h"
#include "common/capture/pcapio.h"
#include "common/wire/dlp.h"
#include "common/wire/frame.h"

enum { SCALE = 1000, SETUP_GAP_NS = 1000, SOURCE_PORT = 46638 };

/* The latest time that a pcap file can hold. */
#define LAST_NS ((uint64_t)UINT32_MAX * 1000000000u)

struct due_gradient {
	uint64_t at_ns;
	uint32_t worker;
};

/* Write a packet from a worker to the switch. */
static void
put_packet(struct pcapio_out *out, uint32_t worker, const struct dlp *d,
    uint64_t at_ns)
{
	struct frame_flow flow = { .sport = SOURCE_PORT,
	    .dport = DLP_SWITCH_PORT };
	uint8_t *p = pcapio_room(out), bytes[DLP_BYTES_MAX];
	struct frame f;
	uint32_t len;
	size_t head;

	frame_worker_addr(flow.src, 1, worker);
	memcpy(flow.dst, frame_switch_addr, 4);
	len = dlp_put(bytes, d);
	head = frame_put(p, &flow, 0, len, &f);
	memcpy(p + head, bytes, len);
	frame_put_checksum(p, &f);
	pcapio_commit(out, at_ns, (uint32_t)head + len, (uint32_t)head + len);
}

/*
 * Write the packets that configure the session and set up its workers; return
 * the time of the last packet.
 */
static uint64_t
put_setup(const struct conf *cf, struct pcapio_out *out)
{
	const struct dlp configure = { .state = DLP_CONFIGURE,
	    .node_count = (uint8_t)cf->workers,
	    .param = { [DLP_ITERATIONS] = (int32_t)cf->count,
	    [DLP_SCALE] = SCALE } };
	uint64_t at = cf->start_ns;

	put_packet(out, 0, &configure, at);
	for (uint32_t w = 0; w < cf->workers; w++) {
		put_packet(out, w, &(struct dlp){ .state = DLP_SETUP,
		    .node_count = 1 }, at += SETUP_GAP_NS);
		put_packet(out, w, &(struct dlp){ .state = DLP_POLL,
		    .node_count = 1 }, at += SETUP_GAP_NS);
	}
	return at;
}

/* Order two gradients by time, then by worker. */
static int
compare_due(const void *a, const void *b)
{
	const struct due_gradient *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return (x->worker > y->worker) - (x->worker < y->worker);
}

/*
 * Write the gradients of all workers in one step.  Their values are uniform
 * from -1 to 1.
 */
static void
put_step(const struct conf *cf, struct pcapio_out *out, struct rng *rng,
    uint32_t step, uint64_t at_ns)
{
	struct due_gradient due[DLP_NODES_MAX];
	const uint32_t elements = (uint32_t)cf->elements;
	uint64_t saturated = 0;

	for (uint32_t w = 0; w < cf->workers; w++)
		due[w] = (struct due_gradient){ at_ns + (cf->jitter_ns > 0 ?
		    rng_below(rng, cf->jitter_ns) : 0), w };
	qsort(due, cf->workers, sizeof(*due), compare_due);
	for (uint32_t k = 0; k < cf->workers; k++) {
		struct dlp d = { .state = DLP_LEARNING, .node_count = 1,
		    .step = step, .more = (uint16_t)(elements <= DLP_PARAMS ?
		    0 : elements - DLP_PARAMS) };

		for (uint32_t i = 0; i < elements; i++)
			d.param[i] = dlp_quantise((float)rng_uniform(rng, -1,
			    1), SCALE, DLP_VALUE_MAX, &saturated);
		put_packet(out, due[k].worker, &d, due[k].at_ns);
	}
}

int
dlp_session(const struct conf *cf)
{
	struct rng rng = rng_seed(cf->seed);
	struct pcapio_out out;
	uint64_t at, step;
	int rc = 0;

	pcapio_create_or_exit(&out, cf->out);
	at = put_setup(cf, &out);
	for (step = 0; step < cf->count && *cf->stop == 0 && out.failed == 0;
	    step++) {
		if (at + cf->interval_ns + cf->jitter_ns > LAST_NS) {
			warnx("step %" PRIu64 ": a pcap file cannot hold "
			    "times after the year 2106; the output ends "
			    "before this step", step);
			rc = 1;
			break;
		}
		at += cf->interval_ns;
		put_step(cf, &out, &rng, (uint32_t)step, at);
	}
	rc |= pcapio_close_or_warn(&out);
	if (cf->json != NULL)
		fprintf(cf->json, "{\"packets\":%" PRIu64 ",\"workers\":%"
		    PRIu64 ",\"steps\":%" PRIu64 "}\n", out.packets,
		    cf->workers, step);
	else if (!cf->quiet && rc == 0)
		warnx("wrote %" PRIu64 " packets: %" PRIu64 " workers, %"
		    PRIu64 " steps", out.packets, cf->workers, step);
	if (cf->json != NULL)
		rc |= files_flush(cf->json);
	return rc;
}
