/*
 * format.h - updates of any protocol: the places of the fields in a packet
 *
 * A format (innet-format(5)) defines where each field of an update comes from:
 * a constant, a part of a header, bytes at an offset of the message, or the
 * timestamp of the packet in the capture of sent packets.  The function
 * format_update() reads a message.  It trusts no byte of the message and
 * reports errors with the verdicts of soundness.h.  The result does not point
 * into the message.
 *
 * The name of a cluster or worker is the value of a field: a number, an address
 * or a flow.  Times are nanoseconds since the epoch.
 */
#ifndef INNET_AOM_FORMAT_FORMAT_H
#define INNET_AOM_FORMAT_FORMAT_H

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bytes.h"
#include "common/capture/clusters.h"
#include "common/capture/soundness.h"

enum format_role {
	FORMAT_CLUSTER, FORMAT_WORKER, FORMAT_SEQUENCE, FORMAT_GENERATED,
	FORMAT_MERGED, FORMAT_REWARD, FORMAT_LENGTH, FORMAT_ROLES
};

enum format_source {
	FORMAT_NONE, FORMAT_VALUE, FORMAT_AT, FORMAT_HEADER, FORMAT_SENT
};

enum format_header {
	FORMAT_IP_SRC, FORMAT_IP_DST, FORMAT_PORT_SRC, FORMAT_PORT_DST,
	FORMAT_DSCP, FORMAT_VLAN, FORMAT_FLOW, FORMAT_HEADERS
};

/* The words of innet-format(5), in the order of the enums above. */
static const char *const format_header_words[] = {
	"ip.src", "ip.dst", "port.src", "port.dst", "dscp", "vlan", "flow",
	NULL
};
static const char *const format_type_words[] = {
	"u8", "u16", "u32", "u64", "f32", "f64", "le-u16", "le-u32", "le-u64",
	"le-f32", "le-f64", NULL
};

enum {
	FORMAT_AT_MAX = 65535,		/* largest offset of a field */
	FORMAT_MESSAGE_MAX = 1 << 24,	/* limit on the length of a message in a
					 * stream, in bytes */
	FORMAT_DELIMITER_MAX = 16, FORMAT_TABLE_MAX = 4096,
	FORMAT_TEXT_BYTES = 128		/* buffer for a name as text */
};

/* A name: a number, an address, a flow, or a word. */
struct format_name {
	uint8_t kind;	/* 0 for a number, 4 or 6 for an address, 40 or 60 for a
			 * flow, 99 for a word */
	uint8_t b[36];		/* the name in big-endian order; unused bytes
				 * are 0 */
};

/* A value as text, and the number that stands for it. */
struct format_entry {
	char text[64];
	uint64_t number;
};

struct format_field {
	enum format_source from;
	enum format_header header;
	unsigned bytes;		/* number of bytes of a field that FORMAT_AT
				 * reads: 1, 2, 4 or 8 */
	bool real, little;
	uint32_t at;
	uint64_t value;		/* value of the field for FORMAT_VALUE; number
				 * that is added to a length */
	uint64_t unit_ns;	/* unit of a time */
	uint64_t epoch_ns;	/* time for which the field is 0, in ns since
				 * 1970 */
	bool ntp;		/* times count from 1900, as in NTP */
	struct format_entry *entry;	/* sorted by text; owned */
	size_t entries;
	bool prefixes;		/* instead of `entry`, use the table in
				 * format.clusters */
};

struct format {
	char name[32];
	char filter[256];	/* expression of pcap-filter(7); "": all
				 * packets */
	struct format_field field[FORMAT_ROLES];
	char delimiter[FORMAT_DELIMITER_MAX + 1];	/* "": there is none */
	bool matches;		/* match messages by their bytes from match_from
				 * to match_to */
	uint32_t match_from, match_to;
	char prefixes[256];	/* file with the prefixes of clusters, or "" */
	struct clusters clusters;	/* owned */
};

/* The headers of the packet that contained a message. */
struct format_packet {
	struct frame_flow flow;
	uint8_t tos;
	bool tcp, has_vlan;
	uint16_t vlan;
};

/* A message of len bytes; the first `have` bytes are at p. */
struct format_message {
	const uint8_t *p;
	uint32_t have, len;
	uint64_t hash;		/* hash of the match range; valid if `hashed` is
				 * set */
	bool hashed;
};

struct format_value {
	uint64_t whole;
	double real;
};

/*
 * One update.  Fields that the format does not have are 0, except `merged`,
 * which is 1.
 */
struct format_found {
	struct format_name cluster, worker;
	uint64_t sequence, merged, generated_ns;
	double reward;
	uint64_t hash;		/* hash by which the update is found among the
				 * sent packets */
};

/* Return whether the format has a field with the given role. */
static inline bool format_has(const struct format *f, enum format_role role);

/* Return whether generation times come from the capture of sent packets. */
static inline bool format_needs_sent(const struct format *f);

/*
 * Read the update in message m into *u.  The packet of the message has the
 * headers k.  Return UPDATE_OK or a verdict of soundness.h.  The verdict is
 * SOUNDNESS_REGULAR if a table of the format does not contain the update.
 */
static inline unsigned format_update(const struct format *f,
    const struct format_packet *k, const struct format_message *m,
    struct format_found *u);

/*
 * Read the number or real of field f from message m into *v.  Return UPDATE_OK,
 * or the verdict that explains why the value cannot be read.
 */
static inline unsigned format_read(const struct format_field *f,
    const struct format_message *m, struct format_value *v);

/*
 * Return the number of bytes that the fields need from a message.  A match
 * range may need more.
 */
static inline uint32_t format_head_bytes(const struct format *f);

/* Compare two names: numbers by value, other names by their bytes. */
static inline int format_compare(const struct format_name *a,
    const struct format_name *b);

/* Continue the hash h with a name, and return the new hash. */
static inline uint64_t format_hash_name(uint64_t h,
    const struct format_name *n);

/*
 * Write a name as text ("7", "10.0.0.1" or "10.0.0.1:5000>10.0.0.9:6000").
 * Return `text`.
 */
static inline const char *format_text(const struct format_name *n,
    char text[FORMAT_TEXT_BYTES]);

/*
 * Parse a name: a number, an address, or a word of letters, digits and ._:@/+-.
 * Return false if the text is none of these.
 */
static inline bool format_name_text(const char *text, struct format_name *n);

/* Free the tables of f. */
static inline void format_free(struct format *f);

/* implementation */

static inline bool
format_has(const struct format *f, enum format_role role)
{
	return f->field[role].from != FORMAT_NONE;
}

static inline bool
format_needs_sent(const struct format *f)
{
	return f->field[FORMAT_GENERATED].from == FORMAT_SENT;
}

static inline uint32_t
format_head_bytes(const struct format *f)
{
	uint32_t n = 0;

	for (int i = 0; i < FORMAT_ROLES; i++)
		if (f->field[i].from == FORMAT_AT &&
		    f->field[i].at + f->field[i].bytes > n)
			n = f->field[i].at + f->field[i].bytes;
	return n;
}

static inline struct format_name
format_number(uint64_t v)
{
	struct format_name n = { 0 };

	bytes_put(n.b, v, 8);
	return n;
}

static inline int
format_compare(const struct format_name *a, const struct format_name *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return memcmp(a->b, b->b, sizeof(a->b));
}

static inline uint64_t
format_hash_name(uint64_t h, const struct format_name *n)
{
	return clusters_hash(clusters_hash(h, &n->kind, 1), n->b,
	    sizeof(n->b));
}

static inline const char *
format_text(const struct format_name *n, char text[FORMAT_TEXT_BYTES])
{
	const int family = n->kind % 10 == 4 || n->kind == 40 ? AF_INET :
	    AF_INET6;
	const size_t bytes = family == AF_INET ? 4 : 16;
	char a[INET6_ADDRSTRLEN], b[INET6_ADDRSTRLEN];
	const uint8_t *p = n->b;

	if (n->kind == 0) {
		snprintf(text, FORMAT_TEXT_BYTES, "%" PRIu64,
		    bytes_get(p, 8));
		return text;
	}
	if (n->kind == 99) {
		snprintf(text, FORMAT_TEXT_BYTES, "%.36s", (const char *)p);
		return text;
	}
	inet_ntop(family, p, a, sizeof(a));
	if (n->kind < 10) {
		snprintf(text, FORMAT_TEXT_BYTES, "%s", a);
		return text;
	}
	inet_ntop(family, p + bytes, b, sizeof(b));
	p += 2 * bytes;
	snprintf(text, FORMAT_TEXT_BYTES, family == AF_INET ?
	    "%s:%u>%s:%u" : "[%s]:%u>[%s]:%u", a,
	    (unsigned)bytes_get(p, 2), b, (unsigned)bytes_get(p + 2, 2));
	return text;
}

static inline bool
format_name_text(const char *text, struct format_name *n)
{
	const size_t len = strlen(text);
	uint64_t v;

	*n = (struct format_name){ 0 };
	if (len > 0 && len < 20 && strspn(text, "0123456789") == len) {
		v = strtoull(text, NULL, 10);
		*n = format_number(v);
		return true;
	}
	n->kind = inet_pton(AF_INET, text, n->b) == 1 ? 4 :
	    inet_pton(AF_INET6, text, n->b) == 1 ? 6 : 99;
	if (n->kind != 99)
		return true;
	if (len == 0 || len > sizeof(n->b) || strspn(text,
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	    "._:@/+-") != len)
		return false;
	memset(n->b, 0, sizeof(n->b));
	memcpy(n->b, text, len);
	return true;
}

/*
 * Set *n to the name that a header contains.  Return false if the packet has no
 * such header.
 */
static inline bool
format_of_header(const struct format_packet *k, enum format_header which,
    struct format_name *n)
{
	const struct frame_flow *f = &k->flow;
	const size_t bytes = f->v6 ? 16 : 4;

	*n = (struct format_name){ 0 };
	switch (which) {
	case FORMAT_IP_SRC:
	case FORMAT_IP_DST:
		n->kind = f->v6 ? 6 : 4;
		memcpy(n->b, which == FORMAT_IP_SRC ? f->src : f->dst, bytes);
		break;
	case FORMAT_PORT_SRC: *n = format_number(f->sport); break;
	case FORMAT_PORT_DST: *n = format_number(f->dport); break;
	case FORMAT_DSCP: *n = format_number(k->tos >> 2); break;
	case FORMAT_VLAN: *n = format_number(k->vlan); return k->has_vlan;
	default:
		n->kind = f->v6 ? 60 : 40;
		memcpy(n->b, f->src, bytes);
		memcpy(n->b + bytes, f->dst, bytes);
		bytes_put(n->b + 2 * bytes, f->sport, 2);
		bytes_put(n->b + 2 * bytes + 2, f->dport, 2);
	}
	return true;
}

static inline unsigned
format_read(const struct format_field *f, const struct format_message *m,
    struct format_value *v)
{
	uint64_t raw = 0;
	uint32_t half;
	float narrow;

	*v = (struct format_value){ .whole = f->value };
	if (f->from != FORMAT_AT)
		return UPDATE_OK;
	if ((uint64_t)f->at + f->bytes > m->len)
		return UPDATE_SHORT;
	if ((uint64_t)f->at + f->bytes > m->have)
		return SOUNDNESS_SNAPLEN;
	for (unsigned i = 0; i < f->bytes; i++)
		raw = raw << 8 | m->p[f->at + (f->little ?
		    f->bytes - 1 - i : i)];
	v->whole = raw;
	if (!f->real)
		return UPDATE_OK;
	if (f->bytes == 4) {
		half = (uint32_t)raw;
		memcpy(&narrow, &half, sizeof(narrow));
		v->real = (double)narrow;
	} else {
		memcpy(&v->real, &raw, sizeof(v->real));
	}
	return isfinite(v->real) ? UPDATE_OK : UPDATE_NONFINITE;
}

static inline int
format_entry_find(const void *text, const void *entry)
{
	return strcmp(text, ((const struct format_entry *)entry)->text);
}

/*
 * Replace the name *n by its number in the table of the field `of`.  Return
 * false if the table does not contain the name.
 */
static inline bool
format_look_up(const struct format *f, const struct format_field *of,
    struct format_name *n)
{
	char text[FORMAT_TEXT_BYTES];
	const struct format_entry *e;
	uint16_t cluster;

	if (of->prefixes) {
		if ((n->kind != 4 && n->kind != 6) ||
		    !clusters_find(&f->clusters, n->b, n->kind == 6, &cluster))
			return false;
		*n = format_number(cluster);
		return true;
	}
	if (of->entries == 0)
		return true;
	format_text(n, text);
	e = bsearch(text, of->entry, of->entries, sizeof(*e),
	    format_entry_find);
	if (e != NULL)
		*n = format_number(e->number);
	return e != NULL;
}

/* Read the cluster or the worker of a message into *n.  Return a verdict. */
static inline unsigned
format_identity(const struct format *f, enum format_role role,
    const struct format_packet *k, const struct format_message *m,
    struct format_name *n)
{
	const struct format_field *of = &f->field[role];
	struct format_value v;
	unsigned verdict;

	if (of->from == FORMAT_HEADER) {
		if (!format_of_header(k, of->header, n))
			return SOUNDNESS_REGULAR;
	} else {
		verdict = format_read(of, m, &v);
		if (verdict != UPDATE_OK)
			return verdict;
		*n = format_number(v.whole);
	}
	return format_look_up(f, of, n) ? UPDATE_OK : SOUNDNESS_REGULAR;
}

/*
 * Convert a value to a time in ns since 1970.  Return UPDATE_OK, or
 * SOUNDNESS_TIME if the time is out of range.
 */
static inline unsigned
format_time(const struct format_field *f, const struct format_value *v,
    uint64_t *ns)
{
	const int64_t ntp_s = f->ntp ? 2208988800 : 0;
	unsigned __int128 t;

	if (f->real) {
		const double d = (v->real - (double)ntp_s *
		    (1e9 / (double)f->unit_ns)) * (double)f->unit_ns;

		if (!(d >= 0 && d < 9.2e18))
			return SOUNDNESS_TIME;
		t = (unsigned __int128)llround(d);
	} else {
		const unsigned __int128 zero = (unsigned __int128)ntp_s *
		    1000000000u;

		t = (unsigned __int128)v->whole * f->unit_ns;
		if (t < zero)
			return SOUNDNESS_TIME;
		t -= zero;
	}
	t += f->epoch_ns;
	if (t > INT64_MAX)
		return SOUNDNESS_TIME;
	*ns = (uint64_t)t;
	return UPDATE_OK;
}

/* Compute the hash by which the message is found among the sent packets. */
static inline unsigned
format_hash(const struct format *f, const struct format_message *m,
    struct format_found *u)
{
	uint32_t to = f->match_to < m->len ? f->match_to : m->len;
	uint64_t h = CLUSTERS_HASH_START;

	if (format_has(f, FORMAT_SEQUENCE)) {
		h = format_hash_name(h, &u->cluster);
		h = format_hash_name(h, &u->worker);
		u->hash = clusters_hash(h, &u->sequence, sizeof(u->sequence));
		return UPDATE_OK;
	}
	u->hash = m->hash;
	if (m->hashed)
		return UPDATE_OK;
	if (f->match_from >= m->len)
		return UPDATE_SHORT;
	if (to > m->have)
		return SOUNDNESS_SNAPLEN;
	h = clusters_hash(h, m->p + f->match_from, to - f->match_from);
	u->hash = clusters_hash(h, &m->len, sizeof(m->len));
	return UPDATE_OK;
}

static inline unsigned
format_update(const struct format *f, const struct format_packet *k,
    const struct format_message *m, struct format_found *u)
{
	const struct format_field *field = f->field;
	struct format_value v;
	unsigned bad;

	*u = (struct format_found){ .merged = 1 };
	if ((bad = format_identity(f, FORMAT_CLUSTER, k, m, &u->cluster)) ||
	    (bad = format_identity(f, FORMAT_WORKER, k, m, &u->worker)))
		return bad;
	if ((bad = format_read(&field[FORMAT_SEQUENCE], m, &v)))
		return bad;
	u->sequence = v.whole;
	if ((bad = format_read(&field[FORMAT_REWARD], m, &v)))
		return bad;
	u->reward = field[FORMAT_REWARD].real ? v.real : (double)v.whole;
	if ((bad = format_read(&field[FORMAT_MERGED], m, &v)))
		return bad;
	if (format_has(f, FORMAT_MERGED))
		u->merged = v.whole;
	if (u->merged == 0 || u->merged > UINT16_MAX)
		return UPDATE_BAD_MERGED;
	if (field[FORMAT_GENERATED].from == FORMAT_SENT)
		return format_hash(f, m, u);
	if ((bad = format_read(&field[FORMAT_GENERATED], m, &v)))
		return bad;
	return format_time(&field[FORMAT_GENERATED], &v, &u->generated_ns);
}

static inline void
format_free(struct format *f)
{
	for (int i = 0; i < FORMAT_ROLES; i++)
		free(f->field[i].entry);
	clusters_free(&f->clusters);
}

#endif
