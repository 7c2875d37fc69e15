/* retime.c - write a trace with new timestamps as a capture */
#include "config.h"

#include <string.h>

#include "cmd/innet-replay/conf.h"
#include "common/base/bytes.h"
#include "common/net/timer.h"

/*
 * Write a packet in the form in which innet captures packets, with the
 * timestamp at_ns.
 */
static void
put_packet(const struct conf *cf, struct pcapio_out *out,
    const struct trace_packet *p, uint64_t at_ns)
{
	uint8_t *q = pcapio_room(out);
	struct frame f;
	const size_t head = frame_put(q, &p->f.flow, p->f.tos,
	    p->f.payload_bytes, &f);
	const uint32_t len = (uint32_t)(head + p->f.payload_bytes);

	memcpy(q + head, p->payload, p->f.payload_bytes);
	if (cf->stamp && p->update)
		bytes_put(q + head + UPDATE_GENERATED_AT, at_ns, 8);
	frame_put_checksum(q, &f);
	pcapio_commit(out, at_ns, len, len);
}

int
retime_trace(const struct conf *cf, struct trace *t, struct tally *n)
{
	const uint64_t began = timer_mono_ns();
	struct pcapio_out out;
	struct trace_packet p;
	uint64_t at;
	int got = 0, rc;

	pcapio_create_or_exit(&out, cf->out);
	while (*cf->stop == 0 && out.failed == 0 &&
	    (cf->count == 0 || n->packets < cf->count)) {
		got = trace_next(t, &p);
		if (got != 1)
			break;
		at = conf_due_ns(cf, p.deadline_ns, n->packets);
		if (at >= cf->duration_ns)
			break;
		put_packet(cf, &out, &p, t->first_ns + at);
		if (out.failed != 0)
			break;
		n->packets++;
		n->bytes += p.f.payload_bytes;
	}
	n->elapsed_ns = timer_mono_ns() - began;
	trace_report(t, cf->verbose);
	rc = pcapio_close_or_warn(&out);
	return got == -1 ? pcapio_warn_damage(&t->in) : rc;
}
