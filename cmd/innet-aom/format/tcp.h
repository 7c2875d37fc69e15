/*
 * tcp.h - reassemble the TCP streams of a capture and split them into messages
 *
 * The bytes of each direction of a connection are put in order by their
 * sequence numbers.  Retransmitted bytes are ignored, and early segments wait.
 * The reader stops waiting for missing bytes when TCP_WAIT_SEGMENTS segments or
 * TCP_WAIT_BYTES bytes wait after them, or when the capture ends.
 *
 * The format defines where a message ends: by its length or by a delimiter.
 * After lost bytes, the reader can find the next message if all messages have
 * one fixed length or if there is a delimiter.  Otherwise it ignores the rest
 * of the stream.  If the capture starts in the middle of a stream, the reader
 * assumes that the stream starts with a message or, if there is a delimiter,
 * after the first delimiter.  The reader keeps the bytes of a message that the
 * format reads, and a hash of the match range.
 *
 * A message has the timestamp of the packet that completes it.  After lost
 * bytes, a message has the timestamp of its own packet, even if messages that
 * were returned earlier have later timestamps.  The bytes of a segment are
 * borrowed until the next tcp_packet(); segments that wait are copied.
 */
#ifndef INNET_AOM_FORMAT_TCP_H
#define INNET_AOM_FORMAT_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-aom/format/format.h"
#include "common/base/hashmap.h"

enum {
	TCP_STREAMS_MAX = 65536, TCP_WAIT_SEGMENTS = 64,
	TCP_WAIT_BYTES = 1 << 20
};

/*
 * A run of consecutive bytes of a stream.  If the capture cut the run, have <
 * len.
 */
struct tcp_run {
	uint32_t seq, have, len;
	uint64_t stamp_ns;
	const uint8_t *p;	/* bytes of the run; NULL: the capture lacks
				 * these bytes */
	uint8_t *owned;		/* the copy that p points into, or NULL */
};

struct tcp_stream {
	struct format_packet headers;
	uint32_t next;		/* next expected sequence number */
	bool begun, broken;
	bool seeks;		/* the bytes up to the next delimiter must be
				 * skipped */
	struct tcp_run *wait;	/* TCP_WAIT_SEGMENTS runs, sorted by seq;
				 * owned */
	unsigned waits;
	size_t wait_bytes;
	/* The following members describe the message that is being read: */
	uint64_t at;		/* number of bytes of the message so far */
	uint64_t length;	/* 0: not known yet */
	uint64_t hash;
	uint32_t head_have;	/* number of bytes in head before a gap */
	uint32_t matched;	/* number of delimiter bytes just matched */
	bool holed;		/* bytes are missing, so the hash is not
				 * valid */
	bool given;		/* the message is complete and was returned */
	uint8_t *head;		/* format_head_bytes() bytes, owned */
};

struct tcp {
	const struct format *format;	/* borrowed */
	struct hashmap index;		/* maps the hash of a flow to its
					 * stream */
	struct tcp_stream **stream;	/* owned */
	size_t streams;
	struct tcp_stream *now;		/* stream of the current run */
	struct tcp_run run;		/* unread rest of the current run */
	uint64_t stamp_ns;		/* timestamp of the latest packet */
	size_t ending;			/* number of streams that tcp_end()
					 * finished */
	uint32_t head;			/* maximum number of bytes of a message
					 * that are kept */
	uint64_t again;			/* number of segments without new
					 * bytes */
	uint64_t holes, lost_bytes, lost_messages;
	uint64_t given_up, too_many;	/* number of streams given up; number of
					 * segments without a stream */
};

/* A TCP segment as it was captured. */
struct tcp_segment {
	struct format_packet headers;
	uint32_t seq;
	bool syn;
	const uint8_t *p;
	uint32_t have, len;
};

/*
 * Receive a segment that was captured at stamp_ns.  Return false if there is no
 * memory.
 */
static inline bool tcp_packet(struct tcp *t, const struct tcp_segment *g,
    uint64_t stamp_ns);

/*
 * Get the next complete message, borrowed until the next call, and its
 * timestamp.  Return false if there is none.
 */
static inline bool tcp_message(struct tcp *t, struct format_packet *k,
    struct format_message *m, uint64_t *stamp_ns);

/*
 * After the last packet, skip one gap of one stream.  Return false if there is
 * no gap.
 */
static inline bool tcp_end(struct tcp *t);

/* Free all streams. */
static inline void tcp_free(struct tcp *t);

/* implementation */

static inline void
tcp_stream_free(struct tcp_stream *s)
{
	for (unsigned i = 0; i < s->waits; i++)
		free(s->wait[i].owned);
	free(s->wait);
	free(s->head);
	free(s);
}

static inline void
tcp_free(struct tcp *t)
{
	for (size_t i = 0; i < t->streams; i++)
		tcp_stream_free(t->stream[i]);
	free(t->stream);
	free(t->run.owned);
	hashmap_free(&t->index);
}

static inline uint64_t
tcp_key(const struct frame_flow *f)
{
	uint64_t h = clusters_hash(CLUSTERS_HASH_START, f->src, 16);

	h = clusters_hash(h, f->dst, 16);
	h = clusters_hash(h, &f->sport, sizeof(f->sport));
	return clusters_hash(h, &f->dport, sizeof(f->dport));
}

static inline struct tcp_stream *
tcp_stream_new(struct tcp *t, uint64_t key)
{
	struct tcp_stream *s = calloc(1, sizeof(*s));
	struct tcp_stream **more;

	if (s == NULL)
		return NULL;
	t->head = format_head_bytes(t->format);
	s->head = malloc(t->head + 1);
	more = realloc(t->stream, (t->streams + 1) * sizeof(*more));
	if (more != NULL)
		t->stream = more;
	if (s->head == NULL || more == NULL || hashmap_put(&t->index, key,
	    (uint32_t)t->streams) == NULL) {
		tcp_stream_free(s);
		return NULL;
	}
	return t->stream[t->streams++] = s;
}

/* Return the stream of a segment.  Return NULL if there is no room. */
static inline struct tcp_stream *
tcp_stream_of(struct tcp *t, const struct format_packet *k)
{
	const uint64_t key = tcp_key(&k->flow);
	const uint32_t *at = hashmap_get(&t->index, key);

	if (at != NULL)
		return t->stream[*at];
	return t->streams < TCP_STREAMS_MAX ? tcp_stream_new(t, key) : NULL;
}

static inline void
tcp_begin_message(struct tcp_stream *s)
{
	s->at = s->length = 0;
	s->head_have = s->matched = 0;
	s->hash = CLUSTERS_HASH_START;
	s->holed = s->given = false;
}

/*
 * Keep a copy of a run that arrived before the bytes in front of it.  Return
 * false if there is no memory.
 */
static inline bool
tcp_keep(struct tcp_stream *s, const struct tcp_run *r)
{
	struct tcp_run copy = *r;
	unsigned i = s->waits;

	if (s->wait == NULL)
		s->wait = calloc(TCP_WAIT_SEGMENTS, sizeof(*s->wait));
	copy.owned = malloc(r->have + 1);
	if (copy.owned == NULL || s->wait == NULL) {
		free(copy.owned);
		return false;
	}
	if (r->have > 0)
		memcpy(copy.owned, r->p, r->have);
	copy.p = copy.owned;
	while (i > 0 && (int32_t)(s->wait[i - 1].seq - r->seq) > 0) {
		s->wait[i] = s->wait[i - 1];
		i--;
	}
	s->wait[i] = copy;
	s->waits++;
	s->wait_bytes += r->have;
	return true;
}

/*
 * Remove the bytes that were already received from the run r.  Return false if
 * r has no new bytes.
 */
static inline bool
tcp_trim(const struct tcp_stream *s, struct tcp_run *r)
{
	const uint32_t old = s->next - r->seq;

	if ((int32_t)old <= 0)
		return r->len > 0;
	if (old >= r->len)
		return false;
	r->seq += old;
	r->len -= old;
	r->p += old < r->have ? old : r->have;
	r->have -= old < r->have ? old : r->have;
	return true;
}

/*
 * If the first waiting run is next in the stream, make it the current run.
 * Otherwise, if give_up is set, stop waiting for the missing bytes: make the
 * gap before the waiting run the current run.  Return false if there is no new
 * current run.
 */
static inline bool
tcp_waiting(struct tcp *t, struct tcp_stream *s, bool give_up)
{
	struct tcp_run r;

	while (s->waits > 0) {
		r = s->wait[0];
		if ((int32_t)(r.seq - s->next) > 0) {
			if (!give_up)
				return false;
			t->holes++;
			t->lost_bytes += r.seq - s->next;
			t->run = (struct tcp_run){ .seq = s->next,
			    .len = r.seq - s->next, .stamp_ns = r.stamp_ns };
			return true;
		}
		memmove(s->wait, s->wait + 1, --s->waits * sizeof(r));
		s->wait_bytes -= r.have;
		if (tcp_trim(s, &r)) {
			if (!give_up && t->stamp_ns > r.stamp_ns)
				r.stamp_ns = t->stamp_ns;
			t->run = r;
			return true;
		}
		free(r.owned);
	}
	return false;
}

static inline bool
tcp_packet(struct tcp *t, const struct tcp_segment *g, uint64_t stamp_ns)
{
	struct tcp_stream *s = tcp_stream_of(t, &g->headers);
	struct tcp_run r = { g->seq + g->syn, g->have, g->len, stamp_ns,
	    g->p, NULL };

	t->stamp_ns = stamp_ns;
	t->now = s;
	t->run = (struct tcp_run){ 0 };
	if (s == NULL) {
		t->too_many++;
		return t->streams >= TCP_STREAMS_MAX;
	}
	if (g->syn || !s->begun) {
		for (; s->waits > 0; s->waits--)
			free(s->wait[s->waits - 1].owned);
		s->wait_bytes = 0;
		s->headers = g->headers;
		s->next = r.seq;
		s->begun = true;
		s->broken = false;
		s->seeks = !g->syn && t->format->delimiter[0] != '\0';
		tcp_begin_message(s);
	}
	if (r.len == 0 || s->broken)
		return true;
	if (!tcp_trim(s, &r)) {
		t->again++;
		return true;
	}
	if (r.seq == s->next) {
		t->run = r;
		return true;
	}
	return tcp_keep(s, &r);
}

/* Add n bytes of run r to the message of s. */
static inline void
tcp_eat(const struct tcp *t, struct tcp_stream *s, struct tcp_run *r,
    uint32_t n)
{
	const uint32_t head = t->head;
	const uint32_t have = n < r->have ? n : r->have;
	uint64_t from = t->format->match_from, to = t->format->match_to;

	if (s->at < head && s->head_have == s->at) {
		const uint32_t k = have < head - s->at ? have :
		    head - (uint32_t)s->at;

		if (k > 0)
			memcpy(s->head + s->at, r->p, k);
		s->head_have += k;
	}
	from = from > s->at ? from - s->at : 0;
	to = to > s->at ? to - s->at : 0;
	to = to < n ? to : n;
	if (from < to && to > have)
		s->holed = true;
	else if (from < to)
		s->hash = clusters_hash(s->hash, r->p + from, to - from);
	s->at += n;
	s->next += n;
	r->seq += n;
	r->len -= n;
	if (r->p != NULL)
		r->p += have;
	r->have -= have;
}

/*
 * Ignore the rest of the stream, because the start of its next message is
 * unknown.
 */
static inline void
tcp_give_up(struct tcp *t, struct tcp_stream *s)
{
	s->broken = true;
	t->given_up++;
	t->run.len = 0;
}

/* Skip the messages of the fixed length `length` that are inside a gap. */
static inline void
tcp_skip(struct tcp *t, struct tcp_stream *s, uint64_t length)
{
	const uint32_t n = (uint32_t)(t->run.len / length);

	if (t->run.have > 0 || s->at > 0 || n == 0)
		return;
	t->lost_messages += n;
	s->next += n * (uint32_t)length;
	t->run.seq += n * (uint32_t)length;
	t->run.len -= n * (uint32_t)length;
}

/*
 * Read until the message of s ends, and return true.  Return false if the run
 * ends first.  This is for messages with a length.
 */
static inline bool
tcp_by_length(struct tcp *t, struct tcp_stream *s)
{
	const struct format_field *f = &t->format->field[FORMAT_LENGTH];
	const bool fixed = f->from == FORMAT_VALUE;
	struct format_message m = { .p = s->head };
	struct format_value v;
	uint64_t left;

	while (t->run.len > 0) {
		if (fixed) {
			s->length = f->value;
			tcp_skip(t, s, f->value);
		}
		left = (s->length != 0 ? s->length : f->at + f->bytes) - s->at;
		tcp_eat(t, s, &t->run, left < t->run.len ? (uint32_t)left :
		    t->run.len);
		if (s->length == 0 && s->at == f->at + f->bytes) {
			m.have = s->head_have;
			m.len = (uint32_t)s->at;
			if (format_read(f, &m, &v) != UPDATE_OK ||
			    v.whole > FORMAT_MESSAGE_MAX ||
			    v.whole + f->value < s->at) {
				tcp_give_up(t, s);
				return false;
			}
			s->length = v.whole + f->value;
		}
		if (s->length != 0 && s->at == s->length)
			return true;
	}
	return false;
}

/* Return the number of matched bytes of the delimiter d after the byte b. */
static inline uint32_t
tcp_matched(const char *d, uint32_t matched, uint8_t b)
{
	while (matched > 0 && b != (uint8_t)d[matched]) {
		const uint32_t was = matched;

		/* find the longest prefix of d that is a suffix of the match */
		while (--matched > 0 && memcmp(d, d + was - matched,
		    matched) != 0)
			;
	}
	return b == (uint8_t)d[matched] ? matched + 1 : 0;
}

/*
 * Read until the message of s ends, like tcp_by_length(), but for messages that
 * end with a delimiter.  The delimiter is not part of the message.
 */
static inline bool
tcp_by_delimiter(struct tcp *t, struct tcp_stream *s)
{
	const char *d = t->format->delimiter;
	const uint32_t n = (uint32_t)strlen(d);
	struct tcp_run *r = &t->run;
	const uint8_t *next;

	while (r->len > 0) {
		if (r->have == 0) {		/* not captured */
			s->next += r->len;
			r->len = 0;
			s->seeks = true;
			s->matched = 0;
			return false;
		}
		next = s->matched > 0 ? r->p : memchr(r->p, d[0], r->have);
		if (next == NULL)
			next = r->p + r->have - 1;
		s->matched = tcp_matched(d, s->matched, *next);
		tcp_eat(t, s, r, (uint32_t)(next - r->p) + 1);
		if (s->at > FORMAT_MESSAGE_MAX)
			s->seeks = true;
		if (s->matched < n)
			continue;
		s->at -= n;
		if (!s->seeks && s->at > 0)
			return true;
		s->seeks = false;
		tcp_begin_message(s);
	}
	return false;
}

static inline bool
tcp_message(struct tcp *t, struct format_packet *k, struct format_message *m,
    uint64_t *stamp_ns)
{
	const bool lengths = t->format->delimiter[0] == '\0';
	struct tcp_stream *s = t->now;

	if (s == NULL)
		return false;
	if (s->given)
		tcp_begin_message(s);
	while (t->run.len == 0 || s->broken || !(lengths ?
	    tcp_by_length(t, s) : tcp_by_delimiter(t, s))) {
		free(t->run.owned);
		t->run = (struct tcp_run){ 0 };
		if (s->broken || !tcp_waiting(t, s, s->waits ==
		    TCP_WAIT_SEGMENTS || s->wait_bytes > TCP_WAIT_BYTES))
			return false;
	}
	s->given = true;
	*k = s->headers;
	*m = (struct format_message){ .p = s->head, .have = s->head_have,
	    .len = (uint32_t)s->at, .hash = s->hash, .hashed = !s->holed &&
	    t->format->match_from < s->at };
	if (m->have > m->len)		/* leave out the delimiter */
		m->have = m->len;
	*stamp_ns = t->run.stamp_ns;
	return true;
}

static inline bool
tcp_end(struct tcp *t)
{
	free(t->run.owned);
	t->run = (struct tcp_run){ 0 };
	for (; t->ending < t->streams; t->ending++) {
		t->now = t->stream[t->ending];
		if (!t->now->broken && tcp_waiting(t, t->now, true))
			return true;
	}
	t->now = NULL;
	return false;
}

#endif
