/*
 * intake.h - the updates of a capture, one by one, and what was left out
 *
 * Recognises Olaf packets by their codepoint alone, judges each, and hands on
 * those that are whole: updates, models, weights.  What is not is counted by
 * reason.  Stamps never go back: one that does counts as its predecessor.
 * An intake owns its file until intake_close(); updates borrow from it until
 * the next call.  Failures are those of pcapio.h, in intake.in.why.
 */
#ifndef INNET_INTAKE_H
#define INNET_INTAKE_H

#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/frame.h"
#include "common/pcapio.h"
#include "common/update.h"

enum intake_reason {
	INTAKE_FRAGMENT, INTAKE_CHECKSUM, INTAKE_SNAPLEN, INTAKE_LENGTH,
	INTAKE_SHORT, INTAKE_VERSION, INTAKE_KIND, INTAKE_MERGED,
	INTAKE_NONFINITE, INTAKE_REASONS
};

static const char *const intake_name[INTAKE_REASONS] = {
	"fragment", "checksum", "snaplen", "length", "short", "version",
	"kind", "merged", "nonfinite"
};

struct intake {
	struct pcapio_in in;
	uint64_t until_ns;	/* packets stamped later are the end */
	uint64_t first_ns;	/* stamps of any packet, once in.packets > 0 */
	uint64_t last_ns;
	uint64_t backwards;	/* stamps before their predecessor's */
	uint64_t backwards_at;	/* number of the first such packet */
	uint64_t regular;	/* packets that are not Olaf's */
	uint64_t ignored[INTAKE_REASONS];
	struct frame frame;	/* of the packet handed on */
	const uint8_t *payload;	/* of it */
};

/* Begin to read path.  0, or -1 and it->in.why. */
static inline int
intake_open(struct intake *it, const char *path)
{
	*it = (struct intake){ .until_ns = UINT64_MAX };
	return pcapio_open(&it->in, path);
}

static inline void
intake_close(struct intake *it)
{
	pcapio_close_in(&it->in);
}

/* The stamp of p, made to stand in order and below 2^63. */
static inline uint64_t
intake_stamp(struct intake *it, const struct pcapio_packet *p)
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

/* Is the UDP payload of the frame at p an Olaf packet of ours, and sound? */
static inline bool
intake_frame(struct intake *it, const struct pcapio_packet *p)
{
	static const enum intake_reason why[] = {
		[FRAME_FRAGMENT] = INTAKE_FRAGMENT,
		[FRAME_CUT] = INTAKE_SNAPLEN, [FRAME_LENGTH] = INTAKE_LENGTH
	};
	const enum frame_is is = frame_parse(it->in.link, p->data, p->caplen,
	    p->len, &it->frame);

	if (is == FRAME_OTHER || frame_dscp_tos(&it->frame) != UPDATE_TOS) {
		it->regular++;
		return false;
	}
	if (is != FRAME_UDP) {
		it->ignored[why[is]]++;
		return false;
	}
	if (!frame_checksums_ok(p->data, &it->frame)) {
		it->ignored[INTAKE_CHECKSUM]++;
		return false;
	}
	it->payload = p->data + it->frame.payload_at;
	return true;
}

/*
 * The next frame with an Olaf payload at it->payload, not yet judged: 1, 0 at
 * the end, -1 if the file is damaged (see pcapio_next).
 */
static inline int
intake_next_payload(struct intake *it, uint64_t *stamp_ns)
{
	struct pcapio_packet p = { 0 };
	uint64_t t;
	int got;

	while ((got = pcapio_next(&it->in, &p)) == 1) {
		t = intake_stamp(it, &p);
		if (t > it->until_ns)
			return 0;
		it->last_ns = t;
		if (intake_frame(it, &p)) {
			*stamp_ns = t;
			return 1;
		}
	}
	return got;
}

/* The same, with the sound update, model or weights in *u. */
static inline int
intake_next(struct intake *it, uint64_t *stamp_ns, struct update *u)
{
	static const enum intake_reason why[UPDATE_REASONS] = {
		[UPDATE_SHORT] = INTAKE_SHORT,
		[UPDATE_BAD_VERSION] = INTAKE_VERSION,
		[UPDATE_BAD_KIND] = INTAKE_KIND,
		[UPDATE_BAD_LENGTH] = INTAKE_LENGTH,
		[UPDATE_BAD_MERGED] = INTAKE_MERGED,
		[UPDATE_NONFINITE] = INTAKE_NONFINITE
	};
	enum update_bad bad;
	int got;

	while ((got = intake_next_payload(it, stamp_ns)) == 1) {
		bad = update_parse(it->payload, it->frame.payload_bytes, u);
		if (bad == UPDATE_OK)
			return 1;
		it->ignored[why[bad]]++;
	}
	return got;
}

/* For tools: a line about stamps that went back, if any did. */
static inline void
intake_warn_backwards(const struct intake *it)
{
	if (it->backwards > 0)
		warnx("%s: packet %llu: time goes backwards (%llu such); taken "
		    "for the time before it", pcapio_name(it->in.path, false),
		    (unsigned long long)it->backwards_at,
		    (unsigned long long)it->backwards);
}

/* Packets left out, of all reasons. */
static inline uint64_t
intake_ignored(const struct intake *it)
{
	uint64_t sum = 0;

	for (int i = 0; i < INTAKE_REASONS; i++)
		sum += it->ignored[i];
	return sum;
}

#endif
