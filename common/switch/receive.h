/*
 * receive.h - classify the packets that arrive at a switch, and answer control
 * requests
 *
 * Each arriving packet is counted in exactly one class (enum packet_class in
 * program.h).  The classes are packets for the program, packets from another
 * run of the program, packets between other hosts, and regular traffic.  The
 * program receives only packets that are valid (soundness.h).
 *
 * This file processes control messages to the switch's own address, whatever
 * the program is.  A client must prove that it receives packets sent to its
 * address.  If the switch has a key, the client must also prove that it knows
 * the key (auth/channel-server.h).  If a client does not prove this, the switch
 * sends a challenge or does not answer.  Each request is executed only once.  A
 * repeated request gets the same Ack again, and a request that is older than
 * the last request is dropped (iSwitch, section 3.4, Table 2; innet-wire(5)).
 * This file answers Jobs, Members and Stats page by page, and passes all other
 * requests to the program.
 */
#ifndef INNET_SWITCH_RECEIVE_H
#define INNET_SWITCH_RECEIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/auth/channel-server.h"
#include "common/auth/cookie.h"
#include "common/auth/key.h"
#include "common/auth/rate-limit.h"
#include "common/switch/report.h"
#include "common/wire/control.h"

/*
 * Receive packet p at the current time of the plane, which the driver has set
 * with plane_advance().  If packets may wait at ports, this function also
 * flushes the posts of the program.  Otherwise the driver must call
 * plane_flush() before the bytes of the packet change.
 */
static inline void plane_receive(struct plane *pl, struct packet *p);

/*
 * Apply --impair to the arriving packet p, then call plane_receive() for each
 * copy of p.
 */
static inline void plane_receive_impaired(struct plane *pl, struct packet *p);

/*
 * Return the number of copies of an arriving packet that the switch receives:
 * 0, 1 or 2, at random according to --impair.  Delays are ignored.
 */
static inline int plane_draw_copies(struct plane *pl);

/* Forward a regular frame, at once or through the queue of its port. */
static inline void plane_forward_regular(struct plane *pl, struct packet *p);

/* implementation */

/*
 * Return the text that request c asks for.  The caller must free the text.
 * Returns NULL if there is no memory or if the job is unknown.  Sets *known to
 * whether the job is known.
 */
static inline char *
plane_make_text(struct plane *pl, const struct control *c, bool *known,
    uint64_t now_ns)
{
	const struct program *pr = pl->program;
	struct counters t = counters_begin(COUNTERS_JSON, "");
	uint64_t scope = 0;

	*known = true;
	if (c->action == CONTROL_STATS)
		control_get_scope(c, &scope);
	switch (c->action) {
	case CONTROL_JOBS:
		counters_word(&t, "program", pr->name);
		counters_list(&t, "jobs");
		if (pr->list_jobs != NULL)
			pr->list_jobs(pl->state, &t, now_ns);
		counters_list_end(&t);
		break;
	case CONTROL_MEMBERS:
		*known = pr->list_members != NULL &&
		    pr->list_members(pl->state, c->job, &t, now_ns);
		break;
	default:
		*known = plane_put_counters(pl,
		    scope == CONTROL_SCOPE_SWITCH ? -1 : c->job, &t, now_ns);
		break;
	}
	if (!*known || counters_text(&t) == NULL) {
		counters_free(&t);
		return NULL;
	}
	t.text[t.len - 1] = '\0';	/* remove the line feed */
	return t.text;
}

/*
 * Write the requested page of a text into the Ack.  The text is created when
 * page 0 is requested, and kept for requests of the other pages.
 */
static inline void
plane_answer_page(struct plane *pl, struct channel_server_row *r,
    const struct control *c, struct control_ack *a, uint64_t now_ns)
{
	bool known = true;
	uint64_t page;
	size_t at;

	if (!control_get_number(c, 2, &page)) {
		a->status = CONTROL_BAD_VALUE;
		return;
	}
	if (page == 0)
		channel_server_set_text(
		    &pl->channels, r, plane_make_text(pl, c, &known, now_ns));
	at = (size_t)page * CONTROL_PAGE_BYTES;
	if (!known) {
		a->status = CONTROL_NO_JOB;
		return;
	}
	if (r->text == NULL || at >= r->text_bytes) {
		a->status = CONTROL_BAD_VALUE;
		return;
	}
	a->page = (uint16_t)page;
	a->pages = (uint16_t)((r->text_bytes - 1) / CONTROL_PAGE_BYTES + 1);
	a->text = (const uint8_t *)r->text + at;
	a->text_bytes = r->text_bytes - at < CONTROL_PAGE_BYTES ?
	    r->text_bytes - at : CONTROL_PAGE_BYTES;
}

/*
 * Send the Ack of request c from the address to which c was sent, and store the
 * Ack in r in case the request is repeated.
 */
static inline void
plane_send_ack(struct plane *pl, const struct packet *p,
    const struct control *c, struct channel_server_row *r,
    const struct control_ack *a)
{
	uint8_t msg[CONTROL_MAX_BYTES];
	const uint32_t len = (uint32_t)(control_put_ack(control_put(msg,
	    CONTROL_ACK, c->job, c->xid), a) - msg);

	if (a->status != CONTROL_NO_PARENT)	/* after this status the client
						 * sends the request again, so
						 * the Ack is not stored */
		channel_server_keep_ack(r, c->xid, msg, len);
	outbox_copy_from(&pl->out, p->to, p->from, CONTROL_TOS, msg, len);
}

/*
 * Send an Ack without a MAC.  The Ack contains the status and, if `pass` is not
 * NULL, the cookie at `pass`.  Send no challenge that is longer than the
 * request, because an attacker could use such challenges for amplification.
 * Returns whether the Ack was sent.
 */
static inline bool
plane_send_bare_ack(struct plane *pl, const struct packet *p,
    const struct control *c, enum control_status status, const uint8_t *pass)
{
	uint8_t msg[CONTROL_HEADER_BYTES + 2 + COOKIE_BYTES];
	uint8_t *q = control_put(msg, CONTROL_ACK, c->job, c->xid);

	*q++ = c->action;
	*q++ = (uint8_t)status;
	if (pass != NULL) {
		msg[1] |= CONTROL_HAS_COOKIE;
		memcpy(q, pass, COOKIE_BYTES);
		q += COOKIE_BYTES;
	}
	if (status == CONTROL_CHALLENGE && (uint32_t)(q - msg) > p->bytes)
		return false;
	outbox_copy_from(&pl->out, p->to, p->from, CONTROL_TOS, msg,
	    (uint32_t)(q - msg));
	pl->out.post[pl->out.n - 1].bare = true;
	return true;
}

/*
 * Send a challenge to the client.  The challenge contains a cookie and the
 * client's own nonce.
 */
static inline void
plane_send_challenge(struct plane *pl, const struct packet *p,
    const struct control *c, uint64_t now_ns)
{
	uint8_t pass[COOKIE_BYTES] = { 0 };

	if (pl->rules.secret.set)
		cookie_make(
		    &pl->rules.secret, p->from, c->cookie, now_ns, pass);
	else
		bytes_put(pass + COOKIE_TIME_AT, now_ns, 8);
	memcpy(pass, c->cookie, COOKIE_NONCE_BYTES);
	if (rate_limit_allow(&pl->rate_limit, p->from, now_ns) &&
	    plane_send_bare_ack(pl, p, c, CONTROL_CHALLENGE, pass))
		pl->controls[CONTROLS_CHALLENGED]++;
	else
		pl->controls[CONTROLS_UNPROVED]++;
}

/*
 * Return the channel of the client if request c may be executed.  Otherwise
 * count the request, answer it if necessary, and return NULL.
 */
static inline struct channel_server_row *
plane_admit_request(struct plane *pl, const struct packet *p,
    const struct control *c, uint64_t now_ns)
{
	struct channel_server_row *r = NULL;

	switch (channel_server_check(&pl->channels, &pl->rules, p->from,
	    p->payload, p->bytes, c, now_ns, &r)) {
	case CHANNEL_SERVER_GOOD: return r;
	case CHANNEL_SERVER_CHALLENGE:
		plane_send_challenge(pl, p, c, now_ns);
		break;
	case CHANNEL_SERVER_BAD_MAC:
		pl->controls[CONTROLS_BAD_MAC]++;
		plane_send_bare_ack(pl, p, c, CONTROL_BAD_MAC, c->cookie);
		break;
	case CHANNEL_SERVER_REPLAYED: pl->controls[CONTROLS_REPLAYED]++; break;
	case CHANNEL_SERVER_NO_COOKIE:
	case CHANNEL_SERVER_NO_MEMORY: pl->controls[CONTROLS_UNPROVED]++; break;
	}
	return NULL;
}

/* Is request c a command, which changes how a job runs? */
static inline bool
plane_is_command(const struct control *c)
{
	switch (c->action) {
	case CONTROL_RESET:
	case CONTROL_SETH:
	case CONTROL_FBCAST:
	case CONTROL_HALT:
	case CONTROL_RESUME:
	case CONTROL_REGROUP: return true;
	case CONTROL_LEAVE: return c->body_bytes >= 4;	/* a Leave with a body
							 * removes another
							 * member */
	default: return false;
	}
}

/*
 * May the client at address `from` send request c?  If there is a key for
 * commands, commands must use this key.  If there is no key at all, only
 * members and local processes may send commands.
 */
static inline bool
plane_may_command(const struct plane *pl, const union addr *from,
    const struct channel_server_row *r, const struct control *c)
{
	const struct program *pr = pl->program;

	if (!plane_is_command(c))
		return true;
	if (pl->rules.key != NULL)
		return pl->rules.commands == NULL || r->commands;
	return !r->open || addr_is_loopback(from) ||
	    (!pl->rules.needs_cookie && c->has_mac) || (pr->is_member != NULL &&
	    pr->is_member(pl->state, from, c->job));
}

/* Execute request c and fill in its Ack. */
static inline enum program_reply
plane_execute_request(struct plane *pl, const union addr *from,
    const struct control *c, struct channel_server_row *r,
    struct control_ack *a, uint64_t now_ns)
{
	const struct program *pr = pl->program;

	switch (c->action) {
	case CONTROL_JOBS:
	case CONTROL_MEMBERS:
	case CONTROL_STATS:
		plane_answer_page(pl, r, c, a, now_ns);
		return PROGRAM_ANSWERED;
	default:
		return pr->handle_request == NULL ? PROGRAM_UNKNOWN :
		    pr->handle_request(pl->state, from, c, a, now_ns);
	}
}

/* Execute and answer a request that has not been executed before. */
static inline void
plane_handle_request(struct plane *pl, const struct packet *p,
    const struct control *c, struct channel_server_row *r, uint64_t now_ns)
{
	struct control_ack a = { .action = c->action };
	enum program_reply reply = PROGRAM_ANSWERED;

	if (plane_may_command(pl, p->from, r, c))
		reply = plane_execute_request(pl, p->from, c, r, &a, now_ns);
	else
		a.status = CONTROL_REFUSED;
	if (reply == PROGRAM_LATER)
		return;
	if (reply == PROGRAM_UNKNOWN) {
		a.status = CONTROL_UNKNOWN;
		a.text = (const uint8_t *)pl->program->name;
		a.text_bytes = strlen(pl->program->name);
	}
	pl->controls[CONTROLS_REFUSED] += a.status != CONTROL_DONE;
	plane_send_ack(pl, p, c, r, &a);
}

/*
 * Process a control message to the switch's own address.  This is a separate
 * function so that plane_receive() needs less stack.
 */
__attribute__((noinline, unused)) static void
plane_receive_control(struct plane *pl, const struct packet *p, uint64_t now_ns)
{
	struct channel_server_row *r;
	struct control c;

	if (addr_same(p->from, &pl->cf->place.address)) {
		pl->controls[CONTROLS_REFLECTED]++;
		return;
	}
	if (!control_parse(p->payload, p->bytes, &c)) {
		pl->controls[CONTROLS_BAD]++;
		return;
	}
	if (pl->program->parent_message != NULL && addr_same(p->from,
	    &pl->cf->place.parent)) {
		pl->controls[CONTROLS_TAKEN]++;
		pl->program->parent_message(
		    pl->state, p->payload, p->bytes, now_ns);
		return;
	}
	if (c.action == CONTROL_ACK) {	/* an Ack is never answered */
		pl->controls[CONTROLS_TAKEN]++;
		pl->controls[CONTROLS_ACKS]++;
		return;
	}
	r = plane_admit_request(pl, p, &c, now_ns);
	if (r == NULL)
		return;
	pl->controls[CONTROLS_TAKEN]++;
	if (pl->program->peer_alive != NULL)
		pl->program->peer_alive(pl->state, p->from, now_ns);
	if (r->asked && c.xid == r->xid) {
		pl->controls[CONTROLS_REPEATED]++;
		outbox_copy_from(&pl->out, p->to, p->from, CONTROL_TOS,
		    r->ack, r->ack_bytes);
	} else if (r->asked && !control_newer(c.xid, r->xid)) {
		pl->controls[CONTROLS_OLD_XID]++;
	} else {
		plane_handle_request(pl, p, &c, r, now_ns);
	}
}

/* Is packet p addressed to the switch itself? */
static inline bool
plane_is_own_address(const struct plane *pl, const struct packet *p)
{
	const union addr *own = &pl->cf->place.address;

	return own->sa.sa_family != 0 && p->to != NULL &&
	    addr_same(p->to, own);
}

/*
 * If an update is between other hosts, offer it to the Olaf queue on its route,
 * whatever the program is.  Returns false if the packet is not an update, if
 * there is no such queue, or if the updates of the program carry tags.  Tagged
 * updates cannot be merged with untagged updates.
 */
static inline bool
plane_enqueue_passing(struct plane *pl, struct packet *p)
{
	struct port *port;
	struct update u;

	if (!pl->merges || (p->tos & 0xfc) != UPDATE_TOS || p->frame == NULL ||
	    (pl->program->retag_update != NULL && pl->cf->place.tagged))
		return false;
	port = plane_find_port(pl, p->to);
	if (port == NULL || port->link.rate_bps == 0 ||
	    port->cf.queue != PORT_OLAF || soundness_summed(p->is, p->sums,
	    p->data, p->frame) != UPDATE_OK || update_parse(p->payload,
	    p->bytes, &u) != UPDATE_OK || u.kind != UPDATE_UPDATE)
		return false;
	pl->n[PLANE_TAKEN]++;
	plane_enqueue_update(pl, PACKET_SOCKET_OWN, p->to, p, &u, pl->now_ns);
	return true;
}

static inline void
plane_forward_regular(struct plane *pl, struct packet *p)
{
	const bool waits = pl->cf->regular_queued && pl->shaped;
	struct port *port;
	struct arrival a;

	if (plane_enqueue_passing(pl, p))
		return;
	pl->n[PLANE_REGULAR]++;
	port = waits ? plane_find_port(pl, p->to) : NULL;
	if (waits && port == NULL) {
		pl->n[PLANE_NO_PORT]++;
		return;
	}
	if (port == NULL || port->link.rate_bps == 0) {
		plane_forward_packet(pl, p, pl->now_ns);
		return;
	}
	plane_complete_frame(pl, p);
	a = (struct arrival){ .bytes = p->data, .have = p->have,
	    .len = p->len, .framed = true, .wire_bytes = p->wire_bytes };
	plane_enqueue(pl, port, &a);
}

/*
 * Does the option --allow exclude the sender?  This is a separate function
 * because --allow is rarely used.
 */
__attribute__((noinline, unused)) static bool
plane_is_denied(const struct plane *pl, const struct packet *p)
{
	return p->from == NULL || !networks_allow(&pl->cf->allow, p->from);
}

/*
 * Check and receive a packet for the program or for the switch's own address.
 */
static inline void
plane_receive_claimed(struct plane *pl, struct packet *p)
{
	const unsigned verdict = p->frame == NULL ? UPDATE_OK :
	    soundness_summed(p->is, p->sums, p->data, p->frame);

	if (pl->cf->allow.n > 0 && plane_is_denied(pl, p)) {
		pl->n[PLANE_NOT_ALLOWED]++;
		return;
	}
	pl->n[PLANE_TAKEN]++;
	if (verdict != UPDATE_OK) {
		plane_count_ignored(pl, verdict);
		return;
	}
	if ((p->tos & 0xfc) == CONTROL_TOS && p->socket == PACKET_SOCKET_OWN)
		plane_receive_control(pl, p, pl->now_ns);
	else
		pl->program->receive(pl->state, p, pl->now_ns);
}

/*
 * Do the work of plane_receive_claimed().  In addition, if the switch is in the
 * path of other hosts, forward packets that are ignored because they are not
 * valid.
 */
static inline void
plane_receive_in_path(struct plane *pl, struct packet *p)
{
	const uint64_t ignored = pl->n[PLANE_IGNORED];

	plane_receive_claimed(pl, p);
	if (pl->cf->place.in_path && pl->n[PLANE_IGNORED] != ignored)
		plane_forward_packet(pl, p, pl->now_ns);
}

static inline int
plane_draw_copies(struct plane *pl)
{
	uint64_t at[2];
	int n;

	if (!pl->impaired)
		return 1;
	n = impair_plan(&pl->in_impair, 0, at);
	pl->n[n == 0 ? PLANE_IN_LOST : PLANE_IN_DUPLICATED] += n != 1;
	return n;
}

static inline void
plane_receive(struct plane *pl, struct packet *p)
{
	pl->n[PLANE_PACKETS]++;
	if ((p->tos & 0xfc) == CONTROL_TOS && plane_is_own_address(pl, p)) {
		plane_receive_claimed(pl, p);
	} else {
		switch (pl->program->classify(pl->state, p)) {
		case PACKET_FOR_PROGRAM: plane_receive_in_path(pl, p); break;
		case PACKET_FROM_PROGRAM: pl->n[PLANE_OWN]++; break;
		case PACKET_REGULAR: plane_forward_regular(pl, p); break;
		case PACKET_BETWEEN_OTHERS:
			pl->n[PLANE_PASSED]++;
			plane_forward_packet(pl, p, pl->now_ns);
			break;
		}
	}
	if (pl->shaped)
		plane_flush(pl);
}

static inline void
plane_receive_impaired(struct plane *pl, struct packet *p)
{
	for (int n = plane_draw_copies(pl); n > 0; n--)
		plane_receive(pl, p);
}

#endif
