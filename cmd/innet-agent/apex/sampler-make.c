/* feed-make - a shard's table, as large as there is room for */
#include "config.h"

#include <err.h>

#include "cmd/innet-agent/apex/codec.h"
#include "cmd/innet-agent/apex/sampler.h"
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

/* What a table is made for. */
struct room {
	uint64_t bytes;		/* the server allows itself; 0: any */
	uint64_t capacity;	/* experiences */
};

/*
 * How many experiences the table is to have: as asked for, or as many as leave
 * a tenth of the server's memory and room for parameters.
 */
static bool
fit(struct feed *f, struct shard *s, struct room *to)
{
	const struct settings *set = &f->cf->set;
	struct respcall *c = &s->link.call;
	uint64_t most;

	to->capacity = feed_part(f, set->buffer);
	if (!allowed(c, &to->bytes))
		return false;
	if (to->bytes == 0)
		return true;
	most = to->bytes - to->bytes / 10;
	most = most > f->reserve ? (most - f->reserve) / cost(f) : 0;
	if (most >= to->capacity)
		return true;
	if (most < feed_part(f, set->warmup) || most < 1) {
		c->refused = true;
		return respcall_fail(c, "%" PRIu64 " bytes allowed have room "
		    "for %" PRIu64 " experiences, %" PRIu64 " are needed to "
		    "begin: see --warmup", to->bytes, most,
		    feed_part(f, set->warmup));
	}
	to->capacity = most;
	return true;
}

/* What PER.INFO says of how a table was made, as text. */
enum { SELECTOR, CAPACITY, ALPHA, NAMES, TEXT_BYTES = 32 };
static const char *const names[NAMES] = { "selector", "capacity", "alpha" };

/* The next name or value of its array; what is too long is none. */
static bool
text(struct respcall *c, char to[TEXT_BYTES])
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

static bool
texts(struct respcall *c, char is[NAMES][TEXT_BYTES])
{
	while (c->in.due > 0) {
		char name[TEXT_BYTES], value[TEXT_BYTES];

		if (!text(c, name) || !text(c, value))
			return false;
		for (size_t i = 0; i < NAMES; i++) {
			if (strcmp(name, names[i]) == 0)
				memcpy(is[i], value, TEXT_BYTES);
		}
	}
	return true;
}

/* The table is another one than this learner wants, and what else it can do. */
static bool
other(struct shard *s, const char *what, const char *is, const char *want,
    const char *hint)
{
	struct respcall *c = &s->link.call;

	c->refused = true;
	return respcall_fail(c, "%s: its %s is %s, not %s: --clear removes "
	    "it%s", s->names.table, what, is, want, hint);
}

/* It draws as this learner wants, and has what an option asks for. */
static bool
compare(struct feed *f, struct shard *s, char is[NAMES][TEXT_BYTES])
{
	const struct conf *cf = f->cf;
	const char *pick = cf->set.by_priority ? "per" : "uniform";
	char want[TEXT_BYTES];
	struct room room;
	uint64_t n = 0;

	if (strcmp(is[SELECTOR], pick) != 0)
		return other(s, names[SELECTOR], is[SELECTOR], pick,
		    strcmp(is[SELECTOR], "per") == 0 ?
		    ", --replay per uses it" :
		    strcmp(is[SELECTOR], "uniform") == 0 ?
		    ", --replay uniform uses it" : "");
	snprintf(want, sizeof(want), "%.9g", cf->set.alpha);
	if (cf->alpha_given && strcmp(is[ALPHA], want) != 0)
		return other(s, names[ALPHA], is[ALPHA], want,
		    ", without --alpha it is used");
	snprintf(want, sizeof(want), "%" PRIu64, feed_part(f, cf->set.buffer));
	if (!cf->buffer_given || strcmp(is[CAPACITY], want) == 0)
		return true;
	if (!fit(f, s, &room))
		return false;
	num_u64(is[CAPACITY], 0, UINT64_MAX, &n);	/* or it stays 0 */
	/* a server that is started anew may allow itself another size */
	if (n == s->capacity || n == room.capacity) {
		s->capacity = n;
		return true;
	}
	return other(s, names[CAPACITY], is[CAPACITY],
	    want, ", without --buffer it is used");
}

bool
feed_fits(struct feed *f, struct shard *s)
{
	struct respcall *c = &s->link.call;
	char is[NAMES][TEXT_BYTES] = { "" };
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
	return texts(c, is) && compare(f, s, is);
}

/* Where there is room for less than was asked for, this is said. */
static void
say_room(const struct feed *f, const struct shard *s, const struct room *room)
{
	const uint64_t asked = feed_part(f, f->cf->set.buffer);

	if (room->capacity < asked)
		warnx("%s: %" PRIu64 " bytes allowed have room for %" PRIu64
		    " experiences, not %" PRIu64 ": so many are kept",
		    s->link.call.name, room->bytes, room->capacity, asked);
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
	struct room room;
	bool there;

	if (!fit(f, s, &room))
		return false;
	put_create(f, s, room.capacity, bounded);
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
	if (there && (!feed_fits(f, s) || (bounded && !bound(f, s))))
		return false;
	if (!there)
		s->capacity = room.capacity;
	if (!there || f->cf->buffer_given)
		say_room(f, s, &room);
	return true;
}
