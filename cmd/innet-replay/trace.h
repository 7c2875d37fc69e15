/*
 * trace.h - the packets of a capture that are to be replayed
 *
 * Sound UDP datagrams of the program that is wanted, as often as the capture
 * is gone through.  What is left out is counted under a reason.  Of a live run
 * only one direction makes sense to a switch or server: models, results and
 * whatever else comes from the switch are left out, but with TRACE_ALL.
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
	TRACE_FILTERED,			/* not what --filter asks for */
	TRACE_REASONS
};

struct trace_want {
	enum trace_program program;
	const char *filter;	/* in pcap-filter(7)'s words, or NULL */
};

struct trace_packet {
	uint64_t deadline_ns;	/* since the trace's first packet */
	uint64_t stamp_ns;	/* in the capture */
	struct frame f;
	const uint8_t *payload;	/* f.payload_bytes, until the next */
	bool update;		/* an Olaf update: has a `generated` */
};

struct trace {
	const char *path;
	struct trace_want want;
	struct pcapio_in in;
	struct filter filter;
	struct hashmap switches;	/* hashes of who was sent a Join */
	uint64_t loops_left;
	uint64_t first_ns;	/* stamp of the first that was taken */
	uint64_t base_ns;	/* due time of this time's first */
	uint64_t deadline_ns, gap_ns;	/* of the last, and to it */
	bool any;		/* taken this time */
	struct split_count split;
	struct split pieces;	/* of the frame that was read last: */
	struct frame several;
	uint64_t stamp_ns;
	uint64_t taken, skipped[TRACE_REASONS];
	uint64_t time_backwards;
};

const char *trace_reason(unsigned why);

/* Begin; exits 1, or 2 when the filter or a repeated pipe cannot be. */
void trace_open(struct trace *t, const char *path,
    const struct trace_want *want, uint64_t loops);
void trace_close(struct trace *t);

/*
 * The next packet: 1; 0 at the end of the last time; -1, and a line was said,
 * on damage.  Due times never go back: a packet stamped before its
 * predecessor is due with it.  Each further time begins a gap like the last
 * one after the end.
 */
int trace_next(struct trace *t, struct trace_packet *p);

/* How much of the file was read, 0 to 1; below 0 where that is not known. */
double trace_progress(const struct trace *t);

#endif
