/*
 * bare.c - the paper's own packet: a reward and a vector, no header
 *
 * The cluster is that of the longest prefix of the table that holds the
 * source address; the worker is a hash of the five-tuple (Olaf, section 4).
 */
#include "cmd/innet-aom/run.h"

#include <arpa/inet.h>
#include <csv.h>
#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"

struct prefix {
	uint8_t addr[16];
	unsigned bits;
	bool v6;
	uint16_t cluster;
};

struct prefixes {
	struct prefix *of;
	size_t n, room;
};

/* The table while it is read. */
struct reading {
	const char *path;
	struct prefixes *p;
	struct prefix row;
	unsigned column;
	unsigned long line;
};

__attribute__((noreturn)) static void
bad_field(const struct reading *rd, const char *what, const char *s,
    const char *why)
{
	errx(1, "%s:%lu: %s '%s' is %s", rd->path, rd->line, what, s, why);
}

/* 10.0.1.0/24, fd00::/8, or an address alone. */
static void
read_prefix(struct reading *rd, const char *s)
{
	char addr[64];
	const char *slash = strchrnul(s, '/');
	uint64_t bits;

	rd->row = (struct prefix){ .v6 = strchr(s, ':') != NULL };
	bits = rd->row.v6 ? 128 : 32;
	snprintf(addr, sizeof(addr), "%.*s", (int)(slash - s), s);
	if (inet_pton(rd->row.v6 ? AF_INET6 : AF_INET, addr,
	    rd->row.addr) != 1)
		bad_field(rd, "prefix", s, "not an address");
	if (*slash == '/' && num_u64(slash + 1, 0, bits, &bits) != NULL)
		bad_field(rd, "prefix", s, "too long or not a number");
	rd->row.bits = (unsigned)bits;
}

static void
on_field(void *field, size_t len, void *arg)
{
	struct reading *rd = arg;
	const char *s = field != NULL ? field : "";
	const char *why;
	uint64_t cluster;

	(void)len;
	if (rd->column == 0 && rd->line == 1 && strcmp(s, "prefix") == 0)
		rd->column = 100;	/* the names of the columns */
	if (rd->column == 0) {
		read_prefix(rd, s);
	} else if (rd->column == 1) {
		why = num_u64(s, 0, UINT16_MAX, &cluster);
		if (why != NULL)
			bad_field(rd, "cluster", s, why);
		rd->row.cluster = (uint16_t)cluster;
	}
	rd->column++;
}

static void
on_row(int ch, void *arg)
{
	struct reading *rd = arg;
	struct prefixes *p = rd->p;

	(void)ch;
	if (rd->column < 100 && rd->column != 0) {
		if (rd->column != 2)
			errx(1, "%s:%lu: %u columns, not prefix,cluster",
			    rd->path, rd->line, rd->column);
		if (p->n == p->room) {
			p->room = p->room * 2 + 16;
			p->of = realloc(p->of, p->room * sizeof(*p->of));
			if (p->of == NULL)
				err(1, "%s", rd->path);
		}
		p->of[p->n++] = rd->row;
	}
	rd->column = 0;
}

static int
longest_first(const void *a, const void *b)
{
	const struct prefix *x = a, *y = b;

	return (x->bits < y->bits) - (x->bits > y->bits);
}

struct prefixes *
prefixes_read(const char *path)
{
	struct reading rd = { .path = path, .p = calloc(1, sizeof(*rd.p)) };
	struct csv_parser csv;
	char *s = NULL;
	size_t room = 0;
	ssize_t len;
	FILE *f = fopen(path, "r");

	if (f == NULL || rd.p == NULL)
		err(1, "%s", path);
	if (csv_init(&csv, CSV_APPEND_NULL) != 0)
		err(1, "%s", path);
	while ((len = getline(&s, &room, f)) != -1) {
		rd.line++;
		csv_parse(&csv, s, (size_t)len, on_field, on_row, &rd);
	}
	csv_fini(&csv, on_field, on_row, &rd);
	csv_free(&csv);
	free(s);
	if (ferror(f))
		err(1, "%s", path);
	fclose(f);
	if (rd.p->n == 0)
		errx(1, "%s: no prefix in it", path);
	qsort(rd.p->of, rd.p->n, sizeof(*rd.p->of), longest_first);
	return rd.p;
}

static bool
holds(const struct prefix *x, const struct frame_flow *flow)
{
	const unsigned whole = x->bits / 8, rest = x->bits % 8;
	const uint8_t mask = (uint8_t)(0xff00 >> rest);

	return x->v6 == flow->v6 && memcmp(x->addr, flow->src, whole) == 0 &&
	    (rest == 0 || ((x->addr[whole] ^ flow->src[whole]) & mask) == 0);
}

static uint32_t
hash(uint32_t h, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)	/* FNV-1a */
		h = (h ^ p[i]) * 16777619u;
	return h;
}

enum update_bad
bare_parse(const struct prefixes *p, const struct intake *in,
    struct update *u, bool *known)
{
	const struct frame_flow *flow = &in->frame.flow;
	const size_t addr = flow->v6 ? 16 : 4;
	const uint32_t len = in->frame.payload_bytes;
	struct wire w = wire_over(in->payload, len);
	uint8_t ports[4];

	*u = (struct update){ .kind = UPDATE_UPDATE, .merged = 1 };
	u->reward = wire_f32(&w);
	*known = false;
	if (!wire_ok(&w) || w.left == 0)
		return UPDATE_SHORT;
	if (w.left % 4 != 0)
		return UPDATE_BAD_LENGTH;
	u->elements = u->n = (uint32_t)(w.left / 4);
	if (!isfinite(u->reward) || !vec_finite(w.p, u->n))
		return UPDATE_NONFINITE;
	for (size_t i = 0; i < p->n && !*known; i++) {
		*known = holds(&p->of[i], flow);
		u->cluster = p->of[i].cluster;
	}
	wire_put(ports, (uint64_t)flow->sport << 16 | flow->dport, 4);
	u->worker = hash(hash(hash(2166136261u, flow->src, addr), flow->dst,
	    addr), ports, sizeof(ports));
	u->sequence = hash(2166136261u, in->payload, len);
	return UPDATE_OK;
}

void
prefixes_free(struct prefixes *p)
{
	free(p->of);
	free(p);
}
