/*
 * writer.h - write updates as frames of a capture
 *
 * An update leaves as one frame, or as several back to back.  With a port rate
 * all updates pass one serial port: the time of a frame in the capture is when
 * its last bit has left the port, and later frames wait.  Updates must be put
 * in the order of their due times; then the frames are in order, too.
 */
#ifndef INNET_GEN_WRITER_H
#define INNET_GEN_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-gen/gen.h"
#include "common/base/rng.h"
#include "common/capture/pcapio.h"
#include "common/wire/frame.h"
#include "common/wire/update.h"

enum {
	WRITER_OFFSETS = 8192,		/* where a gradient may begin in pool */
	WRITER_REGULAR_BYTES = 1000	/* a frame of background traffic */
};

/* The headers of frames of one length, without the source address. */
struct writer_shape {
	uint8_t head[FRAME_V4_BYTES];
	uint32_t floats, frame_bytes;
	uint64_t ip_sum, udp_sum;	/* of the constant parts */
	unsigned __int128 port_time;	/* through the port, in 2^-32 ns */
};

struct writer {
	const struct conf *cf;
	struct pcapio_out out;
	struct rng rng;			/* of gradients and rewards */
	struct rng regular_rng;
	struct writer_shape whole, last;	/* the last packet is short */
	uint32_t packets;		/* per update */
	uint32_t head_bytes;
	uint8_t *pool;			/* float32 values; owned */
	uint32_t *pool_sum;		/* of the 16-bit words before a value */
	uint8_t regular_frame[WRITER_REGULAR_BYTES];
	uint64_t regular_due_ns;	/* UINT64_MAX: none */
	double regular_gap_ns;
	unsigned __int128 port_free;	/* when the port is free, in 2^-32 ns */
	uint64_t first_ns, last_ns;	/* stamps, once updates > 0 */
	uint64_t updates, regulars;
	uint64_t frame_bits;		/* of all update frames */
	uint64_t total;			/* expected updates; 0: unknown */
	uint64_t began_ns, shown_ns;	/* for progress */
	bool progress;
	bool stamp_overflow;		/* a stamp did not fit a pcap file */
};

/* Return the bits of the frames of one update, with Ethernet headers. */
uint64_t writer_update_bits(const struct conf *cf);

/*
 * Return how long the frames of an update occupy the port, which must exist,
 * ns.
 */
double writer_port_ns(const struct conf *cf);

/* Create cf->out, or print an error and exit. */
void writer_open(struct writer *w, const struct conf *cf);

/* Put the frames of u; return false if the program should end. */
bool writer_put(struct writer *w, const struct ready *u);

/* Return the reward of a worker's update, by --rewards. */
float writer_reward(struct writer *w, uint32_t sequence);

/*
 * Write the rest and return the exit status; rc is the status so far.  If all
 * went well, print a summary; with --json print it in any case.
 */
int writer_close(struct writer *w, int rc);

#endif
