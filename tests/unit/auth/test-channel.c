/*
 * Test channels at the server and at the client: which requests are accepted.
 */
#include <stdlib.h>
#include <string.h>

#include "common/auth/rate-limit.h"
#include "common/auth/channel-server.h"
#include "common/auth/channel-client.h"
#include "tests/unit/tap.h"

#define SECOND UINT64_C(1000000000)

static struct channel_server table;
static struct channel_server_rules rules;
static struct key key, commands, other;
static struct channel_client client;
static struct channel_server_row *row;
static uint8_t msg[256];	/* the last request, */
static size_t len;		/* length of msg */
static uint32_t members;	/* ports below this number belong to members */
static uint64_t now = 5 * SECOND;

static union addr
address_at(unsigned host, uint16_t port)
{
	return (union addr){ .in = { .sin_family = AF_INET,
	    .sin_port = htons(port),
	    .sin_addr = { htonl(0x0a000000 + host) } } };
}

static bool
is_member(const void *ctx, const union addr *a)
{
	(void)ctx;
	return addr_port(a) < members;
}

static uint32_t
member_total(const void *ctx)
{
	(void)ctx;
	return members;
}

/* Start a live server with or without a key, with that secret. */
static void
start_server(bool keyed, const char *secret)
{
	static const struct hashmap_multiplier by = { 3, 5 };

	channel_server_free(&table);
	table = channel_server_of(&by);
	table.stays = is_member;
	table.staying = member_total;
	rules = (struct channel_server_rules){ .key = keyed ? &key : NULL,
	    .needs_cookie = true };
	key_set(&rules.secret, secret, strlen(secret));
}

static void
start_client(const struct key *k)
{
	channel_client_open(&client, k, true, (const uint8_t *)"nonce--A");
}

/* Write a request for an action with that xid. */
static void
write_request(enum control_action action, uint32_t xid)
{
	len = channel_client_protect(&client, msg, (size_t)(control_put(msg,
	    (uint8_t)action, 1, xid) - msg));
}

/* Check the request as if it came from that address. */
static enum channel_server_verdict
check_request(const union addr *from)
{
	struct control c;

	row = NULL;
	return control_parse(msg, len, &c)
		   ? channel_server_check(
			 &table, &rules, from, msg, len, &c, now, &row)
		   : CHANNEL_SERVER_NO_COOKIE;
}

/* Deliver the server's challenge to the client at that address. */
static enum channel_client_news
challenge(const union addr *from, uint32_t xid)
{
	uint8_t a[CHANNEL_CLIENT_CHALLENGE_BYTES];
	uint8_t *p = control_put(a, CONTROL_ACK, 1, xid);
	struct control c;

	*p++ = CONTROL_HALT;
	*p++ = CONTROL_CHALLENGE;
	cookie_make(&rules.secret, from, client.cookie, now, p);
	a[1] = CONTROL_HAS_COOKIE;
	return control_parse(a, sizeof(a), &c) && sizeof(a) <= len
		   ? channel_client_receive(&client, a, sizeof(a), &c)
		   : CHANNEL_CLIENT_OLD;
}

/* Return the client's result for an answer sent to an address. */
static enum channel_client_news
client_receive(const union addr *to)
{
	uint8_t a[64];
	uint32_t n = (uint32_t)(control_put(a, CONTROL_HALT, 1, 9) - a);
	struct control c;

	n = channel_server_protect(&table, &rules, to, a, n);
	return control_parse(a, n, &c)
		   ? channel_client_receive(&client, a, n, &c)
		   : CHANNEL_CLIENT_BAD;
}

/* Open the client's channel from that address. */
static bool
open_channel(const union addr *from)
{
	write_request(CONTROL_HALT, 7);
	if (check_request(from) != CHANNEL_SERVER_CHALLENGE ||
	    challenge(from, 7) != CHANNEL_CLIENT_CHALLENGED)
		return false;
	write_request(CONTROL_HALT, 7);
	return check_request(from) == CHANNEL_SERVER_GOOD;
}

static void
test_opening(bool keyed)
{
	const union addr a = address_at(1, 4000), b = address_at(2, 4000),
			 c = address_at(1, 4001);
	const char *with = keyed ? "keyed" : "no key";

	start_server(keyed, "S");
	start_client(keyed ? &key : NULL);
	write_request(CONTROL_HALT, 7);
	ok(check_request(&a) == CHANNEL_SERVER_CHALLENGE &&
		table.rows.count == 0 && len >= CHANNEL_CLIENT_CHALLENGE_BYTES,
	    "%s: the server challenges a new client and keeps no state", with);
	ok(challenge(&a, 8) == CHANNEL_CLIENT_BAD &&
		!channel_client_has_cookie(&client),
	    "%s: the client ignores a challenge with another xid", with);
	ok(challenge(&a, 7) == CHANNEL_CLIENT_CHALLENGED,
	    "%s: the client accepts the challenge with its xid",
	    with);
	write_request(CONTROL_HALT, 7);
	ok(check_request(&b) == CHANNEL_SERVER_CHALLENGE &&
		check_request(&c) == CHANNEL_SERVER_CHALLENGE,
	    "%s: a cookie is valid for one address and port", with);
	now += COOKIE_LIFE_NS + 1;
	ok(check_request(&a) == CHANNEL_SERVER_CHALLENGE,
	    "%s: a cookie is valid for 10 seconds", with);
	now -= COOKIE_LIFE_NS + 1;
	ok(check_request(&a) == CHANNEL_SERVER_GOOD && row->open && !row->asked,
	    "%s: a valid cookie opens the channel", with);
	now += 3600 * SECOND;
	write_request(CONTROL_HALT, 8);
	ok(check_request(&a) == CHANNEL_SERVER_GOOD,
	    "%s: an open channel stays open after the cookie's time", with);
	ok(client_receive(&a) == CHANNEL_CLIENT_GOOD,
	    "%s: the client accepts the server's answer", with);
	start_server(keyed, "T");
	ok(check_request(&a) == CHANNEL_SERVER_CHALLENGE,
	    "%s: a restarted server does not accept the old channel",
	    with);
}

static void
test_nonces(void)
{
	uint8_t m[CHANNEL_CLIENT_CHALLENGE_BYTES] = {CONTROL_ACK,
	    CONTROL_HAS_COOKIE, 0, 1, 0, 0, 0, 7, CONTROL_HALT,
	    CONTROL_CHALLENGE, 'n', 'o', 'n', 'c', 'e', '-', '-', 'B', 1};
	struct control c;

	start_client(&key);
	write_request(CONTROL_HALT, 7);
	ok(control_parse(m, sizeof(m), &c) &&
		channel_client_receive(&client, m, sizeof(m), &c) ==
		    CHANNEL_CLIENT_BAD &&
		!channel_client_has_cookie(&client),
	    "the client ignores a challenge with another client's nonce");
	m[17] = 'A';
	ok(channel_client_receive(&client, m, sizeof(m), &c) ==
		    CHANNEL_CLIENT_CHALLENGED &&
		channel_client_receive(&client, m, sizeof(m), &c) ==
		    CHANNEL_CLIENT_BAD,
	    "the client accepts a challenge with its own nonce once");
}

/*
 * Test challenges that the network duplicates or reorders; `any`: in a trace,
 * which may have challenges of another run.
 */
static void
test_late_challenges(bool any)
{
	const char *where = any ? "a trace" : "live";
	const union addr a = address_at(1, 4000);
	uint8_t pass[COOKIE_BYTES];

	start_server(true, "S");
	start_client(&key);
	client.any = any;
	write_request(CONTROL_HALT, 7);
	ok(challenge(&a, 7) == CHANNEL_CLIENT_CHALLENGED, "%s: challenged",
	    where);
	memcpy(pass, client.cookie, COOKIE_BYTES);
	write_request(CONTROL_HALT, 7);
	ok(challenge(&a, 7) == CHANNEL_CLIENT_OLD && client.out == 1,
	    "%s: a second copy of a challenge does not reset the "
	    "counter", where);
	now -= SECOND;
	ok(challenge(&a, 7) == CHANNEL_CLIENT_OLD &&
	    memcmp(client.cookie, pass, COOKIE_BYTES) == 0,
	    "%s: a challenge that was overtaken does not reset the "
	    "counter", where);
	write_request(CONTROL_HALT, 8);
	ok(challenge(&a, 8) == CHANNEL_CLIENT_CHALLENGED &&
	    memcmp(client.cookie, pass, COOKIE_BYTES) != 0,
	    "%s: after a clock was reset, a challenge for a new request "
	    "counts", where);
	now += SECOND;
	write_request(CONTROL_HALT, 8);
	ok(challenge(&a, 8) == CHANNEL_CLIENT_OLD,
	    "%s: a newer challenge for a copy of the same request does not "
	    "count", where);
	write_request(CONTROL_HALT, 8);
	ok(challenge(&a, 8) == CHANNEL_CLIENT_CHALLENGED &&
	    memcmp(client.cookie, pass, COOKIE_BYTES) == 0,
	    "%s: the challenge counts after the client has sent the request "
	    "again", where);
}

static void
test_macs(void)
{
	const union addr a = address_at(1, 4000);
	uint8_t was[sizeof(msg)];
	struct control c;
	size_t n;

	start_server(true, "S");
	start_client(&key);
	ok(open_channel(&a) && row->in == 1, "the first request with a tag has "
	    "counter 1");
	ok(check_request(&a) == CHANNEL_SERVER_REPLAYED,
	    "the server drops a request with an equal counter");
	memcpy(was, msg, n = len);
	write_request(CONTROL_RESUME, 8);
	ok(check_request(&a) == CHANNEL_SERVER_GOOD && row->in == 2,
	    "the server accepts a request with the next counter");
	memcpy(msg, was, len = n);
	ok(check_request(&a) == CHANNEL_SERVER_REPLAYED,
	    "the server drops a request with a lower counter");
	write_request(CONTROL_RESUME, 9);
	msg[5] ^= 1;
	ok(check_request(&a) == CHANNEL_SERVER_BAD_MAC,
	    "the server drops a request with a flipped bit");
	write_request(CONTROL_RESUME, 9);
	client.key = NULL;
	write_request(CONTROL_RESUME, 9);
	ok(check_request(&a) == CHANNEL_SERVER_BAD_MAC,
	    "the server drops a request without a tag");
	client.key = &key;
	len = channel_server_protect(&table, &rules, &a, msg,
	    (uint32_t)(control_put(msg, CONTROL_HALT, 1, 9) - msg));
	memcpy(was, msg, n = len);
	ok(control_parse(msg, len, &c) && channel_client_receive(&client, msg,
					      len, &c) == CHANNEL_CLIENT_GOOD,
	    "the client accepts the server's tag");
	ok(channel_client_receive(&client, msg, len, &c) == CHANNEL_CLIENT_OLD,
	    "the client accepts an answer once");
	msg[1] |= CONTROL_HAS_COOKIE;
	memmove(msg + 32, msg + 8, 24);
	memcpy(msg + 8, client.cookie, COOKIE_BYTES);
	len += COOKIE_BYTES;
	ok(check_request(&a) == CHANNEL_SERVER_BAD_MAC,
	    "the server drops its own message if it is sent back");
	write_request(CONTROL_RESUME, 10);
	ok(control_parse(msg, len, &c) && channel_client_receive(&client, msg,
					      len, &c) == CHANNEL_CLIENT_BAD,
	    "the client drops its own message if it is sent back");
	start_client(&other);
	ok(!open_channel(&a) && check_request(&a) == CHANNEL_SERVER_BAD_MAC,
	    "a client with another key cannot open a channel");
}

static void
test_without_key(void)
{
	const union addr a = address_at(1, 4000), b = address_at(2, 4000);
	const union addr near = { .in = { .sin_family = AF_INET, .sin_port =
	    htons(9), .sin_addr = { htonl(INADDR_LOOPBACK) } } };

	start_server(false, "S");
	client.needs_cookie = false;
	write_request(CONTROL_HALT, 1);
	ok(check_request(&a) == CHANNEL_SERVER_NO_COOKIE &&
		check_request(&near) == CHANNEL_SERVER_GOOD,
	    "without a cookie, a server accepts requests only from loopback");
	start_server(true, "S");
	ok(check_request(&a) == CHANNEL_SERVER_NO_COOKIE &&
		check_request(&near) == CHANNEL_SERVER_BAD_MAC,
	    "with a key, a server drops requests without a cookie also from "
	    "loopback");
	start_server(false, "S");
	rules.needs_cookie = false;
	rules.secret.set = false;
	ok(check_request(&a) == CHANNEL_SERVER_GOOD,
	    "a trace accepts a request without a challenge");
	start_client(NULL);
	write_request(CONTROL_HALT, 1);
	ok(check_request(&b) == CHANNEL_SERVER_CHALLENGE,
	    "a trace rejects a cookie without a time");
	client.cookie[COOKIE_TIME_AT] = 1;
	write_request(CONTROL_HALT, 1);
	ok(check_request(&b) == CHANNEL_SERVER_GOOD,
	    "a trace accepts any other cookie");
}

static void
test_eviction(void)
{
	const union addr a = address_at(1, 4000), m = address_at(1, 9);
	uint8_t was[sizeof(msg)];
	bool all = true;
	size_t n;

	start_server(true, "S");
	members = 10;
	start_client(&key);
	all = open_channel(&m);
	start_client(&key);
	ok(open_channel(&a) && all, "a member and a client that is not a "
	    "member open channels");
	memcpy(was, msg, n = len);
	for (unsigned i = 0; i < 3 * CHANNEL_SERVER_OTHERS; i++) {
		const union addr o = address_at(2 + i, 4000);

		now++;
		start_client(&key);
		all = all && open_channel(&o);
	}
	ok(all && table.rows.count <= CHANNEL_SERVER_OTHERS + members,
	    "the number of other clients is limited");
	ok(channel_server_find(&table, &a) == NULL &&
		channel_server_find(&table, &m) != NULL,
	    "a member keeps its channel when others lose theirs");
	memcpy(msg, was, len = n);
	ok(check_request(&a) == CHANNEL_SERVER_CHALLENGE &&
		channel_server_find(&table, &a) == NULL,
	    "the request that opened a removed channel does not open it again");
	now++;
	start_client(&key);
	ok(open_channel(&a), "the owner of a removed channel can open it "
	    "again");
	start_client(&key);
	ok(open_channel(&a) == false, "a cookie that is not newer does not "
	    "open a channel");
	members = 0;
}

static void
test_commands(void)
{
	const union addr a = address_at(1, 4000), b = address_at(2, 4000);

	start_server(true, "S");
	start_client(&commands);
	client.commands = true;
	ok(!open_channel(&a) && check_request(&a) == CHANNEL_SERVER_BAD_MAC,
	    "without a key for commands, that key opens no channel");
	rules.commands = &commands;
	now++;
	start_client(&commands);
	client.commands = true;
	ok(open_channel(&a) && row->commands, "a channel under the key for "
	    "commands may send commands");
	start_client(&key);
	ok(open_channel(&b) && !row->commands, "a channel under the other key "
	    "may not send commands");
	client.commands = true;
	write_request(CONTROL_HALT, 9);
	ok(check_request(&b) == CHANNEL_SERVER_BAD_MAC,
	    "a flag does not allow commands under the other key");
}

static void
test_strangers(void)
{
	static struct rate_limit b = { .hash_seed = { 7, 9 } };
	uint32_t n = 0, net = 0;
	const union addr one = address_at(77, 1);

	for (uint32_t i = 0; i < 100000; i++) {	/* within one second */
		const union addr from = address_at(i << 8 | 1, 9);

		n += rate_limit_allow(&b, &from, now + i * 10000);
	}
	ok(n >= RATE_LIMIT_ALL - 1000 &&
		n <= RATE_LIMIT_ALL + RATE_LIMIT_ALL_BURST,
	    "%u of 100,000 unknown clients get an answer in a second", n);
	now += 10 * SECOND;
	for (uint32_t i = 0; i < 10000; i++)
		net += rate_limit_allow(&b, &one, now + i * 100000);
	ok(net >= RATE_LIMIT_NET && net <= 2 * RATE_LIMIT_NET,
	    "%u of one /24 get an answer in a second",
	    net);
	now += 10 * SECOND;
	ok(rate_limit_allow_repeat(&b, &one, now) &&
		!rate_limit_allow_repeat(&b, &one, now + SECOND - 1) &&
		rate_limit_allow_repeat(&b, &one, now + SECOND),
	    "the same client gets a repeated answer once a second");
}

static void
test_texts(void)
{
	const size_t big = CHANNEL_SERVER_TEXT_BYTES / 2 + 1;

	start_server(false, "S");
	for (uint16_t k = 0; k < 3; k++) {
		const union addr a = address_at(1, k);
		char *text = malloc(big + 1);

		memset(text, 'x', big);
		text[big] = '\0';
		channel_server_set_text(
		    &table, channel_server_use_row(&table, &a), text);
	}
	ok(table.text_bytes <= CHANNEL_SERVER_TEXT_BYTES,
	    "the total length of texts is limited");
	channel_server_free(&table);
}

/* Replay a recorded request after the server has restarted. */
static void
test_restart(void)
{
	const union addr a = address_at(1, 4000);
	uint8_t was[sizeof(msg)];
	size_t n;

	start_server(true, "S");
	start_client(&key);
	ok(open_channel(&a), "the server accepts the request of a client");
	memcpy(was, msg, n = len);
	now += 2;
	start_server(true, "S");
	ok(check_request(&a) == CHANNEL_SERVER_CHALLENGE &&
		table.rows.count == 0,
	    "after a restart with the same secret, a server does not repeat "
	    "the request");
	write_request(CONTROL_HALT, 7);
	ok(challenge(&a, 7) == CHANNEL_CLIENT_CHALLENGED,
	    "a client that requests again gets a new cookie");
	write_request(CONTROL_HALT, 7);
	ok(check_request(&a) == CHANNEL_SERVER_GOOD &&
		client_receive(&a) == CHANNEL_CLIENT_GOOD,
	    "the client and the server accept each other's messages");
	memcpy(msg, was, len = n);
	ok(check_request(&a) == CHANNEL_SERVER_CHALLENGE,
	    "the server does not accept the recorded request later either");
}

/* A client that starts again in the same process. */
static void
test_renewal(void)
{
	static const uint8_t last[COOKIE_NONCE_BYTES] = { 1, 2, 3, 4, 5, 6,
	    7, 255 };
	const union addr a = address_at(1, 4000);
	uint8_t was[COOKIE_NONCE_BYTES];

	start_server(true, "S");
	start_client(&key);
	open_channel(&a);
	memcpy(was, client.cookie, sizeof(was));
	channel_client_renew(&client);
	ok(!channel_client_has_cookie(&client) && client.key == &key &&
	    memcmp(was, client.cookie, sizeof(was)) != 0,
	    "a renewed client has another nonce and no cookie");
	now += 2;
	write_request(CONTROL_HALT, 8);
	ok(check_request(&a) == CHANNEL_SERVER_CHALLENGE &&
	    challenge(&a, 8) == CHANNEL_CLIENT_CHALLENGED,
	    "the server challenges it");
	write_request(CONTROL_HALT, 8);
	ok(check_request(&a) == CHANNEL_SERVER_GOOD,
	    "the server accepts its requests");
	channel_client_open(&client, &key, true, last);
	channel_client_renew(&client);
	ok(client.cookie[6] == 8 && client.cookie[7] == 0 &&
	    client.cookie[5] == 6, "the nonce is counted up");
}

int
main(void)
{
	key_set(&key, "a key of 16 bytes", 17);
	key_set(&commands, "the key of commands", 19);
	key_set(&other, "another of 16 bytes", 19);
	test_opening(true);
	test_opening(false);
	test_nonces();
	test_late_challenges(false);
	test_late_challenges(true);
	test_macs();
	test_without_key();
	test_eviction();
	test_restart();
	test_renewal();
	test_commands();
	test_strangers();
	test_texts();
	channel_server_free(&table);
	return tap_end();
}
