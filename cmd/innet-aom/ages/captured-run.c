/* captured-run.c - read the captures of one run into flows */
#include "common/base/message.h"

#include "cmd/innet-aom/ages/captured-run.h"

#include <stdlib.h>

#define SECOND_NS 1000000000u

static uint64_t
mix_bits(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	return x ^ x >> 32;
}

/* Return the slot of `key`, or the empty slot where `key` belongs. */
static uint32_t *
find_slot(const struct run *r, uint64_t key)
{
	size_t i = mix_bits(key) & (r->slots - 1);

	while (r->slot[i] != 0 && r->flow[r->slot[i] - 1].key != key)
		i = (i + 1) & (r->slots - 1);
	return &r->slot[i];
}

static void
grow_flows(struct run *r)
{
	r->room = r->room * 2 + 32;
	r->flow = realloc(r->flow, r->room * sizeof(*r->flow));
	free(r->slot);
	r->slots = r->slots == 0 ? 64 : r->slots * 2;
	while (r->slots < r->room * 2)
		r->slots *= 2;
	r->slot = calloc(r->slots, sizeof(*r->slot));
	if (r->flow == NULL || r->slot == NULL)
		err(1, "no memory for %zu clusters and workers", r->room);
	for (size_t i = 0; i < r->flows; i++)
		*find_slot(r, r->flow[i].key) = (uint32_t)i + 1;
}

/* Return the flow with the key `key`.  Create the flow if it is new. */
static struct flow *
get_flow(struct run *r, uint64_t key)
{
	uint32_t *slot;
	struct flow *f;

	if (r->flows == r->room)
		grow_flows(r);
	slot = find_slot(r, key);
	if (*slot != 0)
		return &r->flow[*slot - 1];
	f = &r->flow[r->flows++];
	*slot = (uint32_t)r->flows;
	*f = (struct flow){ .key = key };
	if (r->rules->start == FROM_TIME)
		aom_start(&f->age, r->from_ns, r->from_ns);
	return f;
}

static uint64_t
get_key(const struct run *r, const struct update *u)
{
	return (uint64_t)u->cluster << 48 | u->following |
	    (r->rules->grouping == BY_WORKER ? (uint64_t)u->worker << 16 : 0);
}

static uint64_t
resolve_instant(const struct instant *at, uint64_t first_ns)
{
	uint64_t ns = at->ns + (at->relative ? first_ns : 0);

	return ns > AOM_MAX_NS ? AOM_MAX_NS : ns;
}

/* Begin the run at its first packet, so that relative times become known. */
static void
begin_run(struct run *r, uint64_t first_ns)
{
	r->first_ns = first_ns;
	r->from_ns = resolve_instant(&r->rules->start_at, r->first_ns);
	if (r->rules->until.set)
		r->until_ns = resolve_instant(&r->rules->until, r->first_ns);
	r->begun = true;
}

/*
 * Return a number that identifies the sender of an update, for payloads that
 * cannot be matched.
 */
static uint64_t
sender_group(const struct update *u)
{
	return (uint64_t)u->cluster << 32 | u->worker;
}

static void
count_sent(void *run, const struct source_update *x)
{
	struct run *r = run;
	const struct update *u = &x->u;
	const uint64_t t = x->stamp_ns;
	struct flow *f = get_flow(r, get_key(r, u));
	struct match_item item;

	f->sent.packets++;
	f->sent.constituents += u->merged;
	f->last_ns = t;
	if (r->rules->start == FROM_SENT && !f->age.started)
		aom_start(&f->age, t, t);
	if (r->history != NULL)
		history_add(r->history, f, (uint32_t)(f - r->flow), u, t);
	if (!r->matches)
		return;
	item = (struct match_item){ .hash = x->hash, .sent_ns = t,
	    .group = sender_group(u), .flow = (uint32_t)(f - r->flow) };
	match_sent(&r->match, &item);
}

/*
 * Count an update that was generated more than a second before the captures
 * begin, and keep the time of the oldest such update.
 */
static void
note_old_update(struct run *r, uint64_t made_ns)
{
	const uint64_t first_ns = r->has_sent && r->in_sent.first_ns <
	    r->in.first_ns ? r->in_sent.first_ns : r->in.first_ns;

	if (first_ns < SECOND_NS || made_ns >= first_ns - SECOND_NS)
		return;
	if (r->older++ == 0 || made_ns < r->oldest_ns)
		r->oldest_ns = made_ns;
}

/*
 * Find the sent update that arrived as the update x.  Return the flow of the
 * sent update, with the update's times in *m.  Return NULL if there is no such
 * update; then x counts as received, but has no age.
 */
static struct flow *
find_sent(struct run *r, const struct source_update *x, struct flow *f,
    struct matched *m)
{
	const bool opaque = r->rules->source.format != NULL &&
	    r->rules->source.format->matches;

	if (match_find(&r->match, x->hash, x->stamp_ns, m)) {
		r->ambiguous += m->ambiguous;
		return opaque ? &r->flow[m->flow] : f;
	}
	/*
	 * the payload cannot be matched, because merging changes the payload of
	 * a bare packet
	 */
	if (r->rules->source.bare != NULL && match_newest(&r->match,
	    sender_group(&x->u), x->stamp_ns, m))
		return f;
	r->unmatched++;
	return NULL;
}

/*
 * Update the age of f under the assumption that ambiguous deliveries were sent
 * as late as possible.
 */
static void
deliver_freshest(struct flow *f, uint64_t t, uint64_t made)
{
	if (f->freshest == NULL) {
		f->freshest = calloc(1, sizeof(*f->freshest));
		if (f->freshest == NULL)
			err(1, "ages");
		if (f->age.started)
			aom_start(f->freshest, f->age.from_ns,
			    f->age.from_ns);
	}
	if (aom_deliver(f->freshest, t, made) == AOM_NOMEM)
		err(1, "ages");
}

static void
count_received(void *run, const struct source_update *x)
{
	struct run *r = run;
	const struct update *u = &x->u;
	const uint64_t t = x->stamp_ns;
	struct flow *f = get_flow(r, get_key(r, u)), *of = f;
	uint64_t made = u->generated_ns;
	struct matched m;

	if (r->matches) {
		of = find_sent(r, x, f, &m);
		if (of != NULL) {
			f = of;
			made = m.sent_ns;
			deliver_freshest(f, t, m.latest_ns);
		}
	} else {
		if (r->rules->oldest)
			r->unmatched += !history_oldest(r->history,
			    (uint32_t)(f - r->flow), u, &made);
		note_old_update(r, made);
	}
	f->got.packets++;
	f->got.constituents += u->merged;
	f->reward += x->reward;
	if (t > f->last_ns)
		f->last_ns = t;
	if (of != NULL && aom_deliver(&f->age, t, made) == AOM_NOMEM)
		err(1, "ages");
}

/* Pass every update of the captures to take(). */
static void
read_captures(struct run *r, struct source *in, const struct source_files *f,
    source_update_fn *take)
{
	source_open(in, &r->rules->source, f, r->until_ns);
	if (!r->begun && in->any) {
		begin_run(r, in->first_ns);
		source_set_end(in, r->until_ns);
	}
	source_read(in, take, r);
	source_close(in);
	r->rc |= in->rc;
	if (in->any && in->last_ns > r->end_ns)
		r->end_ns = in->last_ns;
}

/*
 * Convert a row of the table to an update.  The timestamp of the update is the
 * time of receipt if `received` is set, and otherwise the generation time.
 */
static struct source_update
make_update(const struct times_row *row, bool received)
{
	return (struct source_update){
		.stamp_ns = received ? row->received_ns : row->generated_ns,
		.reward = row->reward,
		.u = { .kind = UPDATE_UPDATE,
		    .cluster = (uint16_t)row->cluster,
		    .worker = row->worker, .sequence = row->sequence,
		    .merged = row->merged,
		    .generated_ns = row->generated_ns } };
}

/* Read the tables of a run and count their rows. */
static void
read_tables(struct run *r, const struct source_files *files)
{
	const struct source_options *options = &r->rules->source;
	struct source_update x;
	struct times_table t = { 0 };

	for (size_t i = 0; i < files->n; i++)
		times_table_read(&t, files->path[i], options->clusters,
		    options->workers);
	if (options->clusters->n > UINT16_MAX)
		errx(1, "there are more than 65535 clusters; check that the "
		    "column of the cluster is the right one");
	r->rows = t.n;
	r->has_sent = t.lost || r->rules->start == FROM_SENT;
	times_table_sort(&t, false);
	if (t.n > 0 && !r->begun)
		begin_run(r, t.row[0].generated_ns);
	for (size_t i = 0; i < t.n && r->has_sent; i++) {
		x = make_update(&t.row[i], false);
		if (x.stamp_ns > r->until_ns)
			break;
		count_sent(r, &x);
		r->end_ns = x.stamp_ns;
	}
	times_table_sort(&t, true);
	for (size_t i = 0; i < t.n && t.row[i].came; i++) {
		x = make_update(&t.row[i], true);
		if (x.stamp_ns > r->until_ns)
			break;
		count_received(r, &x);
		if (x.stamp_ns > r->end_ns)
			r->end_ns = x.stamp_ns;
	}
	free(t.row);
}

static int
compare_keys(const void *a, const void *b)
{
	const struct flow *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

/*
 * Set last_ns of each flow to the time of the last packet in any flow of the
 * same row.
 */
static void
share_last_stamp(struct run *r)
{
	for (size_t i = 0, k; i < r->flows; i = k) {
		uint64_t t = 0;

		for (k = i; k < r->flows &&
		    r->flow[k].key >> 16 == r->flow[i].key >> 16; k++)
			if (r->flow[k].last_ns > t)
				t = r->flow[k].last_ns;
		for (size_t n = i; n < k; n++)
			r->flow[n].last_ns = t;
	}
}

static uint64_t
flow_end(const struct run *r, const struct flow *f, enum age_end rule)
{
	return rule == END_CAPTURE ? r->end_ns : f->last_ns;
}

/*
 * Return the mean age of all flows if ages ended by the given rule, or 0 if no
 * flow has an age.
 */
static double
mean_age_until(const struct run *r, enum age_end rule)
{
	double area = 0, time = 0;

	for (size_t i = 0; i < r->flows; i++) {
		const struct flow *f = &r->flow[i];
		const uint64_t t = flow_end(r, f, rule);

		if (!f->age.started)
			continue;
		area += (double)aom_area2_until(&f->age, t) / 2;
		if (t > f->age.from_ns)
			time += (double)(t - f->age.from_ns);
	}
	return time > 0 ? area / time : 0;
}

/* End all ages after everything has been read. */
static void
end_ages(struct run *r)
{
	const enum age_end rule = r->rules->end;
	const enum age_end other =
	    rule == END_CLUSTER ? END_CAPTURE : END_CLUSTER;
	double mean;

	share_last_stamp(r);
	mean = mean_age_until(r, rule);
	r->other_end = mean > 0 ? mean_age_until(r, other) / mean : 1;
	for (size_t i = 0; i < r->flows; i++) {
		struct flow *f = &r->flow[i];
		const uint64_t t = flow_end(r, f, rule);

		if (aom_end(&f->age, t) == -1 || (f->freshest != NULL &&
		    aom_end(f->freshest, t) == -1))
			err(1, "ages");
	}
}

void
run_read(struct run *r, const struct age_rules *rules,
    const struct run_files *f)
{
	const struct format *format = rules->source.format;

	*r = (struct run){ .rules = rules, .until_ns = UINT64_MAX,
	    .has_sent = f->sent.n > 0, .has_report = f->report != NULL };
	grow_flows(r);
	if (!rules->start_at.relative && !rules->until.relative) {
		r->from_ns = rules->start_at.ns;
		if (rules->until.set)
			r->until_ns = rules->until.ns;
		r->begun = true;
	}
	r->matches = r->has_sent && (rules->source.bare != NULL ||
	    (format != NULL && format_needs_sent(format)));
	if (r->has_sent) {
		if (rules->oldest)
			r->history = history_new();
		read_captures(r, &r->in_sent, &f->sent, count_sent);
		if (rules->oldest)
			history_sort(r->history);
		if (r->matches)
			match_sort(&r->match, rules->source.bare != NULL);
	}
	if (rules->table)
		read_tables(r, &f->received);
	else
		read_captures(r, &r->in, &f->received, count_received);
	if (f->report != NULL)
		switch_report_read(&r->report, f->report);
	if (rules->until.set && r->begun)
		r->end_ns = r->until_ns;
	qsort(r->flow, r->flows, sizeof(*r->flow), compare_keys);
	end_ages(r);
}

void
run_sort_by_name(struct run *r)
{
	const struct source_options *options = &r->rules->source;

	if (options->clusters == NULL)
		return;
	for (size_t i = 0; i < r->flows; i++) {
		struct flow *f = &r->flow[i];
		const uint64_t c = options->clusters->place[flow_cluster(f)];
		const uint64_t w = r->rules->grouping == BY_WORKER ?
		    options->workers->place[flow_worker(f)] : 0;

		f->key = c << 48 | w << 16 | (f->key & 0xffff);
	}
	qsort(r->flow, r->flows, sizeof(*r->flow), compare_keys);
}

void
run_free(struct run *r)
{
	for (size_t i = 0; i < r->flows; i++) {
		aom_free(&r->flow[i].age);
		if (r->flow[i].freshest != NULL)
			aom_free(r->flow[i].freshest);
		free(r->flow[i].freshest);
	}
	free(r->flow);
	free(r->slot);
	switch_report_free(&r->report);
	if (r->history != NULL)
		history_free(r->history);
	match_free(&r->match);
	source_free(&r->in);
	source_free(&r->in_sent);
}
