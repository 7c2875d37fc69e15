/*
 * trace.h - read the packets of a capture that are to be replayed
 *
 * These are the valid UDP datagrams of the wanted program, for each pass over
 * the capture.  Packets that are left out are counted by reason.  Only one
 * direction of a live run makes sense to a switch or server: models, results
 * and all other packets from the switch are left out, except with TRACE_ALL.
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

/* Why a packet was left out: a verdict of soundness.h, or one of these. */
enum trace_reason {
	TRACE_OTHER = SOUNDNESS_VERDICTS,	/* not of the program */
	TRACE_DOWN,			/* from switch or server to worker */
	TRACE_FILTERED,			/* --filter does not match */
	TRACE_REASONS
};

struct trace_want {
	enum trace_program program;
	const char *filter;	/* expression of pcap-filter(7), or NULL */
};

struct trace_packet {
	uint64_t deadline_ns;	/* after the first packet of the trace */
	uint64_t stamp_ns;	/* in the capture */
	struct frame f;
	const uint8_t *payload;	/* f.payload_bytes; valid until the next call */
	bool update;		/* an Olaf update, with a time of generation */
};

struct trace {
	const char *path;
	struct trace_want want;
	struct pcapio_in in;
	struct filter filter;
	struct hashmap switches;	/* addresses that got a Join, hashed */
	uint64_t loops_left;
	uint64_t first_ns;	/* stamp of the first packet */
	uint64_t base_ns;	/* due time of the first packet of this pass */
	uint64_t deadline_ns;	/* due time of the last packet */
	uint64_t gap_ns;	/* between the last two packets */
	bool any;		/* this pass has a packet */
	struct split_count split;
	struct split pieces;	/* datagrams of the last frame */
	struct frame several;	/* the headers of that frame */
	uint64_t stamp_ns;
	uint64_t taken, skipped[TRACE_REASONS];
	uint64_t time_backwards;
};

/* Return the name of a reason in reports. */
const char *trace_reason(unsigned why);

/* Open the capture, or exit: 2 for a bad filter or a pipe with loops > 1. */
void trace_open(struct trace *t, const char *path,
    const struct trace_want *want, uint64_t loops);
void trace_close(struct trace *t);

/*
 * Read the next packet: return 1, or 0 at the end of the last pass, or -1 if
 * the capture is damaged, as t->in.why says.  Due times never go back: a packet
 * with an earlier time than the packet before it is due together with it.  Each
 * further pass begins after a gap as long as the last one.
 */
int trace_next(struct trace *t, struct trace_packet *p);

/*
 * Warn about oddities of the capture.  If verbose, also print how many packets
 * were left out, by reason.
 */
void trace_report(const struct trace *t, bool verbose);

/* Return the share of the file that was read; below 0 if it is unknown. */
double trace_progress(const struct trace *t);

#endif
