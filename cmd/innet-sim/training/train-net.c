/*
 * train-net.c - packets, addresses, wakes and processing times of nodes; see
 * train-net.h
 */
#include "config.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-sim/training/train-net.h"
#include "cmd/innet-sim/training/send-limit.h"
#include "common/base/message.h"
#include "common/wire/frame.h"

enum { SUBNET = 250 };		/* number of nodes in each subnet */

void
train_wake(struct sim *s, const struct sim_node *n, uint64_t *wake_ns,
    uint64_t at_ns)
{
	if (at_ns >= *wake_ns)
		return;		/* the node already wakes earlier, and can
				 * schedule another wake then */
	*wake_ns = at_ns > s->now_ns ? at_ns : s->now_ns;
	sim_wake(s, n, *wake_ns);
}

/*
 * Room for the long messages of the next training job, or NULL.  Thousands of
 * short jobs run one after another; if each allocated its own room, the kernel
 * would spend a quarter of their time on clearing its pages.
 */
static struct train_long *spare;

/* Return room for long messages. */
static struct train_long *
take_room(void)
{
	struct train_long *room = spare;

	spare = NULL;
	if (room == NULL)
		room = calloc(TRAIN_LONGS, sizeof(*room));
	if (room == NULL)
		err(1, "no memory for the messages of a training job");
	return room;
}

void
train_free_messages(struct training *t)
{
	if (spare == NULL)
		spare = t->longs;
	else
		free(t->longs);
	t->longs = NULL;
}

/*
 * Store a message that is too long for a packet, and write its number to `to`.
 */
static void
keep_long(struct training *t, uint8_t *to, const uint8_t *p, uint32_t len)
{
	struct train_long *m;

	if (t->longs == NULL)
		t->longs = take_room();
	m = &t->longs[++t->long_number % TRAIN_LONGS];
	m->number = t->long_number;
	memcpy(m->p, p, len);
	memcpy(to, &m->number, sizeof(m->number));
}

/* Return the place of a long message, and set *number to its number. */
static const struct train_long *
find_long(const struct sim *s, const struct sim_datagram *d, uint32_t *number)
{
	const struct training *t = train_get(s, d->from);

	memcpy(number, d->p, sizeof(*number));
	return &t->longs[*number % TRAIN_LONGS];
}

bool
train_is_overwritten(const struct sim *s, const struct sim_datagram *d)
{
	uint32_t number;

	return d->len > sizeof(d->p) &&
	    find_long(s, d, &number)->number != number;
}

const uint8_t *
train_bytes(const struct sim *s, const struct sim_datagram *d)
{
	const struct train_long *m;
	uint32_t number;

	if (d->len <= sizeof(d->p))
		return d->p;
	m = find_long(s, d, &number);
	if (m->number != number)
		errx(1, "%s: there are more than %d long messages in flight",
		    d->from->name, TRAIN_LONGS);
	return m->p;
}

struct sim_packet
train_packet(struct training *t, uint8_t tos, const uint8_t *p, uint32_t len)
{
	struct sim_packet q = { .wire_bytes = FRAME_V4_BYTES + len,
	    .dg = { .tos = tos, .len = (uint16_t)len } };

	assert(len <= TRAIN_MESSAGE_BYTES);
	if (len <= sizeof(q.dg.p))
		memcpy(q.dg.p, p, len);
	else
		keep_long(t, q.dg.p, p, len);
	if (seg_is(tos))
		q.wire_bytes = FRAME_V4_BYTES + seg_head_bytes(tos) + 4 *
		    seg_floats_at(t->elements, t->floats, seg_split(bytes_get(p,
		    8)).index);
	return q;
}

void
train_send_packet(struct sim *s, struct training *t, struct sim_pipe *pipe,
    const struct sim_packet *p, uint64_t ready_ns)
{
	t->n[TRAIN_PUT]++;
	if (s->send_limit != NULL && !send_limit_count(s->send_limit,
	    p->dg.from->index, s->now_ns, t->ledger->results))
		sim_report_wrong(s, "storm: %s sends more than %" PRIu64
		    " packets in a second without a result", p->dg.from->name,
		    s->send_limit->most);
	sim_send(s, pipe, p, ready_ns);
}

struct training *
train_get(const struct sim *s, const struct sim_node *n)
{
	uint32_t k = 0;

	while (k + 1 < s->trainings && n >= s->training[k + 1].sw)
		k++;
	return &s->training[k];
}

void
train_count_loss(struct sim *s, const struct sim_packet *p, enum sim_loss why)
{
	train_get(s, p->dg.from)->lost[why]++;
}

uint64_t
train_cost_ns(const struct training *t, uint64_t bytes)
{
	struct link copy = { .rate_bps = t->cf->copy_bps };

	return t->cf->messages * t->cf->message_ns +
	    link_time_ns(&copy, (uint32_t)bytes);
}

union addr
train_node_addr(const struct training *t, const struct sim_node *n)
{
	const uint32_t i = n >= t->host && n < t->host + t->cf->workers ?
	    (uint32_t)(n - t->host) : n == t->server ? 0 :
	    (uint32_t)(n - t->sw);
	uint8_t ip[4] = { 10, (uint8_t)(t->number + 1), (uint8_t)(i / SUBNET),
	    (uint8_t)(i % SUBNET + 1) };
	union addr a = { 0 };

	if (n < t->host) {
		ip[1] = 255;
		ip[2] = (uint8_t)(255 - ip[2]);
	}
	a.in.sin_family = AF_INET;
	a.in.sin_port = htons(n < t->host ? train_port(t) : TRAIN_PORT);
	memcpy(&a.in.sin_addr, ip, 4);
	return a;
}

struct sim_node *
train_node_at(const struct training *t, const union addr *a)
{
	uint8_t ip[4];

	memcpy(ip, &a->in.sin_addr, 4);
	if (ip[1] != 255)
		return t->host + ip[2] * SUBNET + ip[3] - 1;
	return t->server != NULL ? t->server :
	    t->sw + (255 - ip[2]) * SUBNET + ip[3] - 1;
}

void
train_put_frame(const struct sim *s, struct pcapio_out *out,
    const struct sim_packet *p, uint64_t stamp_ns)
{
	const struct sim_datagram *d = &p->dg;
	const struct training *t = train_get(s, d->from);
	const union addr from = train_node_addr(t, d->from);
	const union addr dst = train_node_addr(t, d->to);
	struct frame_flow flow = { .sport = d->sport, .dport = d->dport };
	uint8_t *to = pcapio_room(out);
	struct frame fr;
	size_t head;

	memcpy(flow.src, &from.in.sin_addr, 4);
	memcpy(flow.dst, &dst.in.sin_addr, 4);
	head = frame_put(to, &flow, d->tos, d->len, &fr);
	memcpy(to + head, train_bytes(s, d), d->len);
	frame_put_checksum(to, &fr);
	sim_commit_frame(s, out, to, (uint32_t)head + d->len, p->wire_bytes,
	    stamp_ns);
}
