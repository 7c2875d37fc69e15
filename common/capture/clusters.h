/*
 * clusters.h - look up the cluster of a bare packet in a table of source
 * addresses
 *
 * The packets of the Olaf paper (section 4) contain no ids.  innet calls these
 * packets bare packets.  The source address of a bare packet determines its
 * cluster, and the five-tuple determines its worker.  The table is a CSV file
 * with or without a heading.  Each line contains a prefix and a cluster, for
 * example 10.0.1.0/24,1.  The longest prefix that contains an address
 * determines its cluster.  A lookup needs one probe of a hash table for each
 * prefix length in use, whatever the number of rows is.  The table owns its
 * memory; clusters_free() frees it.
 */
#ifndef INNET_CAPTURE_CLUSTERS_H
#define INNET_CAPTURE_CLUSTERS_H

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <csv.h>

#include "common/base/file-open.h"
#include "common/base/hashmap.h"
#include "common/base/message.h"
#include "common/base/num.h"
#include "common/wire/frame.h"

struct clusters_row {
	uint8_t prefix[16];	/* the address of the prefix; an IPv4 address is
				 * in the first four bytes; the bits after the
				 * prefix are 0 */
	uint8_t bits;
	bool v6;
	uint16_t cluster;
};

struct clusters {
	struct clusters_row *row;
	size_t rows, room;
	struct hashmap index;		/* maps the hash of a prefix to the
					 * index of its row */
	bool used[2][129];		/* prefix lengths in use, for IPv4 and
					 * IPv6 */
};

#define CLUSTERS_HASH_START 0xcbf29ce484222325

/*
 * Read the table from the file at path.  On failure print an error and exit
 * with status 1.
 */
static inline struct clusters clusters_load_or_exit(const char *path);

/*
 * Find the longest prefix that contains an address, and store its cluster in
 * *cluster.  Returns false if no prefix contains the address.
 */
static inline bool clusters_find(const struct clusters *c, const uint8_t *addr,
    bool v6, uint16_t *cluster);

/*
 * Return the worker id of a bare packet, which is a hash of its five-tuple.
 * The protocol in the five-tuple is always UDP.
 */
static inline uint32_t clusters_worker(const struct frame_flow *f);

/*
 * Add a row, such as the prefix "10.0.1.0/24" with the cluster "1".  Returns
 * NULL or an error message.
 */
static inline const char *clusters_add(struct clusters *c, const char *prefix,
    const char *cluster);

/* Free the table. */
static inline void clusters_free(struct clusters *c);

/* Extend the FNV-1a hash h by the n bytes at p. */
static inline uint64_t clusters_hash(uint64_t h, const void *p, size_t n);

/* implementation */

static inline uint64_t
clusters_hash(uint64_t h, const void *p, size_t n)
{
	const uint8_t *b = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * 0x100000001b3;
	return h;
}

static inline uint32_t
clusters_worker(const struct frame_flow *f)
{
	const size_t n = f->v6 ? 16 : 4;
	uint64_t h = clusters_hash(CLUSTERS_HASH_START, f->src, n);

	h = clusters_hash(h, f->dst, n);
	h = clusters_hash(h, &f->sport, 2);
	h = clusters_hash(h, &f->dport, 2);
	return (uint32_t)(h ^ h >> 32);
}

/*
 * Store the first `bits` bits of an address at p, and set the other bits of the
 * 16 bytes at p to 0.
 */
static inline void
clusters_mask(uint8_t *p, const uint8_t *addr, unsigned bits)
{
	memset(p, 0, 16);
	memcpy(p, addr, (bits + 7) / 8);
	if (bits % 8 != 0)
		p[bits / 8] &= (uint8_t)(0xff00 >> bits % 8);
}

/* Return the hash of a prefix. */
static inline uint64_t
clusters_key(const uint8_t prefix[16], unsigned bits, bool v6)
{
	const uint8_t kind[2] = { (uint8_t)bits, v6 };

	return clusters_hash(clusters_hash(CLUSTERS_HASH_START, prefix, 16),
	    kind, 2);
}

static inline bool
clusters_find(const struct clusters *c, const uint8_t *addr, bool v6,
    uint16_t *cluster)
{
	uint8_t p[16];

	for (int bits = v6 ? 128 : 32; bits >= 0; bits--) {
		uint32_t *at;

		if (!c->used[v6][bits])
			continue;
		clusters_mask(p, addr, (unsigned)bits);
		at = hashmap_get(&c->index, clusters_key(p, (unsigned)bits,
		    v6));
		if (at != NULL && c->row[*at].v6 == v6 &&
		    c->row[*at].bits == bits &&
		    memcmp(c->row[*at].prefix, p, 16) == 0) {
			*cluster = c->row[*at].cluster;
			return true;
		}
	}
	return false;
}

static inline const char *
clusters_add(struct clusters *c, const char *prefix, const char *cluster)
{
	struct clusters_row r = { 0 };
	char addr[INET6_ADDRSTRLEN];
	const char *slash = strchr(prefix, '/');
	size_t len = slash == NULL ? strlen(prefix) : (size_t)(slash - prefix);
	uint8_t a[16] = { 0 };
	uint64_t bits, id;
	uint32_t *at;

	if (len >= sizeof(addr))
		return "not an address";
	memcpy(addr, prefix, len);
	addr[len] = '\0';
	r.v6 = strchr(addr, ':') != NULL;
	if (inet_pton(r.v6 ? AF_INET6 : AF_INET, addr, a) != 1)
		return "not an address";
	bits = r.v6 ? 128 : 32;
	if (slash != NULL && num_u64(slash + 1, 0, bits, &bits) != NULL)
		return "not a prefix length";
	if (num_u64(cluster, 0, UINT16_MAX, &id) != NULL)
		return "not a cluster (0 to 65535)";
	r.bits = (uint8_t)bits;
	r.cluster = (uint16_t)id;
	clusters_mask(r.prefix, a, (unsigned)bits);
	if (c->rows == c->room) {
		size_t room = c->room == 0 ? 64 : 2 * c->room;
		struct clusters_row *p = realloc(c->row, room * sizeof(*p));

		if (p == NULL)
			return "out of memory";
		c->row = p;
		c->room = room;
	}
	at = hashmap_put(&c->index, clusters_key(r.prefix, r.bits, r.v6),
	    (uint32_t)c->rows);
	if (at == NULL)
		return "out of memory";
	if (*at != c->rows)
		return "a prefix that was given before";
	c->row[c->rows++] = r;
	c->used[r.v6][bits] = true;
	return NULL;
}

static inline void
clusters_free(struct clusters *c)
{
	free(c->row);
	hashmap_free(&c->index);
}

/*
 * The state of the callbacks of libcsv, which put together one row at a time.
 */
struct clusters_reading {
	struct clusters *to;
	const char *path;
	uint64_t line;
	size_t fields;
	char field[2][64];
};

/* Handle a field of a row.  This function is a callback of libcsv. */
static inline void
clusters_on_field(void *s, size_t len, void *data)
{
	struct clusters_reading *r = data;

	if (r->fields < 2) {
		if (len >= sizeof(r->field[0]))
			len = sizeof(r->field[0]) - 1;
		memcpy(r->field[r->fields], s, len);
		r->field[r->fields][len] = '\0';
	}
	r->fields++;
}

/* Handle the end of a row.  This function is a callback of libcsv. */
static inline void
clusters_on_row(int end, void *data)
{
	struct clusters_reading *r = data;
	const char *why = NULL;

	if (r->fields != 2 && r->fields != 0)
		errx(1, "%s:%" PRIu64 ": the line has %zu fields, but it must "
		    "have two: prefix,cluster", r->path, r->line, r->fields);
	if (r->fields != 0 && !(r->to->rows == 0 &&
	    strcmp(r->field[0], "prefix") == 0))
		why = clusters_add(r->to, r->field[0], r->field[1]);
	if (why != NULL)
		errx(1, "%s:%" PRIu64 ": '%s,%s': %s", r->path, r->line,
		    r->field[0], r->field[1], why);
	r->fields = 0;
	if (end == '\n')
		r->line++;
}

static inline struct clusters
clusters_load_or_exit(const char *path)
{
	struct clusters c = { 0 };
	struct clusters_reading r = { .to = &c, .path = path, .line = 1 };
	struct csv_parser csv;
	char buf[4096];
	size_t n;
	FILE *f = file_open_stream(path, false);

	if (f == NULL || csv_init(&csv, CSV_APPEND_NULL |
	    CSV_REPALL_NL) != 0)
		err(1, "%s", path);
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0) {
		if (csv_parse(&csv, buf, n, clusters_on_field,
		    clusters_on_row, &r) != n)
			errx(1, "%s:%" PRIu64 ": %s", path, r.line,
			    csv_strerror(csv_error(&csv)));
	}
	if (ferror(f))
		err(1, "%s", path);
	csv_fini(&csv, clusters_on_field, clusters_on_row, &r);
	csv_free(&csv);
	fclose(f);
	if (c.rows == 0)
		errx(1, "%s: contains no prefix", path);
	return c;
}

#endif
