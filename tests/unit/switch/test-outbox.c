/*
 * Test the outbox: order, runs, copies, and packets that must be sent before
 * their bytes change.
 */
#include <string.h>

#include "common/switch/outbox.h"
#include "tests/unit/tap.h"

static struct outbox o;
static struct post got[1000];
static unsigned n;

static void
record_post(void *ctx, const struct post *p)
{
	(void)ctx;
	got[n++] = *p;
}

int
main(void)
{
	static const uint8_t bytes[4000];
	const union addr a = { .in = { .sin_family = AF_INET, .sin_port = 1 } };
	const union addr b = { .in = { .sin_family = AF_INET, .sin_port = 2 } };
	uint8_t word[8] = { 1 };
	uint64_t round;

	outbox_init(&o, record_post, NULL);
	for (unsigned i = 0; i < 3; i++)
		outbox_add(&o, POST_GROUP, 0, NULL, 1, bytes + 100 * i,
		    i < 2 ? 100 : 40);
	outbox_add(&o, POST_GROUP, 0, NULL, 1, bytes + 240, 100);
	outbox_flush(&o);
	ok(n == 2 && got[0].count == 3 && got[0].bytes == 100 &&
	    got[0].last_bytes == 40, "neighbouring packets are a run, up to a "
	    "short one");
	n = 0;
	outbox_add(&o, POST_ONE, 0, &a, 1, bytes, 100);
	outbox_add(&o, POST_ONE, 0, &b, 1, bytes + 100, 100);
	outbox_add(&o, POST_ONE, 0, &b, 2, bytes + 200, 100);
	outbox_add(&o, POST_ONE, 1, &b, 2, bytes + 300, 100);
	outbox_add(&o, POST_ONE, 1, &b, 2, bytes + 400, 101);
	outbox_flush(&o);
	ok(n == 5, "a packet with another address, ToS, job or greater length "
	    "starts another post");
	n = 0;
	outbox_copy(&o, POST_ONE, 0, &a, 1, word, 8);
	word[0] = 2;
	outbox_copy(&o, POST_ONE, 0, &a, 1, word, 8);
	ok(o.n == 2 && o.post[0].p[0] == 1 && o.post[1].p[0] == 2,
	    "copied packets are copies, and not a run");
	round = outbox_add(&o, POST_GROUP, 0, NULL, 1, bytes, 100);
	outbox_settle(&o, 0);
	outbox_settle(&o, round - 1);
	ok(n == 0, "packets posted in other rounds are not sent early");
	outbox_settle(&o, round);
	ok(n == 3 && o.n == 0, "packets posted in this round are sent early");
	n = 0;
	for (unsigned i = 0; i < OUTBOX_POSTS + 1; i++)
		outbox_add(&o, POST_ONE, i, &a, 1, bytes, 100);
	ok(n == OUTBOX_POSTS && o.n == 1, "a full outbox is sent");
	outbox_flush(&o);
	n = 0;
	for (unsigned i = 0; i < 60; i++)
		outbox_copy(&o, POST_ONE, 0, &a, 1, bytes, 1400);
	outbox_flush(&o);
	ok(n == 60, "an outbox with a full arena is sent");
	return tap_end();
}
