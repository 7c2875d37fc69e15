/*
 * soundness.h - recognise Olaf packets in frames, and check whether they are
 * valid
 *
 * All tools use this file, so that the filter, the age analysis and the reports
 * agree on which packets are Olaf packets and on why a packet is invalid.  A
 * UDP packet is an Olaf packet if it has a DSCP that innet-wire(5) defines.  If
 * packets are bare, a UDP packet is an Olaf packet if its source address is in
 * the cluster table.  All other packets are regular traffic and are not checked
 * further.
 */
#ifndef INNET_CAPTURE_SOUNDNESS_H
#define INNET_CAPTURE_SOUNDNESS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/capture/clusters.h"
#include "common/capture/split.h"
#include "common/wire/frame.h"
#include "common/wire/update.h"

/* The verdicts that are not values of enum update_bad. */
enum soundness {
	SOUNDNESS_REGULAR = UPDATE_REASONS,
	SOUNDNESS_FRAGMENT,
	SOUNDNESS_CHECKSUM,
	SOUNDNESS_SNAPLEN,
	SOUNDNESS_MISMATCHED,
	SOUNDNESS_FOREIGN,
	SOUNDNESS_NO_ROOM,
	SOUNDNESS_SUPER_DATAGRAM,
	SOUNDNESS_TIME,
	SOUNDNESS_STREAM,
	SOUNDNESS_BAD_TAG,
	SOUNDNESS_REPLAYED,
	SOUNDNESS_VERDICTS,
	SOUNDNESS_SEVERAL =
	    UINT8_MAX /* not a verdict: the frame contains several packets, and
		       * each of these packets gets its own verdict */
};

/*
 * Check the frame of caplen bytes at p, which had `len` bytes before truncation
 * and has the timestamp stamp_ns.  `bare` is the cluster table if packets are
 * bare, and NULL if packets have innet's own format.  If `marked` is true,
 * packets in innet's own format are recognised by their DSCP; otherwise every
 * UDP packet counts as such a packet.  Fills in *f and, if the packet is valid,
 * *u.  Returns UPDATE_OK or the reason why the packet is not valid.  If the
 * result is SOUNDNESS_SEVERAL, the caller must check the packets of *pieces
 * with soundness_update().  If the result is SOUNDNESS_SNAPLEN, *u is filled in
 * as by soundness_update().
 */
static inline unsigned soundness_frame(const struct clusters *bare, bool marked,
    int link, const uint8_t *p, uint32_t caplen, uint32_t len,
    uint64_t stamp_ns, struct frame *f, struct update *u, struct split *pieces);

/*
 * Check a packet of `len` bytes, of which `have` bytes are at p.  The last
 * `tail` bytes are a tag, which is not checked.  Returns UPDATE_OK or the
 * reason why the packet is not valid.  If the result is SOUNDNESS_SNAPLEN and
 * the header is present and valid, *u is the update without its vector.  If the
 * result is SOUNDNESS_SNAPLEN and the header is not valid, u->n is 0.
 */
static inline unsigned soundness_update(const uint8_t *p, uint32_t have,
    uint32_t len, uint32_t tail, struct update *u);

/*
 * Check that the UDP datagram in the frame at p is complete and has correct
 * checksums.  `is` is the result of frame_parse().  Returns UPDATE_OK or the
 * reason why the datagram is not valid.
 */
static inline unsigned soundness_datagram(enum frame_is is, const uint8_t *p,
    const struct frame *f);

/*
 * Work like soundness_datagram(), but use `sums`, an earlier result of
 * frame_sums(), unless it is FRAME_SUMS_UNKNOWN.
 */
static inline unsigned soundness_summed(enum frame_is is, enum frame_sums sums,
    const uint8_t *p, const struct frame *f);

/*
 * Read a packet in the format of the Olaf paper (section 4), which consists of
 * a big-endian reward and a gradient.  The caller derives `cluster` and
 * `worker` from the addresses.  The update gets the time of generation stamp_ns
 * and the sequence number 0.
 */
static inline enum update_bad soundness_bare(const uint8_t *p, size_t bytes,
    uint16_t cluster, uint32_t worker, uint64_t stamp_ns, struct update *u);

/* Return the name that reports use for a verdict. */
static inline const char *soundness_name(unsigned verdict);

/* implementation */

static inline const char *
soundness_name(unsigned verdict)
{
	static const char *const name[SOUNDNESS_VERDICTS - UPDATE_REASONS] = {
		"regular", "fragment", "checksum", "snaplen", "mismatched",
		"foreign", "no_room", "super_datagram", "time", "stream",
		"bad_proof", "replayed_data"
	};

	return verdict < UPDATE_REASONS ?
	    update_reason((enum update_bad)verdict) :
	    name[verdict - UPDATE_REASONS];
}

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
 * Read a bare packet like soundness_bare(), for callers that need only ages.
 * Any payload that is not empty is valid.  u->vec points to the bytes of the
 * payload, and u->n is the number of these bytes.
 */
static inline unsigned
soundness_payload(const uint8_t *p, size_t bytes, uint16_t cluster,
    uint32_t worker, uint64_t stamp_ns, struct update *u)
{
	const float reward = bytes >= 4 ? bytes_get_f32(p) : 0;

	*u = (struct update){ .kind = UPDATE_UPDATE, .cluster = cluster,
	    .worker = worker, .merged = 1, .generated_ns = stamp_ns,
	    .reward = isfinite(reward) ? reward : 0, .vec = p,
	    .n = (uint32_t)bytes };
	return bytes == 0 ? UPDATE_SHORT : UPDATE_OK;
}

static inline unsigned
soundness_summed(enum frame_is is, enum frame_sums sums, const uint8_t *p,
    const struct frame *f)
{
	switch (is) {
	case FRAME_FRAGMENT: return SOUNDNESS_FRAGMENT;
	case FRAME_CUT: return SOUNDNESS_SNAPLEN;
	case FRAME_LENGTH: return UPDATE_BAD_LENGTH;
	case FRAME_SEVERAL: return SOUNDNESS_SUPER_DATAGRAM;
	default: break;
	}
	if (sums == FRAME_SUMS_UNKNOWN)
		sums = frame_sums(p, f);
	return sums == FRAME_SUMS_WRONG ? SOUNDNESS_CHECKSUM : UPDATE_OK;
}

static inline unsigned
soundness_datagram(enum frame_is is, const uint8_t *p, const struct frame *f)
{
	return soundness_summed(is, FRAME_SUMS_UNKNOWN, p, f);
}

static inline unsigned
soundness_update(const uint8_t *p, uint32_t have, uint32_t len,
    uint32_t tail, struct update *u)
{
	enum update_bad bad;

	len = len < tail ? 0 : len - tail;
	have = have < len ? have : len;
	if (have == len)
		return update_parse(p, len, u);
	bad = update_parse_header(p, have, len, u);
	u->vec = NULL;
	if (bad == UPDATE_OK)
		return SOUNDNESS_SNAPLEN;
	u->n = 0;
	return bad == UPDATE_SHORT ? SOUNDNESS_SNAPLEN : bad;
}

/*
 * Do the work of soundness_frame() for an unusual frame whose packets have
 * innet's own format.
 */
__attribute__((noinline, unused)) static unsigned
soundness_check_odd(enum frame_is is, const uint8_t *p, uint32_t caplen,
    uint32_t len, const struct frame *f, struct update *u,
    struct split *pieces)
{
	const struct split_as as = { .kind = SPLIT_UPDATES,
	    .tail = update_tail_bytes(frame_dscp_tos(f)) };
	unsigned verdict;

	*u = (struct update){ .n = 0 };
	switch (split_frame(&as, is, p, caplen, len, f, pieces)) {
	case SPLIT_SEVERAL: return SOUNDNESS_SEVERAL;
	case SPLIT_CANNOT: return SOUNDNESS_SUPER_DATAGRAM;
	case SPLIT_UNSEEN: return SOUNDNESS_SNAPLEN;
	case SPLIT_ONE: break;
	}
	verdict = soundness_datagram(is, p, f);
	if (verdict == UPDATE_OK || (verdict == SOUNDNESS_SNAPLEN &&
	    f->payload_at > 0))
		return soundness_update(p + f->payload_at,
		    verdict == UPDATE_OK ? f->payload_bytes :
		    caplen - f->payload_at, f->payload_bytes, as.tail, u);
	return verdict;
}

static inline unsigned
soundness_frame(const struct clusters *bare, bool marked, int link,
    const uint8_t *p, uint32_t caplen, uint32_t len, uint64_t stamp_ns,
    struct frame *f, struct update *u, struct split *pieces)
{
	const enum frame_is is = frame_parse(link, p, caplen, len, f);
	uint16_t cluster = 0;
	unsigned verdict;

	if (is == FRAME_OTHER)
		return SOUNDNESS_REGULAR;
	if (bare != NULL ? !clusters_find(bare, f->flow.src,
	    f->flow.v6, &cluster) :
	    marked && !update_is(frame_dscp_tos(f)))
		return SOUNDNESS_REGULAR;
	if (bare == NULL) {
		if (is != FRAME_UDP || split_spare(f, len) >=
		    SPLIT_SPARE_BYTES || frame_sums(p, f) != FRAME_SUMS_RIGHT)
			return soundness_check_odd(
			    is, p, caplen, len, f, u, pieces);
		return update_parse_as(frame_dscp_tos(f), p + f->payload_at,
		    f->payload_bytes, u);
	}
	verdict = split_unsized(is, p, f, len) == SPLIT_CANNOT ?
	    SOUNDNESS_SUPER_DATAGRAM :
	    soundness_datagram(is, p, f);
	if (verdict == UPDATE_OK)
		return soundness_payload(p + f->payload_at, f->payload_bytes,
		    cluster, clusters_worker(&f->flow), stamp_ns, u);
	u->n = 0;
	return verdict;
}

#endif
