/*
 * packets.h - the packets of a program in several captures, in order of time
 *
 * Captures are merged by their stamps.  What the program does not claim is
 * regular; what it claims and is not sound is ignored, and counted by reason.
 * A payload that a snap length cut is handed on with what is there of it, and
 * packets that lie in one frame one by one.
 * Damage of one capture ends that one; it is warned of.  Opening may exit.
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
	unsigned file;		/* in which capture it was seen */
	uint8_t tos;		/* without the ECN bits */
	union addr from, to;
	uint32_t wire_bytes;	/* of the frame */
	const uint8_t *payload;	/* borrowed until the next */
	uint32_t bytes;		/* of the payload, when it was sent */
	uint32_t have;		/* at payload */
};

struct packets_file {
	struct pcapio_in in;
	uint64_t first_ns, last_ns;	/* stamps of any packet */
	uint64_t backwards;	/* stamps before their predecessor's */
	uint64_t regular;	/* packets that are not the program's */
	struct hints hints;	/* of those */
	struct split pieces;	/* of a frame of several packets */
	struct split_count split;
	uint32_t head_bytes;	/* that frame's, before them */
	bool have;		/* next is set */
	struct packet next;
};

/* Does the program claim packets with that codepoint between these ports? */
typedef bool packets_claim_fn(const void *arg, uint8_t tos, uint16_t sport,
    uint16_t dport);

struct packets {
	packets_claim_fn *claim;
	const void *arg;
	split_bytes_fn *bytes;	/* all its packets say theirs, or NULL */
	struct packets_file file[PACKETS_FILES_MAX];
	size_t n;
	struct packets_file *given;	/* whose packet was handed out last */
	uint64_t from_ns, until_ns;	/* others are not looked at */
	bool relative_from, relative_until;	/* to the first packet */
	bool begun;
	uint64_t first_ns;
	uint64_t last_ns;		/* of those handed out */
	uint64_t taken;
	uint64_t ignored[SOUNDNESS_VERDICTS];
	int rc;			/* 1: a capture was damaged */
};

/* Open n captures; what it is to look at is set. */
void packets_open(struct packets *s, const char *const *path, size_t n);

/* The next packet, or NULL at the end. */
const struct packet *packets_next(struct packets *s);

/* No more is read; a line about stamps that went back. */
void packets_close(struct packets *s);

uint64_t packets_ignored(const struct packets *s);
uint64_t packets_regular(const struct packets *s);

/*
 * Where a capture has packets and none is the program's, which is called what,
 * a line about what was there; true if that is so of any.
 */
bool packets_unrecognised(const struct packets *s, const char *what);

#endif
