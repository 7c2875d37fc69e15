/* trace.c - read the packets of a capture that will be replayed; see trace.h */
#include "config.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/innet-replay/trace.h"
#include "common/base/counters.h"
#include "common/base/message.h"
#include "common/wire/control.h"
#include "common/wire/dlp.h"
#include "common/wire/seg.h"

const char *
trace_reason(unsigned why)
{
	static const char *const name[TRACE_REASONS - SOUNDNESS_VERDICTS] = {
		"other", "down", "filtered"
	};

	return why < SOUNDNESS_VERDICTS ? soundness_name(why) :
	    name[why - SOUNDNESS_VERDICTS];
}

static void
open_file(struct trace *t)
{
	pcapio_open_or_exit(&t->in, t->path);
	pcapio_read_ahead(&t->in);
	t->any = false;
}

void
trace_open(struct trace *t, const char *path, const struct trace_want *want,
    uint64_t loops)
{
	struct stat st;

	*t = (struct trace){ .path = path, .want = *want,
	    .loops_left = loops - 1 };
	if (loops > 1 && (strcmp(path, "-") == 0 || (stat(path, &st) == 0 &&
	    !S_ISREG(st.st_mode))))
		errx(2, "--loop needs a regular file, because it reads the "
		    "capture several times");
	open_file(t);
	if (want->filter != NULL && filter_open(&t->filter, t->in.link,
	    want->filter) == -1)
		errx(2, "invalid filter '%s': %s", want->filter,
		    t->filter.why);
}

void
trace_close(struct trace *t)
{
	pcapio_close_in(&t->in);
	filter_close(&t->filter);
	hashmap_free(&t->switches);
}

static uint64_t
hash_end(const uint8_t addr[16], uint16_t port, bool v6)
{
	uint64_t h = port ^ (v6 ? 0xf00d : 0);

	for (size_t i = 0; i < (v6 ? 16u : 4u); i++)
		h = (h ^ addr[i]) * 0x100000001b3;
	return h;
}

/*
 * Return true if an iSwitch packet is sent to the switch (and not by the
 * switch).  Also record the destination address of every Join.
 */
static bool
is_to_switch(struct trace *t, const struct frame *f, const uint8_t *payload)
{
	const struct frame_flow *w = &f->flow;
	struct control c;

	if (frame_dscp_tos(f) == CONTROL_TOS &&
	    control_parse(payload, f->payload_bytes, &c) &&
	    c.action == CONTROL_JOIN && !hashmap_put(&t->switches,
	    hash_end(w->dst, w->dport, w->v6), 1))
		errx(1, "out of memory");
	return hashmap_get(&t->switches, hash_end(w->src, w->sport,
	    w->v6)) == NULL;
}

static bool
is_dlp(const struct frame *f)
{
	const uint16_t s = f->flow.sport, d = f->flow.dport;

	return s == DLP_SWITCH_PORT || s == DLP_SERVER_PORT ||
	    d == DLP_SWITCH_PORT || d == DLP_SERVER_PORT;
}

/* Return true if the packet belongs to the wanted program. */
static bool
is_wanted(const struct trace *t, const struct frame *f)
{
	const uint8_t tos = frame_dscp_tos(f);

	switch (t->want.program) {
	case TRACE_OLAF: return update_is(tos);
	case TRACE_ISWITCH: return seg_is(tos) || tos == CONTROL_TOS;
	case TRACE_DLP: return is_dlp(f);
	case TRACE_ALL: break;
	}
	return true;
}

/*
 * Return UPDATE_OK for a valid datagram that goes to a switch or a server, or
 * the reason to leave it out.
 */
static unsigned
check_direction(struct trace *t, const struct frame *f, const uint8_t *payload,
    bool *update)
{
	const uint8_t tos = frame_dscp_tos(f);
	const enum trace_program want = t->want.program;

	*update = tos == UPDATE_TOS &&	/* an update with an authentication tag
					 * must not be changed */
	    f->payload_bytes >= UPDATE_HEADER_BYTES &&
	    payload[0] == UPDATE_VERSION && payload[1] == UPDATE_UPDATE;
	if (want == TRACE_OLAF && f->payload_bytes > 1 &&
	    payload[1] == UPDATE_MODEL)
		return TRACE_DOWN;
	if (want == TRACE_ISWITCH && !is_to_switch(t, f, payload))
		return TRACE_DOWN;
	if (want == TRACE_DLP && f->flow.dport != DLP_SWITCH_PORT &&
	    f->flow.dport != DLP_SERVER_PORT)
		return TRACE_DOWN;
	return UPDATE_OK;
}

/*
 * Return true if the datagrams contain their length.  Bare updates do not
 * contain it.
 */
static bool
has_length(const struct split_as *as, const struct pcapio_packet *p,
    const struct frame *f)
{
	const uint8_t *q = p->data + f->payload_at;

	if (as->kind != SPLIT_UPDATES)
		return as->kind != SPLIT_NONE;
	return p->caplen > f->payload_at + 1 && q[0] == UPDATE_VERSION &&
	    q[1] >= UPDATE_UPDATE && q[1] <= UPDATE_WEIGHTS;
}

/*
 * Return UPDATE_OK for a packet to replay, or the reason to leave it out.  If
 * the frame has several datagrams, store them in t->pieces and return
 * SOUNDNESS_SEVERAL.
 */
static unsigned
check_packet(struct trace *t, const struct pcapio_packet *p, struct frame *f,
    bool *update)
{
	const enum frame_is is = frame_parse(t->in.link, p->data, p->caplen,
	    p->len, f);
	const bool dlp = t->want.program == TRACE_DLP ||
	    (t->want.program == TRACE_ALL && is_dlp(f));
	const struct split_as as = split_as(f->tos, dlp ? dlp_bytes : NULL);
	unsigned why;

	*update = false;
	if (is == FRAME_OTHER || !is_wanted(t, f))
		return TRACE_OTHER;
	if (split_is_candidate(is, p->data, f, p->len)) {
		switch (split_frame(&as, is, p->data, p->caplen, p->len, f,
		    &t->pieces)) {
		case SPLIT_SEVERAL: return SOUNDNESS_SEVERAL;
		case SPLIT_CANNOT: return SOUNDNESS_SUPER_DATAGRAM;
		default: break;
		}
	}
	if (!has_length(&as, p, f))
		switch (split_unsized(is, p->data, f, p->len)) {
		case SPLIT_CANNOT: return SOUNDNESS_SUPER_DATAGRAM;
		case SPLIT_UNSEEN: t->split.unsure++; break;
		default: break;
		}
	why = soundness_datagram(is, p->data, f);
	return why != UPDATE_OK ? why : check_direction(t, f, p->data +
	    f->payload_at, update);
}

/* Return the time at which a packet with this timestamp is due. */
static uint64_t
compute_due(struct trace *t, uint64_t stamp_ns)
{
	uint64_t at = t->deadline_ns;

	if (t->taken == 0)
		t->first_ns = stamp_ns;
	if (!t->any) {		/* first packet of this pass */
		t->base_ns = t->taken == 0 ? 0 : t->deadline_ns + t->gap_ns;
		t->any = true;
		return t->base_ns;
	}
	if (stamp_ns < t->first_ns ||
	    t->base_ns + (stamp_ns - t->first_ns) < at) {
		if (t->time_backwards++ == 0)
			warnx("%s: the timestamp of packet %" PRIu64 " is "
			    "earlier than that of the previous packet; both "
			    "are sent at the same time", t->path,
			    t->in.packets);
		return at;
	}
	return t->base_ns + (stamp_ns - t->first_ns);
}

/*
 * At the end of the file, open the file again if another pass over it follows.
 */
static bool
rewind_file(struct trace *t)
{
	if (t->loops_left == 0 || !t->any)
		return false;
	t->loops_left--;
	pcapio_close_in(&t->in);
	open_file(t);
	return true;
}

/* Begin to read the datagrams of a frame that contains several datagrams. */
static void
begin_pieces(struct trace *t, const struct pcapio_packet *p,
    const struct frame *f)
{
	t->split.frames++;
	t->split.datagrams += t->pieces.count;
	t->several = *f;
	if (filter_passes(&t->filter, p))
		return;
	t->skipped[TRACE_FILTERED] += t->pieces.count;
	t->pieces.left = 0;
}

/* Check the next datagram of a frame that contains several datagrams. */
static unsigned
check_piece(struct trace *t, struct trace_packet *out)
{
	uint32_t have = 0;

	out->f = t->several;
	split_next(&t->pieces, &out->payload, &have, &out->f.payload_bytes);
	return have < out->f.payload_bytes ? SOUNDNESS_SNAPLEN :
	    check_direction(t, &out->f, out->payload, &out->update);
}

/*
 * Check the next datagram of a frame that contains several datagrams, or the
 * next packet of the file.  Return 1, 0 or -1 like trace_next().
 */
static int
check_next(struct trace *t, struct trace_packet *out, unsigned *why)
{
	struct pcapio_packet p = { 0 };
	int got;

	if (t->pieces.left > 0) {
		*why = check_piece(t, out);
		return 1;
	}
	got = pcapio_next(&t->in, &p);
	if (got != 1)
		return got;
	t->stamp_ns = p.stamp_ns;
	*why = check_packet(t, &p, &out->f, &out->update);
	out->payload = p.data + out->f.payload_at;
	if (*why == SOUNDNESS_SEVERAL)
		begin_pieces(t, &p, &out->f);
	else if (*why == UPDATE_OK && !filter_passes(&t->filter, &p))
		*why = TRACE_FILTERED;
	if (*why == SOUNDNESS_SUPER_DATAGRAM && t->split.cannot++ == 0)
		t->split.cannot_at = t->in.packets;
	return 1;
}

int
trace_next(struct trace *t, struct trace_packet *out)
{
	unsigned why = UPDATE_OK;
	uint64_t at;
	int got;

	for (;;) {
		got = check_next(t, out, &why);
		if (got == 0 && rewind_file(t))
			continue;
		if (got != 1)
			return got;
		if (why == UPDATE_OK)
			break;
		if (why != SOUNDNESS_SEVERAL)
			t->skipped[why]++;
	}
	at = compute_due(t, t->stamp_ns);
	t->gap_ns = t->taken == 0 ? 0 : at - t->deadline_ns;
	t->deadline_ns = at;
	t->taken++;
	out->deadline_ns = at;
	out->stamp_ns = t->stamp_ns;
	return 1;
}

void
trace_report(const struct trace *t, bool verbose)
{
	pcapio_warn_odd(&t->in);
	split_warn(&t->split, pcapio_name(t->path, false));
	for (unsigned i = 0; verbose && i < TRACE_REASONS; i++) {
		if (t->skipped[i] > 0)
			warnx("left out %" PRIu64 " packet%s; the reason is "
			    "'%s'", t->skipped[i], plural(t->skipped[i]),
			    trace_reason(i));
	}
}

double
trace_progress(const struct trace *t)
{
	const off_t at = lseek(t->in.fd, 0, SEEK_CUR);
	struct stat st;

	if (at == -1 || fstat(t->in.fd, &st) == -1 || st.st_size == 0)
		return -1;
	return (double)at / (double)st.st_size;
}
