/*
 * soundness.h - is a captured packet ours, and is it sound?
 *
 * The one place that recognises Olaf packets in frames and says what is wrong
 * with those that are not as they should be: for the filter, for the age
 * analysis, and for reports.  Ours is UDP with the codepoint of
 * innet-wire(5), or, of bare packets, UDP from an address in the cluster
 * table.  Anything else is regular traffic, which is not looked at further.
 */
#ifndef INNET_CAPTURE_SOUNDNESS_H
#define INNET_CAPTURE_SOUNDNESS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/capture/clusters.h"
#include "common/wire/frame.h"
#include "common/wire/update.h"

/* The verdicts of update_bad (UPDATE_OK among them), and these. */
enum soundness {
	SOUNDNESS_REGULAR = UPDATE_REASONS, SOUNDNESS_FRAGMENT,
	    SOUNDNESS_CHECKSUM,
	SOUNDNESS_SNAPLEN, SOUNDNESS_MISMATCHED, SOUNDNESS_FOREIGN,
	    SOUNDNESS_NO_ROOM, SOUNDNESS_TIME, SOUNDNESS_STREAM,
	SOUNDNESS_VERDICTS
};

/* The name of a verdict in reports. */
static inline const char *
soundness_name(unsigned verdict)
{
	static const char *const name[SOUNDNESS_VERDICTS - UPDATE_REASONS] = {
		"regular", "fragment", "checksum", "snaplen", "mismatched",
		"foreign", "no_room", "time", "stream"
	};

	return verdict < UPDATE_REASONS ?
	    update_reason((enum update_bad)verdict) :
	    name[verdict - UPDATE_REASONS];
}

/*
 * The paper's own packet (Olaf section 4): a big-endian reward, a gradient,
 * and all else from elsewhere: cluster and worker from its addresses, generated
 * when it came, sequence 0.
 */
static inline enum update_bad
soundness_bare(const uint8_t *p, size_t bytes, uint16_t cluster,
    uint32_t worker,
    uint64_t stamp_ns, struct update *u)
{
	struct bytes w = bytes_over(p, bytes);

	*u = (struct update){ .kind = UPDATE_UPDATE, .cluster = cluster,
	    .worker = worker, .merged = 1, .generated_ns = stamp_ns,
	    .reward = bytes_f32(&w) };
	u->vec = w.p;
	u->n = u->elements = (uint32_t)(w.left / 4);
	if (!bytes_ok(&w) || u->n == 0)
		return UPDATE_SHORT;
	if (w.left % 4 != 0)
		return UPDATE_BAD_LENGTH;
	if (!isfinite(u->reward) || !vec_finite(u->vec, u->n))
		return UPDATE_NONFINITE;
	return UPDATE_OK;
}

/*
 * Is the UDP datagram in the frame at p, of which frame_parse() said `is`, here
 * as it was sent?  UPDATE_OK, or why not.
 */
static inline unsigned
soundness_datagram(enum frame_is is, const uint8_t *p, const struct frame *f)
{
	switch (is) {
	case FRAME_FRAGMENT: return SOUNDNESS_FRAGMENT;
	case FRAME_CUT: return SOUNDNESS_SNAPLEN;
	case FRAME_LENGTH: return UPDATE_BAD_LENGTH;
	default: break;
	}
	return frame_checksums_ok(p, f) ? UPDATE_OK : SOUNDNESS_CHECKSUM;
}

/*
 * Judge the frame of caplen bytes at p, len bytes long before it was cut,
 * stamped stamp_ns; bare is the cluster table, or NULL for innet's own
 * format.  *f and, of a sound packet, *u are filled in.  UPDATE_OK, or why
 * not.
 */
static inline unsigned
soundness_frame(const struct clusters *bare, int link, const uint8_t *p,
    uint32_t caplen, uint32_t len, uint64_t stamp_ns, struct frame *f,
    struct update *u)
{
	const enum frame_is is = frame_parse(link, p, caplen, len, f);
	uint16_t cluster = 0;
	unsigned verdict;

	if (is == FRAME_OTHER)
		return SOUNDNESS_REGULAR;
	if (bare != NULL ? !clusters_find(bare, f->flow.src,
	    f->flow.v6, &cluster) :
	    frame_dscp_tos(f) != UPDATE_TOS)
		return SOUNDNESS_REGULAR;
	verdict = soundness_datagram(is, p, f);
	if (verdict != UPDATE_OK)
		return verdict;
	if (bare != NULL)
		return soundness_bare(p + f->payload_at, f->payload_bytes,
		    cluster, clusters_worker(&f->flow), stamp_ns, u);
	return update_parse(p + f->payload_at, f->payload_bytes, u);
}

#endif
