/* feed-make - a shard's table, as large as there is room for */
#include "config.h"

#include <err.h>

#include "cmd/innet-agent/apex/codec.h"
#include "cmd/innet-agent/apex/feed.h"
#include "common/base/num.h"

enum { ITEM_BYTES = 256 };	/* of the server's own, with each experience */

/* The bounds of draws per experience, in five words. */
static void
put_bounds(const struct feed *f, struct respcall *c)
{
	const struct conf *cf = f->cf;

	respcall_word(c, "ratio");
	respcall_real(c, cf->remote.lo);
	respcall_real(c, cf->remote.hi);
	respcall_word(c, "slack");
	respcall_count(c, 2 * feed_part(f, cf->set.warmup));
}

/* The table was there: it gets our bounds, if there are any. */
static bool
bound(struct feed *f, struct shard *s)
{
	struct respcall *c = &s->link.call;
	struct respreply r;

	respcall_begin(c, 7);
	respcall_word(c, "PER.LIMIT");
	respcall_word(c, s->names.table);
	put_bounds(f, c);
	return respcall_send(c, "PER.LIMIT") &&
	    respcall_want(c, RESPREPLY_STATUS, &r, "PER.LIMIT");
}

/* What the server allows itself in bytes; 0: any, or it does not say. */
static bool
allowed(struct respcall *c, uint64_t *bytes)
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
	num_u64(text, 0, UINT64_MAX, bytes);	/* or it stays 0 */
	return respcall_rest(c, what);
}

/* What an experience takes there, slot and all; more rather than less. */
static uint64_t
cost(const struct feed *f)
{
	const size_t frame = codec_frame(f->cf->env);

	/* a push has some frames that the one before it had */
	return f->bytes - frame + frame / 4 + ITEM_BYTES;
}

/*
 * How many experiences the table is to have: as asked for, or as many as leave
 * a tenth of the server's memory and room for parameters, which is said.
 */
static bool
fit(struct feed *f, struct shard *s, uint64_t *capacity)
{
	const struct settings *set = &f->cf->set;
	struct respcall *c = &s->link.call;
	uint64_t bytes, most;

	*capacity = feed_part(f, set->buffer);
	if (!allowed(c, &bytes))
		return false;
	if (bytes == 0)
		return true;
	most = bytes - bytes / 10;
	most = most > f->reserve ? (most - f->reserve) / cost(f) : 0;
	if (most >= *capacity)
		return true;
	if (most < feed_part(f, set->warmup) || most < 1) {
		c->refused = true;
		return respcall_fail(c, "%" PRIu64 " bytes allowed have room "
		    "for %" PRIu64 " experiences, %" PRIu64 " are needed to "
		    "begin: see --warmup", bytes, most,
		    feed_part(f, set->warmup));
	}
	warnx("%s: %" PRIu64 " bytes allowed have room for %" PRIu64
	    " experiences, not %" PRIu64 ": so many are kept", c->name, bytes,
	    most, *capacity);
	*capacity = most;
	return true;
}

static void
put_create(const struct feed *f, struct shard *s, uint64_t capacity,
    bool bounded)
{
	const struct settings *set = &f->cf->set;
	struct respcall *c = &s->link.call;

	respcall_begin(c, bounded ? 13 : 8);
	respcall_word(c, "PER.CREATE");
	respcall_word(c, s->names.table);
	respcall_word(c, "capacity");
	respcall_count(c, capacity);
	respcall_word(c, "alpha");
	respcall_real(c, set->alpha);
	respcall_word(c, "selector");
	respcall_word(c, set->by_priority ? "per" : "uniform");
	if (bounded)
		put_bounds(f, c);
}

/* It has frames, if it is empty; else it has them, or what is not ours. */
static void
put_frames(struct shard *s, size_t frame)
{
	struct respcall *c = &s->link.call;

	respcall_begin(c, 4);
	respcall_word(c, "PER.FRAMES");
	respcall_word(c, s->names.table);
	respcall_count(c, frame);
	respcall_count(c, 1);
}

bool
feed_make(struct feed *f, struct shard *s)
{
	const struct remote *rm = &f->cf->remote;
	const bool bounded = rm->lo > 0 || rm->hi > 0;
	const size_t frame = codec_frame(f->cf->env);
	struct respcall *c = &s->link.call;
	struct respreply r;
	uint64_t capacity;
	bool there;

	if (!fit(f, s, &capacity))
		return false;
	put_create(f, s, capacity, bounded);
	if (frame > 0)
		put_frames(s, frame);
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
	return !there || !bounded || bound(f, s);
}
