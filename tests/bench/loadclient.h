/*
 * loadclient.h - a client of the Redis protocol for benches: ours or hiredis
 *
 * The caller starts requests and adds their arguments, which must stay in
 * memory until load_run().  This function sends all requests and reads their
 * replies.  Each element of a reply is one of l->item until load_free(); an
 * array comes before its elements.  A failure ends the program with an error
 * message.
 */
#ifndef INNET_LOADCLIENT_H
#define INNET_LOADCLIENT_H

#include <err.h>
#ifdef HAVE_HIREDIS
#include <hiredis.h>
#endif

#include "cmd/innet-agent/apex/resp-call.h"

enum { LOAD_ITEMS = 8192 };

struct load_item {
	char kind;		/* a character of RESP: + - : $ *, and _ for nil
				 */
	int64_t n;		/* the integer, or the number of bytes or
				 * elements */
	const uint8_t *p;	/* the bytes of a bulk */
};

struct load {
	const char *addr;
	bool hiredis;
	struct respcall call;
	uint8_t *sink;		/* owned: memory into which our client puts
				 * bulks */
	size_t size;
#ifdef HAVE_HIREDIS
	redisContext *redis;
	redisReply *reply[1024];
	const char **arg;	/* of the request that was started */
	size_t *len, args, room;
#endif
	size_t wanted, replies;	/* arguments of the request that was started;
				 * requests */
	struct load_item item[LOAD_ITEMS];
	size_t items;
};

static inline struct load_item *
load_item(struct load *l, char kind, int64_t n, const void *p)
{
	if (l->items == LOAD_ITEMS)
		errx(1, "%s: a reply of too many elements", l->addr);
	l->item[l->items] = (struct load_item){ kind, n, p };
	return &l->item[l->items++];
}

#ifdef HAVE_HIREDIS
static inline void
load_hiredis_open(struct load *l)
{
	const char *colon = strrchr(l->addr, ':');
	const struct timeval wait = { .tv_sec = 60 };
	char host[64];

	if (strchr(l->addr, '/') != NULL || colon == NULL) {
		l->redis = redisConnectUnix(l->addr);
	} else {
		snprintf(host, sizeof(host), "%.*s",
		    (int)(colon - l->addr), l->addr);
		l->redis = redisConnect(host, atoi(colon + 1));
	}
	if (l->redis == NULL || l->redis->err != 0)
		errx(1, "%s: %s", l->addr,
		    l->redis == NULL ? "no memory" : l->redis->errstr);
	redisSetTimeout(l->redis, wait);
}

static inline void
load_hiredis_arg(struct load *l, const void *p, size_t len)
{
	if (l->args == l->room) {
		l->room = 2 * l->room + 64;
		l->arg = realloc(l->arg, l->room * sizeof(*l->arg));
		l->len = realloc(l->len, l->room * sizeof(*l->len));
		if (l->arg == NULL || l->len == NULL)
			err(1, "arguments");
	}
	l->arg[l->args] = p;
	l->len[l->args++] = len;
	if (l->args == l->wanted && redisAppendCommandArgv(l->redis,
	    (int)l->args, l->arg, l->len) != REDIS_OK)
		errx(1, "%s: %s", l->addr, l->redis->errstr);
}

static inline void
load_hiredis_walk(struct load *l, const redisReply *r)
{
	switch (r->type) {
	case REDIS_REPLY_INTEGER: load_item(l, ':', r->integer, NULL); break;
	case REDIS_REPLY_STATUS: load_item(l, '+', 0, NULL); break;
	case REDIS_REPLY_NIL: load_item(l, '_', 0, NULL); break;
	case REDIS_REPLY_STRING:
		load_item(l, '$', (int64_t)r->len, r->str);
		break;
	case REDIS_REPLY_ARRAY:
		load_item(l, '*', (int64_t)r->elements, NULL);
		for (size_t i = 0; i < r->elements; i++)
			load_hiredis_walk(l, r->element[i]);
		break;
	default:
		errx(1, "%s: %s", l->addr, r->str);
	}
}

static inline void
load_hiredis_run(struct load *l)
{
	if (l->replies > sizeof(l->reply) / sizeof(*l->reply))
		errx(1, "%s: too many requests at once", l->addr);
	for (size_t i = 0; i < l->replies; i++) {
		if (redisGetReply(l->redis, (void **)&l->reply[i]) != REDIS_OK)
			errx(1, "%s: %s", l->addr, l->redis->errstr);
		load_hiredis_walk(l, l->reply[i]);
	}
}
#endif

/* Connect to addr, with room for `size` bytes of replies. */
static inline void
load_open(struct load *l, const char *client, const char *addr, size_t size)
{
	memset(l, 0, sizeof(*l));
	l->addr = addr;
	l->hiredis = strcmp(client, "hiredis") == 0;
	if (!l->hiredis && strcmp(client, "ours") != 0)
		errx(2, "no client '%s': ours or hiredis", client);
#ifdef HAVE_HIREDIS
	if (l->hiredis) {
		load_hiredis_open(l);
		return;
	}
#endif
	if (l->hiredis)
		errx(1, "built without hiredis");
	l->call = (struct respcall){ .name = addr,
	    .timeout_ns = 60 * TIMER_SECOND_NS };
	if (!respcall_open(&l->call))
		errx(1, "%s", l->call.why);
	l->size = size;
	l->sink = malloc(size);
	if (l->sink == NULL)
		err(1, "room for replies");
	memset(l->sink, 1, size);
}

/* Start a request with args arguments, which follow. */
static inline void
load_begin(struct load *l, size_t args)
{
	l->replies++;
	l->wanted = args;
#ifdef HAVE_HIREDIS
	l->args = 0;
#endif
	if (!l->hiredis)
		respcall_begin(&l->call, args);
}

static inline void
load_arg(struct load *l, const void *p, size_t len)
{
#ifdef HAVE_HIREDIS
	if (l->hiredis) {
		load_hiredis_arg(l, p, len);
		return;
	}
#endif
	respcall_arg(&l->call, p, len);
}

static inline void
load_word(struct load *l, const char *word)
{
	load_arg(l, word, strlen(word));
}

/* Make a whole request of words, which must stay in memory. */
static inline void
load_words(struct load *l, const char *const *word, size_t n)
{
	load_begin(l, n);
	for (size_t i = 0; i < n; i++)
		load_word(l, word[i]);
}

/* Read one more element; return the number of its own elements that follow. */
static inline size_t
load_next(struct load *l, size_t *sunk)
{
	static const char kind[] = {
		[RESPREPLY_STATUS] = '+', [RESPREPLY_INT] = ':',
		[RESPREPLY_BULK] = '$', [RESPREPLY_NIL] = '_',
		[RESPREPLY_ARRAY] = '*' };
	struct respreply r = { 0 };

	if (!respcall_next(&l->call, &r, "a reply"))
		errx(1, "%s", l->call.why);
	if (r.kind == RESPREPLY_ERROR)
		errx(1, "%s: %s", l->addr, r.text);
	load_item(l, kind[r.kind], r.n, l->sink + *sunk);
	if (r.kind != RESPREPLY_BULK)
		return r.kind == RESPREPLY_ARRAY ? (size_t)r.n : 0;
	if (l->size - *sunk < (size_t)r.n)
		errx(1, "%s: a reply larger than there is room", l->addr);
	if (!respcall_body(&l->call, l->sink + *sunk, (size_t)r.n, "a bulk"))
		errx(1, "%s", l->call.why);
	*sunk += (size_t)r.n;
	return 0;
}

/* Send the requests and read all replies. */
static inline void
load_run(struct load *l)
{
	size_t due = l->replies, sunk = 0;

	l->items = 0;
#ifdef HAVE_HIREDIS
	if (l->hiredis) {
		load_hiredis_run(l);
		return;
	}
#endif
	if (!respcall_send(&l->call, "a request"))
		errx(1, "%s", l->call.why);
	while (due-- > 0)
		due += load_next(l, &sunk);
}

/* Free the replies. */
static inline void
load_free(struct load *l)
{
#ifdef HAVE_HIREDIS
	for (size_t i = 0; l->hiredis && i < l->replies; i++)
		freeReplyObject(l->reply[i]);
#endif
	l->replies = l->items = 0;
}

static inline void
load_close(struct load *l)
{
#ifdef HAVE_HIREDIS
	if (l->hiredis)
		redisFree(l->redis);
	free(l->arg);
	free(l->len);
#endif
	if (!l->hiredis)
		respcall_close(&l->call);
	free(l->sink);
}

#endif
