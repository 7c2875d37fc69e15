/* feed-table - experiences in tables of innet-memory, which draw them */
#include "config.h"

#include "cmd/innet-agent/apex/sampler.h"
#include "common/base/vec.h"
#include "common/wire/stream.h"

/* Its next element is a string of n bytes: at to. */
static bool
bulk(struct respcall *c, void *to, size_t n, const char *what)
{
	struct respreply r;

	if (!respcall_want(c, RESPREPLY_BULK, &r, what))
		return false;
	if ((size_t)r.n == n)
		return respcall_body(c, to, n, what);
	c->refused = true;
	return respcall_fail(c, "%s: %zu bytes wanted, not %" PRId64, what,
	    n, r.n);
}

/* What a shard is drawn by, as it says; and is that so? */
static bool
weigh(struct shard *s, int64_t sum, int64_t shift)
{
	struct respcall *c = &s->link.call;

	if (sum >= 0 && shift >= -1000 && shift <= 1000) {
		s->weigh = shards_weight((uint64_t)sum, shift);
		return true;
	}
	c->refused = true;
	return respcall_fail(c, "%s: a sum that is none", s->names.table);
}

/* Of PER.INFO's array: experiences in *have, and what they weigh. */
static bool
look(struct shard *s, uint64_t *have)
{
	enum { HAVE, SUM, SHIFT, NAMES };
	static const char *const known[NAMES] = { "have", "sum", "shift" };
	struct respcall *c = &s->link.call;
	int64_t got[NAMES] = { 0 };
	struct respreply r;
	char name[8];

	while (c->in.due > 0) {
		const bool is_name = c->in.due % 2 == 0;
		size_t which = 0;

		if (!respcall_next(c, &r, "PER.INFO"))
			return false;
		if (!is_name || r.kind != RESPREPLY_BULK ||
		    (size_t)r.n >= sizeof(name))
			continue;
		memset(name, 0, sizeof(name));
		if (!respcall_body(c, name, (size_t)r.n, "PER.INFO"))
			return false;
		while (which < NAMES && strcmp(known[which], name) != 0)
			which++;
		if (which == NAMES)
			continue;
		if (!respcall_want(c, RESPREPLY_INT, &r, "PER.INFO"))
			return false;
		got[which] = r.n;
	}
	*have = (uint64_t)got[HAVE];
	return weigh(s, got[SUM], got[SHIFT]);
}

static void
ask_info(struct shard *s)
{
	respcall_words(&s->link.call, (const char *[]){ "PER.INFO",
	    s->names.table, NULL });
}

/* See whether the table has its part of what is enough: s->warm. */
static bool
warm_up(struct feed *f, struct shard *s)
{
	const uint64_t enough = feed_part(f, f->cf->set.warmup);
	struct respcall *c = &s->link.call;
	struct respreply r;
	uint64_t n;

	if (!s->made && !feed_make(f, s))
		return false;
	s->made = true;
	ask_info(s);
	if (!respcall_send(c, "PER.INFO") ||
	    !respcall_want(c, RESPREPLY_ARRAY, &r, "PER.INFO") ||
	    !look(s, &n))
		return false;
	s->warm = n >= enough;
	if (s->warm)
		return true;
	snprintf(f->waiting, sizeof(f->waiting), "%" PRIu64
	    " experiences of %" PRIu64, n, enough);
	f->idle = &s->link;
	return true;
}

/* What b says goes to shards of its own from now on. */
static void
keep_told(struct feed *f, const struct batch *b)
{
	memcpy(f->told, f->drawn[b - f->batch], sizeof(f->told));
	for (size_t i = 0; i < f->many; i++) {
		const size_t at = feed_place(f, i);

		stream_put_le((uint8_t *)&f->told_ids[i], b->id[at], 8);
		vec_set((uint8_t *)f->told_numbers, i, b->priority[at]);
	}
}

/* Tell a shard the priorities of what is its own, if any is. */
static bool
tell(struct feed *f, struct shard *s)
{
	const size_t k = (size_t)(s - f->shard), n = f->told[k];
	struct respcall *c = &s->link.call;
	size_t from = 0;

	for (size_t i = 0; i < k; i++)
		from += f->told[i];
	if (n == 0)
		return false;
	respcall_begin(c, 5);
	respcall_word(c, "PER.UPDATE");
	respcall_word(c, s->names.table);
	respcall_word(c, "binary");
	respcall_arg(c, f->told_ids + from, n * sizeof(*f->told_ids));
	respcall_arg(c, f->told_numbers + from, n * sizeof(*f->told_numbers));
	return true;
}

/*
 * Ask a shard for its share of a round; of nothing, what it weighs, which may
 * be something by now.
 */
static bool
ask(struct feed *f, struct shard *s, const struct round *r)
{
	struct respcall *c = &s->link.call;
	const size_t n = r->share[s - f->shard];
	const bool told = s->owed && tell(f, s);

	if (n == 0) {
		ask_info(s);
	} else {
		respcall_begin(c, 8);
		respcall_word(c, "PER.SAMPLE");
		respcall_word(c, s->names.table);
		respcall_count(c, n);
		respcall_word(c, "stratified");
		respcall_word(c, "binary");
		respcall_word(c, "sum");
		respcall_word(c, "timeout");
		respcall_count(c, REMOTE_PATIENCE_MS);
	}
	if (!respcall_send(c, "PER.SAMPLE"))
		return false;
	s->told[s->asked++] = told;
	s->owed &= !told;
	return true;
}

/*
 * Is there an answer to come?  Not to what was asked over a connection that is
 * lost; priorities that went with it are owed.
 */
static bool
is_asked(struct shard *s)
{
	if (s->opened != s->link.opened || s->link.call.fd == -1) {
		while (s->asked > 0)
			s->owed |= s->told[--s->asked];
	}
	s->opened = s->link.opened;
	return s->asked > 0;
}

void
feed_ask(struct feed *f, const struct batch *b)
{
	struct round *r = &f->round[f->rounds++];
	double weights[SHARDS_MAX];

	*r = (struct round){ .share = { 0 } };
	for (size_t k = 0; k < f->shards; k++)
		weights[k] = f->shard[k].weigh;
	shards_share(weights, f->shards, f->many, &f->rng, r->share);
	if (b != NULL)
		keep_told(f, b);
	for (size_t k = 0; k < f->shards; k++) {
		struct shard *s = &f->shard[k];

		s->owed |= b != NULL;
		/* not before what is to be asked first, see fetch() */
		if ((is_asked(s) || f->rounds == 1) &&
		    s->link.call.fd != -1)
			ask(f, s, r);
	}
}

/*
 * One experience is no good: row i is a copy of row 0, which is the first that
 * is drawn, or, that one, of zeros, and counts nothing.  (What weighs 0 may
 * still not be infinite.)
 */
static void
leave_out(struct feed *f, struct batch *b, size_t i, const char *why)
{
	const size_t wide = f->cf->env->obs;
	const struct experience e = rows_get(&b->rows, 0, wide);

	f->why_bad = why;
	f->bad++;
	b->weight[i] = 0;
	if (i > 0) {
		rows_put(&b->rows, i, wide, &e);
		return;
	}
	memset(b->rows.obs, 0, wide * sizeof(*b->rows.obs));
	memset(b->rows.next, 0, wide * sizeof(*b->rows.next));
	memset(b->rows.action, 0, sizeof(*b->rows.action));
	b->rows.reward[0] = b->rows.go[0] = 0;
}

/* The n experiences that are drawn from the `at`-th on. */
static bool
blobs(struct feed *f, struct respcall *c, struct batch *b, size_t at, size_t n)
{
	struct respreply r;
	const char *why;

	if (!respcall_want(c, RESPREPLY_ARRAY, &r, "PER.SAMPLE"))
		return false;
	if ((uint64_t)r.n != n) {
		c->refused = true;
		return respcall_fail(c, "PER.SAMPLE: %" PRId64
		    " experiences, not %zu", r.n, n);
	}
	for (size_t i = at; i < at + n; i++) {
		const size_t row = feed_place(f, i);
		size_t len;

		if (!respcall_want(c, RESPREPLY_BULK, &r, "PER.SAMPLE"))
			return false;
		len = (size_t)r.n;
		if (len == f->bytes && !respcall_body(c, f->blob, len,
		    "PER.SAMPLE"))
			return false;
		why = feed_row(f, 0, len, &b->rows, row);
		b->weight[row] = why == NULL;
		if (why != NULL)
			leave_out(f, b, row, why);
	}
	return true;
}

/* The chances of what was drawn: they are some, and become the union's. */
static bool
chances(struct feed *f, struct respcall *c, size_t at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const float p = vec_get((const uint8_t *)f->numbers, i);

		if (!(p > 0 && p <= 1)) {
			c->refused = true;
			return respcall_fail(c, "PER.SAMPLE: a chance that is "
			    "none");
		}
		f->chance[at + i] = (double)p;
	}
	shards_chances(f->chance + at, n, n, f->many);
	return true;
}

/* What the table weighed before that draw. */
static bool
summed(struct shard *s)
{
	struct respcall *c = &s->link.call;
	int64_t got[3] = { 0 };
	struct respreply r;

	if (!respcall_want(c, RESPREPLY_ARRAY, &r, "PER.SAMPLE"))
		return false;
	for (int64_t i = 0, n = r.n; i < n && i < 3; i++) {
		if (!respcall_want(c, RESPREPLY_INT, &r, "PER.SAMPLE"))
			return false;
		got[i] = r.n;
	}
	return weigh(s, got[0], got[1]) && respcall_rest(c, "PER.SAMPLE");
}

/* What a draw of n is made of, of which the first is the `at`-th of all. */
static bool
drawn(struct feed *f, struct shard *s, struct batch *b, size_t at, size_t n)
{
	struct respcall *c = &s->link.call;

	if (!bulk(c, f->ids, n * sizeof(*f->ids), "PER.SAMPLE"))
		return false;
	for (size_t i = 0; i < n; i++)
		b->id[feed_place(f, at + i)] =
		    stream_get_le((const uint8_t *)&f->ids[i], 8);
	/* weights are the union's, not the shard's */
	return bulk(c, f->numbers, n * sizeof(*f->numbers), "PER.SAMPLE") &&
	    chances(f, c, at, n) &&
	    bulk(c, f->numbers, n * sizeof(*f->numbers), "PER.SAMPLE") &&
	    blobs(f, c, b, at, n) && summed(s);
}

/* A share of a batch that is to come. */
struct piece {
	struct feed *f;
	struct batch *b;
	struct shard *s;
	size_t at;		/* its first of all that is drawn */
	bool come;
};

/* A cluster's word to ask elsewhere, or later: link_do() does. */
static bool
led(struct shard *s, const char *text)
{
	s->link.call.refused = true;
	return respcall_fail(&s->link.call, "PER.SAMPLE: %s", text);
}

/* The next answer of a shard, up to its first element. */
static bool
next(struct shard *s, struct respreply *r)
{
	struct respcall *c = &s->link.call;
	const bool told = s->told[0], owed = s->owed;

	s->told[0] = s->told[1];
	s->asked--;
	s->owed |= told;	/* until it is taken */
	/* an error here is one there, too */
	if (told && (!respcall_next(c, r, "PER.UPDATE") ||
	    (r->kind == RESPREPLY_ERROR && link_leads(r->text)) ||
	    !respcall_rest(c, "PER.UPDATE")))
		return c->fd != -1 && led(s, r->text);
	s->owed = owed;
	return respcall_next(c, r, "PER.SAMPLE");
}

/*
 * The answer is no draw: a limit, or a table that is gone.  An answer that is
 * still to come goes unread, unless it is to the same question.
 */
static bool
refused(struct feed *f, struct shard *s, const char *text)
{
	const size_t k = (size_t)(s - f->shard);
	struct respreply r;

	if (link_leads(text))
		return led(s, text);
	snprintf(f->waiting, sizeof(f->waiting), "%s", text);
	f->idle = &s->link;
	if (strncmp(text, "LIMIT", 5) == 0)
		f->limits++;
	else	/* the server may have begun anew: so do we */
		s->made = s->warm = false;
	while (s->asked > 0 && (!s->warm ||
	    f->round[0].share[k] != f->round[1].share[k])) {
		if (!next(s, &r) || !respcall_rest(&s->link.call,
		    "PER.SAMPLE"))
			return false;
	}
	return true;
}

/* A shard's share of round 0: what is there of it is in p->come. */
static bool
fetch(struct link *k, void *arg)
{
	struct piece *p = arg;
	struct feed *f = p->f;
	struct shard *s = p->s;
	const struct round *round = &f->round[0];
	const size_t n = round->share[s - f->shard];
	struct respcall *c = &k->call;
	uint64_t have;
	struct respreply r;

	if (!is_asked(s) && !s->warm && !warm_up(f, s))
		return false;
	if (!is_asked(s) && !s->warm)
		return true;
	if (!is_asked(s) && !ask(f, s, round))
		return false;
	if (!next(s, &r))
		return false;
	if (r.kind == RESPREPLY_ERROR)
		return refused(f, s, r.text);
	if (r.kind != RESPREPLY_ARRAY || (n > 0 && r.n != 5)) {
		c->refused = true;
		return respcall_fail(c, "PER.SAMPLE: an answer of another "
		    "kind");
	}
	p->come = n == 0 ? look(s, &have) : drawn(f, s, p->b, p->at, n);
	return p->come;
}

/* Weights over the union of all that has come; what is left out has none. */
static void
weights(struct feed *f, struct batch *b)
{
	const struct settings *set = &f->cf->set;

	if (!set->by_priority)
		return;
	shards_weights(f->chance, f->many, offp_beta(set, f->draws),
	    f->numbers);
	for (size_t i = 0; i < f->many; i++)
		b->weight[feed_place(f, i)] *= f->numbers[i];
}

/* Round 0, as far as it comes; and then the next one is it. */
static enum feed_result
answer(struct feed *f, struct batch *b)
{
	struct round *r = &f->round[0];
	bool whole = true;
	size_t at = 0;

	for (size_t k = 0; k < f->shards; at += r->share[k++]) {
		struct piece p = { f, b, &f->shard[k], at, false };

		f->lost = &p.s->link;
		if (!r->come[k] && !link_do(&p.s->link, fetch, &p))
			return FEED_LOST;
		r->come[k] |= p.come;
		whole &= r->come[k];
	}
	if (!whole)
		return FEED_NOT_YET;
	weights(f, b);
	memcpy(f->drawn[b - f->batch], r->share, sizeof(r->share));
	f->round[0] = f->round[1];
	f->rounds--;
	return FEED_DRAWN;
}

static bool
warm_up_one(struct link *k, void *arg)
{
	const struct piece *p = arg;

	(void)k;
	return warm_up(p->f, p->s);
}

/* Before the first round all shards have their part. */
static enum feed_result
warm(struct feed *f)
{
	bool all = true;

	for (size_t k = 0; k < f->shards; k++) {
		struct piece p = { .f = f, .s = &f->shard[k] };

		f->lost = &p.s->link;
		if (!p.s->warm && !link_do(&p.s->link, warm_up_one, &p))
			return FEED_LOST;
		all &= p.s->warm;
	}
	return all ? FEED_DRAWN : FEED_NOT_YET;
}

enum feed_result
feed_table(struct feed *f, struct batch *b, bool judged)
{
	const uint64_t begun = timer_mono_ns();
	enum feed_result rc = f->rounds > 0 ? FEED_DRAWN : warm(f);

	if (rc != FEED_DRAWN)
		return rc;
	if (f->rounds == 0)
		feed_ask(f, judged ? b : NULL);
	rc = answer(f, b);
	if (rc != FEED_DRAWN)
		return rc;
	latency_add(&f->exchange, timer_mono_ns() - begun);
	if (f->how == FEED_ASK && f->rounds == 0)
		feed_ask(f, NULL);
	return FEED_DRAWN;
}

static bool
fits(struct link *k, void *arg)
{
	const struct piece *p = arg;

	(void)k;
	return feed_fits(p->f, p->s);
}

bool
feed_check(struct feed *f)
{
	for (size_t k = 0; k < f->shards; k++) {
		struct piece p = { .f = f, .s = &f->shard[k] };

		f->lost = &p.s->link;
		if (!link_do(&p.s->link, fits, &p))
			return false;
	}
	return true;
}

static bool
drop(struct link *k, void *arg)
{
	const struct shard *s = arg;
	struct respreply r;

	respcall_words(&k->call, (const char *[]){ "PER.DROP",
	    s->names.table, NULL });
	if (!respcall_send(&k->call, "PER.DROP") ||
	    !respcall_next(&k->call, &r, "PER.DROP"))
		return false;
	if (r.kind == RESPREPLY_ERROR && strncmp(r.text, "ERR no table",
	    12) != 0)
		return link_refuse(k, "PER.DROP", &r);
	return respcall_rest(&k->call, "PER.DROP");
}

bool
feed_clear(struct feed *f)
{
	for (size_t k = 1; k < f->shards; k++) {
		f->lost = &f->shard[k].link;
		if (!link_do(&f->shard[k].link, drop, &f->shard[k]))
			return false;
	}
	return true;
}
