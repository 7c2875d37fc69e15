/*
 * sampler-table.c - create tables of innet-memory, and draw batches from them
 */
#include "config.h"


#include "cmd/innet-agent/apex/codec.h"
#include "cmd/innet-agent/apex/sampler-table.h"
#include "common/base/message.h"
#include "common/base/num.h"
#include "common/base/vec.h"
#include "common/wire/stream.h"

enum { ITEM_BYTES = 256 }; /* number of bytes of overhead that the server needs
			    * for each experience */

/*
 * Append the bounds on the number of draws per experience, which are five
 * arguments.
 */
static void
append_bounds(const struct sampler *sm, struct respcall *c)
{
	const struct conf *cf = sm->cf;

	respcall_word(c, "ratio");
	respcall_real(c, cf->remote.lo);
	respcall_real(c, cf->remote.hi);
	respcall_word(c, "slack");
	respcall_count(c, 2 * sampler_part(sm, cf->hyper.warmup));
}

/* Set the bounds of this learner on a table that existed before. */
static bool
send_bounds(struct sampler *sm, struct shard *s)
{
	struct respcall *c = &s->link.call;
	struct respreply r;

	respcall_begin(c, 7);
	respcall_word(c, "PER.LIMIT");
	respcall_word(c, s->names.table);
	append_bounds(sm, c);
	return respcall_send(c, "PER.LIMIT") &&
	    respcall_want(c, RESPREPLY_STATUS, &r, "PER.LIMIT");
}

/*
 * Read the server's memory limit in bytes.  Set *bytes to 0 if there is no
 * limit or if the server does not report it.
 */
static bool
read_server_limit(struct respcall *c, uint64_t *bytes)
{
	const char *what = "CONFIG GET";
	char text[24] = "";
	struct respreply r;

	*bytes = 0;
	respcall_words(c, (const char *[]){ "CONFIG", "GET", "maxmemory",
	    NULL });
	if (!respcall_send(c, what) || !respcall_next(c, &r, what))
		return false;
	if (r.kind != RESPREPLY_ARRAY || r.n != 2)
		return respcall_rest(c, what);
	if (!respcall_want(c, RESPREPLY_BULK, &r, what) ||
	    !respcall_want(c, RESPREPLY_BULK, &r, what))
		return false;
	if ((size_t)r.n < sizeof(text) &&
	    !respcall_body(c, text, (size_t)r.n, what))
		return false;
	num_u64(text, 0, UINT64_MAX, bytes);	/* on failure, 0 */
	return respcall_rest(c, what);
}

/*
 * Estimate the number of bytes that the server needs for an experience and its
 * slot.  The estimate tends to be too high rather than too low.
 */
static uint64_t
experience_cost(const struct sampler *sm)
{
	const size_t frame = codec_frame(sm->cf->env);

	/* a push repeats some frames of the previous push */
	return sm->bytes - frame + frame / 4 + ITEM_BYTES;
}

/* The memory limit and the capacity of a table that will be created. */
struct table_size {
	uint64_t bytes;		/* the server's memory limit; 0: no limit */
	uint64_t capacity;	/* number of experiences */
};

/*
 * Choose the capacity of the table of s.  This is the requested capacity or, if
 * that is too large, the largest capacity that leaves a tenth of the server's
 * memory free, and also leaves room for the parameters.
 */
static bool
choose_size(struct sampler *sm, struct shard *s, struct table_size *to)
{
	const struct hyperparameters *hyper = &sm->cf->hyper;
	struct respcall *c = &s->link.call;
	uint64_t most;

	to->capacity = sampler_part(sm, hyper->buffer);
	if (!read_server_limit(c, &to->bytes))
		return false;
	if (to->bytes == 0)
		return true;
	most = to->bytes - to->bytes / 10;
	most =
	    most > sm->reserve ? (most - sm->reserve) / experience_cost(sm) : 0;
	if (most >= to->capacity)
		return true;
	if (most < sampler_part(sm, hyper->warmup) || most < 1) {
		c->refused = true;
		return respcall_fail(c, "the server's limit of %" PRIu64 " "
		    "bytes has room for %" PRIu64 " experiences, but training "
		    "needs %" PRIu64 " to start; lower --warmup or raise the "
		    "server's --memory", to->bytes, most,
		    sampler_part(sm, hyper->warmup));
	}
	to->capacity = most;
	return true;
}

/* The settings with which a table was created, as texts in a PER.INFO reply. */
enum { SELECTOR, CAPACITY, ALPHA, INFO_NAMES, TEXT_BYTES = 32 };
static const char *const info_names[INFO_NAMES] = { "selector",
	"capacity", "alpha" };

/*
 * Read the next name or value of the reply.  A text that is too long becomes
 * "".
 */
static bool
read_info_text(struct respcall *c, char to[TEXT_BYTES])
{
	struct respreply r;

	memset(to, 0, TEXT_BYTES);
	if (!respcall_next(c, &r, "PER.INFO"))
		return false;
	if (r.kind == RESPREPLY_INT)
		snprintf(to, TEXT_BYTES, "%" PRId64, r.n);
	return r.kind != RESPREPLY_BULK || (size_t)r.n >= TEXT_BYTES ||
	    respcall_body(c, to, (size_t)r.n, "PER.INFO");
}

/* Read the whole reply, and store the members of info_names in `is`. */
static bool
read_info_texts(struct respcall *c, char is[INFO_NAMES][TEXT_BYTES])
{
	while (c->in.due > 0) {
		char name[TEXT_BYTES], value[TEXT_BYTES];

		if (!read_info_text(c, name) || !read_info_text(c, value))
			return false;
		for (size_t i = 0; i < INFO_NAMES; i++) {
			if (strcmp(name, info_names[i]) == 0)
				memcpy(is[i], value, TEXT_BYTES);
		}
	}
	return true;
}

/*
 * Fail because the setting `what` of the table differs from the options.  The
 * text `hint` names an alternative to --clear.
 */
static bool
refuse_table(struct shard *s, const char *what, const char *is,
    const char *want, const char *hint)
{
	struct respcall *c = &s->link.call;

	c->refused = true;
	return respcall_fail(c, "%s: the %s of the table is %s, not %s; give "
	    "--clear to remove the table%s", s->names.table, what, is, want,
	    hint);
}

/* Check that the settings of the table match the learner and the options. */
static bool
compare_table(struct sampler *sm, struct shard *s,
    char is[INFO_NAMES][TEXT_BYTES])
{
	const struct conf *cf = sm->cf;
	const char *pick = cf->hyper.by_priority ? "per" : "uniform";
	char want[TEXT_BYTES];
	struct table_size size;
	uint64_t n = 0;

	if (strcmp(is[SELECTOR], pick) != 0)
		return refuse_table(s, info_names[SELECTOR], is[SELECTOR], pick,
		    strcmp(is[SELECTOR], "per") == 0 ?
		    ", or --replay per to use it" :
		    strcmp(is[SELECTOR], "uniform") == 0 ?
		    ", or --replay uniform to use it" : "");
	snprintf(want, sizeof(want), "%.9g", cf->hyper.alpha);
	if (cf->alpha_given && strcmp(is[ALPHA], want) != 0)
		return refuse_table(s, info_names[ALPHA], is[ALPHA], want,
		    ", or leave out --alpha to use it");
	snprintf(want, sizeof(want), "%" PRIu64, sampler_part(sm,
	    cf->hyper.buffer));
	if (!cf->buffer_given || strcmp(is[CAPACITY], want) == 0)
		return true;
	if (!choose_size(sm, s, &size))
		return false;
	num_u64(is[CAPACITY], 0, UINT64_MAX, &n);	/* failure: n stays 0 */
	/* after a restart, the server can have a different memory limit */
	if (n == s->capacity || n == size.capacity) {
		s->capacity = n;
		return true;
	}
	return refuse_table(s, info_names[CAPACITY], is[CAPACITY],
	    want, ", or leave out --buffer to use it");
}

/* Check the table of s against the options, if the table exists. */
static bool
check_table(struct sampler *sm, struct shard *s)
{
	struct respcall *c = &s->link.call;
	char is[INFO_NAMES][TEXT_BYTES] = { "" };
	struct respreply r;

	respcall_words(c, (const char *[]){ "PER.INFO", s->names.table,
	    NULL });
	if (!respcall_send(c, "PER.INFO") ||
	    !respcall_next(c, &r, "PER.INFO"))
		return false;
	if (r.kind == RESPREPLY_ERROR && strncmp(r.text, "ERR no table",
	    12) == 0)
		return true;
	if (r.kind != RESPREPLY_ARRAY)
		return link_refuse(&s->link, "PER.INFO", &r);
	return read_info_texts(c, is) && compare_table(sm, s, is);
}

/* Warn if the server has room for fewer experiences than requested. */
static void
warn_of_size(const struct sampler *sm, const struct shard *s,
    const struct table_size *size)
{
	const uint64_t asked = sampler_part(sm, sm->cf->hyper.buffer);

	if (size->capacity < asked)
		warnx("%s: the server's limit of %" PRIu64 " bytes has room "
		    "for %" PRIu64 " of %" PRIu64 " experiences; the table "
		    "keeps as many as fit",
		    s->link.call.name, size->bytes, size->capacity, asked);
}

/* Append the request that creates the table. */
static void
append_create(const struct sampler *sm, struct shard *s, uint64_t capacity,
    bool bounded)
{
	const struct hyperparameters *hyper = &sm->cf->hyper;
	struct respcall *c = &s->link.call;

	respcall_begin(c, bounded ? 13 : 8);
	respcall_word(c, "PER.CREATE");
	respcall_word(c, s->names.table);
	respcall_word(c, "capacity");
	respcall_count(c, capacity);
	respcall_word(c, "alpha");
	respcall_real(c, hyper->alpha);
	respcall_word(c, "selector");
	respcall_word(c, hyper->by_priority ? "per" : "uniform");
	if (bounded)
		append_bounds(sm, c);
}

/*
 * Append the request that makes an empty table store frames.  A table that is
 * not empty already has frames, or has experiences of another kind.
 */
static void
append_frames(struct shard *s, size_t frame)
{
	struct respcall *c = &s->link.call;

	respcall_begin(c, 4);
	respcall_word(c, "PER.FRAMES");
	respcall_word(c, s->names.table);
	respcall_count(c, frame);
	respcall_count(c, 1);
}

/* Create the table of s, or check the table that exists. */
static bool
make_table(struct sampler *sm, struct shard *s)
{
	const struct remote *rm = &sm->cf->remote;
	const bool bounded = rm->lo > 0 || rm->hi > 0;
	const size_t frame = codec_frame(sm->cf->env);
	struct respcall *c = &s->link.call;
	struct respreply r;
	struct table_size size;
	bool there;

	if (!choose_size(sm, s, &size))
		return false;
	append_create(sm, s, size.capacity, bounded);
	if (frame > 0)
		append_frames(s, frame);
	if (!respcall_send(c, "PER.CREATE") ||
	    !respcall_next(c, &r, "PER.CREATE"))
		return false;
	there = r.kind == RESPREPLY_ERROR;
	if (there && strstr(r.text, " already") == NULL)
		return link_refuse(&s->link, "PER.CREATE", &r);
	if (!respcall_rest(c, "PER.CREATE"))
		return false;
	if (frame > 0 && !respcall_next(c, &r, "PER.FRAMES"))
		return false;
	if (frame > 0 && r.kind == RESPREPLY_ERROR && !there)
		return link_refuse(&s->link, "PER.FRAMES", &r);
	if (there && (!check_table(sm, s) || (bounded && !send_bounds(sm, s))))
		return false;
	if (!there)
		s->capacity = size.capacity;
	if (!there || sm->cf->buffer_given)
		warn_of_size(sm, s, &size);
	return true;
}

/* Read the next element, which must be a string of n bytes, into `to`. */
static bool
read_bulk(struct respcall *c, void *to, size_t n, const char *what)
{
	struct respreply r;

	if (!respcall_want(c, RESPREPLY_BULK, &r, what))
		return false;
	if ((size_t)r.n == n)
		return respcall_body(c, to, n, what);
	c->refused = true;
	return respcall_fail(c, "%s: expected %zu bytes, got %" PRId64, what,
	    n, r.n);
}

/*
 * Set the weight of shard s to sum * 2^shift.  Return false if this is not a
 * valid weight.
 */
static bool
set_weight(struct shard *s, int64_t sum, int64_t shift)
{
	struct respcall *c = &s->link.call;

	if (sum >= 0 && shift >= -1000 && shift <= 1000) {
		s->weight = shards_weight((uint64_t)sum, shift);
		return true;
	}
	c->refused = true;
	return respcall_fail(c, "%s: the sum of the priorities is not valid",
	    s->names.table);
}

/*
 * Read a reply to PER.INFO.  Set *have to the number of experiences, and set
 * the weight of s.
 */
static bool
read_info(struct shard *s, uint64_t *have)
{
	enum { HAVE, SUM, SHIFT, INFOS };
	static const char *const known[INFOS] = { "have", "sum", "shift" };
	struct respcall *c = &s->link.call;
	int64_t got[INFOS] = { 0 };
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
		while (which < INFOS && strcmp(known[which], name) != 0)
			which++;
		if (which == INFOS)
			continue;
		if (!respcall_want(c, RESPREPLY_INT, &r, "PER.INFO"))
			return false;
		got[which] = r.n;
	}
	*have = (uint64_t)got[HAVE];
	return set_weight(s, got[SUM], got[SHIFT]);
}

static void
append_info(struct shard *s)
{
	respcall_words(&s->link.call, (const char *[]){ "PER.INFO",
	    s->names.table, NULL });
}

/*
 * Create the table of s if it is missing.  Set s->warm if the table has its
 * share of the experiences that are needed before learning starts.
 */
static bool
check_warm(struct sampler *sm, struct shard *s)
{
	const uint64_t enough = sampler_part(sm, sm->cf->hyper.warmup);
	struct respcall *c = &s->link.call;
	struct respreply r;
	uint64_t n;

	if (!s->exists && !make_table(sm, s))
		return false;
	s->exists = true;
	append_info(s);
	if (!respcall_send(c, "PER.INFO") ||
	    !respcall_want(c, RESPREPLY_ARRAY, &r, "PER.INFO") ||
	    !read_info(s, &n))
		return false;
	s->warm = n >= enough;
	if (s->warm)
		return true;
	snprintf(sm->waiting, sizeof(sm->waiting), "the memory has %" PRIu64 " "
	    "experiences and needs %" PRIu64, n, enough);
	sm->idle = &s->link;
	return true;
}

/* Copy the priorities of b, because the shards have not received them yet. */
static void
keep_priorities(struct sampler *sm, const struct batch *b)
{
	memcpy(sm->priority_counts, sm->drawn[b - sm->batch],
	    sizeof(sm->priority_counts));
	for (size_t i = 0; i < sm->rows; i++) {
		const size_t at = sampler_row(sm, i);

		stream_put_le((uint8_t *)&sm->priority_ids[i], b->id[at], 8);
		vec_set((uint8_t *)sm->priority_values, i, b->priority[at]);
	}
}

/*
 * Append the priorities that belong to shard s.  Return false if there are
 * none.
 */
static bool
append_priorities(struct sampler *sm, struct shard *s)
{
	const size_t k = (size_t)(s - sm->shard), n = sm->priority_counts[k];
	struct respcall *c = &s->link.call;
	size_t from = 0;

	for (size_t i = 0; i < k; i++)
		from += sm->priority_counts[i];
	if (n == 0)
		return false;
	respcall_begin(c, 5);
	respcall_word(c, "PER.UPDATE");
	respcall_word(c, s->names.table);
	respcall_word(c, "binary");
	respcall_arg(c, sm->priority_ids + from, n * sizeof(*sm->priority_ids));
	respcall_arg(c, sm->priority_values + from, n *
	    sizeof(*sm->priority_values));
	return true;
}

/*
 * Request the share of s in round r.  If the share is empty, request the weight
 * of s instead, because the weight may have changed.
 */
static bool
request_share(struct sampler *sm, struct shard *s, const struct round *r)
{
	struct respcall *c = &s->link.call;
	const size_t n = r->share[s - sm->shard];
	const bool sent = s->owes_priorities && append_priorities(sm, s);

	if (n == 0) {
		append_info(s);
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
	s->sends_priorities[s->requests++] = sent;
	s->owes_priorities &= !sent;
	return true;
}

/*
 * Return whether a reply of s is outstanding.  Requests on a connection that
 * was lost get no reply; priorities that were sent with them are sent again.
 */
static bool
has_request(struct shard *s)
{
	if (s->connection != s->link.opened || s->link.call.fd == -1) {
		while (s->requests > 0)
			s->owes_priorities |=
			    s->sends_priorities[--s->requests];
	}
	s->connection = s->link.opened;
	return s->requests > 0;
}

void
sampler_table_request(struct sampler *sm, const struct batch *b)
{
	struct round *r = &sm->round[sm->rounds++];
	double weights[SHARDS_MAX];

	*r = (struct round){ .share = { 0 } };
	for (size_t k = 0; k < sm->shards; k++)
		weights[k] = sm->shard[k].weight;
	shards_divide(weights, sm->shards, sm->rows, &sm->rng, r->share);
	if (b != NULL)
		keep_priorities(sm, b);
	for (size_t k = 0; k < sm->shards; k++) {
		struct shard *s = &sm->shard[k];

		s->owes_priorities |= b != NULL;
		/*
		 * if neither is true, receive_share() first sends an older
		 * request
		 */
		if ((has_request(s) || sm->rounds == 1) &&
		    s->link.call.fd != -1)
			request_share(sm, s, r);
	}
}

/*
 * Leave out an invalid experience: row i gets the weight 0 and a copy of row 0,
 * the first experience of the draw.  If i is 0, the row gets zeros.  (The
 * numbers in a row must be finite even if its weight is 0.)
 */
static void
leave_out_row(struct sampler *sm, struct batch *b, size_t i, const char *why)
{
	const size_t wide = sm->cf->env->obs;
	const struct experience e = rows_get(&b->rows, 0, wide);

	sm->why_bad = why;
	sm->bad++;
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

/* Read n experiences; the first experience has index `at` in the draw. */
static bool
read_experiences(struct sampler *sm, struct respcall *c, struct batch *b,
    size_t at, size_t n)
{
	struct respreply r;
	const char *why;

	if (!respcall_want(c, RESPREPLY_ARRAY, &r, "PER.SAMPLE"))
		return false;
	if ((uint64_t)r.n != n) {
		c->refused = true;
		return respcall_fail(c, "PER.SAMPLE: got %" PRId64 " "
		    "experiences, not %zu", r.n, n);
	}
	for (size_t i = at; i < at + n; i++) {
		const size_t row = sampler_row(sm, i);
		size_t len;

		if (!respcall_want(c, RESPREPLY_BULK, &r, "PER.SAMPLE"))
			return false;
		len = (size_t)r.n;
		if (len == sm->bytes && !respcall_body(c, sm->blob, len,
		    "PER.SAMPLE"))
			return false;
		why = sampler_decode(sm, 0, len, &b->rows, row);
		b->weight[row] = why == NULL;
		if (why != NULL)
			leave_out_row(sm, b, row, why);
	}
	return true;
}

/*
 * Check the probabilities in sm->values.  Convert them to probabilities of a
 * draw from all shards together, and write these to sm->chance.
 */
static bool
read_chances(struct sampler *sm, struct respcall *c, size_t at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const float p = vec_get((const uint8_t *)sm->values, i);

		if (!(p > 0 && p <= 1)) {
			c->refused = true;
			return respcall_fail(c, "PER.SAMPLE: a probability "
			    "that is not valid");
		}
		sm->chance[at + i] = (double)p;
	}
	shards_chances(sm->chance + at, n, n, sm->rows);
	return true;
}

/*
 * Read the weight that the table had before the draw to which this reply
 * belongs.
 */
static bool
read_weight(struct shard *s)
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
	return set_weight(s, got[0], got[1]) && respcall_rest(c, "PER.SAMPLE");
}

/*
 * Read the reply to a draw of n experiences; the first experience has index
 * `at` in the batch.
 */
static bool
read_draw(struct sampler *sm, struct shard *s, struct batch *b, size_t at,
    size_t n)
{
	const size_t value_bytes = n * sizeof(*sm->values);
	struct respcall *c = &s->link.call;

	if (!read_bulk(c, sm->ids, n * sizeof(*sm->ids), "PER.SAMPLE"))
		return false;
	for (size_t i = 0; i < n; i++)
		b->id[sampler_row(sm, at + i)] =
		    stream_get_le((const uint8_t *)&sm->ids[i], 8);
	/* the importance weights are computed later, for all shards */
	return read_bulk(c, sm->values, value_bytes, "PER.SAMPLE") &&
	    read_chances(sm, c, at, n) &&
	    read_bulk(c, sm->values, value_bytes, "PER.SAMPLE") &&
	    read_experiences(sm, c, b, at, n) && read_weight(s);
}

/* The argument of link_do(): a shard's share of a batch. */
struct share {
	struct sampler *sm;
	struct batch *b;
	struct shard *s;
	size_t at;		/* index of the share's first row */
	bool received;
};

/*
 * Fail with the redirection that a cluster has sent. link_do() then follows it.
 */
static bool
refuse_redirect(struct shard *s, const char *text)
{
	s->link.call.refused = true;
	return respcall_fail(&s->link.call, "PER.SAMPLE: %s", text);
}

/* Read the first element of the next reply of s. */
static bool
next_reply(struct shard *s, struct respreply *r)
{
	struct respcall *c = &s->link.call;
	const bool sent = s->sends_priorities[0], owed = s->owes_priorities;

	s->sends_priorities[0] = s->sends_priorities[1];
	s->requests--;
	s->owes_priorities |= sent;	/* this is reset after the reply to
					 * PER.UPDATE has been read */
	/* if PER.UPDATE is redirected, so is the draw after it */
	if (sent && (!respcall_next(c, r, "PER.UPDATE") ||
	    (r->kind == RESPREPLY_ERROR && link_is_redirect(r->text)) ||
	    !respcall_rest(c, "PER.UPDATE")))
		return c->fd != -1 && refuse_redirect(s, r->text);
	s->owes_priorities = owed;
	return respcall_next(c, r, "PER.SAMPLE");
}

/*
 * Handle an error reply to a draw: a rate limit, or a missing table.  Skip the
 * outstanding replies, unless the table exists and the next round requests the
 * same number of rows.
 */
static bool
handle_refusal(struct sampler *sm, struct shard *s, const char *text)
{
	const size_t k = (size_t)(s - sm->shard);
	struct respreply r;

	if (link_is_redirect(text))
		return refuse_redirect(s, text);
	snprintf(sm->waiting, sizeof(sm->waiting), "%s", text);
	sm->idle = &s->link;
	if (strncmp(text, "LIMIT", 5) == 0)
		sm->limits++;
	else	/* the server may have restarted: create the table again */
		s->exists = s->warm = false;
	while (s->requests > 0 && (!s->warm ||
	    sm->round[0].share[k] != sm->round[1].share[k])) {
		if (!next_reply(s, &r) || !respcall_rest(&s->link.call,
		    "PER.SAMPLE"))
			return false;
	}
	return true;
}

/*
 * Receive a shard's share of round 0.  Set p->received if the share has
 * arrived.
 */
static bool
receive_share(struct link *k, void *arg)
{
	struct share *p = arg;
	struct sampler *sm = p->sm;
	struct shard *s = p->s;
	const struct round *round = &sm->round[0];
	const size_t n = round->share[s - sm->shard];
	struct respcall *c = &k->call;
	uint64_t have;
	struct respreply r;

	if (!has_request(s) && !s->warm && !check_warm(sm, s))
		return false;
	if (!has_request(s) && !s->warm)
		return true;
	if (!has_request(s) && !request_share(sm, s, round))
		return false;
	if (!next_reply(s, &r))
		return false;
	if (r.kind == RESPREPLY_ERROR)
		return handle_refusal(sm, s, r.text);
	if (r.kind != RESPREPLY_ARRAY || (n > 0 && r.n != 5)) {
		c->refused = true;
		return respcall_fail(c, "PER.SAMPLE: an unexpected kind of "
		    "answer");
	}
	p->received =
	    n == 0 ? read_info(s, &have) : read_draw(sm, s, p->b, p->at, n);
	return p->received;
}

/*
 * Set the importance weights for all shards together.  Rows that were left out
 * keep the weight 0.
 */
static void
weigh_batch(struct sampler *sm, struct batch *b)
{
	const struct hyperparameters *hyper = &sm->cf->hyper;

	if (!hyper->by_priority)
		return;
	shards_weights(sm->chance, sm->rows, offp_beta(hyper, sm->draws),
	    sm->values);
	for (size_t i = 0; i < sm->rows; i++)
		b->weight[sampler_row(sm, i)] *= sm->values[i];
}

/*
 * Receive the missing shares of round 0.  Remove the round once it is complete.
 */
static enum sampler_result
receive_round(struct sampler *sm, struct batch *b)
{
	struct round *r = &sm->round[0];
	bool whole = true;
	size_t at = 0;

	for (size_t k = 0; k < sm->shards; at += r->share[k++]) {
		struct share p = { sm, b, &sm->shard[k], at, false };

		sm->lost = &p.s->link;
		if (!r->received[k] && !link_do(&p.s->link, receive_share, &p))
			return SAMPLER_LOST;
		r->received[k] |= p.received;
		whole &= r->received[k];
	}
	if (!whole)
		return SAMPLER_NOT_YET;
	weigh_batch(sm, b);
	memcpy(sm->drawn[b - sm->batch], r->share, sizeof(r->share));
	sm->round[0] = sm->round[1];
	sm->rounds--;
	return SAMPLER_DRAWN;
}

static bool
check_warm_link(struct link *k, void *arg)
{
	const struct share *p = arg;

	(void)k;
	return check_warm(p->sm, p->s);
}

/* Check before the first round that every shard has its share of the warmup. */
static enum sampler_result
check_all_warm(struct sampler *sm)
{
	bool all = true;

	for (size_t k = 0; k < sm->shards; k++) {
		struct share p = { .sm = sm, .s = &sm->shard[k] };

		sm->lost = &p.s->link;
		if (!p.s->warm && !link_do(&p.s->link, check_warm_link, &p))
			return SAMPLER_LOST;
		all &= p.s->warm;
	}
	return all ? SAMPLER_DRAWN : SAMPLER_NOT_YET;
}

enum sampler_result
sampler_table_draw(struct sampler *sm, struct batch *b, bool prioritized)
{
	const uint64_t begun = timer_mono_ns();
	enum sampler_result rc =
	    sm->rounds > 0 ? SAMPLER_DRAWN : check_all_warm(sm);

	if (rc != SAMPLER_DRAWN)
		return rc;
	if (sm->rounds == 0)
		sampler_table_request(sm, prioritized ? b : NULL);
	rc = receive_round(sm, b);
	if (rc != SAMPLER_DRAWN)
		return rc;
	latency_add(&sm->exchange, timer_mono_ns() - begun);
	if (sm->mode == SAMPLER_PIPELINED && sm->rounds == 0)
		sampler_table_request(sm, NULL);
	return SAMPLER_DRAWN;
}

static bool
check_table_link(struct link *k, void *arg)
{
	const struct share *p = arg;

	(void)k;
	return check_table(p->sm, p->s);
}

bool
sampler_table_check(struct sampler *sm)
{
	for (size_t k = 0; k < sm->shards; k++) {
		struct share p = { .sm = sm, .s = &sm->shard[k] };

		sm->lost = &p.s->link;
		if (!link_do(&p.s->link, check_table_link, &p))
			return false;
	}
	return true;
}

static bool
drop_table(struct link *k, void *arg)
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
sampler_table_clear(struct sampler *sm)
{
	for (size_t k = 1; k < sm->shards; k++) {
		sm->lost = &sm->shard[k].link;
		if (!link_do(&sm->shard[k].link, drop_table, &sm->shard[k]))
			return false;
	}
	return true;
}
