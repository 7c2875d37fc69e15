/*
 * writer.h - write updates as frames of a capture
 *
 * An update leaves as one frame, or as several frames back to back.  If there
 * is a port rate, all updates pass through one serial port.  The time of a
 * frame in the capture is then the time at which its last bit has left the
 * port, and later frames wait.  Updates must be passed to the writer in the
 * order of their due times, so that the frames are in order, too.
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
	WRITER_OFFSETS = 8192,	/* number of gradient positions in the pool */
	WRITER_REGULAR_BYTES = 1000	/* length of a frame of background
					 * traffic */
};

/* The headers of frames of one length, without the source address. */
struct writer_shape {
	uint8_t head[FRAME_V4_BYTES];
	uint32_t floats, frame_bytes;
	uint64_t ip_sum, udp_sum;	/* checksums of the constant parts of
					 * the headers */
	unsigned __int128 port_time;	/* time that the frame occupies the
					 * port, in 2^-32 ns */
};

struct writer {
	const struct conf *cf;
	struct pcapio_out out;
	struct rng rng;			/* of gradients and rewards */
	struct rng regular_rng;
	struct writer_shape whole, last; /* headers of all packets of an update
					  * except the last; headers of the last
					  * packet */
	uint32_t packets;		/* number of packets in an update */
	uint32_t head_bytes;
	uint8_t *pool;			/* float32 values; owned */
	uint32_t *pool_sum;		/* sum of the words before each value of
					 * the pool */
	uint8_t regular_frame[WRITER_REGULAR_BYTES];
	uint64_t regular_due_ns;	/* UINT64_MAX: none */
	double regular_gap_ns;
	unsigned __int128 port_free;	/* time when the port becomes free, in
					 * 2^-32 ns */
	uint64_t first_ns, last_ns;	/* times of the first and last update;
					 * valid if updates > 0 */
	uint64_t updates, regulars;
	uint64_t frame_bits;	/* number of bits in all frames of updates */
	uint64_t total;	/* expected number of updates; 0: unknown */
	uint64_t began_ns, shown_ns;	/* start time; time of the last progress
					 * line */
	bool progress;
	bool stamp_overflow;		/* a time was too late for a pcap
					 * file */
};

/* Return the number of bits in the frames of one update, with all headers. */
uint64_t writer_update_bits(const struct conf *cf);

/*
 * Return the time in ns for which the frames of an update occupy the port.
 * There must be a port.
 */
double writer_port_ns(const struct conf *cf);

/* Create cf->out, or print an error and exit. */
void writer_open(struct writer *w, const struct conf *cf);

/* Write the frames of u; return false if the program should end. */
bool writer_put(struct writer *w, const struct ready *u);

/* Return the reward of update `sequence` of a worker, as --rewards selects. */
float writer_reward(struct writer *w, uint32_t sequence);

/*
 * Write the remaining data and return the exit status; rc is the status so far.
 * Print a summary on success.  With --json, print the summary in any case.
 */
int writer_close(struct writer *w, int rc);

#endif
