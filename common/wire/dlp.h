/*
 * dlp.h - read and write packets of the Distributed Learning Protocol
 *
 * A packet is a UDP payload of 30 bytes.  All fields are big-endian, and
 * parameters are signed (innet-wire(5)).  dlp/aggregator.h describes the
 * states.  A gradient x is sent as the integer trunc(x * scale).  If a packet,
 * or an aggregate of packets, has more than six parameters, its state on the
 * wire is VECTOR, which only innet's own tools use.  In struct dlp such a
 * packet has the state LEARNING and more parameters.
 */
#ifndef INNET_WIRE_DLP_H
#define INNET_WIRE_DLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/base/num.h"

enum {
	DLP_BYTES = 30, DLP_PARAMS = 6, DLP_NODES_MAX = 32,
	DLP_VECTOR_HEADER_BYTES = 8,
	DLP_ELEMENTS_MAX = 366,		/* number of elements that fit into a
					 * packet with an MTU of 1,500 bytes */
	DLP_BYTES_MAX = DLP_VECTOR_HEADER_BYTES + 4 * DLP_ELEMENTS_MAX,
	DLP_VALUE_MAX = INT32_MAX - 1,	/* a value of larger magnitude means
					 * that the aggregate did not fit into
					 * 32 bits */
	DLP_SWITCH_PORT = 1234, DLP_SERVER_PORT = 12344
};

enum dlp_state {
	DLP_WAITING, DLP_SETUP, DLP_LEARNING, DLP_ERROR, DLP_WRONG_STEP,
	DLP_RESET, DLP_CONFIGURE, DLP_STATES,
	DLP_VECTOR = 7,		/* state that is used only on the wire: LEARNING
				 * with more than six parameters */
	DLP_POLL = 10		/* a poll, which the workers published by the
				 * authors of DLP also send */
};

/* The reasons why a payload is not a valid packet. */
enum dlp_bad { DLP_OK, DLP_SHORT, DLP_LONG, DLP_REASONS };

struct dlp {
	uint8_t state;		/* usually a value of enum dlp_state, but it may
				 * be any value */
	uint8_t node_count;
	uint32_t step;
	uint16_t more;		/* LEARNING: number of parameters after the
				 * first six */
	int32_t param[DLP_ELEMENTS_MAX];
};

/* The meaning of the parameters in SETUP and CONFIGURE. */
enum dlp_setting {
	DLP_ITERATIONS, DLP_ETA_SCALE, DLP_INPUTS, DLP_FEATURES, DLP_CLASSES,
	DLP_SCALE
};

/* The settings of a session.  In CONFIGURE, 0 means the default. */
struct dlp_session {
	uint8_t nodes;
	int32_t param[DLP_PARAMS];
};

/* Parse the packet of len bytes at p into *d. */
static inline enum dlp_bad dlp_parse(const uint8_t *p, size_t len,
    struct dlp *d);

/*
 * Parse a packet of `len` bytes, of which a capture has only the first `have`
 * bytes, at p.  These bytes must include the header and six parameters.
 * Parameters that are missing are read as 0.
 */
static inline enum dlp_bad dlp_parse_cut(const uint8_t *p, size_t have,
    size_t len, struct dlp *d);

/*
 * Write *d to p, which must have room for DLP_BYTES_MAX bytes.  Returns the
 * length of the packet.
 */
static inline uint32_t dlp_put(uint8_t *p, const struct dlp *d);

/* Return the length of the packet that begins with the `have` bytes at p. */
static inline uint32_t dlp_bytes(const uint8_t *p, size_t have);

/* Return the number of parameters in packet d. */
static inline uint32_t dlp_elements(const struct dlp *d);

/*
 * Write the parameters of a poll to the DLP_PARAMS numbers at `param`.  A poll
 * asks an aggregator which workers are missing.
 */
static inline void dlp_poll_put(int32_t *param);

/*
 * Is packet d a poll with the parameters of dlp_poll_put(), or the answer to
 * such a poll?
 */
static inline bool dlp_is_poll(const struct dlp *d);

/* Return the name of a state. */
static inline const char *dlp_state_name(uint8_t state);

/* Return the name that reports use for a reason. */
static inline const char *dlp_reason(enum dlp_bad why);

/*
 * Return v as a parameter.  If v does not fit, return the nearest value that
 * fits, and increment *saturated.
 */
static inline int32_t dlp_saturate(int64_t v, uint64_t *saturated);

/*
 * Return trunc(x * scale), limited to the range [-most, most].  If the value
 * was outside this range, increment *saturated.  x must not be NaN.
 */
static inline int32_t dlp_quantise(float x, int32_t scale, int32_t most,
    uint64_t *saturated);

/* Is v an aggregate that fits into 32 bits? */
static inline bool dlp_fits(int32_t v);

/*
 * Read settings such as "nodes=5,iterations=100,eta-scale=1000,inputs=200,
 * features=1,classes=1,scale=1000" into *to.  Each setting may be omitted.
 * Returns NULL or an error message.
 */
static inline const char *dlp_session_parse(const char *s,
    struct dlp_session *to);

/* implementation */

static inline uint32_t
dlp_elements(const struct dlp *d)
{
	return DLP_PARAMS + (uint32_t)d->more;
}

/*
 * The parameters of innet's poll, except the last parameter.  They make it
 * possible to distinguish a poll that is returned unchanged from an aggregate.
 * innet's aggregators write a bitmap of the missing workers to the last
 * parameter.
 */
static const char dlp_poll_text[4 * (DLP_PARAMS - 1) + 1] =
    "innet:who is missing";

static inline void
dlp_poll_put(int32_t *param)
{
	for (int i = 0; i < DLP_PARAMS - 1; i++)
		param[i] = (int32_t)bytes_get((const uint8_t *)dlp_poll_text +
		    4 * i, 4);
	param[DLP_PARAMS - 1] = 0;
}

static inline bool
dlp_is_poll(const struct dlp *d)
{
	int32_t text[DLP_PARAMS];

	dlp_poll_put(text);
	return d->more == 0 &&
	    memcmp(d->param, text, sizeof(text) - sizeof(text[0])) == 0;
}

static inline const char *
dlp_state_name(uint8_t state)
{
	static const char *const name[DLP_STATES] = { "WAITING", "SETUP",
	    "LEARNING", "ERROR", "WRONG_STEP", "RESET", "CONFIGURE" };

	return state < DLP_STATES ? name[state] : "unknown";
}

static inline const char *
dlp_reason(enum dlp_bad why)
{
	static const char *const name[DLP_REASONS] = { "sound", "short",
	    "long" };

	return name[why];
}

static inline uint32_t
dlp_bytes(const uint8_t *p, size_t have)
{
	const uint32_t n = have < DLP_VECTOR_HEADER_BYTES ||
	    p[0] != DLP_VECTOR ? 0 : (uint32_t)bytes_get(p + 6, 2);

	return n > DLP_PARAMS && n <= DLP_ELEMENTS_MAX ?
	    DLP_VECTOR_HEADER_BYTES + 4 * n : DLP_BYTES;
}

static inline enum dlp_bad
dlp_parse_cut(const uint8_t *p, size_t have, size_t len, struct dlp *d)
{
	struct bytes w = bytes_over(p, have);
	const uint32_t bytes = len == DLP_BYTES ? DLP_BYTES :
	    dlp_bytes(p, have);

	if (len != bytes || have < DLP_BYTES)
		return len < bytes || len == bytes ? DLP_SHORT : DLP_LONG;
	d->state = bytes_u8(&w);
	d->node_count = bytes_u8(&w);
	d->step = bytes_u32(&w);
	d->more = 0;
	if (bytes > DLP_BYTES) {
		d->state = DLP_LEARNING;
		d->more = (uint16_t)(bytes_u16(&w) - DLP_PARAMS);
	}
	for (uint32_t i = 0; i < dlp_elements(d); i++)
		d->param[i] = (int32_t)bytes_u32(&w);
	return DLP_OK;
}

static inline enum dlp_bad
dlp_parse(const uint8_t *p, size_t len, struct dlp *d)
{
	return dlp_parse_cut(p, len, len, d);
}

static inline uint32_t
dlp_put(uint8_t *p, const struct dlp *d)
{
	const uint8_t *begin = p;

	p = bytes_put(p, d->more > 0 ? DLP_VECTOR : d->state, 1);
	p = bytes_put(p, d->node_count, 1);
	p = bytes_put(p, d->step, 4);
	if (d->more > 0)
		p = bytes_put(p, dlp_elements(d), 2);
	for (uint32_t i = 0; i < dlp_elements(d); i++)
		p = bytes_put(p, (uint32_t)d->param[i], 4);
	return (uint32_t)(p - begin);
}

static inline int32_t
dlp_saturate(int64_t v, uint64_t *saturated)
{
	if (v >= INT32_MIN && v <= INT32_MAX)
		return (int32_t)v;
	++*saturated;
	return v < 0 ? INT32_MIN : INT32_MAX;
}

static inline int32_t
dlp_quantise(float x, int32_t scale, int32_t most, uint64_t *saturated)
{
	const double v = (double)x * scale;

	if (v > -1.0 - most && v < 1.0 + most)
		return (int32_t)v;
	++*saturated;
	return v < 0 ? -most : most;
}

static inline bool
dlp_fits(int32_t v)
{
	return v >= -DLP_VALUE_MAX && v <= DLP_VALUE_MAX;
}

static inline const char *
dlp_session_parse(const char *s, struct dlp_session *to)
{
	static const char *const name[DLP_PARAMS + 1] = { "iterations",
	    "eta-scale", "inputs", "features", "classes", "scale", "nodes" };
	char value[32];
	const char *why;
	uint64_t v = 0;

	while (*s != '\0') {
		const size_t len = strcspn(s, "=,"), n = strcspn(s, ",");
		int k = 0;

		while (k <= DLP_PARAMS && (strlen(name[k]) != len ||
		    memcmp(s, name[k], len) != 0))
			k++;
		if (k > DLP_PARAMS || s[len] != '=')
			return "not one of nodes=, iterations=, eta-scale=, "
			    "inputs=, features=, classes=, scale=";
		if (n - len - 1 >= sizeof(value))
			return "number too long";
		memcpy(value, s + len + 1, n - len - 1);
		value[n - len - 1] = '\0';
		why = num_u64(value, 1, k == DLP_PARAMS ? DLP_NODES_MAX :
		    INT32_MAX, &v);
		if (why != NULL)
			return why;
		if (k == DLP_PARAMS)
			to->nodes = (uint8_t)v;
		else
			to->param[k] = (int32_t)v;
		s += n + (s[n] == ',');
	}
	return NULL;
}

#endif
