/* Replies: one of each source and job, and an end to memory. */
#include "common/program/answered.h"
#include "tests/unit/tap.h"

static union addr
at(uint32_t i)
{
	return (union addr){ .in = { .sin_family = AF_INET,
	    .sin_port = htons((uint16_t)i),
	    .sin_addr = { htonl(0x7f000001 + (i >> 16)) } } };
}

/* Texts of many sources take no more than they may. */
static void
texts(void)
{
	struct answered s = { 0 };
	bool within = true;

	for (uint32_t k = 1; k <= 100; k++) {
		const union addr a = at(k);
		char *text = malloc(1 << 20);

		memset(text, 'x', (1 << 20) - 1);
		text[(1 << 20) - 1] = '\0';
		answered_text(&s, answered_of(&s, &a, 1), text);
		within = within && s.text_bytes <= ANSWERED_TEXT_BYTES &&
		    s.r[k - 1].text != NULL;
	}
	ok(within, "100 texts of 1 MB: the last is there, in 16 MB");
	answered_free(&s);
}

int
main(void)
{
	struct answered s = { 0 };
	union addr a = at(7), b = at(8);
	struct reply *r = answered_of(&s, &a, 1);
	bool all = true;

	ok(r != NULL && !r->asked, "a new source has asked nothing");
	answered_keep(r, 5, (const uint8_t *)"ack", 3);
	ok(answered_of(&s, &a, 1)->xid == 5 && answered_of(&s, &a, 1)->asked &&
	    answered_of(&s, &a, 1)->ack_bytes == 3, "its Ack is kept");
	ok(!answered_of(&s, &a, 2)->asked, "of that job alone");
	ok(!answered_of(&s, &b, 1)->asked, "and of that source");
	for (uint32_t i = 0; i < 3 * ANSWERED_MAX; i++) {
		b = at(1000 + i);
		r = answered_of(&s, &b, 1);
		if (r == NULL)
			break;
		answered_keep(r, i, (const uint8_t *)&i, 4);
		all = all && answered_of(&s, &b, 1)->xid == i;
	}
	ok(all && s.n == ANSWERED_MAX && s.index.count == ANSWERED_MAX,
	    "a flood of sources: the latest are known, and no more");
	ok(!answered_of(&s, &a, 1)->asked, "the oldest is forgotten");
	answered_free(&s);
	texts();
	return tap_end();
}
