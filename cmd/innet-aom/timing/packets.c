/* packets.c - read packets of several captures in order of time */
#include "common/base/message.h"

#include "cmd/innet-aom/timing/packets.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static union addr
make_addr(const struct frame_flow *f, const uint8_t ip[16], uint16_t port)
{
	union addr a;

	if (f->v6) {
		a = (union addr){ .in6 = { .sin6_family = AF_INET6,
		    .sin6_port = htons(port) } };
		memcpy(&a.in6.sin6_addr, ip, 16);
	} else {
		a = (union addr){ .in = { .sin_family = AF_INET,
		    .sin_port = htons(port) } };
		memcpy(&a.in.sin_addr, ip, 4);
	}
	return a;
}

/* If a frame contains several packets, set f->next to the next one. */
static void
next_piece(struct packets_file *f)
{
	struct packet *to = &f->next;

	split_next(&f->pieces, &to->payload, &to->have, &to->bytes);
	to->wire_bytes = f->head_bytes + to->bytes;
}

/*
 * Split the frame if it contains several packets, and take the first packet.
 * Return the result of split_frame().
 */
static enum split_is
split_packet(const struct packets *s, struct packets_file *file,
    const struct pcapio_packet *p, enum frame_is is, const struct frame *f)
{
	const struct split_as as = s->bytes != NULL ? (struct split_as){
	    .kind = SPLIT_SELF,
	    .bytes = s->bytes } : split_as(frame_dscp_tos(f), NULL);
	const enum split_is found = split_frame(&as, is, p->data, p->caplen,
	    p->len, f, &file->pieces);

	if (found == SPLIT_CANNOT && file->split.cannot++ == 0)
		file->split.cannot_at = file->in.packets;
	if (found == SPLIT_SEVERAL) {
		file->split.frames++;
		file->split.datagrams += file->pieces.count;
		file->head_bytes = f->payload_at;
		next_piece(file);
	}
	return found;
}

/*
 * Read the packet of a frame into file->next.  Return UPDATE_OK, or the reason
 * why the frame has no packet.
 */
static unsigned
parse_packet(const struct packets *s, struct packets_file *file,
    const struct pcapio_packet *p)
{
	struct frame f;
	const enum frame_is is = frame_parse(file->in.link, p->data,
	    p->caplen, p->len, &f);
	struct packet *to = &file->next;
	unsigned verdict;

	if (is == FRAME_OTHER || !s->claim(s->arg, frame_dscp_tos(&f),
	    f.flow.sport, f.flow.dport))
		return SOUNDNESS_REGULAR;
	*to = (struct packet){ .tos = frame_dscp_tos(&f),
	    .from = make_addr(&f.flow, f.flow.src, f.flow.sport),
	    .to = make_addr(&f.flow, f.flow.dst, f.flow.dport) };
	switch (split_packet(s, file, p, is, &f)) {
	case SPLIT_SEVERAL: return UPDATE_OK;
	case SPLIT_CANNOT: return SOUNDNESS_SUPER_DATAGRAM;
	default: break;
	}
	verdict = soundness_datagram(is, p->data, &f);
	if (verdict != UPDATE_OK && (verdict != SOUNDNESS_SNAPLEN ||
	    f.payload_at == 0))
		return verdict;
	to->wire_bytes = p->len;
	to->payload = p->data + f.payload_at;
	to->bytes = f.payload_bytes;
	to->have = p->caplen - f.payload_at < to->bytes ? p->caplen -
	    f.payload_at : to->bytes;
	return UPDATE_OK;
}

static uint64_t
add_capped(uint64_t a, uint64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/*
 * Begin with the first packet of all captures, whose time is t, and resolve the
 * times that are relative to this packet.
 */
static void
begin_capture(struct packets *s, uint64_t t)
{
	s->begun = true;
	s->first_ns = t;
	if (s->relative_from)
		s->from_ns = add_capped(t, s->from_ns);
	if (s->relative_until)
		s->until_ns = add_capped(t, s->until_ns);
}

/* Find the next packet of the program in f. */
static void
read_next(struct packets *s, struct packets_file *f)
{
	struct pcapio_packet p = { 0 };
	unsigned verdict;
	uint64_t t;
	int got;

	f->have = f->pieces.left > 0;
	if (f->have) {
		next_piece(f);
		return;
	}
	while ((got = pcapio_next(&f->in, &p)) == 1) {
		t = p.stamp_ns > INT64_MAX ? INT64_MAX : p.stamp_ns;
		if (t < f->last_ns) {
			f->backwards++;
			t = f->last_ns;
		}
		if (f->in.packets == 1)
			f->first_ns = t;
		f->last_ns = t;
		if (s->begun && t < s->from_ns)
			continue;
		if (s->begun && t > s->until_ns)
			return;
		verdict = parse_packet(s, f, &p);
		if (verdict == UPDATE_OK) {
			f->next.stamp_ns = t;
			f->next.file = (unsigned)(f - s->file);
			f->have = true;
			return;
		}
		if (verdict != SOUNDNESS_REGULAR) {
			s->ignored[verdict]++;
			continue;
		}
		f->regular++;
		hints_count(&f->hints, f->in.link, p.data, p.caplen);
	}
	if (got == -1)
		s->rc = pcapio_warn_damage(&f->in);
}

void
packets_open(struct packets *s, const char *const *path, size_t n)
{
	uint64_t first_ns = INT64_MAX;

	s->n = n;
	for (size_t i = 0; i < n; i++) {
		pcapio_open_or_exit(&s->file[i].in, path[i]);
		pcapio_read_ahead(&s->file[i].in);
	}
	for (size_t i = 0; i < n; i++)
		read_next(s, &s->file[i]);
	for (size_t i = 0; i < n; i++) {
		const struct packets_file *f = &s->file[i];

		if (f->in.packets > 0 && f->first_ns < first_ns)
			first_ns = f->first_ns;
	}
	begin_capture(s, first_ns);
}

/*
 * Return the file whose next packet is the oldest, or NULL if no packets are
 * left.
 */
static struct packets_file *
find_oldest(struct packets *s)
{
	struct packets_file *best = NULL;

	for (size_t i = 0; i < s->n; i++) {
		struct packets_file *f = &s->file[i];

		if (f->have && (best == NULL ||
		    f->next.stamp_ns < best->next.stamp_ns))
			best = f;
	}
	return best;
}

const struct packet *
packets_next(struct packets *s)
{
	struct packets_file *best;

	if (s->given != NULL)
		read_next(s, s->given);
	while (
	    (best = find_oldest(s)) != NULL && best->next.stamp_ns < s->from_ns)
		read_next(s, best);
	s->given = best;
	if (best == NULL || best->next.stamp_ns > s->until_ns)
		return NULL;
	s->last_ns = best->next.stamp_ns;
	s->taken++;
	return &best->next;
}

void
packets_close(struct packets *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct packets_file *f = &s->file[i];

		pcapio_warn_odd(&f->in);
		split_warn(&f->split, pcapio_name(f->in.path, false));
		if (f->backwards > 0)
			warnx("%s: time goes backwards at %" PRIu64 " packets; "
			    "each of them gets the time of the previous packet",
			    pcapio_name(f->in.path, false), f->backwards);
		pcapio_close_in(&f->in);
	}
}

uint64_t
packets_ignored(const struct packets *s)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < SOUNDNESS_VERDICTS; i++)
		sum += s->ignored[i];
	return sum;
}

uint64_t
packets_regular(const struct packets *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->n; i++)
		sum += s->file[i].regular;
	return sum;
}

bool
packets_unrecognised(const struct packets *s, const char *what)
{
	bool any = false;

	for (size_t i = 0; i < s->n; i++) {
		const struct packets_file *file = &s->file[i];
		char *line = NULL;
		size_t room = 0;
		FILE *f;

		if (file->in.packets == 0 ||
		    file->regular < file->in.packets)
			continue;
		f = open_memstream(&line, &room);
		if (f == NULL)
			err(1, "hints");
		hints_print(&file->hints, f);
		fclose(f);
		warnx("%s: none of %" PRIu64 " packets belongs to %s: %s",
		    pcapio_name(file->in.path, false), file->in.packets, what,
		    line);
		free(line);
		any = true;
	}
	return any;
}
