/* feed.c - the packets of several captures in order of time */
#include <err.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-switch/feed.h"

/* Read the input's next packet; its time does not go back. */
static void
read_next(struct feed *f, struct feed_input *i)
{
	int got = pcapio_next(i->in, &i->p);

	i->have = got == 1;
	if (got == -1 && !f->cf.quiet)
		f->status = pcapio_warn_damage(i->in);
	if (got != 1)
		return;
	if (i->p.stamp_ns < i->now_ns) {
		f->time_backwards++;
		if (!i->backwards && !f->cf.quiet)
			warnx("%s: packet %" PRIu64 ": time goes back by %"
			    PRIu64 " ns; taken as its predecessor's",
			    pcapio_name(i->in->path, false), i->in->packets,
			    i->now_ns - i->p.stamp_ns);
		i->backwards = true;
	} else {
		i->now_ns = i->p.stamp_ns;
	}
}

void
feed_open(struct feed *f, const struct feed_conf *cf, struct pcapio_in *in,
    size_t n)
{
	*f = (struct feed){ .cf = *cf, .n = n, .until_ns = cf->until_ns };
	f->input = calloc(n, sizeof(*f->input));
	f->frame = malloc(FRAME_ETH_BYTES + PCAPIO_FRAME_MAX_BYTES);
	if (f->input == NULL || f->frame == NULL)
		err(1, "captures");
	for (size_t k = 0; k < n; k++) {
		f->input[k].in = &in[k];
		read_next(f, &f->input[k]);
	}
}

/* The input whose packet is next in time; the first given wins ties. */
static struct feed_input *
earliest(const struct feed *f)
{
	struct feed_input *best = NULL;

	for (size_t k = 0; k < f->n; k++) {
		struct feed_input *i = &f->input[k];

		if (i->have && (best == NULL || i->now_ns < best->now_ns))
			best = i;
	}
	return best;
}

const struct feed_input *
feed_next(struct feed *f)
{
	struct feed_input *i;

	if (f->given != NULL)
		read_next(f, f->given);
	f->given = NULL;
	i = earliest(f);
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

const uint8_t *
feed_ethernet(struct feed *f, const struct feed_input *i, struct frame *fr,
    uint32_t *have, uint32_t *len)
{
	const struct pcapio_packet *p = &i->p;
	const uint32_t cut = fr->ip_at;
	const uint8_t *ip = p->data + cut;

	*have = p->caplen;
	*len = p->len;
	if (i->in->link == FRAME_ETHERNET)
		return p->data;
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
	wire_put(f->frame + 12, fr->ethertype, 2);
	memcpy(f->frame + FRAME_ETH_BYTES, ip, p->caplen - cut);
	fr->ip_at = FRAME_ETH_BYTES;
	fr->udp_at += FRAME_ETH_BYTES - cut;
	fr->payload_at += FRAME_ETH_BYTES - cut;
	return f->frame;
}

void
feed_close(struct feed *f)
{
	free(f->input);
	free(f->frame);
	f->input = NULL;
	f->frame = NULL;
}
