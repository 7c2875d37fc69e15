/* A queue in the path that has the key: what it believes, and who it. */
#include "tests/unit/auth/transit-tag-rig.h"
#include "tests/unit/tap.h"

/* It is let in anew after something has changed, and data goes through. */
static bool
goes_on(struct worker *w)
{
	struct mail up, down;

	if (!enters(w))
		return false;
	up = update(w, 50);
	down = model(w);
	passes(&up);
	passes(&down);
	return judged(&up) == UPDATE_OK && believed(w, &down) == UPDATE_OK;
}

static void
to_and_fro(void)
{
	struct worker w;
	struct mail m, was;

	serve(1);
	stand(1);
	start(&w, 1, &key);
	ok(enters(&w), "a worker is let in through the queue");
	ok(memcmp(w.handshake.key.salt, ps.handshakes.key.salt,
	       TAG_SALT_BYTES) != 0,
	    "under a salt that is not the server's");
	m = was = update(&w, 1);
	ok(passes(&m) == UPDATE_OK && judged(&was) == SOUNDNESS_BAD_TAG &&
	    judged(&m) == UPDATE_OK, "what goes up is good at the server as "
	    "it leaves, not as it came");
	ok(passes(&m) == SOUNDNESS_BAD_TAG, "nor is that one the queue's");
	m = was;
	ok(passes(&m) == SOUNDNESS_REPLAYED, "it comes once");
	m = was = update(&w, 2);
	m.b[40] ^= 1;
	ok(passes(&m) == SOUNDNESS_BAD_TAG, "changed it is nothing");
	m = was;
	ok(passes(&m) == UPDATE_OK && judged(&m) == UPDATE_OK,
	    "and as it was it still is good");
	m = was = model(&w);
	ok(passes(&m) == UPDATE_OK && believed(&w, &was) ==
	    SOUNDNESS_BAD_TAG && believed(&w, &m) == UPDATE_OK &&
	    believed(&w, &m) == SOUNDNESS_REPLAYED, "the same down");
	m = update(&w, 3);
	m.to = at(8, 46638);
	ok(passes(&m) == SOUNDNESS_REGULAR, "to another server it passes");
}

/* Updates that are held back leave in another order, and merge. */
static void
orders(void)
{
	struct mail m[MOST];
	struct worker w;
	bool good = true, once = true;

	serve(1);
	stand(1);
	start(&w, 1, &key);
	enters(&w);
	for (uint32_t k = 0; k < MOST; k++) {
		struct packet p;
		bool down;

		m[k] = update(&w, k);
		p = packet(&m[k]);
		good =
		    good && transit_tag_check(&q.path, &p, &down) == UPDATE_OK;
	}
	for (uint32_t k = MOST; k-- > 0;) {	/* the last one first */
		struct packet p = packet(&m[k]);

		if (k % 3 == 1)
			continue;		/* it was merged */
		transit_tag_retag_packet(&q.path, &q.env, &p);
		good = good && judged(&m[k]) == UPDATE_OK;
		once = once && judged(&m[k]) == SOUNDNESS_REPLAYED;
	}
	ok(good && once, "of 128 updates that leave in any order none is late "
	    "at the server");
	ok(goes_on(&w), "what comes next goes on");
	transit_tag_free(&q.path);
	ok(goes_on(&w), "without the queue, too");
	stand(2);
	ok(goes_on(&w), "and behind another");
	stand(2);
	ok(goes_on(&w), "even of the same secret");
	serve(2);
	ok(goes_on(&w), "and so it does at a server that is started again");
}

/* All that was overheard, of both sides of the queue, is sent once more. */
static void
overheard(void)
{
	struct mail m, open, ack, up, direct;
	struct worker w, v;

	serve(1);
	stand(1);
	start(&w, 1, &key);
	start(&v, 2, &key);
	enters(&w);
	m = w.open;		/* from another address, at that instant */
	m.from = v.at;
	passes(&m);
	m = w.ack;
	m.to = v.at;
	passes(&m);
	m = up = update(&w, 1);
	m.from = v.at;
	ok(passes(&m) == SOUNDNESS_BAD_TAG, "salts are of one address");
	enters(&v);
	m = direct = up;
	passes(&direct);
	open = w.open;
	ack = w.ack;
	m = open;
	passes(&m);
	m = ack;
	passes(&m);
	m = up;
	ok(passes(&m) == SOUNDNESS_REPLAYED, "an Open and its Ack once more "
	    "forget no counter");
	m = direct;
	ok(passes(&m) == SOUNDNESS_BAD_TAG, "what has left is not let in");
	m = open;
	m.from = v.at;
	passes(&m);
	m = ack;
	m.to = v.at;
	passes(&m);
	m = up;
	m.from = v.at;
	ok(passes(&m) == SOUNDNESS_BAD_TAG, "nor from another address, with "
	    "its Open and Ack");
	ok(goes_on(&v), "whose own worker is let in again");
	m = up;
	m.from = v.at;
	ok(passes(&m) == SOUNDNESS_BAD_TAG, "and still it is nothing there");
	serve(2);		/* another run, and back to the former */
	ok(goes_on(&w), "the server is started again");
	m = up;
	ok(passes(&m) == SOUNDNESS_BAD_TAG, "the run before is nothing");
	m = open;
	passes(&m);
	m = ack;
	passes(&m);
	m = up;
	ok(passes(&m) == SOUNDNESS_BAD_TAG, "nor with its Open and Ack");
	ok(goes_on(&w), "of which the worker knows nothing");
	stand(1);
	m = open;
	passes(&m);
	m = ack;
	passes(&m);
	m = up;
	ok(passes(&m) == SOUNDNESS_BAD_TAG, "nor after the queue was "
	    "started again, under the same secret");
}

static void
strangers(void)
{
	static const uint8_t another[] = "another key of sixteen bytes";
	struct mail m, was;
	struct worker w, s;
	struct key other;

	key_set(&other, another, sizeof(another));
	serve(1);
	stand(1);
	start(&s, 3, &other);
	ok(!enters(&s) && q.path.rows.count == 0,
	    "who has another key leaves nothing");
	start(&w, 1, &key);
	enters(&w);
	was = w.open;
	for (uint32_t i = 0; i < was.n; i++) {
		m = was;
		m.from = at(4, 5000);
		m.b[i] ^= 1;
		passes(&m);
	}
	ok(q.path.rows.count == 1, "nor an Open that was changed");
	m = w.ack;
	m.b[TRANSIT_TAG_SALT_AT] ^= 1;
	was = m;
	ok(passes(&m) == UPDATE_OK && memcmp(&m, &was, sizeof(m)) == 0,
	    "an Ack that was changed goes on as it came");
	for (uint32_t i = 0; i < 3 * TRANSIT_TAG_MOST; i++) {
		m = w.open;
		m.from.in.sin_addr.s_addr = htonl(0x0b000000 + i);
		passes(&m);
	}
	ok(q.path.rows.count == TRANSIT_TAG_MOST,
	    "one that was overheard, from "
	    "three times as many addresses as are kept");
	ok(goes_on(&w), "the worker is let in again");
	q.path.accepts_any_tag = true;
	m = update(&w, 9);
	m.b[40] ^= 1;
	ok(passes(&m) == UPDATE_OK && judged(&m) == UPDATE_OK,
	    "a trace without the secret believes anything, and proves it");
}

int
main(void)
{
	key_set(&key, file, sizeof(file));
	to_and_fro();
	orders();
	overheard();
	strangers();
	handshake_server_free(&ps.handshakes);
	channel_server_free(&ps.channels);
	transit_tag_free(&q.path);
	return tap_end();
}
