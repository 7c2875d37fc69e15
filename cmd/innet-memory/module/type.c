/* type.c - tables as a data type of the server: RDB, AOF, copies, memory */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-memory/commands/per.h"
#include "cmd/innet-memory/module/memory.h"
#include "cmd/innet-memory/module/type.h"
#include "cmd/innet-memory/module/value.h"
#include "cmd/innet-memory/module/waiters.h"
#include "cmd/innet-memory/server/reply.h"
#include "cmd/innet-memory/store/table-checkpoint.h"

enum { ENCODING = 1 };

/*
 * Read a value from a source.  On an error, return NULL with the reason in l.
 * A value from a client is refused before it uses more memory than maxmemory
 * has left.  The server itself checks maxmemory only before and after a
 * command, and would evict other keys to make room.
 */
static struct table_value *
load_value(struct reader *l, reader_source *source, void *arg, uint64_t bytes)
{
	struct table_value *h = value_new();
	const size_t room = memory_room_for_value();
	size_t limit;

	if (h == NULL) {
		*l = (struct reader){ .why = "no memory" };
		return NULL;
	}
	limit = h->account.limit;
	h->account.limit = room < limit ? room : limit;
	reader_open(l, source, arg, bytes, &h->account);
	h->table = table_read_parts(l, VALUE_NAME, 1);
	if (h->table != NULL && l->left > 0)
		reader_refuse(l, "bytes after the end");
	h->account.limit = limit;
	if (reader_close(l))
		return h;
	if (h->table != NULL)
		table_close(h->table);
	free(h);
	return NULL;
}

/* Write a value to a sink. */
static int
save_value(const struct table_value *h, writer_sink *sink, void *arg)
{
	struct writer s;

	writer_open(&s, sink, arg);
	table_write_parts(&s, h->table);
	return writer_close(&s);
}

/* ---- RDB: the number of bytes, then the bytes in strings ---- */

static int
write_rdb(void *arg, const void *p, size_t len)
{
	RM_SaveStringBuffer(arg, p, len);
	return 0;
}

static void
save_rdb(rm_io *io, void *value)
{
	const struct table_value *h = value;

	RM_SaveUnsigned(io, table_checkpoint_bytes(h->table));
	/* if there is no memory, the file is too short and cannot be loaded */
	if (save_value(h, write_rdb, io) != 0)
		RM_LogIOError(io, "warning", "a table was not saved "
		    "completely");
}

/* The RDB string that is being read. */
struct rdb_strings {
	rm_io *io;
	char *p;
	size_t at, len;
};

static const char *
read_rdb(void *arg, void *to, size_t len)
{
	struct rdb_strings *s = arg;
	size_t n;

	for (size_t done = 0; done < len; done += n, s->at += n) {
		if (s->at == s->len) {
			if (s->p != NULL)
				RM_Free(s->p);
			s->at = s->len = 0;
			s->p = RM_LoadStringBuffer(s->io, &s->len);
			if (s->p == NULL || s->len == 0 ||
			    RM_IsIOError(s->io))
				return "the file ends here";
		}
		n = s->len - s->at < len - done ? s->len - s->at : len - done;
		memcpy((char *)to + done, s->p + s->at, n);
	}
	return NULL;
}

static void *
load_rdb(rm_io *io, int encoding)
{
	struct rdb_strings s = { .io = io };
	struct table_value *h = NULL;
	struct reader l = { .why = "a format of another version" };
	uint64_t bytes;

	if (encoding == ENCODING) {
		bytes = RM_LoadUnsigned(io);
		if (RM_IsIOError(io))
			return NULL;
		h = load_value(&l, read_rdb, &s, bytes);
	}
	if (s.p != NULL)
		RM_Free(s.p);
	if (h == NULL)
		RM_LogIOError(io, "warning", "not a table: %s", l.why);
	return h;
}

/* ---- AOF: commands that contain the same bytes ---- */

struct aof_rewrite {
	rm_io *io;
	rm_string *key;
	uint64_t total, at;
};

static int
write_aof(void *arg, const void *p, size_t len)
{
	struct aof_rewrite *w = arg;

	RM_EmitAOF(w->io, "PER.PUT", "sllb", w->key, (long long)w->total,
	    (long long)w->at, p, len);
	w->at += len;
	return 0;
}

static void
rewrite_aof(rm_io *io, rm_string *key, void *value)
{
	const struct table_value *h = value;
	struct aof_rewrite w = { .io = io, .key = key,
		.total = table_checkpoint_bytes(h->table) };

	if (save_value(h, write_aof, &w) != 0)
		RM_LogIOError(io, "warning", "a table was not saved "
		    "completely");
}

/* The bytes of a table in pieces; each piece is freed after it is read. */
struct piece {
	struct piece *next;
	size_t len;
	char bytes[];
};
struct pieces {
	struct piece *first, *last;
	uint64_t have, total;
	size_t at;	/* number of bytes already read from the first piece */
};

static void
pieces_drop(struct pieces *ps)
{
	struct piece *next;

	for (struct piece *p = ps->first; p != NULL; p = next) {
		next = p->next;
		free(p);
	}
	*ps = (struct pieces){ 0 };
}

static int
write_piece(void *arg, const void *bytes, size_t len)
{
	struct pieces *ps = arg;
	struct piece *p = malloc(sizeof(*p) + len);

	if (p == NULL)
		return ENOMEM;
	p->next = NULL;
	p->len = len;
	memcpy(p->bytes, bytes, len);
	if (ps->last != NULL)
		ps->last->next = p;
	else
		ps->first = p;
	ps->last = p;
	ps->have += len;
	return 0;
}

static const char *
read_pieces(void *arg, void *to, size_t len)
{
	struct pieces *ps = arg;
	struct piece *p;
	size_t n;

	for (size_t done = 0; done < len; done += n) {
		p = ps->first;
		if (p == NULL)
			return "the pieces end here";
		n = p->len - ps->at < len - done ? p->len - ps->at :
		    len - done;
		memcpy((char *)to + done, p->bytes + ps->at, n);
		ps->at += n;
		if (ps->at < p->len)
			continue;
		ps->first = p->next;
		ps->last = ps->first == NULL ? NULL : ps->last;
		ps->at = 0;
		free(p);
	}
	return NULL;
}

static struct table_value *
value_from_pieces(struct pieces *ps, const char *what)
{
	struct reader l;
	struct table_value *h = load_value(&l, read_pieces, ps, ps->have);

	if (h == NULL)
		RM_Log(NULL, "warning", "%s: not a table: %s", what, l.why);
	pieces_drop(ps);
	return h;
}

/*
 * Store the next piece of a table in `ps`.  One variable is enough, because the
 * tables in a file follow one another.
 */
void
type_put(struct client *c, const struct resp_args *a)
{
	static struct pieces ps;
	uint64_t total, at;
	struct table_value *h;
	rm_key *key;

	if (!host_is_replicated(c)) {
		reply_error(c, "ERR PER.PUT is the server's own");
		return;
	}
	if (!per_read_whole(c, a, 2, "bytes", 1, INT64_MAX, &total) ||
	    !per_read_whole(c, a, 3, "offset", 0, INT64_MAX, &at))
		return;
	if (at == 0) {
		pieces_drop(&ps);
		ps.total = total;
	}
	if (at != ps.have || total != ps.total || a->v[4].len > total - at ||
	    write_piece(&ps, a->v[4].p, a->v[4].len) != 0) {
		reply_error(c, "ERR pieces of a table that do not follow one "
		    "another");
		return;
	}
	if (ps.have == ps.total &&
	    (h = value_from_pieces(&ps, "PER.PUT")) != NULL) {
		key = RM_OpenKey(c->ctx, c->v[1], RM_READ | RM_WRITE);
		if (RM_ModuleTypeSetValue(key, value_type, h) != RM_OK)
			value_free(h);
		RM_CloseKey(key);
	}
	RM_ReplicateVerbatim(c->ctx);
	reply_status(c, "OK");
}

/* ---- other functions of the data type ---- */

static void *
copy_value(rm_string *from, rm_string *to, const void *value)
{
	struct pieces ps = { 0 };

	(void)from, (void)to;
	if (save_value(value, write_piece, &ps) == 0)
		return value_from_pieces(&ps, "COPY");
	pieces_drop(&ps);
	return NULL;
}

static int
write_digest(void *arg, const void *p, size_t len)
{
	RM_DigestAddStringBuffer(arg, p, len);
	return 0;
}

static void
digest_value(rm_digest *md, void *value)
{
	save_value(value, write_digest, md);
	RM_DigestEndSequence(md);
}

static size_t
memory_usage(const void *value)
{
	const struct table_value *h = value;

	return sizeof(*h) + h->account.used;
}

/*
 * Return the number of allocations of a value.  If this number is large, the
 * server frees the value in another thread.
 */
static size_t
free_effort(rm_string *key, const void *value)
{
	const struct table_value *h = value;

	(void)key;
	return h->table->buf.have + h->table->frames.count + 1;
}

static void
on_unlink(rm_string *key, const void *value)
{
	(void)key;
	waiters_wake(value);
}

bool
type_open(struct rm_ctx *ctx)
{
	struct rm_methods m = {
	    .version = RM_TYPE_VERSION,
	    .load = load_rdb,
	    .save = save_rdb,
	    .rewrite = rewrite_aof,
	    .usage = memory_usage,
	    .digest = digest_value,
	    .free = value_free,
	    .free_effort = free_effort,
	    .unlink = on_unlink,
	    .copy = copy_value,
	};

	value_type = RM_CreateDataType(ctx, "innet-per", ENCODING, &m);
	return value_type != NULL;
}
