/*
 * filter.h - which packets of a capture, in pcap-filter(7)'s words
 *
 * Owns the program; filter_close().  A zeroed filter lets everything pass.
 */
#ifndef INNET_CAPTURE_FILTER_H
#define INNET_CAPTURE_FILTER_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <pcap/pcap.h>

#include "common/capture/pcapio.h"

struct filter {
	struct bpf_program program;
	bool on;
	char why[PCAP_ERRBUF_SIZE];	/* what is wrong with the words */
};

/* Compile text for captures of that link type.  0, or -1 and f->why. */
static inline int
filter_open(struct filter *f, int link, const char *text)
{
	/* raw IP has another number in files than in libpcap */
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
	f->on = rc == 0;
	pcap_close(dead);
	return rc == 0 ? 0 : -1;
}

static inline bool
filter_passes(const struct filter *f, const struct pcapio_packet *p)
{
	const struct pcap_pkthdr h = { .caplen = p->caplen, .len = p->len };

	return !f->on || pcap_offline_filter(&f->program, &h, p->data) != 0;
}

static inline void
filter_close(struct filter *f)
{
	if (f->on)
		pcap_freecode(&f->program);
	f->on = false;
}

#endif
