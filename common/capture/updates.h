/*
 * updates.h - read the updates of a capture one by one, and count the rest
 *
 * updates_next() returns the packets that soundness.h finds valid: updates,
 * models and weights.  It counts all other packets by the reason why it does
 * not return them.  If a frame contains several packets, updates_next() returns
 * them one by one, with the timestamp of the frame.  If `headers` is set, it
 * also returns packets with a truncated vector.  If a timestamp is less than
 * the previous timestamp, the previous one is used instead.
 *
 * A struct updates owns its file until updates_close() is called.  The vector
 * of a returned packet is borrowed until the next call.  Errors are those of
 * pcapio.h, and in.why contains their message.
 */
#ifndef INNET_CAPTURE_UPDATES_H
#define INNET_CAPTURE_UPDATES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/message.h"
#include "common/capture/filter.h"
#include "common/capture/hints.h"
#include "common/capture/pcapio.h"
#include "common/capture/soundness.h"

struct updates {
	struct pcapio_in in;
	uint64_t until_ns;	/* stop at the first packet after this time */
	uint64_t first_ns;	/* timestamps of the first and the last packet
				 * of any kind; valid if in.packets > 0 */
	uint64_t last_ns;
	uint64_t backwards;	/* number of packets with an earlier timestamp
				 * than the previous packet */
	uint64_t backwards_at;	/* number of the first such packet */
	uint64_t regular;	/* number of packets of other traffic */
	uint64_t ignored[SOUNDNESS_VERDICTS];	/* packets, by verdict */
	const struct clusters *bare;	/* table of bare packets, or NULL */
	struct filter filter;	/* selects packets, unless it is off */
	bool headers;		/* return truncated packets with vec = NULL */
	uint64_t cut;		/* number of packets with a truncated vector */
	struct split_count split;
	struct split pieces;	/* remaining packets of the last frame */
	struct hints hints;	/* counts of other traffic */
};

/* Begin to read the capture at path.  Returns 0, or -1 with it->in.why. */
static inline int
updates_open(struct updates *it, const char *path)
{
	*it = (struct updates){ .until_ns = UINT64_MAX };
	return pcapio_open(&it->in, path);
}

/* Close the file and free the filter. */
static inline void
updates_close(struct updates *it)
{
	pcapio_close_in(&it->in);
	filter_close(&it->filter);
}

/*
 * Return the timestamp of p, limited to values below 2^63.  If the timestamp is
 * less than the previous one, return the previous one.
 */
static inline uint64_t
updates_stamp(struct updates *it, const struct pcapio_packet *p)
{
	uint64_t t = p->stamp_ns > INT64_MAX ? INT64_MAX : p->stamp_ns;

	if (it->in.packets == 1) {
		it->first_ns = t;
	} else if (t < it->last_ns) {
		if (it->backwards++ == 0)
			it->backwards_at = it->in.packets;
		t = it->last_ns;
	}
	return t;
}

/* Check the next packet in a frame that contains several packets. */
static inline unsigned
updates_check_piece(struct updates *it, struct update *u)
{
	const uint8_t *p = NULL;
	uint32_t have = 0, n = 0;

	split_next(&it->pieces, &p, &have, &n);
	return soundness_update(p, have, n, it->pieces.tail, u);
}

/*
 * Count a packet whose verdict is not UPDATE_OK.  Returns true if
 * updates_next() must return the packet although it is not valid.
 */
static inline bool
updates_count_odd(struct updates *it, unsigned verdict, const struct update *u)
{
	switch (verdict) {
	case SOUNDNESS_REGULAR:
		it->regular++;
		return false;
	case SOUNDNESS_SEVERAL:
		it->split.frames++;
		it->split.datagrams += it->pieces.count;
		return false;
	case SOUNDNESS_SNAPLEN:
		if (it->headers && u->n > 0) {
			it->cut++;
			return true;
		}
		break;
	case SOUNDNESS_SUPER_DATAGRAM:
		if (it->split.cannot++ == 0)
			it->split.cannot_at = it->in.packets;
		break;
	default:
		break;
	}
	it->ignored[verdict]++;
	return false;
}

/* Count a bare packet that may contain more than one datagram. */
static inline void
updates_check_single(struct updates *it, const struct pcapio_packet *p,
    const struct frame *f)
{
	if (split_unsized(FRAME_UDP, p->data, f, p->len) == SPLIT_UNSEEN)
		it->split.unsure++;
}

/*
 * Store the next valid packet in *u and its timestamp in *stamp_ns.  Returns 1,
 * or 0 at the end, or -1 if the file is damaged (see pcapio_next()).
 */
static inline int
updates_next(struct updates *it, uint64_t *stamp_ns, struct update *u)
{
	struct pcapio_packet p = { 0 };
	struct frame f;
	unsigned verdict;
	uint64_t t;
	int got;

	for (;;) {
		if (it->pieces.left > 0) {
			verdict = updates_check_piece(it, u);
			t = it->last_ns;
		} else {
			got = pcapio_next(&it->in, &p);
			if (got != 1)
				return got;
			t = updates_stamp(it, &p);
			if (t > it->until_ns)
				return 0;
			it->last_ns = t;
			verdict = !filter_passes(&it->filter, &p) ?
			    SOUNDNESS_REGULAR : soundness_frame(it->bare,
			    !it->filter.on, it->in.link, p.data, p.caplen,
			    p.len, t, &f, u, &it->pieces);
			if (it->bare != NULL && verdict == UPDATE_OK)
				updates_check_single(it, &p, &f);
		}
		*stamp_ns = t;
		if (verdict == UPDATE_OK || updates_count_odd(it, verdict, u))
			return 1;
		if (verdict == SOUNDNESS_REGULAR)
			hints_count(&it->hints, it->in.link, p.data, p.caplen);
	}
}

/* Print warnings about decreasing timestamps and other unusual things. */
static inline void
updates_warn_odd(const struct updates *it)
{
	pcapio_warn_odd(&it->in);
	split_warn(&it->split, pcapio_name(it->in.path, false));
	if (it->backwards > 0)
		warnx("%s: packet %llu: its timestamp is earlier than that of "
		    "the previous packet, whose time is used instead (number "
		    "of such packets: %llu)", pcapio_name(it->in.path, false),
		    (unsigned long long)it->backwards_at,
		    (unsigned long long)it->backwards);
}

/* Return the number of packets that were ignored for any reason. */
static inline uint64_t
updates_ignored(const struct updates *it)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < SOUNDNESS_VERDICTS; i++)
		sum += it->ignored[i];
	return sum;
}

#endif
