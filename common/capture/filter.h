/*
 * filter.h - select packets of a capture by an expression of pcap-filter(7)
 *
 * libpcap expects that each PPP frame begins with an address byte and a control
 * byte, and that its protocol field has two bytes.  If a frame lacks some of
 * these bytes, as in captures of ns-3, this file adds the bytes before libpcap
 * filters the frame.
 *
 * A filter owns its memory; filter_close() frees it.  A zeroed filter matches
 * every packet.
 */
#ifndef INNET_CAPTURE_FILTER_H
#define INNET_CAPTURE_FILTER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pcap/pcap.h>

#include "common/capture/pcapio.h"

enum { FILTER_PPP_BYTES = 3 };	/* maximum number of header bytes that a PPP
				 * frame may lack */

struct filter {
	struct bpf_program program;
	uint8_t *ppp; /* owned; room for a PPP frame and the bytes that it
		       * lacks, or NULL */
	bool on;
	char why[PCAP_ERRBUF_SIZE];	/* error message that says why the
					 * expression is invalid */
};

/*
 * Compile the expression `text` for captures of link type `link`.  Returns 0,
 * or -1 with f->why.
 */
static inline int
filter_open(struct filter *f, int link, const char *text)
{
	/*
	 * The link type of raw IP has one number in files and another number in
	 * libpcap.
	 */
	pcap_t *dead = pcap_open_dead(link == 101 ? DLT_RAW : link,
	    PCAPIO_FRAME_MAX_BYTES);
	int rc;

	*f = (struct filter){ .on = false };
	if (dead == NULL) {
		snprintf(f->why, sizeof(f->why), "out of memory");
		return -1;
	}
	rc = pcap_compile(dead, &f->program, text, 1, PCAP_NETMASK_UNKNOWN);
	if (rc == -1)
		snprintf(f->why, sizeof(f->why), "%s", pcap_geterr(dead));
	pcap_close(dead);
	if (rc == -1)
		return -1;
	f->on = true;
	if (link == DLT_PPP || link == DLT_PPP_SERIAL) {
		f->ppp = malloc(FILTER_PPP_BYTES + PCAPIO_FRAME_MAX_BYTES);
		if (f->ppp != NULL)
			return 0;
		pcap_freecode(&f->program);
		f->on = false;
		snprintf(f->why, sizeof(f->why), "out of memory");
		return -1;
	}
	return 0;
}

/*
 * Return PPP frame p with the bytes that p lacks, and set *lacks to the number
 * of these bytes.
 */
static inline const uint8_t *
filter_ppp(const struct filter *f, const struct pcapio_packet *p,
    uint32_t *lacks)
{
	static const uint8_t head[FILTER_PPP_BYTES] = { 0xff, 3, 0 };
	const uint8_t first = p->caplen > 0 ? p->data[0] : 0xff;

	/*
	 * HDLC and Cisco frames lack no bytes.  In other frames, the protocol
	 * field has one byte if its first byte is odd.
	 */
	*lacks = first == 0xff || first == 0x0f || first == 0x8f ? 0 :
	    2 + (first & 1);
	if (*lacks == 0)
		return p->data;
	memcpy(f->ppp, head, *lacks);
	memcpy(f->ppp + *lacks, p->data, p->caplen);
	return f->ppp;
}

/* Does the packet match the expression of the filter? */
static inline bool
filter_passes(const struct filter *f, const struct pcapio_packet *p)
{
	struct pcap_pkthdr h = { .caplen = p->caplen, .len = p->len };
	const uint8_t *data = p->data;
	uint32_t lacks = 0;

	if (!f->on)
		return true;
	if (f->ppp != NULL)
		data = filter_ppp(f, p, &lacks);
	h.caplen += lacks;
	h.len += lacks;
	return pcap_offline_filter(&f->program, &h, data) != 0;
}

/* Free the memory. */
static inline void
filter_close(struct filter *f)
{
	if (f->on)
		pcap_freecode(&f->program);
	free(f->ppp);
	f->ppp = NULL;
	f->on = false;
}

#endif
