/* writer.c - write updates as frames of a capture; see writer.h */
#include "config.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/innet-gen/writer.h"
#include "common/base/counters.h"
#include "common/base/draw.h"
#include "common/base/files.h"
#include "common/base/message.h"
#include "common/base/progress.h"
#include "common/base/vec.h"
#include "common/net/timer.h"
#include "common/wire/inetsum.h"

#define STAMP_MAX_NS (((uint64_t)1 << 32) * 1000000000 - 1)

static uint32_t
payload_head_bytes(const struct conf *cf)
{
	return cf->bare ? 4 : UPDATE_HEADER_BYTES;
}

uint64_t
writer_update_bits(const struct conf *cf)
{
	uint64_t packets = update_packets((uint32_t)cf->elements,
	    (uint32_t)cf->floats);

	return 8 * (packets * (FRAME_V4_BYTES + payload_head_bytes(cf)) +
	    4 * cf->elements);
}

double
writer_port_ns(const struct conf *cf)
{
	const double packets = update_packets((uint32_t)cf->elements,
	    (uint32_t)cf->floats);

	return ((double)writer_update_bits(cf) + 8 * packets *
	    cf->extra_bytes) * 1e9 / (double)cf->port_rate +
	    packets * (double)cf->frame_ns;
}

/*
 * Fill the pool with small, finite, random float32 values, and compute their
 * running checksums.
 */
static void
fill_pool(struct writer *w)
{
	size_t n = WRITER_OFFSETS + w->whole.floats;
	uint16_t half[2];

	w->pool = malloc(4 * n);
	w->pool_sum = malloc(sizeof(*w->pool_sum) * (n + 1));
	if (w->pool == NULL || w->pool_sum == NULL)
		err(1, "no memory for gradients");
	w->pool_sum[0] = 0;
	for (size_t i = 0; i < n; i++) {
		vec_set(w->pool, i, (float)(0.01 * draw_normal(&w->rng)));
		memcpy(half, w->pool + 4 * i, sizeof(half));
		w->pool_sum[i + 1] = w->pool_sum[i] + half[0] + half[1];
	}
}

/* Make the headers of a frame with `floats` floats, from address 0.0.0.0. */
static void
make_shape(struct writer *w, struct writer_shape *s, uint32_t floats)
{
	struct frame_flow flow = { .sport = UPDATE_PORT,
	    .dport = UPDATE_PORT };
	uint32_t payload = payload_head_bytes(w->cf) + 4 * floats;
	struct frame f;

	memcpy(flow.dst, frame_server_addr, sizeof(frame_server_addr));
	s->floats = floats;
	s->frame_bytes = FRAME_V4_BYTES + payload;
	frame_put(s->head, &flow, UPDATE_TOS, payload, &f);
	/* the source address is not known yet */
	memset(s->head + 8, 0, 4);
	s->udp_sum = inetsum_add(frame_pseudo_sum(s->head, &f),
	    s->head + f.udp_at, FRAME_UDP_BYTES);
	memset(s->head + f.ip_at + 10, 0, 2);
	s->ip_sum = inetsum_add(0, s->head + f.ip_at, 20);
	if (w->cf->port_rate != 0)
		s->port_time = (((unsigned __int128)s->frame_bytes +
		    w->cf->extra_bytes) * 8000000000 << 32) /
		    w->cf->port_rate +
		    ((unsigned __int128)w->cf->frame_ns << 32);
}

static void
open_regular(struct writer *w)
{
	const struct frame_flow flow = { .src = { 10, 255, 254, 1 },
	    .dst = { 10, 255, 254, 2 }, .sport = 40000, .dport = 9 };
	struct frame f;

	w->regular_due_ns = UINT64_MAX;
	memset(w->regular_frame, 0, sizeof(w->regular_frame));
	frame_put(w->regular_frame, &flow, 0,
	    WRITER_REGULAR_BYTES - FRAME_V4_BYTES, &f);
	frame_put_checksum(w->regular_frame, &f);
	if (w->cf->regular == 0)
		return;
	w->regular_gap_ns = 8e9 * WRITER_REGULAR_BYTES /
	    (double)w->cf->regular;
	w->regular_due_ns = (uint64_t)(draw_exponential(&w->regular_rng) *
	    w->regular_gap_ns);
}

void
writer_open(struct writer *w, const struct conf *cf)
{
	uint32_t n = (uint32_t)cf->floats;

	*w = (struct writer){ .cf = cf, .rng = rng_seed(cf->seed),
	    .regular_rng = rng_seed(cf->seed ^ 0x7265677561726c) };
	w->packets = update_packets((uint32_t)cf->elements, n);
	w->head_bytes = FRAME_V4_BYTES + payload_head_bytes(cf);
	make_shape(w, &w->whole, n);
	make_shape(w, &w->last, (uint32_t)cf->elements - (w->packets - 1) * n);
	fill_pool(w);
	open_regular(w);
	pcapio_create_or_exit(&w->out, cf->out);
	w->began_ns = w->shown_ns = timer_mono_ns();
	w->progress = !cf->quiet && isatty(STDERR_FILENO);
}

/* Show progress on the terminal, at most twice a second. */
static void
show_progress(struct writer *w)
{
	const uint64_t now_ns = timer_mono_ns();
	double rate;

	if (now_ns - w->shown_ns < 500000000)
		return;
	w->shown_ns = now_ns;
	rate = (double)w->updates / (1e-9 * (double)(now_ns - w->began_ns));
	fprintf(stderr, "\r%" PRIu64, w->updates);
	if (w->total > 0)
		fprintf(stderr, "/%" PRIu64, w->total);
	fprintf(stderr, " updates, %.0f/s", rate);
	if (w->total > w->updates)
		fprintf(stderr, ", %.0f s left",
		    (double)(w->total - w->updates) / rate);
	progress_end();
}

/* Commit a frame of `bytes` bytes that was written into pcapio_room(). */
static void
commit_frame(struct writer *w, uint64_t at_ns, uint32_t bytes)
{
	uint64_t stamp = w->cf->start_ns + at_ns;

	if (stamp > STAMP_MAX_NS)
		w->stamp_overflow = true;
	else
		pcapio_commit(&w->out, stamp, bytes, bytes);
}

/* Write the background traffic that is due before at_ns. */
static void
put_regular(struct writer *w, uint64_t at_ns)
{
	while (w->regular_due_ns < at_ns) {
		memcpy(pcapio_room(&w->out), w->regular_frame,
		    WRITER_REGULAR_BYTES);
		commit_frame(w, w->regular_due_ns, WRITER_REGULAR_BYTES);
		w->regulars++;
		w->regular_due_ns += (uint64_t)(0.5 + w->regular_gap_ns *
		    draw_exponential(&w->regular_rng));
	}
}

/*
 * Return the time in the capture of a frame of this shape that is due at
 * deadline_ns.
 */
static uint64_t
pass_port(struct writer *w, const struct writer_shape *s, uint64_t deadline_ns)
{
	unsigned __int128 due = (unsigned __int128)deadline_ns << 32;

	if (w->cf->port_rate == 0)
		return deadline_ns;
	if (w->port_free < due)
		w->port_free = due;
	w->port_free += s->port_time;
	return (uint64_t)(w->port_free >> 32);
}

/*
 * Write the payload's header for u at p, and return its checksum.  The header
 * is written in whole words, so that no load instruction waits for a store.
 */
static uint64_t
put_header(const struct writer *w, uint8_t *p, const struct ready *u,
    uint32_t following, uint64_t generated_ns)
{
	uint32_t reward, word[UPDATE_HEADER_BYTES / 4];
	uint64_t sum = 0;

	memcpy(&reward, &u->reward, sizeof(reward));
	if (w->cf->bare) {
		reward = htobe32(reward);
		memcpy(p, &reward, sizeof(reward));
		return reward;
	}
	word[0] = htobe32((uint32_t)UPDATE_VERSION << 24 |
	    UPDATE_UPDATE << 16 | u->cluster);
	word[1] = htobe32(u->worker);
	word[2] = htobe32(u->sequence);
	word[3] = htobe32(1u << 16 | following);	/* merged: 1 */
	word[4] = htobe32((uint32_t)(generated_ns >> 32));
	word[5] = htobe32((uint32_t)generated_ns);
	word[6] = htobe32(reward);
	word[7] = htobe32((uint32_t)w->cf->elements);
	memcpy(p, word, sizeof(word));
	for (size_t i = 0; i < sizeof(word) / sizeof(*word); i++)
		sum += word[i];
	return sum;
}

/*
 * Write a frame of shape s at p, with a gradient that begins at value `at` of
 * the pool.
 */
static void
put_frame(const struct writer *w, uint8_t *p, const struct writer_shape *s,
    const struct ready *u, uint32_t following, uint64_t generated_ns,
    size_t at)
{
	uint8_t *ip = p + FRAME_ETH_BYTES, *udp = ip + 20;
	uint32_t src;
	uint64_t sum;
	uint16_t check;

	/* the address of frame_worker_addr() in one word */
	src = htobe32((uint32_t)10 << 24 | u->cluster << 8 | (u->worker + 1));
	memcpy(p, s->head, FRAME_V4_BYTES);
	memcpy(p + 8, &src, sizeof(src)); /* the MAC address contains the same
					   * word */
	memcpy(ip + 12, &src, sizeof(src));
	check = (uint16_t)~inetsum_fold(s->ip_sum + src);
	memcpy(ip + 10, &check, sizeof(check));
	sum = s->udp_sum + src;
	sum += put_header(w, p + FRAME_V4_BYTES, u, following, generated_ns);
	memcpy(p + w->head_bytes, w->pool + 4 * at, 4 * (size_t)s->floats);
	sum += (uint32_t)(w->pool_sum[at + s->floats] - w->pool_sum[at]);
	check = (uint16_t)~inetsum_fold(sum);
	if (check == 0)
		check = 0xffff;
	memcpy(udp + 6, &check, sizeof(check));
}

bool
writer_put(struct writer *w, const struct ready *u)
{
	uint64_t at_ns = 0, generated_ns = 0;

	for (uint32_t i = w->packets; i-- > 0;) {
		const struct writer_shape *s = i > 0 ? &w->whole : &w->last;

		at_ns = pass_port(w, s, u->deadline_ns);
		put_regular(w, at_ns);
		if (i == w->packets - 1)
			generated_ns = w->cf->start_ns + at_ns;
		put_frame(w, pcapio_room(&w->out), s, u, i,
		    generated_ns, rng_u64(&w->rng) % WRITER_OFFSETS);
		commit_frame(w, at_ns, s->frame_bytes);
		w->frame_bits += 8 * s->frame_bytes;
	}
	if (w->updates++ == 0)
		w->first_ns = generated_ns;
	w->last_ns = w->cf->start_ns + at_ns;
	if (w->progress && w->updates % 4096 == 0)
		show_progress(w);
	return !w->stamp_overflow && w->out.failed == 0 && *w->cf->stop == 0;
}

float
writer_reward(struct writer *w, uint32_t sequence)
{
	return arrivals_reward(w->cf->rewards, sequence, &w->rng);
}

/*
 * Warn if the rate of the capture differs from --rate.  This happens with
 * --count and --speeds, because workers with different speeds end at different
 * times.
 */
static void
warn_about_rate(const struct writer *w, double rate)
{
	const double asked = (double)w->cf->rate;

	if (asked > 0 && w->updates > 100 && (rate < 0.9 * asked || rate >
	    1.1 * asked))
		warnx("the rate of the capture is %.4g Mbit/s, not the %.4g "
		    "Mbit/s of --rate%s", rate / 1e6, asked / 1e6,
		    w->cf->speeds > 0 ? ", because the workers end at "
		    "different times; give --duration instead of --count" :
		    "");
}

static void
print_summary(const struct writer *w, bool failed)
{
	uint64_t span = w->last_ns - w->first_ns;
	double rate = span == 0 ? 0 : (double)w->frame_bits * 1e9 /
	    (double)span;

	if (w->cf->json != NULL)
		fprintf(w->cf->json, "{\"updates\":%" PRIu64 ",\"packets\":%"
		    PRIu64 ",\"regular_packets\":%" PRIu64 ",\"update_bits\":%"
		    PRIu64 ",\"first_ns\":%" PRIu64 ",\"last_ns\":%" PRIu64
		    ",\"span_ns\":%" PRIu64 ",\"rate_bit_per_s\":%.0f}\n",
		    w->updates, w->out.packets, w->regulars, w->frame_bits,
		    w->first_ns, w->last_ns, span, rate);
	else if (!w->cf->quiet && !failed)
		warnx("%" PRIu64 " update%s in %" PRIu64 " packet%s, %.3g "
		    "Mbit/s over %.6g s%s", w->updates, plural(w->updates),
		    w->out.packets - w->regulars,
		    plural(w->out.packets - w->regulars), rate / 1e6,
		    (double)span / 1e9,
		    w->regulars > 0 ? ", and background traffic" : "");
	if (!failed)
		warn_about_rate(w, rate);
}

int
writer_close(struct writer *w, int rc)
{
	if (w->progress)
		progress_clear();
	if (w->stamp_overflow)
		warnx("update %" PRIu64 ": a pcap file cannot hold times "
		    "after the year 2106; the output ends before this update",
		    w->updates);
	rc |= pcapio_close_or_warn(&w->out) != 0 || w->stamp_overflow;
	free(w->pool);
	free(w->pool_sum);
	print_summary(w, rc != 0);
	if (w->cf->json != NULL)
		rc |= files_flush(w->cf->json);
	return rc;
}
