/* Fuzz UDP payloads as control messages, with their bodies and tags. */
#include "common/iswitch/state-transfer.h"
#include "common/auth/mac.h"
#include "tests/fuzz/fuzz.h"

/* A receiver gets only Chunks. */
static void
inherit(const struct transfer_chunk *k)
{
	struct state_receiver h;

	if (k->bytes > 1 << 20)
		return;			/* only memory can be missing */
	state_receiver_init(&h, 1, 2, 3, false, 1000, 0);
	state_receiver_receive(&h, k, 0);
	must(h.end != STATE_RECEIVER_HAS || h.here == h.chunks, "it has all");
	state_receiver_free(&h);
}

enum { JOIN_BYTES = 22, JOINED_BYTES = 20 };	/* without flags */

/*
 * An Ack: fields that its status or this version does not define are not
 * written again.
 */
static size_t
ack_again(const struct control *c, const struct control_ack *a, uint8_t *put)
{
	const size_t known = (size_t)(control_put_ack(put, a) - put);

	if (a->action != CONTROL_JOIN || known <= JOINED_BYTES ||
	    put[JOINED_BYTES] == c->body[JOINED_BYTES])
		return known;
	must((put[JOINED_BYTES] & ~c->body[JOINED_BYTES]) == 0,
	    "no flag is made up");
	return JOINED_BYTES;
}

/* Read the body of c and write it at put; return how much of it is known. */
static size_t
body_again(const struct control *c, uint8_t *put)
{
	struct control_join j;
	struct transfer_fetch f;
	struct transfer_chunk k;
	struct control_left l;
	struct control_ack a;
	uint64_t v;
	size_t known;

	switch (c->action) {
	case CONTROL_JOIN:
		if (!control_get_join(c, &j))
			return 0;
		known = (size_t)(control_put_join(put, &j) - put);
		/* flags of a later version are not written again */
		return known > JOIN_BYTES && (c->body[JOIN_BYTES] & ~15) != 0 ?
		    JOIN_BYTES : known;
	case CONTROL_SETH:
	case CONTROL_MEMBERS:
	case CONTROL_STATS:
		return control_get_number(c, 2, &v) ?
		    (size_t)(bytes_put(put, v, 2) - put) : 0;
	case CONTROL_FBCAST:
	case CONTROL_HELP:
		return control_get_number(c, 8, &v) ?
		    (size_t)(bytes_put(put, v, 8) - put) : 0;
	case CONTROL_ACK:
		if (!control_get_ack(c, &a))
			return 0;
		must(a.text == NULL || (a.text >= c->body &&
		    a.text + a.text_bytes == c->body + c->body_bytes),
		    "the text ends where the body does");
		must(control_status_text(a.status) != NULL, "it has a text");
		return ack_again(c, &a, put);
	case CONTROL_FETCH:
		return transfer_get_fetch(c, &f) && c->body_bytes == 18 &&
		    c->body[2] == 0 && c->body[3] <= 1 ?
		    (size_t)(transfer_put_fetch(put, &f) - put) : 0;
	case CONTROL_CHUNK:
		if (!transfer_get_chunk(c, &k))
			return 0;
		inherit(&k);
		return c->body[2] == 0 && c->body[3] <= 1 ?
		    (size_t)(transfer_put_chunk(put, &k) - put) : 0;
	case CONTROL_LEFT:
		return control_get_left(c, &l) && c->body[1] <= 1 ?
		    (size_t)(control_put_left(put, &l) - put) : 0;
	default: return 0;
	}
}

/* A MAC is valid, but not under another key or with a changed bit. */
static void
sign(uint8_t *msg, size_t len)
{
	struct key key = { 0 }, other = { 0 };
	struct control c;

	key_set(&key, msg, 8);
	key_set(&other, "another", 7);
	msg[1] |= CONTROL_HAS_MAC;
	len = mac_put(&key, MAC_REQUEST, 3, msg, len);
	must(control_parse(msg, len, &c) && c.has_mac && c.counter == 3 &&
	    mac_good(&key, MAC_REQUEST, msg, len), "what is sealed is good");
	must(!mac_good(&other, MAC_REQUEST, msg, len) &&
	    !mac_good(&key, MAC_RESPONSE, msg, len),
	    "not so under another key, or the other way");
	msg[msg[7] % len] ^= 0x80;
	must(!mac_good(&key, MAC_REQUEST, msg, len),
	    "nor after a bit has flipped");
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	uint8_t *q = fuzz_copy(p, len), *put = malloc(len + 64);
	struct control c;
	size_t n;

	if (put == NULL)
		abort();
	if (control_parse(q, len, &c)) {
		must(control_action_name(c.action) != NULL, "it has a name");
		must(c.body == q + 8 && c.body_bytes == len - 8 -
		    (c.has_mac ? CONTROL_MAC_BYTES : 0) -
		    (c.cookie != NULL ? CONTROL_COOKIE_BYTES : 0),
		    "the body's place");
		must(control_put(put, c.action, c.job, c.xid) == put + 8,
		    "a header is 8 bytes");
		must(put[0] == q[0] && put[1] == 0 &&
		    memcmp(put + 2, q + 2, 6) == 0, "put: the same header");
		n = body_again(&c, put + 8);
		must(n <= c.body_bytes && memcmp(put + 8, c.body, n) == 0,
		    "put: the same body, as far as it is known");
		sign(put, 8 + n);
	}
	free(put);
	free(q);
	return 0;
}
