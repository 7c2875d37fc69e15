/*
 * Fuzz the replies of a server.  Byte 0 is the size of the pieces in which the
 * rest arrives, and byte 1 says how much of each body the caller takes.  The
 * elements that are found must not depend on either.
 */
#include "cmd/innet-agent/apex/resp-reply.h"
#include "tests/fuzz/fuzz.h"

struct found {
	size_t elements;
	uint64_t mark;		/* a checksum of everything except bodies */
	bool refused;
};

static void
mark(struct found *f, uint64_t x)
{
	f->mark = (f->mark ^ x) * 0x100000001b3;
}

static void
element(struct found *f, const struct respreply_in *in,
    const struct respreply *r)
{
	f->elements++;
	mark(f, (uint64_t)r->kind);
	mark(f, in->due);
	if (r->kind == RESPREPLY_STATUS || r->kind == RESPREPLY_ERROR) {
		for (const char *p = r->text; *p != '\0'; p++)
			mark(f, (uint8_t)*p);
	} else if (r->kind != RESPREPLY_NIL) {
		mark(f, (uint64_t)r->n);
	}
	must(r->kind == RESPREPLY_INT || r->kind <= RESPREPLY_ERROR ||
	    r->kind == RESPREPLY_NIL || r->n >= 0, "lengths are not negative");
	must(in->body <= RESPREPLY_BULK_MAX, "bodies have their limit");
}

static struct found
find(const uint8_t *p, size_t len, size_t step, size_t take)
{
	static uint8_t room[RESPREPLY_LINE_MAX + 64], body[256];
	struct respreply_in in;
	struct found f = { 0 };
	struct respreply r = { 0 };
	const char *why = NULL;
	size_t n, free_room;
	int got = 0;

	respreply_open(&in, room, sizeof(room));
	for (; len > 0 && got != -1; p += n, len -= n) {
		uint8_t *to = respreply_room(&in, &free_room);

		must(free_room > 0, "there is room");
		n = len < step ? len : step;
		n = n < free_room ? n : free_room;
		memcpy(to, p, n);
		in.have += n;
		while ((got = respreply_next(&in, &r, &why)) == 1) {
			element(&f, &in, &r);
			if (r.kind == RESPREPLY_BULK)
				respreply_body(&in, body, take);
		}
		must((got == -1) == (why != NULL), "a refusal says why");
		must(in.from <= in.have && in.have <= in.size, "in the room");
	}
	f.refused = got == -1;
	return f;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct found whole, parts;

	if (len < 2)
		return 0;
	whole = find(p + 2, len - 2, len, 0);
	parts = find(p + 2, len - 2, (size_t)p[0] + 1, p[1]);
	must(whole.elements == parts.elements && whole.mark == parts.mark &&
	    whole.refused == parts.refused, "cut anyhow, the same replies");
	return 0;
}
