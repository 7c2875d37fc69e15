/* ask.c - send a request repeatedly until an answer arrives; see ask.h */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/auth/nonce.h"
#include "common/base/message.h"
#include "common/net/timer.h"

#include "cmd/innet-ctl/ask.h"

/* A request that has no answer yet. */
struct question {
	uint8_t msg[CONTROL_HEADER_BYTES + CONTROL_JOIN_BYTES +
	    CHANNEL_CLIENT_MORE_BYTES];
	size_t len; /* length of msg without the bytes that the channel adds */
	uint8_t action;
	struct seg want;		/* the segment that Help asks for */
	uint64_t untagged;	/* number of answers without a valid tag */
	bool other_key;			/* the peer uses another key */
	int send_errno;			/* errno of the latest try, or 0 */
	bool granted; /* Help got an Ack; the segment may follow */
};

void
ask_open(struct ask *a, const struct ask_options *cf)
{
	char name[ADDR_NAME_BYTES];
	int rc;

	a->cf = cf;
	a->job = cf->job;
	addr_print(&cf->to, a->peer);
	rc = cf->bound ? udpio_open(&a->u, &cf->from, CONTROL_TOS, false) :
	    udpio_open_towards(&a->u, &cf->to, CONTROL_TOS, false, NULL);
	if (rc == -1)
		err(1, "%s", cf->bound ? addr_print(&cf->from, name) :
		    a->peer);
	a->xid = control_first_xid(timer_wall_ns());
	nonce_open_channel(&a->channel, cf->key.set ? &cf->key : NULL, &cf->to);
	a->channel.commands = cf->commands;
}

void
ask_close(struct ask *a)
{
	udpio_close(&a->u);
}

void
ask_warn(const struct ask *a, uint8_t action, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	warnx("%s: %s: %s", a->peer, control_action_name(action), text);
}

void
ask_refused(const struct ask *a, const struct control_ack *k)
{
	if (k->status == CONTROL_REFUSED)
		ask_warn(a, k->action, "refused");
	else if (k->status >= CONTROL_STATUSES)
		ask_warn(a, k->action, "refused: unknown status %u",
		    k->status);
	else if (k->action == CONTROL_JOIN && k->status == CONTROL_BAD_VALUE)
		ask_warn(a, k->action, "refused: %s: the job sums %s, with "
		    "vectors of %" PRIu32 " elements and %u floats in a "
		    "segment",
		    control_status_text(k->status), k->async ?
		    "asynchronously" : "synchronously", k->elements,
		    k->floats);
	else if (k->action == CONTROL_SETH && k->status == CONTROL_BAD_VALUE)
		ask_warn(a, k->action, "refused: %s: H must be at most 4096, "
		    "and at least 2 N + 1 with --reduce trimmed:N",
		    control_status_text(k->status));
	else
		ask_warn(a, k->action, "refused: %s",
		    control_status_text(k->status));
}

/* Return true if s is the segment that the Help of this process asks for. */
static bool
is_wanted(const struct question *q, const struct seg *s)
{
	return q->action == CONTROL_HELP &&
	    s->iteration == q->want.iteration && s->index == q->want.index;
}

/* Send the request for the first time, or again. */
static void
send_request(struct ask *a, struct question *q)
{
	uint8_t msg[sizeof(q->msg)];
	size_t len;

	memcpy(msg, q->msg, q->len);
	len = channel_client_protect(&a->channel, msg, q->len);
	q->send_errno = udpio_send(&a->u, &a->cf->to, CONTROL_TOS, msg, len) ?
	    0 : errno;
}

/* Return true if c is authentic and new.  If c is a challenge, answer it. */
static bool
is_authentic(struct ask *a, struct question *q, const struct udpio_packet *p,
    const struct control *c)
{
	switch (channel_client_receive(&a->channel, p->data, p->len, c)) {
	case CHANNEL_CLIENT_GOOD: return true;
	case CHANNEL_CLIENT_CHALLENGED: send_request(a, q); break;
	case CHANNEL_CLIENT_HINT: q->other_key |= c->xid == a->xid; break;
	case CHANNEL_CLIENT_BAD: q->untagged++; break;
	case CHANNEL_CLIENT_OLD: break;
	}
	return false;
}

/*
 * Return true if the packet answers the request.  The packet is then an Ack to
 * the request, or the Help of this process, which the switch has forwarded to
 * all members.
 */
static bool
receive_control(struct ask *a, struct question *q,
    const struct udpio_packet *p, struct ask_answer *w)
{
	struct control c;
	uint64_t word;

	if (!control_parse(p->data, p->len, &c) || c.job != a->job)
		return false;
	if (!is_authentic(a, q, p, &c))
		return false;
	if (c.action == CONTROL_HELP && control_get_number(&c, 8, &word)) {
		w->kind = ASK_HELP;
		w->seg = seg_split(word);
		return is_wanted(q, &w->seg);
	}
	w->kind = ASK_ACK;
	if (c.action != CONTROL_ACK || c.xid != a->xid ||
	    !control_get_ack(&c, &w->ack) || w->ack.action != q->action)
		return false;
	q->granted = q->action == CONTROL_HELP &&
	    w->ack.status == CONTROL_DONE;
	return !q->granted;
}

/* If the packet is the answer, copy it to *w and return true. */
static bool
receive_packet(struct ask *a, struct question *q, const struct udpio_packet *p,
    struct ask_answer *w)
{
	if (!addr_same(p->from, &a->cf->to))
		return false;
	if (!seg_is(p->tos & 0xfc))
		return receive_control(a, q, p, w);
	w->kind = ASK_SEGMENT;
	return seg_parse_as(p->tos, p->data, p->len, &w->seg) &&
	    is_wanted(q, &w->seg);
}

/*
 * Read all packets that have arrived; return true if the answer is among them.
 */
static bool
receive_all(struct ask *a, struct question *q, struct ask_answer *w)
{
	const int n = udpio_recv(&a->u);
	struct udpio_packet p;

	for (int i = 0; i < n; i++)
		for (size_t at = 0; udpio_next_datagram(&a->u.got[i], &at, &p);)
			if (receive_packet(a, q, &p, w))
				return true;
	return false;
}

/* Wait for the answer until until_ns or until a signal asks to stop. */
static bool
wait_answer(struct ask *a, struct question *q, uint64_t until_ns,
    struct ask_answer *w)
{
	struct pollfd fd = { .fd = a->u.fd, .events = POLLIN };
	uint64_t now;

	while (!*a->cf->stop && (now = timer_mono_ns()) < until_ns) {
		const struct timespec left = timer_to_timespec(until_ns - now);

		if (ppoll(&fd, 1, &left, a->cf->wait_mask) == -1 &&
		    errno != EINTR)
			err(1, "ppoll");
		if (receive_all(a, q, w))
			return true;
	}
	if (q->granted)		/* the answer is the Ack alone, because the
				 * segment did not arrive */
		*w = (struct ask_answer){ .kind = ASK_ACK,
		    .ack.action = q->action };
	return q->granted;
}

/* Write a time such as "250 ms" to `text`, and return `text`. */
static const char *
print_time(uint64_t ns, char text[32])
{
	static const struct { uint64_t ns; const char *name; } units[] = {
		{ 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" },
		{ 1, "ns" }
	};
	size_t i = 0;

	while (ns % units[i].ns != 0)
		i++;
	snprintf(text, 32, "%" PRIu64 " %s", ns / units[i].ns, units[i].name);
	return text;
}

/* Warn that no answer arrived, and print the reason if it is known. */
static void
warn_no_answer(const struct ask *a, const struct question *q)
{
	char all[32], why[128] = "";

	if (q->other_key)
		snprintf(why, sizeof(why), "; it has another key");
	else if (q->untagged > 0)
		snprintf(why, sizeof(why), "; %" PRIu64 " answers arrived "
		    "without %s",
		    q->untagged, a->channel.key == NULL ? "the cookie of this "
		    "request" :
		    "a MAC of our key");
	else if (q->send_errno != 0)
		snprintf(why, sizeof(why), "; cannot send: %s",
		    strerror(q->send_errno));
	else if (a->u.unreachable > 0)
		snprintf(why, sizeof(why), "; no program listens there");
	ask_warn(a, q->action, "no answer within %s to %d requests%s",
	    print_time(a->cf->give_up_ns, all), ASK_TRIES, why);
}

/*
 * Return the time to wait in try i.  The time doubles with each try.  For Help,
 * the time is the same in all tries, because a member must have time to send
 * the segment again.
 */
static uint64_t
try_time_ns(const struct ask *a, uint8_t action, unsigned i)
{
	const uint64_t all = a->cf->give_up_ns;

	return action == CONTROL_HELP ? all / ASK_TRIES :
	    (all << i) / ((1 << ASK_TRIES) - 1);
}

bool
ask_request(struct ask *a, uint8_t action, const uint8_t *body, size_t n,
    struct ask_answer *w)
{
	struct question q = { .action = action };
	uint8_t *p = control_put(q.msg, action, a->job, ++a->xid);

	assert(n <= CONTROL_JOIN_BYTES);
	if (n > 0)
		memcpy(p, body, n);
	if (action == CONTROL_HELP)
		q.want = seg_split(bytes_get(body, 8));
	q.len = CONTROL_HEADER_BYTES + n;
	for (unsigned i = 0; i < ASK_TRIES && !*a->cf->stop; i++) {
		send_request(a, &q);
		if (wait_answer(a, &q, timer_after(timer_mono_ns(),
		    try_time_ns(a, action, i)), w))
			return true;
	}
	if (!*a->cf->stop)
		warn_no_answer(a, &q);
	return false;
}
