/*
 * feed-list - experiences in a list of a plain Redis, priorities with us
 *
 * As in Furukawa and Matsutani's baseline the list is a queue: now and then
 * all that actors have put there is taken into a memory of the learner's own,
 * from which batches are drawn.
 */
#include "config.h"

#include "cmd/innet-agent/apex/sampler.h"
#include "common/base/vec.h"

enum { FETCH_NS = 5000000 };

/* One item of the list, its body still to be read: into our memory. */
static bool
take(struct feed *f, const struct respreply *r)
{
	const size_t most = f->bytes + sizeof(float);
	const size_t len = r->kind == RESPREPLY_BULK ? (size_t)r->n : 0;
	struct experience e;
	const char *why;
	float priority;

	if (len <= most && !respcall_body(&f->shard->link.call, f->blob, len,
	    "LPOP"))
		return false;
	why = feed_row(f, sizeof(float), len, &f->one, 0);
	priority = why == NULL ? vec_get(f->blob, 0) : 0;
	if (why == NULL && !(priorities_valid(priority) && priority > 0))
		why = "a priority that is none";
	if (why != NULL) {
		f->why_bad = why;
		f->bad++;
		return true;
	}
	e = rows_get(&f->one, 0, f->cf->env->obs);
	replay_add(&f->replay, &e, priority);
	return true;
}

/*
 * Take at most so many from the list, at once.  (Where there is no memory left
 * nothing may be queued in MULTI, not even what would make room.)
 */
static bool
fetch(struct link *k, void *arg)
{
	struct feed *f = arg;
	struct respcall *c = &k->call;
	struct respreply r;

	respcall_begin(c, 3);
	respcall_word(c, "LPOP");
	respcall_word(c, f->shard->names.list);
	respcall_count(c, FEED_FETCH_MOST);
	if (!respcall_send(c, "LPOP") || !respcall_next(c, &r, "LPOP"))
		return false;
	if (r.kind == RESPREPLY_NIL)
		return true;
	if (r.kind != RESPREPLY_ARRAY)
		return link_refuse(k, "LPOP", &r);
	for (int64_t i = 0, n = r.n; i < n; i++) {
		if (!respcall_next(c, &r, "LPOP") || !take(f, &r))
			return false;
	}
	return respcall_rest(c, "LPOP");
}

enum feed_result
feed_list(struct feed *f, struct batch *b, bool judged)
{
	const struct settings *set = &f->cf->set;
	uint64_t begun = timer_mono_ns();

	if (judged)
		replay_judge(&f->replay, b, set->batch);
	if (begun - f->fetched_ns >= FETCH_NS) {
		f->lost = &f->shard->link;
		if (!link_do(&f->shard->link, fetch, f))
			return FEED_LOST;
		latency_add(&f->fetch, timer_mono_ns() - begun);
		f->fetched_ns = begun = timer_mono_ns();
	}
	if (replay_have(&f->replay) < set->warmup) {
		snprintf(f->waiting, sizeof(f->waiting), "%zu experiences of "
		    "%" PRIu64, replay_have(&f->replay), set->warmup);
		return FEED_NOT_YET;
	}
	replay_draw(&f->replay, &f->rng, set->batch,
	    offp_beta(set, f->draws), b);
	latency_add(&f->exchange, timer_mono_ns() - begun);
	return FEED_DRAWN;
}
