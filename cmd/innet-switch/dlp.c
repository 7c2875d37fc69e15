/* dlp.c - a DLP session in captures: workers' packets in, answers out */
#include <string.h>

#include "common/udpio.h"

#include "cmd/innet-switch/dlp.h"

static union addr
addr_of(const uint8_t a[16], uint16_t port, bool v6)
{
	union addr to = { .in = { .sin_family = AF_INET,
	    .sin_port = htons(port) } };

	if (v6) {
		to.in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6,
		    .sin6_port = htons(port) };
		memcpy(&to.in6.sin6_addr, a, 16);
	} else {
		memcpy(&to.in.sin_addr, a, 4);
	}
	return to;
}

/*
 * Whose packet is it?  UPDATE_OK for one to the job, JUDGE_REGULAR for other
 * traffic, JUDGE_FOREIGN for the aggregator's own; or why it is not sound.
 */
static unsigned
judge(const struct feed_input *i, uint16_t port, struct frame *fr)
{
	const enum frame_is is = frame_parse(i->in->link, i->p.data,
	    i->p.caplen, i->p.len, fr);

	if (is == FRAME_OTHER || is == FRAME_FRAGMENT ||
	    (fr->flow.sport != port && fr->flow.dport != port))
		return JUDGE_REGULAR;
	if (fr->flow.dport != port)
		return JUDGE_FOREIGN;
	if (is == FRAME_CUT)
		return JUDGE_SNAPLEN;
	if (is == FRAME_LENGTH)
		return UPDATE_BAD_LENGTH;
	return frame_checksums_ok(i->p.data, fr) ? UPDATE_OK : JUDGE_CHECKSUM;
}

/* The job's answers, under headers of our making. */
static void
answer(struct pcapio_out *out, const struct dlpjob_out *o, uint64_t stamp_ns)
{
	uint8_t bytes[DLP_BYTES];

	dlp_put(bytes, &o->d);
	for (unsigned i = 0; i < o->n; i++)
		udpio_capture(out, &o->to[i]->to, &o->to[i]->at, 0, bytes,
		    DLP_BYTES, stamp_ns);
}

static void
take(struct feed *feed, const struct feed_input *i, uint16_t port,
    struct dlp_passed *passed, struct pcapio_out *out)
{
	struct frame fr = { 0 };
	const unsigned verdict = judge(i, port, &fr);
	const struct frame_flow *f = &fr.flow;
	struct dlpjob_peer peer;
	struct dlpjob_out o;
	uint32_t have, len;
	const uint8_t *p;

	if (verdict == JUDGE_REGULAR) {
		passed->regular++;
		p = feed_ethernet(feed, i, &fr, &have, &len);
		if (out != NULL)
			pcapio_write(out, i->p.stamp_ns, p, have, len);
		return;
	}
	if (verdict != UPDATE_OK) {
		*(verdict == JUDGE_FOREIGN ? &passed->own :
		    &passed->ignored[verdict]) += 1;
		return;
	}
	peer = (struct dlpjob_peer){ addr_of(f->src, f->sport, f->v6),
	    addr_of(f->dst, f->dport, f->v6) };
	if (dlpjob_take(&passed->job, i->p.data + fr.payload_at,
	    fr.payload_bytes, &peer, &o) > 0 && out != NULL)
		answer(out, &o, i->p.stamp_ns);
}

int
dlp_filter(const struct dlp_conf *cf, const struct feed_conf *fc,
    struct dlp_passed *passed, struct pcapio_in *in, size_t n,
    struct pcapio_out *out)
{
	const struct feed_input *i;
	struct feed feed;

	memset(passed, 0, sizeof(*passed));
	dlpjob_init(&passed->job, &cf->job);
	feed_open(&feed, fc, in, n);
	while ((i = feed_next(&feed)) != NULL) {
		if (out != NULL && out->failed != 0)
			break;
		take(&feed, i, cf->port, passed, out);
	}
	passed->packets = feed.packets;
	passed->time_backwards = feed.time_backwards;
	feed_close(&feed);
	return feed.status;
}

void
dlp_account(const struct dlp_passed *passed, struct account *a)
{
	const struct dlpjob *j = &passed->job;

	account_put(a, "packets", passed->packets);
	account_put(a, "regular", passed->regular);
	account_put(a, "own", passed->own);
	for (int i = 0; i < DLPJOB_COUNTS; i++)
		account_put(a, dlpjob_count_name[i], j->n[i]);
	account_put(a, "time_backwards", passed->time_backwards);
	account_word(a, "state", dlp_state_name(j->state));
	account_put(a, "step", j->step);
	account_in(a, "ignored");
	for (unsigned w = 0; w < JUDGE_VERDICTS; w++) {
		if (passed->ignored[w] > 0)
			account_put(a, judge_name(w), passed->ignored[w]);
	}
	account_out(a);
}
