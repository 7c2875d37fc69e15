/*
 * feed.h - the packets of several captures in order of time
 *
 * What every program of the filter reads by.  The first given capture wins
 * ties.  A stamp before its predecessor counts as equal to it (now_ns); the
 * first of each capture is warned of, and so is damage, which ends that
 * capture alone.  A feed borrows the captures and owns the rest:
 * feed_close().
 */
#ifndef INNET_SWITCH_FEED_H
#define INNET_SWITCH_FEED_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/frame.h"
#include "common/pcapio.h"

struct feed_conf {
	uint64_t until_ns;		/* UINT64_MAX: to the end */
	bool until_relative;		/* counted from the first packet */
	uint64_t count;			/* packets to read; 0: all */
	const volatile sig_atomic_t *stop;	/* non-zero: end now */
	bool quiet;			/* leave warnings out (fuzzing) */
};

struct feed_input {
	struct pcapio_in *in;
	struct pcapio_packet p;		/* the next one, if have */
	bool have;
	bool backwards;			/* has been warned of */
	uint64_t now_ns;		/* p's stamp, never going back */
};

struct feed {
	struct feed_conf cf;
	struct feed_input *input;
	size_t n;
	struct feed_input *given;	/* its packet was handed out last */
	uint64_t until_ns;		/* absolute, once a packet was read */
	uint64_t packets;		/* handed out */
	uint64_t time_backwards;
	bool stopped;			/* cf.stop ended it */
	int status;			/* 1: a capture was damaged */
	uint8_t *frame;			/* of feed_ethernet() */
};

/* Begin to read n open captures.  Exits 1 without memory. */
void feed_open(struct feed *f, const struct feed_conf *cf,
    struct pcapio_in *in, size_t n);

/*
 * The next packet, borrowed until the next call: p and now_ns of an input.
 * NULL at the end of the captures, after cf's count or time, or when stopped.
 */
const struct feed_input *feed_next(struct feed *f);

/*
 * The packet of i as an Ethernet frame of *have bytes, *len on the wire: its
 * own bytes, or behind a link header of our making in f->frame.  fr, what
 * frame_parse() said of it, is moved along.
 */
const uint8_t *feed_ethernet(struct feed *f, const struct feed_input *i,
    struct frame *fr, uint32_t *have, uint32_t *len);

void feed_close(struct feed *f);

#endif
