/* feed-table - experiences in a table of innet-memory, which draws them */
#include "config.h"


#include "cmd/innet-agent/apex/feed.h"
#include "common/base/vec.h"
#include "common/wire/stream.h"

/* The table is to be there: made, unless it was. */
static bool
make(struct feed *f)
{
	const struct conf *cf = f->cf;
	const struct remote *rm = &cf->remote;
	const bool bounded = rm->lo > 0 || rm->hi > 0;
	struct respcall *c = &f->link.call;
	struct respreply r;

	respcall_begin(c, bounded ? 13 : 8);
	respcall_word(c, "PER.CREATE");
	respcall_word(c, REMOTE_TABLE);
	respcall_word(c, "capacity");
	respcall_count(c, cf->set.buffer);
	respcall_word(c, "alpha");
	respcall_real(c, cf->set.alpha);
	respcall_word(c, "selector");
	respcall_word(c, cf->set.by_priority ? "per" : "uniform");
	if (bounded) {
		respcall_word(c, "ratio");
		respcall_real(c, rm->lo);
		respcall_real(c, rm->hi);
		respcall_word(c, "slack");
		respcall_count(c, 2 * cf->set.warmup);
	}
	if (!respcall_send(c, "PER.CREATE") ||
	    !respcall_next(c, &r, "PER.CREATE"))
		return false;
	if (r.kind != RESPREPLY_ERROR)
		return respcall_rest(c, "PER.CREATE");
	if (strstr(r.text, " already") != NULL)
		return true;
	c->refused = true;
	return respcall_fail(c, "PER.CREATE: %s", r.text);
}

/* Its next element is a string of n bytes: at to. */
static bool
bulk(struct feed *f, void *to, size_t n, const char *what)
{
	struct respcall *c = &f->link.call;
	struct respreply r;

	if (!respcall_want(c, RESPREPLY_BULK, &r, what))
		return false;
	if ((size_t)r.n == n)
		return respcall_body(c, to, n, what);
	c->refused = true;
	return respcall_fail(c, "%s: %zu bytes wanted, not %" PRId64, what,
	    n, r.n);
}

/* How many experiences there are, in *n. */
static bool
count(struct feed *f, uint64_t *n)
{
	struct respcall *c = &f->link.call;
	struct respreply r;
	char name[4];

	*n = 0;
	respcall_words(c, (const char *[]){ "PER.INFO", REMOTE_TABLE, NULL });
	if (!respcall_send(c, "PER.INFO") ||
	    !respcall_want(c, RESPREPLY_ARRAY, &r, "PER.INFO"))
		return false;
	while (c->in.due > 0) {
		bool ours;

		if (!respcall_next(c, &r, "PER.INFO"))
			return false;
		ours = r.kind == RESPREPLY_BULK && r.n == 4 &&
		    c->in.due % 2 == 1;
		if (ours && !respcall_body(c, name, 4, "PER.INFO"))
			return false;
		if (!ours || memcmp(name, "have", 4) != 0)
			continue;
		if (!respcall_next(c, &r, "PER.INFO"))
			return false;
		*n = r.kind == RESPREPLY_INT ? (uint64_t)r.n : 0;
	}
	return true;
}

bool
feed_ask(struct feed *f, const struct batch *b)
{
	const struct settings *set = &f->cf->set;
	struct respcall *c = &f->link.call;

	if (b != NULL) {
		for (size_t i = 0; i < set->batch; i++) {
			stream_put_le((uint8_t *)&f->ids[i], b->id[i], 8);
			vec_set((uint8_t *)f->numbers, i, b->priority[i]);
		}
		respcall_begin(c, 5);
		respcall_word(c, "PER.UPDATE");
		respcall_word(c, REMOTE_TABLE);
		respcall_word(c, "binary");
		respcall_arg(c, f->ids, set->batch * sizeof(*f->ids));
		respcall_arg(c, f->numbers, set->batch * sizeof(*f->numbers));
	}
	respcall_begin(c, 9);
	respcall_word(c, "PER.SAMPLE");
	respcall_word(c, REMOTE_TABLE);
	respcall_count(c, set->batch);
	respcall_word(c, "beta");
	respcall_real(c, offp_beta(set, f->draws));
	respcall_word(c, "stratified");
	respcall_word(c, "binary");
	respcall_word(c, "timeout");
	respcall_count(c, REMOTE_PATIENCE_MS);
	f->told[f->asked++] = b != NULL;
	return respcall_send(c, "PER.SAMPLE");
}

/*
 * One experience is no good: row i is a copy of row 0, or, the first, of
 * zeros, and counts nothing.  (What weighs 0 may still not be infinite.)
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

static bool
blobs(struct feed *f, struct batch *b)
{
	struct respcall *c = &f->link.call;
	struct respreply r;
	const char *why;

	if (!respcall_want(c, RESPREPLY_ARRAY, &r, "PER.SAMPLE"))
		return false;
	if ((uint64_t)r.n != f->cf->set.batch) {
		c->refused = true;
		return respcall_fail(c, "PER.SAMPLE: %" PRId64
		    " experiences, not %" PRIu64, r.n, f->cf->set.batch);
	}
	for (size_t i = 0; i < f->cf->set.batch; i++) {
		size_t len;

		if (!respcall_want(c, RESPREPLY_BULK, &r, "PER.SAMPLE"))
			return false;
		len = (size_t)r.n;
		if (len == f->bytes && !respcall_body(c, f->blob, len,
		    "PER.SAMPLE"))
			return false;
		why = feed_row(f, 0, len, &b->rows, i);
		if (why != NULL)
			leave_out(f, b, i, why);
	}
	return respcall_rest(c, "PER.SAMPLE");
}

/* What a draw is made of. */
static bool
drawn(struct feed *f, struct batch *b)
{
	const size_t n = f->cf->set.batch;

	if (!bulk(f, f->ids, n * sizeof(*f->ids), "PER.SAMPLE"))
		return false;
	for (size_t i = 0; i < n; i++)
		b->id[i] = stream_get_le((const uint8_t *)&f->ids[i], 8);
	if (!bulk(f, f->numbers, n * sizeof(*f->numbers), "PER.SAMPLE") ||
	    !bulk(f, f->numbers, n * sizeof(*f->numbers), "PER.SAMPLE"))
		return false;
	for (size_t i = 0; i < n; i++) {
		const float w = vec_get((const uint8_t *)f->numbers, i);

		b->weight[i] = w >= 0 && w <= 1 ? w : 0;
	}
	return blobs(f, b);
}

/* The answer, if it is no draw: a limit, or a table that is gone. */
static enum feed_result
refusal(struct feed *f, const char *text)
{
	snprintf(f->waiting, sizeof(f->waiting), "%s", text);
	if (strncmp(text, "LIMIT", 5) == 0)
		f->limits++;
	else if (f->warm)	/* the server may have begun anew: so do we */
		f->made = f->warm = false;
	else
		return FEED_LOST;
	return FEED_NOT_YET;
}

/* Is the table there, and does it hold enough? */
static enum feed_result
warm_up(struct feed *f)
{
	uint64_t n;

	if (!f->made && !make(f))
		return FEED_LOST;
	f->made = true;
	if (!count(f, &n))
		return FEED_LOST;
	f->warm = n >= f->cf->set.warmup;
	snprintf(f->waiting, sizeof(f->waiting), "%" PRIu64
	    " experiences of %" PRIu64, n, f->cf->set.warmup);
	return f->warm ? FEED_DRAWN : FEED_NOT_YET;
}

/* The first of the answers that are to come. */
static enum feed_result
answer(struct feed *f, struct batch *b)
{
	struct respcall *c = &f->link.call;
	const bool told = f->told[0];
	struct respreply r;

	f->told[0] = f->told[1];
	f->asked--;
	/* an error here is one there, too */
	if (told && (!respcall_next(c, &r, "PER.UPDATE") ||
	    !respcall_rest(c, "PER.UPDATE")))
		return FEED_LOST;
	if (!respcall_next(c, &r, "PER.SAMPLE"))
		return FEED_LOST;
	if (r.kind == RESPREPLY_ERROR)
		return refusal(f, r.text);
	if (r.kind != RESPREPLY_ARRAY || r.n != 4) {
		c->refused = true;
		respcall_fail(c, "PER.SAMPLE: an answer of another kind");
		return FEED_LOST;
	}
	return drawn(f, b) ? FEED_DRAWN : FEED_LOST;
}

/* What was asked over a connection that is lost will not come. */
static void
begin(struct feed *f)
{
	if (f->opened != f->link.opened)
		f->asked = 0;
	f->opened = f->link.opened;
}

enum feed_result
feed_table(struct feed *f, struct batch *b, bool judged)
{
	const uint64_t begun = timer_mono_ns();
	enum feed_result rc = f->warm ? FEED_DRAWN : warm_up(f);

	begin(f);
	if (rc == FEED_DRAWN)
		rc = feed_ask(f, judged ? b : NULL) ? answer(f, b) :
		    FEED_LOST;
	if (rc == FEED_DRAWN)
		latency_add(&f->exchange, timer_mono_ns() - begun);
	return rc;
}

enum feed_result
feed_asked(struct feed *f, struct batch *b)
{
	const uint64_t begun = timer_mono_ns();
	enum feed_result rc = FEED_DRAWN;

	begin(f);
	if (f->asked == 0 && !f->warm)
		rc = warm_up(f);
	if (rc == FEED_DRAWN && f->asked == 0 && !feed_ask(f, NULL))
		return FEED_LOST;
	if (rc == FEED_DRAWN)
		rc = answer(f, b);
	if (rc != FEED_DRAWN)
		return rc;
	latency_add(&f->exchange, timer_mono_ns() - begun);
	return f->asked > 0 || feed_ask(f, NULL) ? FEED_DRAWN : FEED_LOST;
}
