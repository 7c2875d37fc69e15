/*
 * control.h - control messages to a switch, whatever its program
 *
 * A request is done once: one that comes again is answered with the same Ack,
 * an older one is dropped (iSwitch section 3.4, Table 2; innet-wire(5)).  Jobs,
 * Members and Stats are answered here, page by page, from what the program
 * tells; all else is the program's.
 */
#ifndef INNET_PLANE_CONTROL_H
#define INNET_PLANE_CONTROL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/plane/report.h"
#include "common/wire/mac.h"

/* The text that a request asks for; the caller's, NULL without memory. */
static inline char *
plane_text(struct plane *pl, const struct control *c, bool *known,
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
		if (pr->jobs != NULL)
			pr->jobs(pl->state, &t, now_ns);
		counters_list_end(&t);
		break;
	case CONTROL_MEMBERS:
		*known = pr->members != NULL &&
		    pr->members(pl->state, c->job, &t, now_ns);
		break;
	default:
		*known = plane_stats(pl, scope == CONTROL_SCOPE_SWITCH ? -1 :
		    c->job, &t, now_ns);
		break;
	}
	if (!*known || counters_text(&t) == NULL) {
		counters_free(&t);
		return NULL;
	}
	t.text[t.len - 1] = '\0';	/* without the line feed */
	return t.text;
}

/* A page of a text that is frozen when page 0 is asked for. */
static inline void
plane_page(struct plane *pl, struct reply *r, const struct control *c,
    struct control_ack *a, uint64_t now_ns)
{
	bool known = true;
	uint64_t page;
	size_t at;

	if (r == NULL || !control_get_number(c, 2, &page)) {
		a->status = r == NULL ? CONTROL_NO_ROOM : CONTROL_BAD_VALUE;
		return;
	}
	if (page == 0)
		answered_text(&pl->replies, r, plane_text(pl, c, &known,
		    now_ns));
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

/* Send the Ack of c, from where that was sent to, and remember it. */
static inline void
plane_answer(struct plane *pl, const struct packet *p,
    const struct control *c, struct reply *r, const struct control_ack *a)
{
	uint8_t msg[CONTROL_MAX_BYTES + CONTROL_MAC_BYTES];
	size_t len = (size_t)(control_put_ack(control_put(msg, CONTROL_ACK,
	    c->job, c->xid), a) - msg);

	if (pl->cf->place.key != NULL)
		len = mac_sign(pl->cf->place.key, msg, len);
	if (r != NULL && a->status != CONTROL_BAD_MAC &&
	    a->status != CONTROL_NO_PARENT)	/* it will be asked again */
		answered_keep(r, c->xid, msg, (uint32_t)len);
	outbox_copy_from(&pl->out, p->to, p->from, CONTROL_TOS, msg,
	    (uint32_t)len);
}

/* Do what c asks for. */
static inline enum program_reply
plane_do(struct plane *pl, const union addr *from, const struct control *c,
    struct reply *r, struct control_ack *a, uint64_t now_ns)
{
	const struct program *pr = pl->program;

	switch (c->action) {
	case CONTROL_JOBS:
	case CONTROL_MEMBERS:
	case CONTROL_STATS:
		plane_page(pl, r, c, a, now_ns);
		return PROGRAM_ANSWERS;
	default:
		return pr->control == NULL ? PROGRAM_UNKNOWN :
		    pr->control(pl->state, from, c, a, now_ns);
	}
}

/* A control message to the switch's own address at now_ns. */
static inline void
plane_control(struct plane *pl, const struct packet *p, uint64_t now_ns)
{
	const struct mac_key *key = pl->cf->place.key;
	struct control_ack a = { 0 };
	struct control c;
	struct reply *r;

	if (!control_parse(p->payload, p->bytes, &c)) {
		pl->controls[CONTROLS_BAD]++;
		return;
	}
	a.action = c.action;
	if (key != NULL && !mac_good(key, p->payload, p->bytes, &c)) {
		pl->controls[CONTROLS_BAD_MAC]++;
		a.status = CONTROL_BAD_MAC;
		if (c.action != CONTROL_ACK)
			plane_answer(pl, p, &c, NULL, &a);
		return;
	}
	pl->controls[CONTROLS_TAKEN]++;
	if (pl->program->heard != NULL)
		pl->program->heard(pl->state, p->from, now_ns);
	if (c.action == CONTROL_ACK) {
		pl->controls[CONTROLS_ACKS]++;
		return;
	}
	r = answered_of(&pl->replies, p->from, c.job);
	if (r != NULL && r->asked && c.xid == r->xid) {
		pl->controls[CONTROLS_REPEATED]++;
		outbox_copy_from(&pl->out, p->to, p->from, CONTROL_TOS,
		    r->ack, r->ack_bytes);
		return;
	}
	if (r != NULL && r->asked && !control_newer(c.xid, r->xid)) {
		pl->controls[CONTROLS_OLD_XID]++;
		return;
	}
	switch (plane_do(pl, p->from, &c, r, &a, now_ns)) {
	case PROGRAM_LATER: return;
	case PROGRAM_UNKNOWN:
		a.status = CONTROL_UNKNOWN;
		a.text = (const uint8_t *)pl->program->name;
		a.text_bytes = strlen(pl->program->name);
		break;
	case PROGRAM_ANSWERS: break;
	}
	pl->controls[CONTROLS_REFUSED] += a.status != CONTROL_DONE;
	plane_answer(pl, p, &c, r, &a);
}

#endif
