/*
 * Test tagged data at both ends: the handshake, the vectors of
 * tests/data/trust-vectors.txt, and a network that loses, duplicates, changes
 * and reorders packets.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"
#include "common/auth/handshake-server.h"
#include "common/auth/handshake-client.h"
#include "tests/unit/innet-agent/named-vectors.h"
#include "tests/unit/tap.h"

#define SECOND UINT64_C(1000000000)

enum { PACKET = 48, WHOLE = PACKET + UPDATE_TAIL_BYTES };

static struct key key;
static struct program_place place = { .live = true, .tagged = true,
    .hash_seed = { 3, 5 }, .key = &key };
static struct handshake_server server;
static struct channel_client channel;
static struct handshake_client client;
static uint64_t now = 5 * SECOND;

static union addr
address_at(uint16_t port)
{
	return (union addr){ .in = { .sin_family = AF_INET,
	    .sin_port = htons(port), .sin_addr = { htonl(0x0a000001) } } };
}

/* Start a client that has this cookie and sends Open. */
static void
start_client(const uint8_t *pass)
{
	static const uint8_t nonce[COOKIE_NONCE_BYTES] = "nonce-1";

	channel_client_open(&channel, &key, true, nonce);
	channel_client_adopt_cookie(&channel, pass);
	handshake_client_init(&client, true, &channel, &key);
	handshake_client_start(&client, now);
}

static void
start_server(void)
{
	handshake_server_free(&server);
	handshake_server_init(&server, &place, NULL);
}

/* Answer the client's Open. */
static bool
open_handshake(uint16_t port)
{
	uint8_t msg[HANDSHAKE_CLIENT_BYTES];
	struct control_ack a = { .action = CONTROL_OPEN };
	const uint32_t n = handshake_client_next(&client, 7, now, msg);
	const union addr from = address_at(port);
	struct control c;

	if (n == 0 || n > sizeof(msg) || !control_parse(msg, n, &c) ||
	    c.action != CONTROL_OPEN)
		return false;
	handshake_server_open(&server, &from, &c, &a, now);
	handshake_client_take_ack(&client, &a);
	return a.status == CONTROL_DONE;
}

static unsigned
send_up(uint16_t port, const uint8_t *p, uint32_t bytes)
{
	const union addr from = address_at(port);

	return handshake_server_check(
	    &server, &from, UPDATE_TAGGED_TOS, p, bytes);
}

static void
test_vectors(void)
{
	const struct vector *u = vector_of("update-4"),
	    *m = vector_of("model-4"), *p = vector_of("pass-192.0.2.1-4660"),
	    *salt = vector_of("salt");
	struct control_ack a = { .action = CONTROL_OPEN };
	uint8_t made[256];
	uint32_t n;

	start_server();
	start_client(p->b);
	ok(open_handshake(1), "a client opens");
	memcpy(a.salt, salt->b, sizeof(a.salt));
	handshake_client_take_ack(&client, &a); /* but with this salt */
	tag_key_set(&server.key, &key, salt->b);
	client.counter = 16;
	server.counter = 17;
	n = (uint32_t)u->n - UPDATE_TAIL_BYTES;
	memcpy(made, u->b, n);
	ok(handshake_client_tag(&client, made, n, now) == u->n &&
	    memcmp(made, u->b, u->n) == 0, "update-4 is proved");
	ok(send_up(1, u->b, (uint32_t)u->n) == UPDATE_OK, "... and believed");
	n = (uint32_t)m->n - UPDATE_TAIL_BYTES;
	memcpy(made, m->b, n);
	ok(handshake_server_tag(&server, made, n) == m->n &&
	    memcmp(made, m->b, m->n) == 0, "model-4 is proved");
	ok(handshake_client_check(&client, UPDATE_TAGGED_TOS, m->b, m->n) ==
		UPDATE_OK,
	    "... and believed");
	ok(handshake_client_check(&client, UPDATE_TAGGED_TOS, m->b, m->n) ==
	    SOUNDNESS_REPLAYED, "the client accepts a packet once");
	ok(handshake_client_check(&client, UPDATE_TAGGED_TOS, u->b, u->n) ==
	    SOUNDNESS_BAD_TAG, "a packet from the client is not valid as one "
	    "from the server");
	ok(send_up(1, m->b, (uint32_t)m->n) == SOUNDNESS_BAD_TAG,
	    "a packet from the server is not valid as one from the client");
}

static void
test_senders(void)
{
	static const uint8_t pass[COOKIE_BYTES] = "nonce-1-time--1--tag";
	static const uint8_t next[COOKIE_BYTES] = "nonce-1-time--2--tag";
	uint8_t p[WHOLE] = { 1 }, q[WHOLE] = { 2 };
	const union addr from = address_at(1);
	uint32_t n;

	start_server();
	start_client(pass);
	ok(!handshake_client_is_ready(&client),
	    "the client sends no data before the Ack");
	open_handshake(1);
	ok(handshake_client_is_ready(&client), "then it does");
	handshake_client_tag(&client, q, PACKET, now);
	n = handshake_client_tag(&client, p, PACKET, now);
	ok(send_up(1, p, n) == UPDATE_OK &&
		send_up(1, p, n) == SOUNDNESS_REPLAYED,
	    "the receiver accepts a packet once");
	ok(send_up(2, p, n) == SOUNDNESS_BAD_TAG,
	    "the receiver accepts a packet only from its own address");
	ok(handshake_server_check(&server, &from, UPDATE_TOS, p, n) ==
	    SOUNDNESS_BAD_TAG, "the receiver accepts a packet only with its "
	    "own form");
	ok(send_up(1, p, UPDATE_TAIL_BYTES - 1) == SOUNDNESS_BAD_TAG,
	    "the receiver rejects a packet without a tag");
	handshake_client_start(&client, now);
	ok(handshake_client_deadline_ns(&client) ==
		now + HANDSHAKE_CLIENT_SILENCE_NS,
	    "the client sends Open again when it receives nothing");
	now += HANDSHAKE_CLIENT_SILENCE_NS;
	open_handshake(1);
	ok(send_up(1, p, n) == SOUNDNESS_REPLAYED &&
		send_up(1, q, WHOLE) == UPDATE_OK,
	    "the same cookie does not start a new session");
	channel_client_adopt_cookie(&channel, next);
	client.awaits = true;
	now += HANDSHAKE_CLIENT_SILENCE_NS;
	open_handshake(1);
	ok(send_up(1, q, WHOLE) == SOUNDNESS_BAD_TAG,
	    "after a new cookie, the receiver rejects packets from before");
	handshake_client_tag(&client, p, PACKET, now);
	ok(send_up(1, p, WHOLE) == UPDATE_OK, "after a new cookie, the "
	    "receiver accepts packets from now on");
	start_server();
	now += HANDSHAKE_CLIENT_SILENCE_NS;
	client.awaits = true;
	open_handshake(1);
	handshake_client_tag(&client, q, PACKET, now);
	ok(send_up(1, p, WHOLE) == SOUNDNESS_BAD_TAG &&
	    send_up(1, q, WHOLE) == UPDATE_OK, "a server that restarts with "
	    "the same secret has another salt");
}

static void
test_refusals(void)
{
	static const uint8_t pass[COOKIE_BYTES] = "nonce-1-time--1--tag";
	struct control c = { .action = CONTROL_OPEN };
	struct control_ack a = { .action = CONTROL_OPEN };
	const union addr from = address_at(9);
	uint8_t msg[HANDSHAKE_CLIENT_BYTES];
	uint64_t spans = 0;

	start_server();
	handshake_server_open(&server, &from, &c, &a, now);
	ok(a.status == CONTROL_REFUSED &&
		!handshake_server_knows(&server, &from),
	    "a server does not accept a client without a valid cookie");
	c.cookie = pass;
	for (uint32_t i = 0; i < HANDSHAKE_SERVER_MOST + 10; i++) {
		const union addr one = { .in = { .sin_family = AF_INET,
		    .sin_port = htons(1), .sin_addr = { htonl(i + 1) } } };

		handshake_server_open(&server, &one, &c, &a, now);
	}
	ok(server.rows.count == HANDSHAKE_SERVER_MOST &&
		!handshake_server_knows(
		    &server, &(union addr){.in = {.sin_family = AF_INET,
					       .sin_port = htons(1),
					       .sin_addr = {htonl(1)}}}),
	    "if there are very many clients, those that were silent longest "
	    "are removed");
	start_client(pass);
	for (int i = 0; i < 8; i++) {
		const uint64_t was = handshake_client_deadline_ns(&client);

		handshake_client_next(&client, 1, was, msg);
		spans = handshake_client_deadline_ns(&client) - was;
	}
	ok(spans == HANDSHAKE_CLIENT_MOST_NS,
	    "a client that gets no answer waits longer and longer");
	a = (struct control_ack){ .action = CONTROL_OPEN,
	    .status = CONTROL_UNKNOWN };
	handshake_client_take_ack(&client, &a);
	ok(!handshake_client_is_ready(&client) &&
		strstr(handshake_client_problem(&client), "--auth") != NULL,
	    "a client that is refused learns the reason");
}

/* Packets are lost, duplicated, changed and reordered. */
static void
test_network(void)
{
	static const uint8_t pass[COOKIE_BYTES] = "nonce-1-time--1--tag";
	static uint8_t sent[4096][WHOLE];
	static unsigned taken[4096];
	struct rng rng = rng_seed(16);
	unsigned twice = 0, changed = 0, none = 0;

	start_server();
	start_client(pass);
	open_handshake(1);
	for (uint32_t i = 0; i < 4096; i++) {
		uint8_t copy[WHOLE];

		bytes_put(sent[i], i, 8);
		handshake_client_tag(&client, sent[i], PACKET, now);
		for (int k = 0; k < 3; k++) {
			const uint64_t back = rng_below(&rng, 100);
			const uint32_t j = back > i ? i : i -
			    (uint32_t)(back % 60);

			memcpy(copy, sent[j], WHOLE);
			if (rng_below(&rng, 4) == 0) {
				copy[rng_below(&rng, WHOLE)] ^= 0x20;
				changed += send_up(1, copy, WHOLE) == UPDATE_OK;
			} else if (send_up(1, copy, WHOLE) == UPDATE_OK) {
				twice += taken[j]++ > 0;
			}
		}
	}
	for (uint32_t i = 0; i < 4096; i++)
		none += taken[i] == 0;
	ok(changed == 0 && twice == 0, "over a bad network, no changed packet "
	    "and no duplicate is accepted");
	ok(none < 1024, "over a bad network, every other packet is accepted "
	    "(%u were not)", none);
}

int
main(void)
{
	const struct vector *k;

	vectors_read("trust-vectors.txt");
	k = vector_of("key");
	key_set(&key, k->b, k->n);
	test_vectors();
	test_senders();
	test_refusals();
	test_network();
	handshake_server_free(&server);
	return tap_end();
}
