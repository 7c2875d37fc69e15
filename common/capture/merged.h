/*
 * merged.h - the packets of several captures in order of time
 *
 * The first given capture wins ties.  A stamp before its predecessor counts as
 * equal to it (now_ns); the first of each capture is warned of, and so is
 * damage, which ends that capture alone.  Borrows the captures and owns the
 * rest: merged_close().  For tools: exits 1 without memory.
 */
#ifndef INNET_CAPTURE_MERGED_H
#define INNET_CAPTURE_MERGED_H

#include <err.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/capture/pcapio.h"
#include "common/wire/frame.h"

struct merged_conf {
	uint64_t until_ns;		/* UINT64_MAX: to the end */
	bool until_relative;		/* counted from the first packet */
	uint64_t count;			/* packets to read; 0: all */
	const volatile sig_atomic_t *stop;	/* non-zero: end now */
	bool quiet;			/* leave warnings out (fuzzing) */
};

struct merged_input {
	struct pcapio_in *in;
	struct pcapio_packet p;		/* the next one, if have */
	bool have;
	bool backwards;			/* has been warned of */
	uint64_t now_ns;		/* p's stamp, never going back */
};

struct merged {
	struct merged_conf cf;
	struct merged_input *input;
	size_t n;
	struct merged_input *given;	/* its packet was handed out last */
	uint64_t until_ns;		/* absolute, once a packet was read */
	uint64_t packets;		/* handed out */
	uint64_t time_backwards;
	bool stopped;			/* cf.stop ended it */
	int status;			/* 1: a capture was damaged */
	uint8_t *frame;			/* of merged_ethernet() */
};

/* Read the input's next packet; its time does not go back. */
static inline void
merged_read(struct merged *f, struct merged_input *i)
{
	int got = pcapio_next(i->in, &i->p);

	i->have = got == 1;
	if (got == -1 && !f->cf.quiet)
		f->status = pcapio_warn_damage(i->in);
	if (got != 1)
		return;
	if (i->p.stamp_ns >= i->now_ns) {
		i->now_ns = i->p.stamp_ns;
		return;
	}
	f->time_backwards++;
	if (!i->backwards && !f->cf.quiet)
		warnx("%s: packet %" PRIu64 ": time goes back by %" PRIu64
		    " ns; taken as its predecessor's",
		    pcapio_name(i->in->path, false), i->in->packets,
		    i->now_ns - i->p.stamp_ns);
	i->backwards = true;
}

/* Begin to read n open captures. */
static inline void
merged_open(struct merged *f, const struct merged_conf *cf,
    struct pcapio_in *in, size_t n)
{
	*f = (struct merged){ .cf = *cf, .n = n, .until_ns = cf->until_ns };
	f->input = calloc(n, sizeof(*f->input));
	f->frame = malloc(FRAME_ETH_BYTES + PCAPIO_FRAME_MAX_BYTES);
	if (f->input == NULL || f->frame == NULL)
		err(1, "captures");
	for (size_t k = 0; k < n; k++) {
		f->input[k].in = &in[k];
		merged_read(f, &f->input[k]);
	}
}

static inline void
merged_close(struct merged *f)
{
	for (size_t k = 0; k < f->n && !f->cf.quiet; k++)
		pcapio_warn_odd(f->input[k].in);
	free(f->input);
	free(f->frame);
	f->input = NULL;
	f->frame = NULL;
}

/* The input whose packet is next in time; the first given wins ties. */
static inline struct merged_input *
merged_earliest(const struct merged *f)
{
	struct merged_input *best = NULL;

	for (size_t k = 0; k < f->n; k++) {
		struct merged_input *i = &f->input[k];

		if (i->have && (best == NULL || i->now_ns < best->now_ns))
			best = i;
	}
	return best;
}

/*
 * The next packet, borrowed until the next call: p and now_ns of an input.
 * NULL at the end of the captures, after cf's count or time, or when stopped.
 */
static inline const struct merged_input *
merged_next(struct merged *f)
{
	struct merged_input *i;

	if (f->given != NULL)
		merged_read(f, f->given);
	f->given = NULL;
	i = merged_earliest(f);
	if (i == NULL)
		return NULL;
	if (f->packets == 0 && f->cf.until_relative)
		f->until_ns = f->cf.until_ns + i->now_ns;
	if (i->now_ns > f->until_ns ||
	    (f->cf.count > 0 && f->packets == f->cf.count))
		return NULL;
	f->stopped = *f->cf.stop != 0;
	if (f->stopped)
		return NULL;
	f->packets++;
	f->given = i;
	return i;
}

/*
 * The packet of i as an Ethernet frame of *have bytes, *len before it was cut:
 * its own bytes, or behind a link header of our making in f->frame.  fr, what
 * frame_parse() said of it, is moved along.  NULL if it has no ethertype, as
 * what PPP and 802.11 say to each other.
 */
static inline const uint8_t *
merged_ethernet(struct merged *f, const struct merged_input *i,
    struct frame *fr, uint32_t *have, uint32_t *len)
{
	const struct pcapio_packet *p = &i->p;
	const uint32_t cut = fr->ip_at;
	const uint8_t *ip = p->data + cut;

	*have = p->caplen;
	*len = p->len;
	if (i->in->link == FRAME_ETHERNET)
		return p->data;
	if (fr->ethertype < FRAME_ETHERTYPE_MIN)
		return NULL;
	*have = p->caplen - cut + FRAME_ETH_BYTES;
	*len = p->len - cut + FRAME_ETH_BYTES;
	memset(f->frame, 0, FRAME_ETH_BYTES);
	if (fr->ethertype == 0x0800 && p->caplen - cut >= 20) {
		frame_put_mac(f->frame, ip + 16);
		frame_put_mac(f->frame + 6, ip + 12);
	} else if (fr->ethertype == 0x86dd && p->caplen - cut >= 40) {
		frame_put_mac(f->frame, ip + 36);
		frame_put_mac(f->frame + 6, ip + 20);
	}
	bytes_put(f->frame + 12, fr->ethertype, 2);
	memcpy(f->frame + FRAME_ETH_BYTES, ip, p->caplen - cut);
	fr->ip_at = FRAME_ETH_BYTES;
	if (fr->udp_at > 0)
		fr->udp_at += FRAME_ETH_BYTES - cut;
	if (fr->payload_at > 0)
		fr->payload_at += FRAME_ETH_BYTES - cut;
	return f->frame;
}

#endif
