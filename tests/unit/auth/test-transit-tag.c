/* Test a queue in the path that has the key: which data it accepts and tags. */
#include "tests/unit/auth/transit-tag-rig.h"
#include "tests/unit/tap.h"

/* The worker opens again after a change, and data goes through. */
static bool
test_continues(struct worker *w)
{
	struct mail up, down;

	if (!open_worker(w))
		return false;
	up = make_update(w, 50);
	down = make_model(w);
	through_queue(&up);
	through_queue(&down);
	return server_verdict(&up) == UPDATE_OK &&
	       is_accepted(w, &down) == UPDATE_OK;
}

static void
test_both_directions(void)
{
	struct worker w;
	struct mail m, was;

	start_server(1);
	start_queue(1);
	start_worker(&w, 1, &key);
	ok(open_worker(&w), "a queue forwards the handshake of a worker");
	ok(memcmp(w.handshake.key.salt, ps.handshakes.key.salt,
	       TAG_SALT_BYTES) != 0,
	    "the queue and the server use different salts");
	m = was = make_update(&w, 1);
	ok(through_queue(&m) == UPDATE_OK &&
		server_verdict(&was) == SOUNDNESS_BAD_TAG &&
		server_verdict(&m) == UPDATE_OK,
	    "the server accepts an update as the queue sends it, and not as "
	    "the worker sent it");
	ok(through_queue(&m) == SOUNDNESS_BAD_TAG,
	    "the queue does not accept its own packet");
	m = was;
	ok(through_queue(&m) == SOUNDNESS_REPLAYED, "it comes once");
	m = was = make_update(&w, 2);
	m.b[40] ^= 1;
	ok(through_queue(&m) == SOUNDNESS_BAD_TAG,
	    "the queue does not accept a changed packet");
	m = was;
	ok(through_queue(&m) == UPDATE_OK && server_verdict(&m) == UPDATE_OK,
	    "the queue still accepts the unchanged packet");
	m = was = make_model(&w);
	ok(through_queue(&m) == UPDATE_OK && is_accepted(&w, &was) ==
	    SOUNDNESS_BAD_TAG && is_accepted(&w, &m) == UPDATE_OK &&
	    is_accepted(&w, &m) == SOUNDNESS_REPLAYED, "the same down");
	m = make_update(&w, 3);
	m.to = address_at(8, 46638);
	ok(through_queue(&m) == SOUNDNESS_REGULAR,
	    "the queue passes packets to another server");
	mail_vlan = 7;
	m = was = make_update(&w, 4);
	ok(through_queue(&m) == SOUNDNESS_REGULAR,
	    "a host of another VLAN that has the same address is a stranger");
	ok(open_worker(&w) && through_queue(&was) == SOUNDNESS_BAD_TAG,
	    "with a salt of its own");
	m = make_update(&w, 5);
	ok(through_queue(&m) == UPDATE_OK && server_verdict(&m) == UPDATE_OK,
	    "under which its updates pass");
	mail_vlan = 0;
}

/* Updates that are held back leave in another order, and merge. */
static void
test_orders(void)
{
	struct mail m[MOST];
	struct worker w;
	bool good = true, once = true;

	start_server(1);
	start_queue(1);
	start_worker(&w, 1, &key);
	open_worker(&w);
	for (uint32_t k = 0; k < MOST; k++) {
		struct packet p;
		bool down;

		m[k] = make_update(&w, k);
		p = as_packet(&m[k]);
		good =
		    good && transit_tag_check(&q.path, &p, &down) == UPDATE_OK;
	}
	for (uint32_t k = MOST; k-- > 0;) {	/* the last one first */
		struct packet p = as_packet(&m[k]);

		if (k % 3 == 1)
			continue;		/* it was merged */
		transit_tag_retag_packet(&q.path, &q.env, &p);
		good = good && server_verdict(&m[k]) == UPDATE_OK;
		once = once && server_verdict(&m[k]) == SOUNDNESS_REPLAYED;
	}
	ok(good && once, "of 128 updates that leave in any order none is late "
	    "at the server");
	ok(test_continues(&w), "what comes next goes on");
	transit_tag_free(&q.path);
	ok(test_continues(&w), "without the queue, too");
	start_queue(2);
	ok(test_continues(&w), "and behind another");
	start_queue(2);
	ok(test_continues(&w), "even of the same secret");
	start_server(2);
	ok(test_continues(&w),
	    "and so it does at a server that is started again");
}

/* All packets that were recorded on both sides are sent again. */
static void
test_replays(void)
{
	struct mail m, open, ack, up, direct;
	struct worker w, v;

	start_server(1);
	start_queue(1);
	start_worker(&w, 1, &key);
	start_worker(&v, 2, &key);
	open_worker(&w);
	m = w.open;		/* from another address, at the same time */
	m.from = v.at;
	through_queue(&m);
	m = w.ack;
	m.to = v.at;
	through_queue(&m);
	m = up = make_update(&w, 1);
	m.from = v.at;
	ok(through_queue(&m) == SOUNDNESS_BAD_TAG, "salts are of one address");
	open_worker(&v);
	m = direct = up;
	through_queue(&direct);
	open = w.open;
	ack = w.ack;
	m = open;
	through_queue(&m);
	m = ack;
	through_queue(&m);
	m = up;
	ok(through_queue(&m) == SOUNDNESS_REPLAYED,
	    "an Open and its Ack once more "
	    "forget no counter");
	m = direct;
	ok(through_queue(&m) == SOUNDNESS_BAD_TAG,
	    "what has left is not let in");
	m = open;
	m.from = v.at;
	through_queue(&m);
	m = ack;
	m.to = v.at;
	through_queue(&m);
	m = up;
	m.from = v.at;
	ok(through_queue(&m) == SOUNDNESS_BAD_TAG,
	    "nor from another address, with "
	    "its Open and Ack");
	ok(test_continues(&v), "whose own worker is let in again");
	m = up;
	m.from = v.at;
	ok(through_queue(&m) == SOUNDNESS_BAD_TAG,
	    "and still it is nothing there");
	start_server(2);	/* another run, then the former one again */
	ok(test_continues(&w), "the server is started again");
	m = up;
	ok(through_queue(&m) == SOUNDNESS_BAD_TAG, "the run before is nothing");
	m = open;
	through_queue(&m);
	m = ack;
	through_queue(&m);
	m = up;
	ok(through_queue(&m) == SOUNDNESS_BAD_TAG, "nor with its Open and Ack");
	ok(test_continues(&w), "of which the worker knows nothing");
	start_queue(1);
	m = open;
	through_queue(&m);
	m = ack;
	through_queue(&m);
	m = up;
	ok(through_queue(&m) == SOUNDNESS_BAD_TAG, "nor after the queue was "
	    "started again, under the same secret");
}

static void
test_strangers(void)
{
	static const uint8_t another[] = "another key of sixteen bytes";
	struct mail m, was;
	struct worker w, s;
	struct key other;

	key_set(&other, another, sizeof(another));
	start_server(1);
	start_queue(1);
	start_worker(&s, 3, &other);
	ok(!open_worker(&s) && q.path.rows.count == 0,
	    "who has another key leaves nothing");
	start_worker(&w, 1, &key);
	open_worker(&w);
	was = w.open;
	for (uint32_t i = 0; i < was.n; i++) {
		m = was;
		m.from = address_at(4, 5000);
		m.b[i] ^= 1;
		through_queue(&m);
	}
	ok(q.path.rows.count == 1, "nor an Open that was changed");
	m = w.ack;
	m.b[TRANSIT_TAG_SALT_AT] ^= 1;
	was = m;
	ok(through_queue(&m) == UPDATE_OK && memcmp(&m, &was, sizeof(m)) == 0,
	    "an Ack that was changed goes on as it came");
	for (uint32_t i = 0; i < 3 * TRANSIT_TAG_MOST; i++) {
		m = w.open;
		m.from.in.sin_addr.s_addr = htonl(0x0b000000 + i);
		through_queue(&m);
	}
	ok(q.path.rows.count == TRANSIT_TAG_MOST,
	    "one that was overheard, from "
	    "three times as many addresses as are kept");
	ok(test_continues(&w), "the worker is let in again");
	q.path.accepts_any_tag = true;
	m = make_update(&w, 9);
	m.b[40] ^= 1;
	ok(through_queue(&m) == UPDATE_OK && server_verdict(&m) == UPDATE_OK,
	    "a trace without the secret believes anything, and proves it");
}

int
main(void)
{
	key_set(&key, file, sizeof(file));
	test_both_directions();
	test_orders();
	test_replays();
	test_strangers();
	handshake_server_free(&ps.handshakes);
	channel_server_free(&ps.channels);
	transit_tag_free(&q.path);
	return tap_end();
}
