/* Change the key of a server and of a client, each at its own time. */
#include <string.h>

#include "common/auth/channel-client.h"
#include "common/auth/channel-server.h"
#include "common/auth/key-change.h"
#include "common/auth/tag.h"
#include "tests/unit/tap.h"

#define SECOND UINT64_C(1000000000)

/* One program with a key file. */
struct side {
	struct key key;
	struct key_change change;
	struct tag_key tags;
};

static struct key former, fresh, third;
static struct side server, client, admin;
static struct channel_server table;
static struct channel_server_rules rules;
static const union addr at = { .in = { .sin_family = AF_INET, .sin_port = 1 } },
    admin_at = { .in = { .sin_family = AF_INET, .sin_port = 2 } };

static void
start_side(struct side *s, const struct key *k)
{
	static const uint8_t salt[TAG_SALT_BYTES] = "a salt";

	s->key = *k;
	key_change_init(&s->change, &s->key, NULL);
	tag_key_set(&s->tags, &s->key, salt);
}

/* Open a channel to the server. */
static void
open_channel(struct channel_client *ch, const struct key *k,
    const union addr *from, uint64_t now)
{
	uint8_t cookie[COOKIE_BYTES];

	channel_client_open(ch, k, true, (const uint8_t *)"a nonce");
	cookie_make(&rules.secret, from, ch->cookie, now, cookie);
	channel_client_adopt_cookie(ch, cookie);
}

/* Does the server accept a request, and the client the answer? */
static bool
exchange(struct channel_client *ch, const union addr *from, uint64_t now)
{
	uint8_t m[256];
	struct channel_server_row *row;
	struct control c;
	size_t n = channel_client_protect(ch, m,
	    (size_t)(control_put(m, CONTROL_HALT, 1, 7) - m));

	if (!control_parse(m, n, &c) || channel_server_check(&table, &rules,
	    from, m, n, &c, now, &row) != CHANNEL_SERVER_GOOD)
		return false;
	n = channel_server_protect(&table, &rules, from, m,
	    (uint32_t)(control_put(m, CONTROL_HALT, 1, 9) - m));
	return control_parse(m, n, &c) &&
	    channel_client_receive(ch, m, n, &c) == CHANNEL_CLIENT_GOOD;
}

/* Is the tag of a segment of side `from` correct at side `to`? */
static bool
tags_pass(struct side *from, struct side *to)
{
	uint8_t seg[8 + TAG_BYTES + 4] = { 1 };
	const struct tag_head h = tag_head(TAG_DOWN, 1, 0, NULL);

	tag_segment_put(&from->tags, h, seg, seg + 8 + TAG_BYTES, 4);
	return tag_segment_good(&to->tags, h, seg, sizeof(seg));
}

static void
step(uint64_t now)
{
	key_change_step(&server.change, now);
	key_change_step(&client.change, now);
}

/* Start the server and its client with the former key, at time 0. */
static void
start(struct channel_client *ch)
{
	static const struct hashmap_multiplier by = { 3, 5 };

	channel_server_free(&table);
	table = channel_server_of(&by);
	start_side(&server, &former);
	start_side(&client, &former);
	rules = (struct channel_server_rules){ .key = &server.key };
	key_set(&rules.secret, "S", 1);
	open_channel(ch, &client.key, &at, SECOND);
	exchange(ch, &at, SECOND);
}

/*
 * Change the server's key at second a and the client's at second b.  Return the
 * number of seconds in which one side refuses a message of the other.
 */
static int
count_refusals(uint64_t a, uint64_t b)
{
	struct channel_client ch;
	int wrong = 0;

	start(&ch);
	for (uint64_t t = 1; t < 400; t++) {
		if (t == a)
			key_change_begin(&server.change, &fresh, t * SECOND);
		if (t == b)
			key_change_begin(&client.change, &fresh, t * SECOND);
		step(t * SECOND);
		wrong += !exchange(&ch, &at, t * SECOND) ||
		    !tags_pass(&server, &client) ||
		    !tags_pass(&client, &server);
	}
	return wrong;
}

static void
test_both_change(void)
{
	ok(count_refusals(10, 10) == 0, "both sides change the key at the same "
	    "time without a refusal");
	ok(count_refusals(10, 70) == 0 && count_refusals(70, 10) == 0,
	    "one side may change the key a minute after the other");
	ok(count_refusals(10, 150) > 0 && count_refusals(150, 10) > 0,
	    "a side that changes too late is refused for a while");
	ok(count_refusals(10, 500) > 0, "a side that does not change is "
	    "refused");
	ok(key_same(&server.key, &fresh) && server.key.other == NULL,
	    "after the change only the new key is valid");
}

/* Is a client that has only this key accepted, with its tags? */
static bool
admin_passes(const struct key *k, uint64_t t)
{
	struct channel_client ch;

	start_side(&admin, k);
	open_channel(&ch, &admin.key, &admin_at, t * SECOND - 1);
	return exchange(&ch, &admin_at, t * SECOND) &&
	    exchange(&ch, &admin_at, t * SECOND) && tags_pass(&admin, &server);
}

static void
test_validity(void)
{
	struct channel_client ch, old;

	start(&ch);
	start_side(&admin, &former);
	open_channel(&old, &admin.key, &admin_at, 5 * SECOND);
	exchange(&old, &admin_at, 6 * SECOND);
	ok(!admin_passes(&fresh, 9), "the new key is not valid before the "
	    "change");
	ok(key_change_begin(&server.change, &fresh, 10 * SECOND) &&
	    !key_change_begin(&server.change, &fresh, 10 * SECOND),
	    "a second change to the same key does nothing");
	ok(admin_passes(&former, 11) && admin_passes(&fresh, 12) &&
	    !admin_passes(&third, 13), "both keys are valid at first, and the "
	    "former is in use");
	step(71 * SECOND);
	ok(!key_change_begin(&server.change, &fresh, 71 * SECOND),
	    "then the new key is in use");
	ok(admin_passes(&former, 72) && admin_passes(&fresh, 73) &&
	    !admin_passes(&third, 74), "both keys are valid after the swap");
	step(131 * SECOND);
	ok(!admin_passes(&former, 132) && admin_passes(&fresh, 133),
	    "in the end only the new key is valid");
	ok(!exchange(&ch, &at, 134 * SECOND),
	    "a channel under the former key closes");
}

static void
test_again(void)
{
	struct channel_client ch;

	start(&ch);
	key_change_begin(&server.change, &fresh, 10 * SECOND);
	step(20 * SECOND);
	ok(key_change_begin(&server.change, &former, 20 * SECOND),
	    "a change back before the swap keeps the former key in use");
	step(100 * SECOND);
	ok(key_same(&server.key, &former) && admin_passes(&fresh, 101),
	    "the former key stays in use, and the other is still valid");
	step(130 * SECOND);
	ok(!admin_passes(&fresh, 131) && admin_passes(&former, 132),
	    "the other key is valid until its time is over");
	key_change_begin(&server.change, &fresh, 200 * SECOND);
	key_change_begin(&server.change, &third, 210 * SECOND);
	ok(admin_passes(&former, 211) && admin_passes(&third, 212) &&
	    !admin_passes(&fresh, 213), "a third key replaces the second");
	step(330 * SECOND);
	ok(key_same(&server.key, &third), "the third key is used in the end");
}

int
main(void)
{
	key_set(&former, "the former key, 16", 18);
	key_set(&fresh, "the new key of 16", 17);
	key_set(&third, "a third key of 16", 17);
	test_both_change();
	test_validity();
	test_again();
	channel_server_free(&table);
	return tap_end();
}
