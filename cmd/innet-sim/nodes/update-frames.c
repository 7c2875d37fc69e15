/* update-frames.c - write packets to captures as frames; see update-frames.h */
#include "config.h"

#include "cmd/innet-sim/nodes/update-frames.h"

#include <string.h>

#include "common/wire/frame.h"

/*
 * Return the number of floats in a packet of cluster c if `following` packets
 * of the same vector come after it.
 */
static uint32_t
count_floats(const struct sim_cluster *c, uint32_t following)
{
	const uint32_t frame = following == 0 ? c->last_frame : c->frame;

	return (frame - FRAME_V4_BYTES - UPDATE_HEADER_BYTES) / 4;
}

static void
put_update(const struct sim *s, struct pcapio_out *out,
    const struct sim_packet *p, uint64_t stamp_ns)
{
	const struct sim_cluster *c = sim_cluster(s, p->up.cluster);
	const bool back = p->up.kind == UPDATE_MODEL;
	const uint32_t head = (uint32_t)update_head_bytes(p->up.kind);
	uint32_t n = count_floats(c, p->up.following);
	struct frame_flow flow = { .sport = UPDATE_PORT,
	    .dport = UPDATE_PORT };
	struct update u = p->up;
	uint8_t *to = pcapio_room(out), *at;
	struct frame fr;

	if (FRAME_V4_BYTES + head + 4 * n > p->wire_bytes)
		n = p->wire_bytes < FRAME_V4_BYTES + head ? 0 :
		    (p->wire_bytes - FRAME_V4_BYTES - head) / 4;
	u.elements = (c->packets - 1) * count_floats(c, 1) + count_floats(c, 0);
	u.generated_ns += s->sc->start_ns;
	frame_worker_addr(back ? flow.dst : flow.src, u.cluster,
	    u.worker % FRAME_WORKERS_MAX);
	memcpy(back ? flow.src : flow.dst, frame_server_addr, 4);
	at = to + frame_put(to, &flow, UPDATE_TOS, head + 4 * n, &fr);
	at = update_put(at, &u);
	memset(at, 0, 4 * (size_t)n);
	frame_put_checksum(to, &fr);
	sim_commit_frame(s, out, to, FRAME_V4_BYTES + head + 4 * n,
	    p->wire_bytes, stamp_ns);
}

/*
 * Write a frame of another program as innet-gen does, with one source address
 * for each source.
 */
static void
put_regular(const struct sim *s, struct pcapio_out *out,
    const struct sim_packet *p, uint64_t stamp_ns)
{
	const uint32_t source = p->up.worker;
	const struct frame_flow flow = { .src = { 10, 254,
	    (uint8_t)(source >> 8), (uint8_t)source }, .dst = { 10, 255, 254,
	    2 }, .sport = 40000, .dport = 9 };
	const uint32_t bytes = p->wire_bytes - FRAME_V4_BYTES;
	uint8_t *to = pcapio_room(out);
	struct frame fr;

	memset(to, 0, p->wire_bytes);
	frame_put(to, &flow, 0, bytes, &fr);
	frame_put_checksum(to, &fr);
	sim_commit_frame(s, out, to, p->wire_bytes, p->wire_bytes, stamp_ns);
}

void
update_frames_put(const struct sim *s, struct pcapio_out *out,
    const struct sim_packet *p, uint64_t stamp_ns)
{
	if (p->up.kind == SIM_REGULAR)
		put_regular(s, out, p, stamp_ns);
	else
		put_update(s, out, p, stamp_ns);
}
