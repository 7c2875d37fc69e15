/* run.c - read the captures of one run */
#include "cmd/innet-aom/run.h"

#include <err.h>
#include <stdlib.h>

#define SECOND_NS 1000000000u

static uint64_t
mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	return x ^ x >> 32;
}

/* The slot of key, or the empty one where it belongs. */
static uint32_t *
probe(const struct run *r, uint64_t key)
{
	size_t i = mix(key) & (r->slots - 1);

	while (r->slot[i] != 0 && r->flow[r->slot[i] - 1].key != key)
		i = (i + 1) & (r->slots - 1);
	return &r->slot[i];
}

static void
grow(struct run *r)
{
	r->room = r->room * 2 + 32;
	r->flow = realloc(r->flow, r->room * sizeof(*r->flow));
	free(r->slot);
	r->slots = r->slots == 0 ? 64 : r->slots * 2;
	while (r->slots < r->room * 2)
		r->slots *= 2;
	r->slot = calloc(r->slots, sizeof(*r->slot));
	if (r->flow == NULL || r->slot == NULL)
		err(1, "%zu clusters and workers", r->room);
	for (size_t i = 0; i < r->flows; i++)
		*probe(r, r->flow[i].key) = (uint32_t)i + 1;
}

/* The flow of key, made if it is new. */
static struct flow *
flow_of(struct run *r, uint64_t key)
{
	uint32_t *slot;
	struct flow *f;

	if (r->flows == r->room)
		grow(r);
	slot = probe(r, key);
	if (*slot != 0)
		return &r->flow[*slot - 1];
	f = &r->flow[r->flows++];
	*slot = (uint32_t)r->flows;
	*f = (struct flow){ .key = key };
	if (r->how->from == FROM_TIME)
		aom_start(&f->age, r->from_ns, r->from_ns);
	return f;
}

static uint64_t
key_of(const struct run *r, const struct update *u)
{
	return (uint64_t)u->cluster << 48 | u->following |
	    (r->how->by == BY_WORKER ? (uint64_t)u->worker << 16 : 0);
}

static uint64_t
resolve(const struct instant *at, uint64_t first_ns)
{
	uint64_t ns = at->ns + (at->relative ? first_ns : 0);

	return ns > AOM_MAX_NS ? AOM_MAX_NS : ns;
}

/* The first packet of the run has come: instants relative to it are known. */
static void
begin(struct run *r, struct updates *in)
{
	r->first_ns = in->first_ns;
	r->from_ns = resolve(&r->how->from_at, r->first_ns);
	if (r->how->until.set)
		r->until_ns = resolve(&r->how->until, r->first_ns);
	in->until_ns = r->until_ns;
	r->begun = true;
}

/* The next update of in: 1, 0 at the end, -1 if the file is damaged. */
static int
next(struct run *r, struct updates *in, uint64_t *t, struct update *u)
{
	int got;

	do
		got = updates_next(in, t, u);
	while (got == 1 && u->kind != UPDATE_UPDATE);
	/* a bare packet is known again by what is in it */
	if (got == 1 && r->how->bare != NULL)
		u->sequence = (uint32_t)clusters_hash(CLUSTERS_HASH_START,
		    u->vec - 4, 4 + 4 * (size_t)u->n);
	return got;
}

static void
take_sent(struct run *r, uint64_t t, const struct update *u)
{
	struct flow *f = flow_of(r, key_of(r, u));

	f->sent.packets++;
	f->sent.constituents += u->merged;
	if (r->how->from == FROM_SENT && !f->age.started)
		aom_start(&f->age, t, t);
	if (r->history != NULL)
		history_add(r->history, f, (uint32_t)(f - r->flow), u, t);
}

/* An update was made at that time, maybe long before anything was captured. */
static void
note_age(struct run *r, uint64_t made_ns)
{
	const uint64_t first_ns = r->has_sent && r->in_sent.first_ns <
	    r->in.first_ns ? r->in_sent.first_ns : r->in.first_ns;

	if (first_ns < SECOND_NS || made_ns >= first_ns - SECOND_NS)
		return;
	if (r->older++ == 0 || made_ns < r->oldest_ns)
		r->oldest_ns = made_ns;
}

static void
take_received(struct run *r, uint64_t t, const struct update *u)
{
	struct flow *f = flow_of(r, key_of(r, u));
	const uint32_t at = (uint32_t)(f - r->flow);
	uint64_t made = u->generated_ns;
	bool found = true;

	f->got.packets++;
	f->got.constituents += u->merged;
	if (r->how->bare != NULL && r->history != NULL)
		found = history_bare(r->history, at, u, t, &made);
	else if (r->how->oldest)
		found = history_oldest(r->history, at, u, &made);
	r->unmatched += !found;
	note_age(r, made);
	if (aom_deliver(&f->age, t, made) == AOM_NOMEM)
		err(1, "ages");
}

/* Give every update of the capture at path to take. */
static void
read_capture(struct run *r, struct updates *in, const char *path,
    void (*take)(struct run *, uint64_t, const struct update *))
{
	struct update u;
	uint64_t t;
	int got;

	if (strcmp(path, "-") == 0 && isatty(STDIN_FILENO))
		errx(2, "standard input is a terminal; use -r FILE");
	if (updates_open(in, path) == -1)
		errx(1, "%s: %s", pcapio_name(path, false), in->in.why);
	pcapio_ahead(&in->in);
	in->bare = r->how->bare;
	in->until_ns = r->until_ns;
	while ((got = next(r, in, &t, &u)) == 1) {
		if (!r->begun) {
			begin(r, in);
			if (t > r->until_ns)
				break;
		}
		take(r, t, &u);
	}
	updates_warn_backwards(in);
	if (got == -1)
		r->rc = pcapio_warn_damage(&in->in);
	if (in->in.packets > 0 && in->last_ns > r->end_ns)
		r->end_ns = in->last_ns;
	updates_close(in);
}

static int
by_key(const void *a, const void *b)
{
	const struct flow *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

void
run_read(struct run *r, const struct how *how, const struct inputs *f)
{
	*r = (struct run){ .how = how, .until_ns = UINT64_MAX,
	    .has_sent = f->sent != NULL, .has_report = f->report != NULL };
	grow(r);
	if (!how->from_at.relative && !how->until.relative) {
		r->from_ns = how->from_at.ns;
		if (how->until.set)
			r->until_ns = how->until.ns;
		r->begun = true;
	}
	if (f->sent != NULL) {
		if (how->oldest || how->bare != NULL)
			r->history = history_new();
		read_capture(r, &r->in_sent, f->sent, take_sent);
		if (r->history != NULL)
			history_sort(r->history, how->bare != NULL);
	}
	read_capture(r, &r->in, f->received, take_received);
	if (f->report != NULL)
		report_read(r, f->report);
	if (how->until.set && r->begun)
		r->end_ns = r->until_ns;
	for (size_t i = 0; i < r->flows; i++)
		if (aom_end(&r->flow[i].age, r->end_ns) == -1)
			err(1, "ages");
	qsort(r->flow, r->flows, sizeof(*r->flow), by_key);
}

void
run_free(struct run *r)
{
	for (size_t i = 0; i < r->flows; i++)
		aom_free(&r->flow[i].age);
	free(r->flow);
	free(r->slot);
	free(r->fate);
	if (r->history != NULL)
		history_free(r->history);
}
