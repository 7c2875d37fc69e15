/*
 * trace.h - read the packets of a capture that will be replayed
 *
 * The packets are the valid UDP datagrams of the wanted program, in each pass
 * over the capture.  Packets that are left out are counted by reason.  A switch
 * or server expects only one direction of a live run.  Therefore models,
 * results and all other packets from the switch are left out, unless TRACE_ALL
 * is selected.
 */
#ifndef INNET_REPLAY_TRACE_H
#define INNET_REPLAY_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/hashmap.h"
#include "common/capture/filter.h"
#include "common/capture/pcapio.h"
#include "common/capture/soundness.h"
#include "common/wire/addr.h"
#include "common/wire/frame.h"

enum trace_program { TRACE_OLAF, TRACE_ISWITCH, TRACE_DLP, TRACE_ALL };

/* Reason to leave out a packet: a verdict of soundness.h, or one of these. */
enum trace_reason {
	TRACE_OTHER = SOUNDNESS_VERDICTS,	/* packet of another program */
	TRACE_DOWN,			/* packet sent by a switch or server */
	TRACE_FILTERED,			/* --filter does not match */
	TRACE_REASONS
};

struct trace_want {
	enum trace_program program;
	const char *filter;	/* filter of pcap-filter(7), or NULL */
};

struct trace_packet {
	uint64_t deadline_ns;	/* time when the packet is due, relative to the
				 * first packet of the trace */
	uint64_t stamp_ns;	/* timestamp in the capture */
	struct frame f;
	/* payload of f.payload_bytes bytes; valid until the next call */
	const uint8_t *payload;
	bool update;		/* an Olaf update, which has a creation time */
};

struct trace {
	const char *path;
	struct trace_want want;
	struct pcapio_in in;
	struct filter filter;
	struct hashmap switches;	/* hashes of the addresses to which a
					 * Join was sent */
	uint64_t loops_left;
	uint64_t first_ns;	/* timestamp of the first packet */
	uint64_t base_ns;	/* due time of the first packet of this pass */
	uint64_t deadline_ns;	/* due time of the last packet */
	uint64_t gap_ns;	/* time between the last two packets */
	bool any;		/* a packet was read in this pass */
	struct split_count split;
	struct split pieces;	/* datagrams of the last frame */
	struct frame several;	/* headers of the frame that contains the
				 * datagrams in `pieces` */
	uint64_t stamp_ns;
	uint64_t taken, skipped[TRACE_REASONS];
	uint64_t time_backwards;
};

/* Return the name that reports use for a reason. */
const char *trace_reason(unsigned why);

/*
 * Open the capture.  Exit with status 2 if the filter is invalid, or if loops >
 * 1 and the capture is a pipe.
 */
void trace_open(struct trace *t, const char *path,
    const struct trace_want *want, uint64_t loops);
void trace_close(struct trace *t);

/*
 * Read the next packet.  Return 1, or 0 at the end of the last pass.  If the
 * capture is damaged, return -1 with the reason in t->in.why.  Due times never
 * decrease: if a packet has an earlier timestamp than the packet before it,
 * both are due at the same time.  Each further pass begins after a gap that is
 * as long as the gap before the last packet.
 */
int trace_next(struct trace *t, struct trace_packet *p);

/*
 * Print warnings about the capture.  If verbose is true, also print how many
 * packets were left out for each reason.
 */
void trace_report(const struct trace *t, bool verbose);

/*
 * Return the share of the file that was read, from 0 to 1, or a negative number
 * if the share is unknown.
 */
double trace_progress(const struct trace *t);

#endif
