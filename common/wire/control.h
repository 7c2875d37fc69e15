/*
 * control.h - read and write control messages, as described in innet-wire(5)
 *
 * A message consists of action, flags, job, xid and a body that depends on the
 * action (iSwitch, Figure 5a and Table 2; the codes and layouts are innet's
 * own).  The parsers borrow the bytes and do not trust them.  A body may be
 * longer than the fields that this file describes.  This file does not check
 * cookies and MACs: control_parse() only finds them (auth/cookie.h,
 * auth/mac.h).
 */
#ifndef INNET_WIRE_CONTROL_H
#define INNET_WIRE_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/bytes.h"

enum {
	CONTROL_TOS = 0x0c,		/* DSCP 3 */
	CONTROL_HEADER_BYTES = 8,
	CONTROL_COOKIE_BYTES = 24,	/* auth/cookie.h */
	CONTROL_MAC_BYTES = 24,		/* auth/mac.h */
	CONTROL_JOIN_BYTES = 22,	/* length of the body of a Join, after
					 * which a byte of flags follows unless
					 * all flags are 0 */
	CONTROL_RULE_BYTES = 7,		/* length of the rule in a Join */
	CONTROL_JOIN_MAX = 32,		/* length of the longest body of a
					 * Join */
	CONTROL_PAGE_BYTES = 1400,	/* length of the longest JSON text in
					 * one Ack */
	CONTROL_MAX_BYTES = 1452	/* length of the longest message, which
					 * has 1,500 bytes with the headers of
					 * IPv6 */
};

enum control_action {
	CONTROL_JOIN = 1, CONTROL_LEAVE, CONTROL_RESET, CONTROL_SETH,
	CONTROL_FBCAST, CONTROL_HELP, CONTROL_HALT, CONTROL_ACK,
	CONTROL_RESUME = 16, CONTROL_MEMBERS, CONTROL_STATS, CONTROL_OPEN,
	CONTROL_JOBS, CONTROL_REGROUP, CONTROL_FETCH, CONTROL_CHUNK,
	CONTROL_LEFT
};

/*
 * The flags of a message: a cookie follows the body, a MAC follows the body,
 * and the MAC uses the key of commands.
 */
enum control_flag {
	CONTROL_HAS_COOKIE = 0x02, CONTROL_HAS_MAC = 0x04,
	CONTROL_COMMANDS = 0x08, CONTROL_FLAGS = 0x0e	/* all of them */
};

/*
 * The counters that a Stats message requests: those of a job or those of the
 * switch.
 */
enum control_scope { CONTROL_SCOPE_JOB, CONTROL_SCOPE_SWITCH };

enum control_status {
	CONTROL_DONE, CONTROL_NO_JOB, CONTROL_NO_ROOM, CONTROL_NOT_MEMBER,
	CONTROL_REFUSED, CONTROL_BAD_VALUE, CONTROL_NOT_READY,
	CONTROL_BAD_MAC, CONTROL_GONE, CONTROL_CHALLENGE, CONTROL_UNKNOWN,
	CONTROL_TAKEN, CONTROL_NO_PARENT, CONTROL_STATUSES
};

enum control_type { CONTROL_WORKER = 1, CONTROL_SWITCH, CONTROL_SERVER };

struct control {
	uint8_t action;			/* a value of enum control_action */
	uint16_t job;
	uint32_t xid;
	const uint8_t *body;		/* borrowed */
	size_t body_bytes;		/* length of the body, without the
					 * cookie and the MAC */
	const uint8_t *cookie;		/* borrowed; NULL: the message has no
					 * cookie */
	bool has_mac;
	bool commands;			/* the MAC uses the key of commands */
	uint64_t counter;		/* counter of the MAC */
};

/*
 * How a job combines contributions, as the first member of the job names it in
 * its Join.  A field that is 0 means: as the switch's options say.
 */
struct control_rule {
	uint8_t reduce;			/* 1 + enum reduce_kind (reduce.h) */
	uint16_t detail;		/* fixed: number of bits after the
					 * binary point; trimmed: number of
					 * smallest values, and of largest
					 * values, that are dropped */
	uint32_t straggler_us;		/* longest time that a segment waits for
					 * members, in microseconds */
};

/* The body of a Join. */
struct control_join {
	uint8_t type;			/* a value of enum control_type */
	bool async;
	uint16_t cluster;
	uint32_t worker;
	uint32_t elements;
	uint16_t floats;		/* number of floats in a segment (F); 0:
					 * use the F of the job */
	uint32_t next;			/* first iteration whose result the
					 * member has not applied */
	uint32_t crc;			/* CRC-32C of the member's weights; 0:
					 * unknown */
	bool again;			/* the member can send its contribution
					 * to iteration next - 1 again */
	bool repairs;			/* the member supports Probe, STATE and
					 * NACK */
	bool sends_state;		/* the member can send its state to a
					 * member that joins late */
	bool creates_job;		/* the member can only join a job that
					 * is new, because its weights do not
					 * belong to any round of an old job */
	bool can_multicast;		/* the member can receive results by
					 * multicast */
	bool in_multicast_group;	/* the member is currently receiving
					 * results by multicast */
	bool wants_instance;		/* the member requests the instance
					 * number of the job */
	bool wants_left;		/* tell the member if others have left
					 * and fewer than H remain; then a
					 * number H follows the flags */
	uint16_t h;			/* H of the job; 0: the H of the
					 * switch */
	struct control_rule rule;	/* only if wants_left is set */
};

/*
 * The body of a Left message, which says that a member has left the job and
 * that the remaining members cannot complete a sum.
 */
struct control_left {
	uint8_t type;			/* a value of enum control_type */
	bool evicted;			/* the member was removed because it had
					 * sent nothing for too long */
	uint16_t h, members;		/* H; number of members that remain */
	uint32_t worker;		/* number of the member */
	uint32_t ago_ms;		/* when it left, counted back from this
					 * message */
	uint16_t port;
	uint8_t address[16];		/* IPv6, or IPv4 mapped to IPv6 */
};

/*
 * The body of a Regroup, which moves a worker of cluster `job` to another
 * cluster.
 */
struct control_regroup {
	uint32_t worker;
	uint16_t cluster;
	uint32_t as;			/* the worker's number in the new
					 * cluster */
};

/*
 * The body of an Ack: the status, and fields that depend on the action that the
 * Ack answers.
 */
struct control_ack {
	uint8_t action, status;
	/* The next fields are in the Ack of a Join. */
	uint16_t member, h, members;
	uint32_t next;
	uint16_t floats;
	uint32_t elements;
	uint16_t timeout_s; /* time, in seconds, after which a member that sends
			     * nothing is removed */
	bool whole;	    /* the sender is a server that answers whole
			     * vectors */
	bool closed;	    /* the job is asynchronous, and some members are
			     * missing */
	bool async;			/* the job is asynchronous */
	bool repairs;			/* losses are repaired by Probe, STATE
					 * and NACK */
	uint32_t span;			/* number of segments that can have
					 * slots at the same time; 0: all
					 * segments */
	bool tagged;			/* data packets carry authentication
					 * tags; if the status is DONE, the Ack
					 * contains a salt and an epoch */
	/* The next two fields are also in the Ack of an Open. */
	uint8_t salt[16];		/* salt of the tags */
	uint32_t epoch;			/* epoch of iteration `next`
					 * (auth/tag.h) */
	uint32_t instance;		/* instance number of the job, which
					   changes each time the job starts; 0:
					   unknown */
	bool groups;			/* results are sent by multicast; if the
					 * status is DONE, the Ack contains the
					 * multicast group */
	uint8_t group[16];		/* address of the multicast group: IPv6,
					 * or IPv4 mapped to IPv6 */
	uint16_t group_port;
	struct control_rule rule;	/* the rule of the job; its field
					 * `reduce` is 0 if the Join named no
					 * rule or if the switch knows none */
	uint16_t holder_port; /* if the status is TAKEN: port of the member that
			       * has the requested number */
	uint8_t holder[16];		/* address of this member: IPv6, or IPv4
					 * mapped to IPv6 */
	/*
	 * In the Ack of a SetH, h is the previous value.  The next field is in
	 * the Ack of an FBcast.
	 */
	uint16_t contributions;
	/* The next field is in the Ack of a Help that fails. */
	uint64_t seg;
	/* The next fields are in the Ack of Members, Stats and Jobs. */
	uint16_t page, pages;
	/*
	 * The next fields are in the Ack of Members, Stats and Jobs, and of a
	 * Join that is refused.
	 */
	const uint8_t *text;		/* borrowed, not null-terminated */
	size_t text_bytes;
};

/*
 * Parse the len bytes at p.  Returns false if they are not a control message.
 */
static inline bool control_parse(const uint8_t *p, size_t len,
    struct control *c);

/*
 * Write a header in which all flags are 0 to p.  Returns the position of the
 * body.
 */
static inline uint8_t *control_put(uint8_t *p, uint8_t action, uint16_t job,
    uint32_t xid);

/* Return the name of an action, or NULL if the action has no name. */
static inline const char *control_action_name(unsigned action);

/* Return the text of a status, as it follows "refused: " in messages. */
static inline const char *control_status_text(unsigned status);

/* Is xid a newer than xid b, compared as serial numbers? */
static inline bool control_newer(uint32_t a, uint32_t b);

/*
 * Return the first xid of a process that starts at wall_ns since the epoch.
 * The xid is newer than all xids of an earlier process at the same address.
 */
static inline uint32_t control_first_xid(uint64_t wall_ns);

/* Does the rule say anything? */
static inline bool control_names_rule(const struct control_rule *r);

/*
 * Read the body of a Join.  Returns false if the body is too short or contains
 * an invalid value.
 */
static inline bool control_get_join(const struct control *c,
    struct control_join *j);

/* Write the body of a Join to p.  Returns the position after the body. */
static inline uint8_t *control_put_join(uint8_t *p,
    const struct control_join *j);

/*
 * Read the body of an Ack.  Returns false if the body is too short for the
 * action that the Ack answers.
 */
static inline bool control_get_ack(const struct control *c,
    struct control_ack *a);

/*
 * Write the body of an Ack to p, which must have room for CONTROL_MAX_BYTES -
 * 56 bytes.  Returns the position after the body.
 */
static inline uint8_t *control_put_ack(uint8_t *p, const struct control_ack *a);

/* Read the body of a Left.  Returns false if it is truncated. */
static inline bool control_get_left(const struct control *c,
    struct control_left *l);

/* Write the body of a Left to p.  Returns the position after the body. */
static inline uint8_t *control_put_left(uint8_t *p,
    const struct control_left *l);

/*
 * Read a number of `bytes` bytes at the start of a body.  It is the value of a
 * SetH or a page number (2 bytes), or the Seg of an FBcast or Help (8 bytes).
 * Returns false if the body is too short.
 */
static inline bool control_get_number(const struct control *c, size_t bytes,
    uint64_t *v);

/* Read the body of a Regroup.  Returns false if the body is too short. */
static inline bool control_get_regroup(const struct control *c,
    struct control_regroup *r);

/* Write the body of a Regroup to p.  Returns the position after the body. */
static inline uint8_t *control_put_regroup(uint8_t *p,
    const struct control_regroup *r);

/*
 * Read which counters a Stats message requests, and store this in *scope.  The
 * value follows the page number in the body.
 */
static inline void control_get_scope(const struct control *c, uint64_t *scope);

/* implementation */

static inline const char *
control_action_name(unsigned action)
{
	static const char *const name[] = {
		[CONTROL_JOIN] = "join", [CONTROL_LEAVE] = "leave",
		[CONTROL_RESET] = "reset", [CONTROL_SETH] = "set-h",
		[CONTROL_FBCAST] = "fbcast", [CONTROL_HELP] = "help",
		[CONTROL_HALT] = "halt", [CONTROL_ACK] = "ack",
		[CONTROL_RESUME] = "resume", [CONTROL_MEMBERS] = "members",
		[CONTROL_STATS] = "stats", [CONTROL_OPEN] = "open",
		[CONTROL_JOBS] = "jobs",
		[CONTROL_REGROUP] = "regroup", [CONTROL_FETCH] = "fetch",
		[CONTROL_CHUNK] = "chunk", [CONTROL_LEFT] = "left"
	};

	return action < sizeof(name) / sizeof(*name) ? name[action] : NULL;
}

static inline const char *
control_status_text(unsigned status)
{
	static const char *const text[CONTROL_STATUSES] = {
		"done", "no such job", "no room", "not a member", "refused",
		"bad value", "not ready, or halted", "bad MAC",
		"gone: older than what is kept", "prove yourself",
		"not a request that the program knows",
		"another member has this number", "its parent does not answer"
	};

	return status < CONTROL_STATUSES ? text[status] : "unknown status";
}

static inline bool
control_newer(uint32_t a, uint32_t b)
{
	return a != b && a - b < 0x80000000u;
}

static inline uint32_t
control_first_xid(uint64_t wall_ns)
{
	return (uint32_t)(wall_ns / 1000000);
}

/*
 * Find the MAC and the cookie at the end of the body, and subtract their
 * lengths from the length of the body.  Returns false if the MAC or the cookie
 * is truncated.
 */
static inline bool
control_parse_trailer(struct control *c, uint8_t flags)
{
	if ((flags & CONTROL_HAS_MAC) != 0) {
		if (c->body_bytes < CONTROL_MAC_BYTES)
			return false;
		c->body_bytes -= CONTROL_MAC_BYTES;
		c->has_mac = true;
		c->commands = (flags & CONTROL_COMMANDS) != 0;
		c->counter = bytes_get(c->body + c->body_bytes, 8);
	}
	if ((flags & CONTROL_HAS_COOKIE) != 0) {
		if (c->body_bytes < CONTROL_COOKIE_BYTES)
			return false;
		c->body_bytes -= CONTROL_COOKIE_BYTES;
		c->cookie = c->body + c->body_bytes;
	}
	return true;
}

static inline bool
control_parse(const uint8_t *p, size_t len, struct control *c)
{
	struct bytes w = bytes_over(p, len);
	uint8_t flags;

	*c = (struct control){ .action = bytes_u8(&w) };
	flags = bytes_u8(&w);
	c->job = bytes_u16(&w);
	c->xid = bytes_u32(&w);
	c->body = w.p;
	c->body_bytes = w.left;
	return bytes_ok(&w) && control_action_name(c->action) != NULL &&
	    control_parse_trailer(c, flags);
}

static inline uint8_t *
control_put(uint8_t *p, uint8_t action, uint16_t job, uint32_t xid)
{
	*p++ = action;
	*p++ = 0;
	p = bytes_put(p, job, 2);
	return bytes_put(p, xid, 4);
}

/*
 * Read the rule of a job, which is the last field of a Join or of its Ack.  It
 * may be absent.
 */
static inline struct control_rule
control_get_rule(struct bytes *w, bool may_follow)
{
	struct control_rule r = { 0 };

	if (!may_follow || w->left < CONTROL_RULE_BYTES)
		return r;
	r.reduce = bytes_u8(w);
	r.detail = bytes_u16(w);
	r.straggler_us = bytes_u32(w);
	return r;
}

static inline bool
control_names_rule(const struct control_rule *r)
{
	return r->reduce != 0 || r->straggler_us != 0;
}

/* Write the rule of a job to p, unless it has none. */
static inline uint8_t *
control_put_rule(uint8_t *p, const struct control_rule *r)
{
	if (!control_names_rule(r))
		return p;
	*p++ = r->reduce;
	p = bytes_put(p, r->detail, 2);
	return bytes_put(p, r->straggler_us, 4);
}

static inline bool
control_get_join(const struct control *c, struct control_join *j)
{
	struct bytes w = bytes_over(c->body, c->body_bytes);
	uint8_t mode, bits;

	j->type = bytes_u8(&w);
	mode = bytes_u8(&w);
	j->async = mode == 1;
	j->cluster = bytes_u16(&w);
	j->worker = bytes_u32(&w);
	j->elements = bytes_u32(&w);
	j->floats = bytes_u16(&w);
	j->next = bytes_u32(&w);
	j->crc = bytes_u32(&w);
	bits = w.left > 0 ? bytes_u8(&w) : 0;
	j->again = (bits & 1) != 0;
	j->repairs = (bits & 2) != 0;
	j->sends_state = (bits & 4) != 0;
	j->creates_job = (bits & 8) != 0;
	j->can_multicast = (bits & 16) != 0;
	j->in_multicast_group = (bits & 32) != 0;
	j->wants_instance = (bits & 64) != 0;
	j->wants_left = (bits & 128) != 0;
	j->h = j->wants_left ? bytes_u16(&w) : 0;
	j->rule = control_get_rule(&w, j->wants_left);
	return bytes_ok(&w) && mode <= 1 && j->type >= CONTROL_WORKER &&
	    j->type <= CONTROL_SERVER;
}

static inline uint8_t *
control_put_join(uint8_t *p, const struct control_join *j)
{
	uint8_t bits;

	*p++ = j->type;
	*p++ = j->async;
	p = bytes_put(p, j->cluster, 2);
	p = bytes_put(p, j->worker, 4);
	p = bytes_put(p, j->elements, 4);
	p = bytes_put(p, j->floats, 2);
	p = bytes_put(p, j->next, 4);
	p = bytes_put(p, j->crc, 4);
	bits = (uint8_t)(j->again | j->repairs << 1 | j->sends_state << 2 |
			 j->creates_job << 3 | j->can_multicast << 4 |
			 j->in_multicast_group << 5 |
			 j->wants_instance << 6 | j->wants_left << 7);
	if (bits != 0)
		*p++ = bits;
	return j->wants_left ?
	    control_put_rule(bytes_put(p, j->h, 2), &j->rule) : p;
}

static inline bool
control_get_number(const struct control *c, size_t bytes, uint64_t *v)
{
	struct bytes w = bytes_over(c->body, c->body_bytes);

	*v = bytes_uint(&w, bytes);
	return bytes_ok(&w);
}

static inline bool
control_get_regroup(const struct control *c, struct control_regroup *r)
{
	struct bytes w = bytes_over(c->body, c->body_bytes);

	r->worker = bytes_u32(&w);
	r->cluster = bytes_u16(&w);
	r->as = bytes_u32(&w);
	return bytes_ok(&w);
}

static inline uint8_t *
control_put_regroup(uint8_t *p, const struct control_regroup *r)
{
	p = bytes_put(p, r->worker, 4);
	p = bytes_put(p, r->cluster, 2);
	return bytes_put(p, r->as, 4);
}

static inline void
control_get_scope(const struct control *c, uint64_t *scope)
{
	*scope = c->body_bytes > 2 ? c->body[2] : CONTROL_SCOPE_JOB;
}

/*
 * Read a port and the address that follows the port.  The address is IPv6, or
 * IPv4 mapped to IPv6.
 */
static inline void
control_get_address(struct bytes *w, uint8_t at[16], uint16_t *port)
{
	*port = bytes_u16(w);
	for (int i = 0; i < 16; i++)
		at[i] = bytes_u8(w);
}

/* Write a port and an address to p.  Returns the position after the address. */
static inline uint8_t *
control_put_address(uint8_t *p, const uint8_t at[16], uint16_t port)
{
	p = bytes_put(p, port, 2);
	memcpy(p, at, 16);
	return p + 16;
}

static inline bool
control_get_left(const struct control *c, struct control_left *l)
{
	struct bytes w = bytes_over(c->body, c->body_bytes);

	l->type = bytes_u8(&w);
	l->evicted = (bytes_u8(&w) & 1) != 0;
	l->h = bytes_u16(&w);
	l->members = bytes_u16(&w);
	l->worker = bytes_u32(&w);
	l->ago_ms = bytes_u32(&w);
	control_get_address(&w, l->address, &l->port);
	return bytes_ok(&w) && l->type >= CONTROL_WORKER &&
	    l->type <= CONTROL_SERVER;
}

static inline uint8_t *
control_put_left(uint8_t *p, const struct control_left *l)
{
	*p++ = l->type;
	*p++ = l->evicted;
	p = bytes_put(p, l->h, 2);
	p = bytes_put(p, l->members, 2);
	p = bytes_put(p, l->worker, 4);
	p = bytes_put(p, l->ago_ms, 4);
	return control_put_address(p, l->address, l->port);
}

/* Read the salt and the epoch, from which the key of data tags is derived. */
static inline void
control_get_salt(struct bytes *w, struct control_ack *a)
{
	for (int i = 0; i < 16; i++)
		a->salt[i] = bytes_u8(w);
	a->epoch = bytes_u32(w);
}

/* Write the salt and the epoch to p.  Returns the position after the epoch. */
static inline uint8_t *
control_put_salt(uint8_t *p, const struct control_ack *a)
{
	memcpy(p, a->salt, 16);
	return bytes_put(p + 16, a->epoch, 4);
}

/*
 * Read the rest of the Ack of a Join: a byte of bits, and the fields whose
 * presence these bits indicate.
 */
static inline void
control_get_join_result(struct bytes *w, struct control_ack *a)
{
	const uint8_t bits = w->left > 0 ? bytes_u8(w) : 0;

	a->whole = (bits & 1) != 0;
	a->closed = (bits & 2) != 0;
	a->repairs = (bits & 4) != 0;
	a->async = (bits & 8) != 0;
	a->tagged = (bits & 32) != 0;
	a->groups = (bits & 64) != 0;
	if (a->status == CONTROL_TAKEN) {
		control_get_address(w, a->holder, &a->holder_port);
	} else if (a->status != CONTROL_DONE && w->left > 0) {
		a->text = w->p;
		a->text_bytes = w->left;
	}
	if (a->status != CONTROL_DONE)
		return;
	if ((bits & 16) != 0)
		a->span = bytes_u32(w);
	if (a->tagged)
		control_get_salt(w, a);
	if (a->groups)
		control_get_address(w, a->group, &a->group_port);
	if ((bits & 128) != 0)
		a->instance = bytes_u32(w);
	a->rule = control_get_rule(w, true);
}

/*
 * Can an Ack with this status be the answer to an unauthenticated message?  In
 * such an Ack no field follows the status.
 */
static inline bool
control_is_hint(uint8_t status)
{
	return status == CONTROL_BAD_MAC || status == CONTROL_CHALLENGE;
}

static inline bool
control_get_ack(const struct control *c, struct control_ack *a)
{
	struct bytes w = bytes_over(c->body, c->body_bytes);

	*a = (struct control_ack){ .action = bytes_u8(&w) };
	a->status = bytes_u8(&w);
	if (control_is_hint(a->status))
		return bytes_ok(&w);
	switch (a->action) {
	case CONTROL_JOIN:
		a->member = bytes_u16(&w);
		a->h = bytes_u16(&w);
		a->members = bytes_u16(&w);
		a->next = bytes_u32(&w);
		a->floats = bytes_u16(&w);
		a->elements = bytes_u32(&w);
		a->timeout_s = bytes_u16(&w);
		control_get_join_result(&w, a);
		break;
	case CONTROL_OPEN:
		if (a->status == CONTROL_DONE)
			control_get_salt(&w, a);
		break;
	case CONTROL_SETH: a->h = bytes_u16(&w); break;
	case CONTROL_FBCAST: a->contributions = bytes_u16(&w); break;
	case CONTROL_HELP:
		if (a->status != CONTROL_DONE)
			a->seg = bytes_u64(&w);
		break;
	case CONTROL_MEMBERS:
	case CONTROL_STATS:
	case CONTROL_JOBS:
		a->page = bytes_u16(&w);
		a->pages = bytes_u16(&w);
		a->text = w.p;
		a->text_bytes = w.left;
		break;
	default: break;
	}
	return bytes_ok(&w);
}

/* Write the text of an Ack to p.  Returns the position after the text. */
static inline uint8_t *
control_put_text(uint8_t *p, const struct control_ack *a)
{
	if (a->text_bytes > 0)
		memcpy(p, a->text, a->text_bytes);
	return p + a->text_bytes;
}

/*
 * Write the rest of the Ack of a Join to p, unless all bits are 0.  Returns the
 * position after the rest.
 */
static inline uint8_t *
control_put_join_result(uint8_t *p, const struct control_ack *a)
{
	const bool done = a->status == CONTROL_DONE;
	const bool spans = done && a->span != 0, tagged = done && a->tagged;
	const bool groups = done && a->groups;
	const bool instance = done && a->instance != 0;
	const bool rule = done && control_names_rule(&a->rule);

	if (a->whole || a->closed || a->async || a->repairs || spans ||
	    tagged || groups || instance || rule ||
	    a->status == CONTROL_TAKEN || a->text_bytes > 0)
		*p++ = (uint8_t)(a->whole | a->closed << 1 | a->repairs << 2 |
		    a->async << 3 | spans << 4 | tagged << 5 | groups << 6 |
		    instance << 7);
	if (spans)
		p = bytes_put(p, a->span, 4);
	if (tagged)
		p = control_put_salt(p, a);
	if (groups)
		p = control_put_address(p, a->group, a->group_port);
	if (instance)
		p = bytes_put(p, a->instance, 4);
	if (rule)
		p = control_put_rule(p, &a->rule);
	return a->status != CONTROL_TAKEN ? control_put_text(p, a) :
	    control_put_address(p, a->holder, a->holder_port);
}

static inline uint8_t *
control_put_ack(uint8_t *p, const struct control_ack *a)
{
	*p++ = a->action;
	*p++ = a->status;
	if (control_is_hint(a->status))
		return p;
	switch (a->action) {
	case CONTROL_JOIN:
		p = bytes_put(p, a->member, 2);
		p = bytes_put(p, a->h, 2);
		p = bytes_put(p, a->members, 2);
		p = bytes_put(p, a->next, 4);
		p = bytes_put(p, a->floats, 2);
		p = bytes_put(p, a->elements, 4);
		p = bytes_put(p, a->timeout_s, 2);
		return control_put_join_result(p, a);
	case CONTROL_OPEN:
		return a->status == CONTROL_DONE ? control_put_salt(p, a) : p;
	case CONTROL_SETH: return bytes_put(p, a->h, 2);
	case CONTROL_FBCAST: return bytes_put(p, a->contributions, 2);
	case CONTROL_HELP:
		return a->status == CONTROL_DONE ? p :
		    bytes_put(p, a->seg, 8);
	case CONTROL_MEMBERS:
	case CONTROL_STATS:
	case CONTROL_JOBS:
		p = bytes_put(p, a->page, 2);
		p = bytes_put(p, a->pages, 2);
		return control_put_text(p, a);
	default: return p;
	}
}

#endif
