/* flows.c - open a socket for each five-tuple of a trace; see flows.h */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/base/message.h"

#include "cmd/innet-replay/flows.h"

enum { FLOW_RECEIVE_BYTES = 4096 };	/* size of the buffer for replies, which
					 * are never read */

void
flows_open(struct flows *s, const union addr *to, bool offload)
{
	char name[ADDR_NAME_BYTES];
	struct rlimit files;

	*s = (struct flows){ .offload = offload };
	if (udpio_find_source(to, &s->from, NULL) == -1)
		err(1, "%s: cannot send to this address", addr_print(to, name));
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
}

void
flows_close(struct flows *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		udpio_close(&s->flow[i].u);
	free(s->flow);
	hashmap_free(&s->by_hash);
}

static bool
is_same_flow(const struct frame_flow *a, const struct frame_flow *b)
{
	const size_t n = a->v6 ? 16 : 4;

	return a->v6 == b->v6 && a->sport == b->sport &&
	    a->dport == b->dport && memcmp(a->src, b->src, n) == 0 &&
	    memcmp(a->dst, b->dst, n) == 0;
}

static uint64_t
hash_flow(const struct frame_flow *f)
{
	const size_t n = f->v6 ? 16 : 4;
	uint64_t h = (uint64_t)f->sport << 32 | f->dport;

	for (size_t i = 0; i < n; i++)
		h = (h ^ f->src[i] ^ (uint64_t)f->dst[i] << 8) *
		    0x100000001b3;
	return h;
}

/* Open the socket of a new five-tuple, and return its number. */
static uint32_t
add_flow(struct flows *s, const struct frame_flow *id, uint64_t key)
{
	const uint32_t room = s->room == 0 ? 64 : 2 * s->room;
	struct flow *more;

	if (s->count == s->room) {
		more = realloc(s->flow, room * sizeof(*more));
		if (more == NULL)
			errx(1, "no memory for %" PRIu32 " five-tuples", room);
		s->flow = more;
		s->room = room;
	}
	if (udpio_open_sender(&s->flow[s->count].u, &s->from,
	    FLOW_RECEIVE_BYTES, s->offload) == -1)
		err(1, "cannot open a socket for five-tuple %" PRIu32 "; if "
		    "too many files are open, raise ulimit -n",
		    s->count + 1);
	s->flow[s->count].id = *id;
	if (hashmap_put(&s->by_hash, key, s->count) == NULL)
		errx(1, "no memory for %" PRIu32 " five-tuples", s->count);
	return s->count++;
}

uint32_t
flows_find(struct flows *s, const struct frame_flow *id)
{
	const uint32_t *at;
	uint64_t key = hash_flow(id);

	for (; (at = hashmap_get(&s->by_hash, key)) != NULL; key++) {
		if (is_same_flow(&s->flow[*at].id, id))
			return *at;
	}
	return add_flow(s, id, key);
}

uint64_t
flows_unreachable(struct flows *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		udpio_read_errors(&s->flow[i].u);
		n += s->flow[i].u.unreachable;
	}
	return n;
}
