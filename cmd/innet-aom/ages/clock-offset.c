/* clock-offset.c - estimate the offset between the clocks of two captures */
#include "cmd/innet-aom/ages/clock-offset.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/hashmap.h"
#include "common/base/message.h"
#include "common/capture/clusters.h"
#include "common/capture/pcapio.h"
#include "common/wire/frame.h"

enum { LOOK_BYTES = 64 };	/* number of bytes that identify a packet */

/*
 * A packet, identified by a hash of those bytes that do not change on the path.
 */
struct sight {
	uint64_t stamp_ns;
	uint32_t pair;		/* number of the pair of addresses of the
				 * packet */
	bool back;		/* the packet goes from the greater address to
				 * the smaller */
	bool doubtful;		/* the capture has several packets with this
				 * hash */
};

/*
 * The range of timestamp differences for one pair of addresses and one
 * direction.
 */
struct spread {
	int64_t lo_ns, hi_ns;
	uint64_t n;
};

struct sights {
	struct hashmap index;	/* maps the hash of a packet to its struct
				 * sight */
	struct sight *sight;
	size_t n, room;
	struct hashmap pairs;	/* maps the hash of a pair to the number of the
				 * pair */
	uint32_t pair_count;
};

/*
 * Compute the hash of the packet in p, and find its pair of addresses.  Return
 * false if the packet is neither UDP nor TCP.
 */
static bool
parse_sight(struct sights *s, int link, const struct pcapio_packet *p,
    uint64_t *hash, struct sight *x)
{
	struct frame_ip ip;
	struct frame f;
	struct bytes w;
	uint8_t head[LOOK_BYTES];
	uint64_t pair;
	uint32_t *at;
	size_t n;
	int c;

	if (!frame_parse_ip(link, p->data, p->caplen, &f, &ip, &w) ||
	    (ip.next != 6 && ip.next != 17) || ip.fragment || w.left < 20)
		return false;
	n = w.left < LOOK_BYTES ? w.left : LOOK_BYTES;
	memcpy(head, w.p, n);
	memset(head + (ip.next == 17 ? 6 : 16), 0, 2);	/* clear the checksum */
	*hash = clusters_hash(CLUSTERS_HASH_START, head, n);
	*hash = clusters_hash(*hash, &ip.bytes, sizeof(ip.bytes));
	*hash = clusters_hash(*hash, f.flow.src, 16);
	*hash = clusters_hash(*hash, f.flow.dst, 16);
	c = memcmp(f.flow.src, f.flow.dst, 16);
	pair = clusters_hash(CLUSTERS_HASH_START, c < 0 ? f.flow.src :
	    f.flow.dst, 16);
	pair = clusters_hash(pair, c < 0 ? f.flow.dst : f.flow.src, 16);
	at = hashmap_get(&s->pairs, pair);
	if (at == NULL && (at = hashmap_put(&s->pairs, pair,
	    s->pair_count++)) == NULL)
		err(1, "no memory for the pairs of addresses");
	*x = (struct sight){ .stamp_ns = p->stamp_ns, .pair = *at,
	    .back = c > 0 };
	return true;
}

/* Store the packets of the capture at path. */
static void
read_sights(struct sights *s, const char *path)
{
	struct pcapio_packet p = { 0 };
	struct pcapio_in in;
	struct sight x;
	uint64_t hash;
	uint32_t *at;

	pcapio_open_or_exit(&in, path);
	while (pcapio_next(&in, &p) == 1) {
		if (!parse_sight(s, in.link, &p, &hash, &x))
			continue;
		at = hashmap_get(&s->index, hash);
		if (at != NULL) {
			s->sight[*at].doubtful = true;
			continue;
		}
		if (s->n == s->room) {
			s->room = s->room * 2 + 1024;
			s->sight = realloc(s->sight, s->room * sizeof(x));
			if (s->sight == NULL)
				err(1, "no memory for %zu packets", s->room);
		}
		if (s->n == UINT32_MAX || hashmap_put(&s->index, hash,
		    (uint32_t)s->n) == NULL)
			err(1, "no memory for %zu packets", s->n);
		s->sight[s->n++] = x;
	}
	pcapio_close_in(&in);
}

static void
widen_spread(struct spread *s, int64_t d)
{
	if (s->n == 0 || d < s->lo_ns)
		s->lo_ns = d;
	if (s->n == 0 || d > s->hi_ns)
		s->hi_ns = d;
	s->n++;
}

/*
 * Return the timestamp differences, by pair of addresses and direction, of the
 * packets that appear exactly once in each capture.
 */
static struct spread *
compare_sights(const struct sights *by, const struct sights *other)
{
	struct spread *s = calloc(2 * (size_t)by->pair_count + 2, sizeof(*s));

	if (s == NULL)
		err(1, "no memory for %" PRIu32 " pairs of addresses",
		    by->pair_count);
	for (size_t i = 0; i <= other->index.mask && other->n > 0; i++) {
		const struct hashmap_cell *c = &other->index.cell[i];
		const struct sight *x, *y;
		const uint32_t *at;

		at = c->used ? hashmap_get(&by->index, c->key) : NULL;
		if (at == NULL)
			continue;
		x = &by->sight[*at];
		y = &other->sight[c->value];
		if (!x->doubtful && !y->doubtful)
			widen_spread(&s[2 * x->pair + x->back],
			    (int64_t)(x->stamp_ns - y->stamp_ns));
	}
	return s;
}

/*
 * For each pair of addresses, the later direction is the one whose smallest
 * difference of timestamps is greater.  Over all pairs, later_ns is the
 * smallest difference in the later direction, and earlier_ns is the greatest
 * difference in the earlier direction.
 */
struct bounds {
	int64_t later_ns, earlier_ns;
	uint64_t there, back;
};

static struct bounds
find_bounds(const struct spread *s, uint32_t pairs)
{
	struct bounds b = { .later_ns = INT64_MAX, .earlier_ns = INT64_MIN };

	for (uint32_t i = 0; i < pairs; i++) {
		const struct spread *x = &s[2 * i], *y = &s[2 * i + 1];
		const struct spread *late = x->lo_ns > y->lo_ns ? x : y;
		const struct spread *early = late == x ? y : x;

		if (x->n == 0 || y->n == 0)
			continue;
		b.there += late->n;
		b.back += early->n;
		if (late->lo_ns < b.later_ns)
			b.later_ns = late->lo_ns;
		if (early->hi_ns > b.earlier_ns)
			b.earlier_ns = early->hi_ns;
	}
	return b;
}

static void
sights_free(struct sights *s)
{
	hashmap_free(&s->index);
	hashmap_free(&s->pairs);
	free(s->sight);
}

int64_t
clock_offset_estimate(const char *by, const char *other, bool quiet)
{
	struct sights a = { 0 }, b = { 0 };
	struct spread *spread;
	struct bounds found;
	int64_t apart, offset;

	read_sights(&a, by);
	read_sights(&b, other);
	spread = compare_sights(&a, &b);
	found = find_bounds(spread, a.pair_count);
	free(spread);
	sights_free(&a);
	sights_free(&b);
	if (found.there == 0)
		errx(1, "--estimate-offset: %s and %s do not share packets in "
		    "both directions; give --offset instead", by, other);
	if (found.earlier_ns > found.later_ns)
		errx(1, "--estimate-offset: %s and %s: no offset fits, because "
		    "some packets would arrive %.6g us before they were sent; "
		    "the clocks may drift", by, other,
		    ((double)found.earlier_ns -
		    (double)found.later_ns) / 1e3);
	apart = found.later_ns - found.earlier_ns;
	offset = found.earlier_ns + apart / 2;
	if (!quiet)
		warnx("%s: offset %+.9g s to %s, estimated from a minimum "
		    "round trip time of %.6g us (%" PRIu64 " packets there, "
		    "%" PRIu64 " back); the offset is accurate to %.6g us",
		    other,
		    (double)offset / 1e9, by,
		    (double)apart / 2e3, found.there, found.back,
		    (double)apart / 2e3);
	return offset;
}
