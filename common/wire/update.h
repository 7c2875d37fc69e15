/*
 * update.h - read and write updates, models and weights, as described in
 * innet-wire(5)
 *
 * A packet consists of a 32-byte header and little-endian float32 numbers.  In
 * a model, 8 bytes of queue status follow the header.  The parsers borrow the
 * payload and do not trust it.  If a payload is invalid, the parsers return the
 * reason; update_reason() returns the name that reports use for the reason.
 * The Olaf paper (section 4) defines only the reward and the gradient; the
 * other fields are innet's own.
 */
#ifndef INNET_WIRE_UPDATE_H
#define INNET_WIRE_UPDATE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/bytes.h"
#include "common/base/vec.h"

enum {
	UPDATE_VERSION = 1,
	UPDATE_HEADER_BYTES = 32,
	UPDATE_STATUS_BYTES = 8,
	UPDATE_MODEL_BYTES = UPDATE_HEADER_BYTES + UPDATE_STATUS_BYTES,
	UPDATE_TOS = 0x2c,	  /* DSCP 11 */
	UPDATE_TAGGED_TOS = 0x4c, /* DSCP 19: a tail, which consists of a
				   * counter and a tag, follows the vector
				   * (tag.h) */
	UPDATE_TAIL_BYTES = 16,	  /* length of the tail (counter and tag), in
				   * bytes */
	UPDATE_TAIL_FLOATS = 4,	  /* number of floats whose place in a packet
				   * the tail needs */
	UPDATE_PORT = 46638,
	UPDATE_MTU_LOOPBACK = 65536,
	UPDATE_CLUSTER_AT = 2,
	UPDATE_MERGED_AT = 12, /* offsets of the header fields that a queue
			        * changes */
	UPDATE_GENERATED_AT = 16,
	UPDATE_REWARD_AT = 24
};

#define UPDATE_ALL_WORKERS 0xffffffffu

enum update_kind { UPDATE_UPDATE = 1, UPDATE_MODEL, UPDATE_WEIGHTS };

enum update_bad {
	UPDATE_OK, UPDATE_SHORT, UPDATE_BAD_VERSION, UPDATE_BAD_KIND,
	UPDATE_BAD_LENGTH, UPDATE_BAD_MERGED, UPDATE_NONFINITE, UPDATE_REASONS
};

/* The queue status in a model (Olaf, section 5). */
struct update_status {
	uint32_t occupancy;	/* Qn: number of slots in use, including the
				 * slot of the locked frame; 24 bits */
	bool filled;		/* a switch has written the status */
	bool full;
	uint16_t active;	/* N: number of active clusters */
	uint16_t capacity;	/* Qmax: number of slots */
};

struct update {
	uint8_t kind;		/* a value of enum update_kind */
	uint16_t cluster;
	uint32_t worker;	/* number of the worker; UPDATE_ALL_WORKERS
				 * means all workers of the cluster */
	uint32_t sequence;	/* sequence number of an update; version of a
				 * model */
	uint16_t merged;	/* number of worker updates in the packet, at
				 * least 1 */
	uint16_t following;	/* number of packets of the same vector that
				 * follow this packet */
	uint64_t generated_ns;	/* time, in ns since the epoch, when the newest
				 * update in the packet was generated */
	float reward;
	uint32_t elements;	/* number of elements of the whole vector */
	struct update_status status;	/* in models only */
	const uint8_t *vec;	/* borrowed; n float32 numbers at any address */
	uint32_t n;		/* number of elements in this packet */
	uint32_t first;		/* index of the first element in this packet */
};

/*
 * Parse the len bytes of UDP payload at p.  On success returns UPDATE_OK, and
 * u->vec points into the bytes at p.  On failure returns the reason, and *u
 * contains the fields that were read before the error.
 */
static inline enum update_bad update_parse(const uint8_t *p, size_t len,
    struct update *u);

/*
 * Parse a packet with or without a tag, as its ToS byte indicates.  The tag is
 * not checked here; tag.h checks it.
 */
static inline enum update_bad update_parse_as(uint8_t tos, const uint8_t *p,
    size_t len, struct update *u);

/*
 * Parse the header and, in a model, the status of a UDP payload of `len` bytes,
 * of which `have` bytes are at p.  Check each field, and check that the fields
 * are consistent with `len`.  On success returns UPDATE_OK, and u->vec points
 * to the start of the vector, even if the vector is truncated.  On failure
 * returns the reason.
 */
static inline enum update_bad update_parse_header(const uint8_t *p, size_t have,
    size_t len, struct update *u);

/* Return the fields of the header at p, except the version. */
static inline struct update update_get(const uint8_t *p);

/* Return the name that reports use for the reason why a payload is invalid. */
static inline const char *update_reason(enum update_bad why);

/*
 * Write the header of u and, in a model, the status to p, which must have room
 * for update_head_bytes() bytes.  Returns the position of the vector.
 */
static inline uint8_t *update_put(uint8_t *p, const struct update *u);

/*
 * Write status s as 8 bytes to p.  If the occupancy needs more than 24 bits,
 * write the largest possible value.
 */
static inline void update_put_status(uint8_t *p, const struct update_status *s);

/* Return the number of bytes before the vector in a packet of this kind. */
static inline size_t update_head_bytes(uint8_t kind);

/*
 * Is `tos` the ToS byte of a packet with or without a tag?  Its ECN bits must
 * be 0.
 */
static inline bool update_is(uint8_t tos);

/*
 * Return the number of bytes after the vector in a packet with the ToS byte
 * `tos`.
 */
static inline uint32_t update_tail_bytes(uint8_t tos);

/*
 * Return the number of floats that fit into a packet with an MTU of `mtu`
 * bytes.  The number allows for the header of a model, so that an update and
 * the model that answers it are divided into packets in the same way.  If the
 * MTU is 65,536 (loopback), the result is the largest number that fits into an
 * IP packet of 65,535 bytes.
 */
static inline uint32_t update_floats(size_t mtu, bool v6);

/*
 * Return the number of packets of a vector of `elements` elements, if a packet
 * contains n floats.
 */
static inline uint32_t update_packets(uint32_t elements, uint32_t n);

/* implementation */

static inline const char *
update_reason(enum update_bad why)
{
	static const char *const name[UPDATE_REASONS] = {
		"ok", "short", "version", "kind", "length", "merged",
		"nonfinite"
	};

	return name[why];
}

static inline struct update_status
update_get_status(const uint8_t *p)
{
	return (struct update_status){
		.occupancy = (uint32_t)bytes_get(p, 3),
		.filled = (p[3] & 1) != 0,
		.full = (p[3] & 2) != 0,
		.active = (uint16_t)bytes_get(p + 4, 2),
		.capacity = (uint16_t)bytes_get(p + 6, 2),
	};
}

static inline void
update_put_status(uint8_t *p, const struct update_status *s)
{
	p = bytes_put(p, s->occupancy > 0xffffff ? 0xffffff : s->occupancy, 3);
	*p++ = (uint8_t)(s->filled | s->full << 1);
	p = bytes_put(p, s->active, 2);
	bytes_put(p, s->capacity, 2);
}

/*
 * Are the length of the packet, `elements` and `following` consistent?  If they
 * are, this function sets u->first.
 */
static inline bool
update_fits(struct update *u)
{
	uint32_t packets;

	if (u->n == 0 || u->n > u->elements)
		return false;
	if (u->following == 0) {
		u->first = u->elements - u->n;
		return true;
	}
	packets = (u->elements - 1) / u->n + 1;
	if (u->following >= packets)
		return false;
	u->first = (packets - 1 - u->following) * u->n;
	return true;
}

static inline struct update
update_get(const uint8_t *p)
{
	return (struct update){
		.kind = p[1],
		.cluster = (uint16_t)bytes_get(p + UPDATE_CLUSTER_AT, 2),
		.worker = (uint32_t)bytes_get(p + 4, 4),
		.sequence = (uint32_t)bytes_get(p + 8, 4),
		.merged = (uint16_t)bytes_get(p + UPDATE_MERGED_AT, 2),
		.following = (uint16_t)bytes_get(p + 14, 2),
		.generated_ns = bytes_get(p + UPDATE_GENERATED_AT, 8),
		.reward = bytes_get_f32(p + UPDATE_REWARD_AT),
		.elements = (uint32_t)bytes_get(p + 28, 4),
	};
}

__attribute__((always_inline)) static inline enum update_bad
update_parse_header(const uint8_t *p, size_t have, size_t len,
    struct update *u)
{
	struct bytes w = bytes_over(p, have);
	const uint8_t *head = bytes_take(&w, UPDATE_HEADER_BYTES), *s;

	*u = head == NULL ? (struct update){ .kind = 0 } : update_get(head);
	if (head == NULL)
		return UPDATE_SHORT;
	if (head[0] != UPDATE_VERSION)
		return UPDATE_BAD_VERSION;
	if (u->kind < UPDATE_UPDATE || u->kind > UPDATE_WEIGHTS)
		return UPDATE_BAD_KIND;
	if (u->kind == UPDATE_MODEL) {
		s = bytes_take(&w, UPDATE_STATUS_BYTES);
		if (s == NULL)
			return UPDATE_SHORT;
		u->status = update_get_status(s);
	}
	len -= (size_t)(w.p - p);
	u->vec = w.p;
	u->n = (uint32_t)(len / 4);
	if (len % 4 != 0 || !update_fits(u))
		return UPDATE_BAD_LENGTH;
	if (u->kind == UPDATE_UPDATE && u->merged == 0)
		return UPDATE_BAD_MERGED;
	return isfinite(u->reward) ? UPDATE_OK : UPDATE_NONFINITE;
}

__attribute__((always_inline)) static inline enum update_bad
update_parse(const uint8_t *p, size_t len, struct update *u)
{
	const enum update_bad bad = update_parse_header(p, len, len, u);

	if (bad == UPDATE_OK && !vec_finite(u->vec, u->n))
		return UPDATE_NONFINITE;
	return bad;
}

static inline bool
update_is(uint8_t tos)
{
	return tos == UPDATE_TOS || tos == UPDATE_TAGGED_TOS;
}

static inline uint32_t
update_tail_bytes(uint8_t tos)
{
	return (tos & 0xfc) == UPDATE_TAGGED_TOS ? UPDATE_TAIL_BYTES : 0;
}

static inline enum update_bad
update_parse_as(uint8_t tos, const uint8_t *p, size_t len, struct update *u)
{
	const uint32_t tail = update_tail_bytes(tos);

	return update_parse(p, len < tail ? 0 : len - tail, u);
}

static inline size_t
update_head_bytes(uint8_t kind)
{
	return kind == UPDATE_MODEL ? UPDATE_MODEL_BYTES : UPDATE_HEADER_BYTES;
}

static inline uint8_t *
update_put(uint8_t *p, const struct update *u)
{
	*p++ = UPDATE_VERSION;
	*p++ = u->kind;
	p = bytes_put(p, u->cluster, 2);
	p = bytes_put(p, u->worker, 4);
	p = bytes_put(p, u->sequence, 4);
	p = bytes_put(p, u->merged, 2);
	p = bytes_put(p, u->following, 2);
	p = bytes_put(p, u->generated_ns, 8);
	p = bytes_put_f32(p, u->reward);
	p = bytes_put(p, u->elements, 4);
	if (u->kind != UPDATE_MODEL)
		return p;
	update_put_status(p, &u->status);
	return p + UPDATE_STATUS_BYTES;
}

static inline uint32_t
update_floats(size_t mtu, bool v6)
{
	size_t room = mtu > 65535 ? 65535 : mtu;
	size_t head = (v6 ? 40 : 20) + 8 + UPDATE_MODEL_BYTES;

	return room < head + 4 ? 0 : (uint32_t)((room - head) / 4);
}

static inline uint32_t
update_packets(uint32_t elements, uint32_t n)
{
	return (elements - 1) / n + 1;
}

#endif
