/* out.c - data to be sent to a client */
#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "cmd/innet-memory/server/out.h"

enum { IOVS = 512, KEEP_BYTES = 64 << 10 };

/*
 * Remove the parts that were already sent, if they are at least half of all
 * parts, so that the array need not grow. compact_text() does the same for the
 * text.  These are separate functions, because the text of a part is added
 * before the part itself.
 */
static void
compact_parts(struct out *o)
{
	const size_t parts = o->parts - o->first;

	if (o->first < parts)
		return;
	if (parts > 0)
		memmove(o->part, o->part + o->first, parts * sizeof(*o->part));
	o->first = 0;
	o->parts = parts;
}

static void
compact_text(struct out *o)
{
	size_t gone = o->text_len;

	for (size_t i = o->first; i < o->parts; i++) {
		if (o->part[i].blob == NULL) {
			gone = o->part[i].at;
			break;
		}
	}
	if (gone == 0 || gone < o->text_len / 2)
		return;
	memmove(o->text, o->text + gone, o->text_len - gone);
	o->text_len -= gone;
	for (size_t i = o->first; i < o->parts; i++)
		o->part[i].at -= o->part[i].blob == NULL ? gone : 0;
}

/* Return true if the buffers may grow by this number of bytes. */
static bool
may_grow(const struct out *o, size_t bytes)
{
	return o->most == 0 || out_bytes(o) + bytes <= o->most;
}

uint8_t *
out_reserve(struct out *o, size_t n)
{
	size_t room = o->text_room;
	uint8_t *p;

	if (o->bad)
		return NULL;
	if (o->text_len + n > room)
		compact_text(o);
	if (o->text_len + n <= room)
		return o->text + o->text_len;
	room = 2 * room + n + 1024;
	/*
	 * take the whole rest at once, because small steps would copy too often
	 */
	if (!may_grow(o, room - o->text_room))
		room = o->text_room + (out_bytes(o) < o->most ?
		    o->most - out_bytes(o) : 0);
	p = o->text_len + n <= room ? realloc(o->text, room) : NULL;
	o->bad = p == NULL;
	if (p == NULL)
		return NULL;
	o->text = p;
	o->text_room = room;
	return p + o->text_len;
}

static struct out_part *
add_part(struct out *o)
{
	size_t room = o->parts_room;
	struct out_part *p;

	if (o->parts == room)
		compact_parts(o);
	if (o->parts < room)
		return &o->part[o->parts++];
	room = 2 * room + 16;
	p = !may_grow(o, (room - o->parts_room) * sizeof(*p)) ? NULL :
	    realloc(o->part, room * sizeof(*p));
	o->bad = p == NULL;
	if (p == NULL)
		return NULL;
	o->part = p;
	o->parts_room = room;
	return &p[o->parts++];
}

void
out_commit(struct out *o, size_t n)
{
	struct out_part *p = o->parts > o->first ? &o->part[o->parts - 1] :
	    NULL;

	if (p == NULL || p->blob != NULL) {
		p = add_part(o);
		if (p == NULL)
			return;
		*p = (struct out_part){ NULL, o->text_len, 0 };
	}
	p->len += n;
	o->text_len += n;
	o->pending += n;
}

void
out_add_text(struct out *o, const void *p, size_t len)
{
	uint8_t *at = out_reserve(o, len);

	if (at == NULL || len == 0)
		return;
	memcpy(at, p, len);
	out_commit(o, len);
}

void
out_add_blob(struct out *o, struct account *bs, struct blob *b, size_t from)
{
	struct out_part *p = o->bad || b->len <= from ? NULL : add_part(o);

	if (p == NULL) {
		blob_drop(bs, b);
		return;
	}
	*p = (struct out_part){ b, from, b->len - from };
	o->pending += b->len - from;
}

/* Remove n bytes that were sent. */
static void
remove_sent(struct out *o, struct account *bs, size_t n)
{
	o->pending -= n;
	o->sent += n;
	while (n > 0) {
		struct out_part *p = &o->part[o->first];
		const size_t take = n < p->len ? n : p->len;

		p->at += take;
		p->len -= take;
		n -= take;
		if (p->len > 0)
			break;
		blob_drop(bs, p->blob);
		o->first++;
	}
	if (o->pending > 0)
		return;
	o->first = o->parts = o->text_len = 0;
	if (out_bytes(o) > KEEP_BYTES)
		out_free(o, bs);
}

bool
out_send(struct out *o, struct account *bs, int fd, size_t most)
{
	struct iovec v[IOVS];
	ssize_t n;

	while (o->pending > 0 && most > 0) {
		struct msghdr m = { .msg_iov = v };
		size_t want = 0;

		for (size_t i = o->first; i < o->parts && m.msg_iovlen < IOVS &&
		    want < most; i++) {
			const struct out_part *p = &o->part[i];
			const size_t left = most - want;

			v[m.msg_iovlen] = (struct iovec){ (p->blob != NULL ?
			    p->blob->bytes : o->text) + p->at,
			    p->len < left ? p->len : left };
			want += v[m.msg_iovlen++].iov_len;
		}
		n = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return errno == EAGAIN || errno == EWOULDBLOCK;
		remove_sent(o, bs, (size_t)n);
		most -= (size_t)n;
		if ((size_t)n < want)
			return true;
	}
	return true;
}

size_t
out_bytes(const struct out *o)
{
	return o->text_room + o->parts_room * sizeof(*o->part);
}

void
out_free(struct out *o, struct account *bs)
{
	const uint64_t had = o->sent;
	const size_t most = o->most;

	for (size_t i = o->first; i < o->parts; i++)
		blob_drop(bs, o->part[i].blob);
	free(o->part);
	free(o->text);
	*o = (struct out){ .sent = had, .most = most };
}
