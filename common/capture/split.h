/*
 * split.h - separate datagrams of innet that were joined in one frame
 *
 * A capture can contain one frame for many datagrams.  This happens if the
 * network card of the sender divides the data into datagrams (UDP segmentation
 * offload), or if the receiver joins datagrams (GRO).  All datagrams of a frame
 * have the same length, except that the last datagram may be shorter.  A frame
 * may contain several datagrams in two cases: if its UDP checksum is 0 or the
 * sum of the pseudo header alone, or if the lengths in its headers are 0 or
 * those of the first datagram.  A frame with a correct checksum and correct
 * lengths is never split.
 *
 * The headers of innet (innet-wire(5)) determine the length of the first
 * datagram.  The length follows from the number of elements of an update, from
 * the position of the next header that can follow the first header, or from the
 * first bytes of a DLP packet.  A length is accepted only if every resulting
 * datagram is valid and can follow the datagram before it.  For formats that do
 * not contain a length, split_unsized() only says whether a frame contains
 * several datagrams.  The functions borrow the bytes of frames and copy none of
 * them.
 */
#ifndef INNET_CAPTURE_SPLIT_H
#define INNET_CAPTURE_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/message.h"
#include "common/wire/control.h"
#include "common/wire/frame.h"
#include "common/wire/seg.h"
#include "common/wire/update.h"

#define SPLIT_APART_NS ((uint64_t)3600 * 1000000000)

enum split_kind {
	SPLIT_NONE, SPLIT_UPDATES, SPLIT_SEGMENTS, SPLIT_CONTROLS, SPLIT_SELF
};

/*
 * A function that returns the length of the datagram whose first `have` bytes
 * are at p.  If `have` is 0, the function returns the length of the smallest
 * datagram of the format.
 */
typedef uint32_t split_bytes_fn(const uint8_t *p, size_t have);

/* The format of the datagrams of a frame. */
struct split_as {
	enum split_kind kind;
	split_bytes_fn *bytes;	/* SPLIT_SELF: function that returns the length
				 * of a datagram */
	uint32_t tail;		/* length of the tail (counter and tag) of each
				 * update, or 0 */
};

enum split_is {
	SPLIT_ONE,		/* an ordinary frame */
	SPLIT_SEVERAL,
	SPLIT_CANNOT,		/* the frame contains several datagrams whose
				 * lengths are unknown */
	SPLIT_UNSEEN		/* it is not known whether the frame contains
				 * one or several datagrams, because the capture
				 * is truncated or the checksum is offloaded */
};

/* The remaining datagrams of a frame. */
struct split {
	const uint8_t *p;
	uint32_t have, left;	/* number of bytes at p; number of these bytes
				 * on the wire, before truncation */
	uint32_t each;		/* length of each datagram except the last */
	uint32_t tail;		/* as in struct split_as */
	uint32_t count;		/* number of datagrams in the frame */
};

/* Counters of split frames. */
struct split_count {
	uint64_t frames, datagrams;	/* number of frames that were split;
					 * number of datagrams in these
					 * frames */
	uint64_t cannot;		/* number of frames that could not be
					 * split */
	uint64_t cannot_at;		/* number of the packet that is the
					 * first frame counted in `cannot` */
	uint64_t unsure;		/* number of frames that were treated
					 * as one datagram but may contain
					 * several */
};

enum {
	SPLIT_INDEX_GAP = 64,	 /* segments of any length: largest gap between
				  * the indices of two neighbouring segments */
	SPLIT_INDEX_FAR = 65536, /* segments that fill a usual MTU: largest gap
				  * between the indices */
	SPLIT_XID_FAR = 65536,
	SPLIT_SUMMED_MAX = 1024, /* segments that fill a usual MTU: largest
				  * number of contributions */
	SPLIT_EACH_MAX = 65507,	 /* longest datagram over IPv4 */
	SPLIT_FRAME_MAX = 65535, /* maximum number of bytes in the datagrams of
				  * a frame; the kernel makes no larger frames,
				  * but a capture can claim any length */
	SPLIT_SPARE_BYTES = 12,	 /* if at least this number of bytes follows a
				  * datagram, the bytes are not padding */
	SPLIT_PADDING_MAX = 22	 /* maximum number of bytes of padding and FCS
				  * in a short frame */
};

/*
 * Return the format of datagrams with the ToS byte `tos`.  For a format without
 * innet's headers, `bytes` is the function that returns the length of a
 * datagram, or NULL if there is no such function.
 */
static inline struct split_as split_as(uint8_t tos, split_bytes_fn *bytes);

/*
 * Could the frame contain several datagrams?  Returns false if the checksum is
 * correct and no bytes follow the datagram.
 */
static inline bool split_is_candidate(enum frame_is is, const uint8_t *p,
    const struct frame *f, uint32_t len);

/*
 * Split the frame of caplen bytes at p, for which frame_parse() returned `is`
 * and *f, and which had len bytes before truncation.  If the result is
 * SPLIT_SEVERAL, *s contains the datagrams.
 */
static enum split_is split_frame(const struct split_as *as, enum frame_is is,
    const uint8_t *p, uint32_t caplen, uint32_t len, const struct frame *f,
    struct split *s);

/*
 * Find out whether the frame of len bytes at p, for which frame_parse()
 * returned `is` and *f, contains several datagrams of a format without a
 * length.  Returns SPLIT_CANNOT if the frame certainly contains several
 * datagrams.  Returns SPLIT_UNSEEN if this is not known, because the checksum
 * was left to the network card.  Otherwise returns SPLIT_ONE.
 */
static inline enum split_is split_unsized(enum frame_is is, const uint8_t *p,
    const struct frame *f, uint32_t len);

/*
 * Get the next datagram of *s.  Sets *n to the length of the datagram on the
 * wire, and *p and *have to the bytes that the capture contains.  Returns false
 * after the last datagram.
 */
static inline bool split_next(struct split *s, const uint8_t **p,
    uint32_t *have, uint32_t *n);

/*
 * Write a frame for datagram k of the frame at p.  The datagram has n bytes, of
 * which `have` are at `payload`.  The new frame at `to` gets correct lengths
 * and, if the datagram is complete, a correct UDP checksum.  *made describes
 * the new frame.  Returns the number of bytes at `to`.
 */
static inline uint32_t split_put(uint8_t *to, const uint8_t *p,
    const struct frame *f, uint32_t k, const uint8_t *payload, uint32_t have,
    uint32_t n, struct frame *made);

/*
 * Return the number of bytes that follow the datagram in a frame of len bytes.
 */
static inline uint32_t split_spare(const struct frame *f, uint32_t len);

/*
 * Print warnings about frames that could not be split.  `name` is the name of
 * the capture.
 */
static inline void split_warn(const struct split_count *n, const char *name);

/* implementation */

static inline struct split_as
split_as(uint8_t tos, split_bytes_fn *bytes)
{
	const uint8_t dscp = tos & 0xfc;

	return (struct split_as){ .bytes = bytes,
	    .tail = update_tail_bytes(dscp),
	    .kind = update_is(dscp) ? SPLIT_UPDATES : seg_is(dscp) ?
	    SPLIT_SEGMENTS : dscp == CONTROL_TOS ? SPLIT_CONTROLS :
	    bytes != NULL ? SPLIT_SELF : SPLIT_NONE };
}

/* Return the length of the smallest datagram of a format. */
static inline uint32_t
split_least(const struct split_as *as)
{
	switch (as->kind) {
	case SPLIT_UPDATES: return UPDATE_HEADER_BYTES + 4 + as->tail;
	case SPLIT_SEGMENTS: return SEG_HEADER_BYTES + 4;
	case SPLIT_CONTROLS: return CONTROL_HEADER_BYTES;
	default: return as->bytes(NULL, 0);
	}
}

/*
 * Could a datagram of n bytes, of which the first `have` are at p, be an update
 * with a valid header and a tail of `tail` bytes?
 */
static inline bool
split_is_update(const uint8_t *p, uint32_t have, uint32_t n, uint32_t tail)
{
	struct update u;
	enum update_bad bad;

	if (have < n && have < UPDATE_MODEL_BYTES)	/* the header was
							 * truncated */
		return have < 2 || (p[0] == UPDATE_VERSION && p[1] != 0 &&
		    p[1] <= UPDATE_WEIGHTS);
	n -= tail;
	bad = update_parse_header(p, have < n ? have : n, n, &u);
	return bad == UPDATE_OK || bad == UPDATE_NONFINITE;
}

/*
 * Can update q follow update p in a frame?  It can if both updates were
 * generated at about the same time.  They may come from different workers,
 * because one system call can send updates of several workers.
 */
static inline bool
split_may_follow_update(const uint8_t *p, const uint8_t *q)
{
	const uint64_t a = bytes_get(p + UPDATE_GENERATED_AT, 8);
	const uint64_t b = bytes_get(q + UPDATE_GENERATED_AT, 8);

	return p[1] == q[1] && (a < b ? b - a : a - b) < SPLIT_APART_NS;
}

/*
 * Can segment q follow segment p in a frame?  It can if q comes soon after p in
 * the same vector or is near the beginning of the next vector.  If `far` is
 * true, q may be farther away and may also come before p.
 */
static inline bool
split_may_follow_segment(const uint8_t *p, const uint8_t *q, bool far)
{
	const struct seg a = seg_split(bytes_get(p, 8));
	const struct seg b = seg_split(bytes_get(q, 8));
	const bool next = b.iteration == seg_step(a.iteration, 1);
	const uint32_t ahead = b.index - a.index;

	if (far)	/* reject 0, because the zeros of a sparse vector would
			 * look like such a segment */
		return (b.iteration == a.iteration || next ||
		    a.iteration == seg_step(b.iteration, 1)) &&
		    b.iteration > 0 && b.contributions > 0 &&
		    b.contributions <= SPLIT_SUMMED_MAX &&
		    (ahead < SPLIT_INDEX_FAR || -ahead < SPLIT_INDEX_FAR);
	return b.contributions == a.contributions && (next ?
	    b.index < SPLIT_INDEX_GAP : b.iteration == a.iteration &&
	    ahead > 0 && ahead <= SPLIT_INDEX_GAP);
}

/*
 * Can the control message at q, of which 8 bytes are present, follow the
 * control message at p in a frame?
 */
static inline bool
split_may_follow_control(const uint8_t *p, const uint8_t *q)
{
	const uint32_t ahead = (uint32_t)(bytes_get(q + 4, 4) -
	    bytes_get(p + 4, 4));

	return control_action_name(q[0]) != NULL &&
	    (q[1] & ~CONTROL_FLAGS) == 0 &&
	    memcmp(p + 2, q + 2, 2) == 0 &&
	    (ahead < SPLIT_XID_FAR || -ahead < SPLIT_XID_FAR);
}

/*
 * Is the datagram of n bytes at q, of which `have` are present, valid, and can
 * it follow the datagram at p?  If p is NULL, the datagram is the first one.
 */
static inline bool
split_is_sound(const struct split_as *as, const uint8_t *p, const uint8_t *q,
    uint32_t have, uint32_t n, bool far)
{
	struct control c;

	if (n < split_least(as))
		return false;
	switch (as->kind) {
	case SPLIT_UPDATES:
		return split_is_update(q, have, n, as->tail) &&
		       (p == NULL || have < UPDATE_HEADER_BYTES ||
			   split_may_follow_update(p, q));
	case SPLIT_SEGMENTS:
		return n % 4 == 0 && (p == NULL || have < SEG_HEADER_BYTES ||
		    split_may_follow_segment(p, q, far));
	case SPLIT_CONTROLS:
		if (have < n)
			return p == NULL || have < CONTROL_HEADER_BYTES ||
			    split_may_follow_control(p, q);
		return control_parse(q, n, &c) && (p == NULL ||
		    split_may_follow_control(p, q));
	default:
		return n == as->bytes(q, have);
	}
}

/*
 * Are all datagrams valid if each has `each` bytes and only the last may be
 * shorter?
 */
static inline bool
split_length_fits(const struct split_as *as, const uint8_t *p, uint32_t have,
    uint32_t bytes, uint32_t each, bool far)
{
	if (each == 0 || each >= bytes || each > SPLIT_EACH_MAX)
		return false;
	for (uint32_t at = 0; at < bytes; at += each) {
		const uint32_t n = bytes - at < each ? bytes - at : each;
		const uint32_t there = at >= have ? 0 : have - at < n ?
		    have - at : n;

		if (!split_is_sound(as, at == 0 ? NULL : p + at - each, p + at,
		    there, n, far))
			return false;
	}
	return true;
}

/*
 * Could a datagram begin at q?  p is the first datagram.  All bytes of a header
 * are present at q.
 */
static inline bool
split_may_begin(const struct split_as *as, const uint8_t *p, const uint8_t *q)
{
	switch (as->kind) {
	case SPLIT_UPDATES:
		return q[0] == UPDATE_VERSION && q[1] >= UPDATE_UPDATE &&
		    q[1] <= UPDATE_WEIGHTS;
	case SPLIT_SEGMENTS:
		return split_may_follow_segment(p, q, false);
	default:
		return split_may_follow_control(p, q);
	}
}

/*
 * Find the second header.  Return its offset, which is the length of each
 * datagram, or 0 if no length is possible.
 */
static inline uint32_t
split_find_second(const struct split_as *as, const uint8_t *p, uint32_t have,
    uint32_t bytes)
{
	const uint32_t least = split_least(as), head = as->kind ==
	    SPLIT_UPDATES ? UPDATE_HEADER_BYTES : SEG_HEADER_BYTES;
	const uint32_t step = as->kind == SPLIT_CONTROLS ? 1 : 4;

	for (uint32_t at = least; at + least <= bytes && at + head <= have;
	    at += step)
		if (split_may_begin(as, p, p + at) &&
		    split_length_fits(as, p, have, bytes, at, false))
			return at;
	return 0;
}

/*
 * Find the length of each update and store it in *each.  If possible, compute
 * it from the number of elements in the first header.
 */
static inline enum split_is
split_find_updates(const struct split_as *as, const uint8_t *p, uint32_t have,
    uint32_t bytes, uint32_t *each)
{
	struct update u;
	uint64_t whole;

	if (have < UPDATE_HEADER_BYTES)
		return have < bytes ? SPLIT_UNSEEN : SPLIT_ONE;
	u = update_get(p);
	if (p[0] != UPDATE_VERSION || u.kind < UPDATE_UPDATE ||
	    u.kind > UPDATE_WEIGHTS)
		return SPLIT_ONE;
	whole = update_head_bytes(u.kind) + 4 * (uint64_t)u.elements +
	    as->tail;
	if (whole == bytes)		/* the whole vector is in one packet */
		return SPLIT_ONE;
	*each = u.following == 0 && whole < bytes &&
			split_length_fits(
			    as, p, have, bytes, (uint32_t)whole, false)
		    ? (uint32_t)whole
		    : split_find_second(as, p, have, bytes);
	if (*each > 0)
		return SPLIT_SEVERAL;
	return whole < bytes ? SPLIT_CANNOT : have < bytes ? SPLIT_UNSEEN :
	    SPLIT_ONE;
}

/*
 * Return the length of each segment, or 0 if no length is possible.  If the
 * segments fill a usual MTU, they may be in any order.
 */
static inline uint32_t
split_find_segments(const uint8_t *p, uint32_t have, uint32_t bytes)
{
	static const uint32_t mtu[] = { 1500, 9000 };
	const struct split_as as = { .kind = SPLIT_SEGMENTS };
	uint32_t each = split_find_second(&as, p, have, bytes);

	for (size_t i = 0; i < 2 * sizeof(mtu) / sizeof(*mtu) && each == 0;
	    i++) {
		const uint32_t usual = SEG_HEADER_BYTES + 4 * seg_floats(
		    mtu[i / 2], i % 2 != 0);

		if (usual + SEG_HEADER_BYTES <= have &&
		    split_length_fits(&as, p, have, bytes, usual, true))
			each = usual;
	}
	return each;
}

/*
 * Find the length of each datagram in `bytes` bytes of payload, of which `have`
 * are at p, and store it in *each.
 */
static inline enum split_is
split_find(const struct split_as *as, const uint8_t *p, uint32_t have,
    uint32_t bytes, uint32_t *each)
{
	*each = 0;
	switch (as->kind) {
	case SPLIT_UPDATES:
		return split_find_updates(as, p, have, bytes, each);
	case SPLIT_SEGMENTS:
		*each = split_find_segments(p, have, bytes);
		break;
	case SPLIT_CONTROLS:
		*each = split_find_second(as, p, have, bytes);
		break;
	case SPLIT_SELF:
		*each = as->bytes(p, have);
		if (!split_length_fits(as, p, have, bytes, *each, false))
			*each = 0;
		break;
	case SPLIT_NONE:
		break;
	}
	return *each > 0 ? SPLIT_SEVERAL : SPLIT_ONE;
}

/* Is the length in the IP or UDP header of the frame at p 0? */
static inline bool
split_no_length(const uint8_t *p, const struct frame *f)
{
	const uint8_t *ip = p + f->ip_at;

	return bytes_get(ip + (f->flow.v6 ? 4 : 2), 2) == 0 ||
	    bytes_get(p + f->udp_at + 4, 2) == 0;
}

static inline uint32_t
split_spare(const struct frame *f, uint32_t len)
{
	return len - f->payload_at - f->payload_bytes;
}

static inline bool
split_is_candidate(enum frame_is is, const uint8_t *p, const struct frame *f,
    uint32_t len)
{
	switch (is) {
	case FRAME_UDP:
	case FRAME_CUT:
		return f->payload_at > 0 &&
		       (frame_checksum_is_offloaded(p, f) ||
			   split_spare(f, len) >= SPLIT_SPARE_BYTES);
	case FRAME_LENGTH:
		return f->payload_at > 0;
	default:
		return false;
	}
}

/*
 * If the lengths in the headers of the frame are those of the first datagram,
 * set s->each and return true.
 */
static inline bool
split_by_header(const struct split_as *as, const struct frame *f,
    struct split *s)
{
	const uint32_t spare = s->left - f->payload_bytes;

	if (spare < SPLIT_SPARE_BYTES || !split_length_fits(as, s->p, s->have,
	    s->left, f->payload_bytes, true))
		return false;
	s->each = f->payload_bytes;
	return true;
}

__attribute__((noinline, unused)) static enum split_is
split_frame(const struct split_as *as, enum frame_is is, const uint8_t *p,
    uint32_t caplen, uint32_t len, const struct frame *f, struct split *s)
{
	enum split_is found;

	*s = (struct split){ .tail = as->tail };
	if (as->kind == SPLIT_NONE || !split_is_candidate(is, p, f, len) ||
	    len - f->payload_at > SPLIT_FRAME_MAX ||
	    (is != FRAME_LENGTH && !frame_ip_sum_ok(p, f)))
		return SPLIT_ONE;
	s->p = p + f->payload_at;
	s->left = len - f->payload_at;
	s->have = caplen - f->payload_at;
	if (is == FRAME_LENGTH) {
		found = split_find(as, s->p, s->have, s->left, &s->each);
		if (found != SPLIT_SEVERAL)
			found = split_no_length(p, f) ? SPLIT_CANNOT :
			    SPLIT_ONE;
	} else if (split_by_header(as, f, s)) {
		found = SPLIT_SEVERAL;
	} else if (!frame_checksum_is_offloaded(p, f)) {
		found = SPLIT_ONE;
	} else {
		s->left = f->payload_bytes;
		s->have = s->have < s->left ? s->have : s->left;
		found = split_find(as, s->p, s->have, s->left, &s->each);
	}
	if (found == SPLIT_SEVERAL)
		s->count = (s->left - 1) / s->each + 1;
	else
		s->left = 0;
	return found;
}

static inline enum split_is
split_unsized(enum frame_is is, const uint8_t *p, const struct frame *f,
    uint32_t len)
{
	if (f->payload_at == 0)
		return SPLIT_ONE;
	if (is == FRAME_LENGTH)
		return split_no_length(p, f) ? SPLIT_CANNOT : SPLIT_ONE;
	if (is != FRAME_UDP && is != FRAME_CUT)
		return SPLIT_ONE;
	if (split_spare(f, len) > SPLIT_PADDING_MAX &&
	    split_spare(f, len) >= f->payload_bytes)
		return SPLIT_CANNOT;
	return bytes_get(p + f->udp_at + 6, 2) != 0 &&
		       frame_checksum_is_offloaded(p, f)
		   ? SPLIT_UNSEEN
		   : SPLIT_ONE;
}

static inline bool
split_next(struct split *s, const uint8_t **p, uint32_t *have, uint32_t *n)
{
	if (s->left == 0)
		return false;
	*p = s->p;
	*n = s->left < s->each ? s->left : s->each;
	*have = s->have < *n ? s->have : *n;
	s->p += *have;
	s->have -= *have;
	s->left -= *n;
	return true;
}

static inline uint32_t
split_put(uint8_t *to, const uint8_t *p, const struct frame *f, uint32_t k,
    const uint8_t *payload, uint32_t have, uint32_t n, struct frame *made)
{
	const uint32_t head = f->udp_at - f->ip_at, udp = FRAME_UDP_BYTES + n;
	uint8_t *ip = to + f->ip_at;
	uint16_t sum;

	memcpy(to, p, f->payload_at);
	memcpy(to + f->payload_at, payload, have);
	*made = *f;
	made->payload_bytes = n;
	bytes_put(to + f->udp_at + 4, udp, 2);
	memset(to + f->udp_at + 6, 0, 2);
	if (f->flow.v6) {
		bytes_put(ip + 4, head - 40 + udp, 2);
	} else {
		bytes_put(ip + 2, head + udp, 2);
		if ((ip[6] & 0x40) == 0)	/* if the don't-fragment flag is
						 * set, the id has no meaning */
			bytes_put(ip + 4, bytes_get(ip + 4, 2) + k, 2);
		memset(ip + 10, 0, 2);
		sum = (uint16_t)~inetsum_fold(inetsum_add(0, ip, head));
		memcpy(ip + 10, &sum, 2);
	}
	if (have == n)
		frame_put_checksum(to, made);
	return f->payload_at + have;
}

static inline void
split_warn(const struct split_count *n, const char *name)
{
	if (n->cannot > 0)
		warnx("%s: packet %llu: one frame contains several datagrams "
		    "that cannot be separated (number of such frames: %llu); "
		    "switch off offloads before you capture (see ethtool -K)",
		    name,
		    (unsigned long long)n->cannot_at,
		    (unsigned long long)n->cannot);
	if (n->unsure == 1)
		warnx("%s: 1 packet has no length, and its checksum was left "
		    "to the network card; it counts as one datagram but may be "
		    "several; switch off offloads before you capture (see "
		    "ethtool -K)", name);
	if (n->unsure > 1)
		warnx("%s: %llu packets have no length, and their checksums "
		    "were left to the network card; each counts as one "
		    "datagram but may be several; switch off offloads before "
		    "you capture (see ethtool -K)", name,
		    (unsigned long long)n->unsure);
}

#endif
