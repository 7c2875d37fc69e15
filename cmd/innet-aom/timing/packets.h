/*
 * packets.h - read the packets of a program from captures in order of time
 *
 * Captures are merged by their timestamps.  A packet that the program does not
 * claim is regular.  A claimed packet that is malformed is ignored, and counted
 * by the reason.  If a snap length cut a payload, the captured part is
 * returned.  If a frame contains several packets, they are returned one by one.
 * If a capture is damaged, the functions print a warning and treat the damage
 * as its end.  The process exits if a capture cannot be opened.
 */
#ifndef INNET_AOM_PACKETS_H
#define INNET_AOM_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/capture/hints.h"
#include "common/capture/pcapio.h"
#include "common/capture/soundness.h"
#include "common/capture/split.h"
#include "common/wire/addr.h"

enum { PACKETS_FILES_MAX = 64 };

struct packet {
	uint64_t stamp_ns;
	unsigned file;		/* index of the capture */
	uint8_t tos;		/* without the ECN bits */
	union addr from, to;
	uint32_t wire_bytes;	/* number of bytes in the whole frame */
	const uint8_t *payload;	/* the payload, borrowed until the next
				 * packet */
	uint32_t bytes;		/* number of bytes in the whole payload */
	uint32_t have;		/* number of bytes at `payload` */
};

struct packets_file {
	struct pcapio_in in;
	uint64_t first_ns, last_ns;	/* first and last timestamp */
	uint64_t backwards;	/* number of timestamps that go backwards */
	uint64_t regular;	/* number of packets of other programs */
	struct hints hints;	/* hints about the packets of other programs */
	struct split pieces;	/* the rest of the frame, which may contain more
				 * packets */
	struct split_count split;
	uint32_t head_bytes;	/* number of header bytes in the frame */
	bool have;		/* next is set */
	struct packet next;
};

/* Return whether the program claims packets with this codepoint and ports. */
typedef bool packets_claim_fn(const void *arg, uint8_t tos, uint16_t sport,
    uint16_t dport);

struct packets {
	packets_claim_fn *claim;
	const void *arg;
	split_bytes_fn *bytes;	/* returns the length of a packet; NULL: a frame
				 * contains only one packet */
	struct packets_file file[PACKETS_FILES_MAX];
	size_t n;
	struct packets_file *given; /* the file of the packet returned last */
	uint64_t from_ns, until_ns;	/* packets outside this range of time
					 * are ignored */
	bool relative_from, relative_until;	/* to the first packet */
	bool begun;
	uint64_t first_ns;
	uint64_t last_ns;		/* time of the last packet returned */
	uint64_t taken;
	uint64_t ignored[SOUNDNESS_VERDICTS];
	int rc;			/* exit status; 1: a capture was damaged */
};

/* Open n captures.  The caller has set claim, arg, bytes and the times. */
void packets_open(struct packets *s, const char *const *path, size_t n);

/* Return the next packet, borrowed until the next call, or NULL at the end. */
const struct packet *packets_next(struct packets *s);

/* Close the captures.  Warn about timestamps that went backwards. */
void packets_close(struct packets *s);

/*
 * These return the number of packets that were ignored, and the number of
 * packets of other programs.
 */
uint64_t packets_ignored(const struct packets *s);
uint64_t packets_regular(const struct packets *s);

/*
 * Warn about each capture without a packet of the program, and give hints about
 * the packets in it.  `what` is the name of the program.  Return true if there
 * is such a capture.
 */
bool packets_unrecognised(const struct packets *s, const char *what);

#endif
