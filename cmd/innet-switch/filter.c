/* filter.c - the switch as a filter: the stamps of captures are the clock */
#include <err.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/judge.h"

#include "cmd/innet-switch/filter.h"

/* A departed frame on its way: out of order with what bypasses the queue. */
struct held {
	uint64_t stamp_ns;
	uint32_t bytes;
};

struct filter {
	const struct filter_conf *cf;
	struct feed feed;
	struct egress *e;
	struct filter_passed *passed;
	struct pcapio_out *out;
	uint64_t next_departure_ns;	/* of cf->departures */
	struct update next_update;	/* what leaves then */
	uint32_t bare_seen;		/* stands in for a sequence */
	uint8_t *held;			/* struct held and frame, by turns */
	size_t held_at, held_have, held_room;
	int status;
};

/* Write what is held and has arrived by now_ns. */
static void
release(struct filter *f, uint64_t now_ns)
{
	struct held h;

	while (f->held_at < f->held_have) {
		memcpy(&h, f->held + f->held_at, sizeof(h));
		if (h.stamp_ns > now_ns)
			break;
		if (f->out != NULL)
			pcapio_write(f->out, h.stamp_ns, f->held + f->held_at +
			    sizeof(h), h.bytes, h.bytes);
		f->held_at += sizeof(h) + h.bytes;
	}
	if (f->held_at == f->held_have)
		f->held_at = f->held_have = 0;
}

/* Keep a frame until its propagation is over. */
static void
hold(struct filter *f, uint64_t stamp_ns, const uint8_t *p, uint32_t bytes)
{
	struct held h = { stamp_ns, bytes };
	size_t need = sizeof(h) + bytes;

	if (f->held_at > 0 && f->held_have + need > f->held_room) {
		memmove(f->held, f->held + f->held_at,
		    f->held_have - f->held_at);
		f->held_have -= f->held_at;
		f->held_at = 0;
	}
	if (f->held_have + need > f->held_room) {
		size_t room = 2 * (f->held_have + need);
		uint8_t *q = realloc(f->held, room);

		if (q == NULL)
			err(1, "frames in propagation");
		f->held = q;
		f->held_room = room;
	}
	memcpy(f->held + f->held_have, &h, sizeof(h));
	if (bytes > 0)
		memcpy(f->held + f->held_have + sizeof(h), p, bytes);
	f->held_have += need;
}

/* Rewrite the fields that merging changed, and the checksum over them. */
static void
freshen(struct slot *s, bool bare)
{
	uint8_t *p = s->bytes + s->payload_at;
	struct frame fr;

	if (bare) {
		wire_put_f32(p, s->up.reward);
	} else {
		wire_put(p + UPDATE_MERGED_AT, s->up.merged, 2);
		wire_put(p + UPDATE_GENERATED_AT, s->up.generated_ns, 8);
		wire_put_f32(p + UPDATE_REWARD_AT, s->up.reward);
	}
	if (frame_parse(FRAME_ETHERNET, s->bytes, s->have, s->have, &fr) ==
	    FRAME_UDP)
		frame_seal(s->bytes, &fr);
}

/* The head leaves at when_ns. */
static void
depart(struct filter *f, uint64_t when_ns)
{
	struct slot *s = egress_head(f->e);

	if (s->changed)
		freshen(s, f->cf->clusters != NULL);
	if (f->cf->propagation_ns > 0)
		hold(f, when_ns + f->cf->propagation_ns, s->bytes, s->have);
	else if (f->out != NULL)
		pcapio_write(f->out, when_ns, s->bytes, s->have, s->have);
	egress_pop(f->e);
}

/* Read on in the capture of departures, to the next update. */
static void
next_departure(struct filter *f)
{
	struct pcapio_in *in = f->cf->departures;
	struct pcapio_packet p = { 0 };
	struct frame fr;
	int got;

	while ((got = pcapio_next(in, &p)) == 1) {
		if (judge_frame(f->cf->clusters, in->link, p.data, p.caplen,
		    p.len, p.stamp_ns, &fr, &f->next_update) == UPDATE_OK &&
		    f->next_update.kind == UPDATE_UPDATE) {
			f->next_departure_ns = p.stamp_ns;
			return;
		}
	}
	if (got == -1)
		f->status = pcapio_warn_damage(in);
	f->next_departure_ns = EGRESS_NEVER;
}

/* The departures of another run, up to now_ns, happen here as well. */
static void
depart_as_recorded(struct filter *f, uint64_t now_ns)
{
	const struct update *u = &f->next_update;

	for (; f->next_departure_ns <= now_ns &&
	    f->next_departure_ns != EGRESS_NEVER; next_departure(f)) {
		const struct slot *s = egress_head(f->e);

		if (s == NULL || s->up.cluster != u->cluster ||
		    s->up.worker != u->worker ||
		    s->up.sequence != u->sequence ||
		    s->up.merged != u->merged) {
			if (f->passed->departures_differ++ == 0 &&
			    !f->cf->feed.quiet)
				warnx("%s: packet %" PRIu64 ": not what would "
				    "leave here; is it from the same run, with "
				    "the same slots?", f->cf->departures->path,
				    f->cf->departures->packets);
		}
		if (s != NULL)
			depart(f, f->next_departure_ns);
	}
}

/* Let everything leave that is due by now_ns. */
static void
advance(struct filter *f, uint64_t now_ns)
{
	if (f->cf->departures != NULL)
		depart_as_recorded(f, now_ns);
	else
		while (egress_due(f->e) <= now_ns &&
		    egress_due(f->e) != EGRESS_NEVER)
			depart(f, egress_due(f->e));
	release(f, now_ns);
}

/* Beside the queue, its stamp unchanged. */
static void
bypass(struct filter *f, const uint8_t *p, uint32_t have, uint32_t len,
    uint64_t stamp_ns)
{
	if (f->out != NULL)
		pcapio_write(f->out, stamp_ns, p, have, len);
}

static void
pass_regular(struct filter *f, const uint8_t *p, uint32_t have, uint32_t len,
    const struct feed_input *i)
{
	if (f->cf->regular_queued) {
		const struct arrival a = { .bytes = p, .have = have,
		    .wire_bytes = i->p.len };

		egress_offer_regular(f->e, &a, i->now_ns);
	} else {
		f->passed->regular++;
		bypass(f, p, have, len, i->p.stamp_ns);
	}
}

/* A model goes back to the workers: tell it how the queue is. */
static void
pass_model(struct filter *f, const uint8_t *p, uint32_t have, uint32_t len,
    const struct frame *fr, struct update *u, const struct feed_input *i)
{
	struct update_status own = egress_status(f->e, i->now_ns);

	f->passed->models++;
	if (txctl_stamp(&u->status, &own)) {
		uint8_t *frame = f->feed.frame;

		if (p != frame)
			memcpy(frame, p, have);
		p = frame;
		update_put_status(frame + fr->payload_at +
		    UPDATE_HEADER_BYTES, &u->status);
		frame_seal(frame, fr);
	}
	bypass(f, p, have, len, i->p.stamp_ns);
}

/* A sound packet of ours: an update to the queue, all else beside it. */
static void
take_ours(struct filter *f, const uint8_t *p, uint32_t have, uint32_t len,
    const struct frame *fr, struct update *u, const struct feed_input *i)
{
	const struct arrival a = { .bytes = p, .have = have,
	    .wire_bytes = i->p.len, .payload_at = fr->payload_at,
	    .is_update = true, .up = *u };

	if (u->kind == UPDATE_UPDATE) {
		egress_offer(f->e, &a, i->now_ns);
	} else if (u->kind == UPDATE_MODEL) {
		pass_model(f, p, have, len, fr, u, i);
	} else {
		f->passed->weights++;
		bypass(f, p, have, len, i->p.stamp_ns);
	}
}

/* One packet, at i->now_ns. */
static void
take(struct filter *f, const struct feed_input *i)
{
	struct frame fr = { 0 };
	struct update u;
	unsigned verdict = judge_frame(f->cf->clusters, i->in->link, i->p.data,
	    i->p.caplen, i->p.len, i->now_ns, &fr, &u);
	const uint32_t cut = fr.ip_at;
	uint32_t have, len;
	const uint8_t *p;

	if (verdict != UPDATE_OK && verdict != JUDGE_REGULAR) {
		f->e->tally.ignored[verdict]++;
		return;
	}
	p = feed_ethernet(&f->feed, i, &fr, &have, &len);
	if (verdict == JUDGE_REGULAR) {
		pass_regular(f, p, have, len, i);
		return;
	}
	if (p != i->p.data)	/* it stands elsewhere now */
		u.vec = p + (u.vec - i->p.data) - cut + FRAME_ETH_BYTES;
	if (f->cf->clusters != NULL)
		u.sequence = ++f->bare_seen;
	take_ours(f, p, have, len, &fr, &u, i);
}

/* All packets, and then what is still in the queue. */
static void
loop(struct filter *f)
{
	const struct feed_input *i;

	while ((i = feed_next(&f->feed)) != NULL) {
		if (f->out != NULL && f->out->failed != 0)
			return;
		advance(f, i->now_ns);
		take(f, i);
	}
	if (!f->feed.stopped)
		advance(f, f->feed.until_ns == UINT64_MAX ?
		    EGRESS_NEVER - 1 : f->feed.until_ns);
}

int
filter_run(const struct filter_conf *cf, struct egress *e,
    struct filter_passed *passed, struct pcapio_in *in, size_t n,
    struct pcapio_out *out)
{
	struct filter f = { .cf = cf, .e = e, .passed = passed, .out = out };

	*passed = (struct filter_passed){ 0 };
	feed_open(&f.feed, &cf->feed, in, n);
	if (cf->departures != NULL)
		next_departure(&f);
	loop(&f);
	release(&f, EGRESS_NEVER);
	egress_count_queued(e);
	passed->packets = f.feed.packets;
	passed->time_backwards = f.feed.time_backwards;
	free(f.held);
	feed_close(&f.feed);
	return f.status | f.feed.status;
}
