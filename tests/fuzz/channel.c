/*
 * Fuzz the channels of clients to a server, with an attacker between them. 
 * Byte 0 says whether there is a key.  Each further byte is a client (2 bits),
 * an event (3 bits) and a number (3 bits), and more bytes may belong to it. 
 * The server must execute a request at most once, for its sender's address, and
 * unchanged.
 */
#include "common/auth/channel-server.h"
#include "common/auth/channel-client.h"
#include "tests/fuzz/fuzz.h"

enum { CLIENTS = 4, LOG = 64, BYTES = 80 };

enum what { ASK, ASK_AGAIN, REPLAY, FROM_ELSEWHERE, FLIP, WAIT, FORGET, NOISE };

struct client {
	struct channel_client ch;
	union addr at;
	uint32_t xid;
};

/* A message that was on the wire to the server. */
struct sent {
	uint8_t m[BYTES];
	size_t len;
	uint32_t client;
	bool taken;
};

static struct channel_server table;
static struct channel_server_rules rules;
static struct key key, other, commands;
static struct client client[CLIENTS];
static struct sent sent[LOG];
static uint32_t logged, restarts;
static uint64_t now;
static bool keyed;

/* Start or restart the server. */
static void
start(void)
{
	static const struct hashmap_multiplier by = { 3, 5 };
	const uint32_t n = restarts++;

	channel_server_free(&table);
	table = channel_server_of(&by);
	rules = (struct channel_server_rules){ .key = keyed ? &key : NULL,
	    .commands = keyed ? &commands : NULL, .needs_cookie = true };
	key_set(&rules.secret, &n, sizeof(n));
}

/* Check the server's answer to k for client c, or that there is none. */
static void
answer(struct client *c, const struct control *k, size_t len, bool good)
{
	uint8_t a[BYTES], *p = control_put(a, CONTROL_ACK, 1, k->xid);
	enum channel_client_news news;
	struct control r;
	size_t n;

	*p++ = k->action;
	*p++ = good ? CONTROL_DONE : CONTROL_CHALLENGE;
	n = (size_t)(p - a);
	if (good) {
		n = channel_server_protect(
		    &table, &rules, &c->at, a, (uint32_t)n);
	} else {
		cookie_make(&rules.secret, &c->at, k->cookie, now, p);
		a[1] = CONTROL_HAS_COOKIE;
		n += COOKIE_BYTES;
		if (n > len)
			return;
	}
	must(control_parse(a, n, &r), "what is said is a message");
	news = channel_client_receive(&c->ch, a, n, &r);
	must(!good || news == CHANNEL_CLIENT_GOOD,
	    "the client believes the server");
	must(news != CHANNEL_CLIENT_GOOD || good, "and no challenge");
	if (news == CHANNEL_CLIENT_GOOD && keyed)
		must(channel_client_receive(&c->ch, a, n, &r) ==
			 CHANNEL_CLIENT_OLD,
		    "once");
}

/* Deliver a message from an address, which may belong to another client. */
static enum channel_server_verdict
come(const union addr *from, const uint8_t *m, size_t len, struct client *c)
{
	enum channel_server_verdict v = CHANNEL_SERVER_NO_COOKIE;
	struct channel_server_row *row = NULL;
	uint8_t *p = fuzz_copy(m, len);
	struct control k;

	if (control_parse(p, len, &k)) {
		v = channel_server_check(&table, &rules, from, p, len, &k, now,
		    &row);
		must((v == CHANNEL_SERVER_GOOD) == (row != NULL),
		    "a row if good");
		must(row == NULL || addr_same(&row->at, from), "and its own");
		if (c != NULL && (v == CHANNEL_SERVER_GOOD ||
		    v == CHANNEL_SERVER_CHALLENGE))
			answer(c, &k, len, v == CHANNEL_SERVER_GOOD);
	}
	free(p);
	return v;
}

static void
ask(struct client *c, bool anew)
{
	struct sent *s = &sent[logged++ % LOG];

	c->xid += anew;
	s->client = (uint32_t)(c - client);
	s->len = channel_client_protect(&c->ch, s->m, (size_t)(control_put(s->m,
	    CONTROL_HALT, 1, c->xid) - s->m));
	s->taken = come(&c->at, s->m, s->len, c) == CHANNEL_SERVER_GOOD;
	must(!s->taken || !keyed || c != &client[2],
	    "who has another key is not let in");
}

/* Run one event; return the number of further bytes that belong to it. */
static size_t
step(uint8_t op, const uint8_t *p, size_t len)
{
	static const uint64_t step_ns[] = { 1, 1000, 1000000, 1000000000,
	    9999999999, 10000000000, 10000000001, 3600000000000 };
	struct client *c = &client[op & 3];
	struct sent *s = &sent[logged == 0 ? 0 : (logged - 1 - (op >> 5) %
	    (logged < 8 ? logged : 8)) % LOG];
	const size_t n = len < 8u * (op >> 5) ? len : 8u * (op >> 5);
	uint8_t m[BYTES];

	switch ((enum what)(op >> 2 & 7)) {
	case ASK: ask(c, true); return 0;
	case ASK_AGAIN: ask(c, false); return 0;
	case REPLAY:
		if (logged > 0 && come(&client[s->client].at, s->m, s->len,
		    NULL) == CHANNEL_SERVER_GOOD) {
			must(!keyed || !s->taken, "what was done is not again");
			s->taken = true;
		}
		return 0;
	case FROM_ELSEWHERE:
		if (logged > 0 && s->client != (op & 3))
			must(come(&c->at, s->m, s->len, NULL) !=
				 CHANNEL_SERVER_GOOD,
			    "nor from elsewhere");
		return 0;
	case FLIP:
		if (logged == 0 || len == 0 || !keyed)
			return 0;
		memcpy(m, s->m, s->len);
		m[p[0] % s->len] ^= (uint8_t)(1 << (op >> 5));
		must(come(&client[s->client].at, m, s->len, NULL) !=
		    CHANNEL_SERVER_GOOD, "nor with a bit changed");
		return 1;
	case WAIT: now += step_ns[op >> 5]; return 0;
	case FORGET:
		if (op >> 5 == 7)
			start();
		else if (table.rows.count > 0)
			channel_server_forget_row(
			    &table, lru_oldest(&table.rows));
		return 0;
	case NOISE:
		must(come(&c->at, p, n, NULL) != CHANNEL_SERVER_GOOD || !keyed,
		    "noise is no request");
		return n;
	}
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static const struct key *const keys[] = { &key, &key, &other,
	    &commands };

	if (len < 1)
		return 0;
	keyed = (p[0] & 1) != 0;
	logged = restarts = 0;
	now = 1000000000;
	key_set(&key, "a key of 16 bytes", 17);
	key_set(&other, "another of 16 bytes", 19);
	key_set(&commands, "the key of commands", 19);
	start();
	for (uint32_t k = 0; k < CLIENTS; k++) {
		client[k] = (struct client){ .at = { .in = {
		    .sin_family = AF_INET, .sin_port = htons(4000),
		    .sin_addr = { htonl(0x0a000001 + k) } } } };
		channel_client_open(&client[k].ch, keyed ? keys[k] : NULL, true,
		    (const uint8_t *)(k % 2 == 0 ? "nonce--A" : "nonce--B"));
		client[k].ch.commands = keyed && k == 3;
	}
	for (size_t i = 1; i < len; i++)
		i += step(p[i], p + i + 1, len - i - 1);
	channel_server_free(&table);
	return 0;
}
