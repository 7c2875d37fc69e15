/* blob.h: holders, the account and its limit */
#include "cmd/innet-memory/store/blob.h"
#include "tests/unit/tap.h"

/* Freed pieces are reused for the same size, up to a number of bytes. */
static void
test_spare(void)
{
	enum { LEN = 1000, KEEP = 10000, MANY = 2 * KEEP / LEN };
	struct account bs = { .limit = SIZE_MAX, .keep = KEEP };
	struct blob *b[MANY], *large = blob_new(&bs, 4096);
	size_t most = 0, cost;

	for (size_t i = 0; i < MANY; i++)
		b[i] = blob_new(&bs, LEN);
	blob_drop(&bs, large);
	ok(bs.spare_bytes == 0, "a large one is not kept");
	for (size_t i = 0; i < MANY; i++) {
		blob_drop(&bs, b[i]);
		most = bs.spare_bytes > most ? bs.spare_bytes : most;
	}
	ok(bs.used == 0 && bs.spare_bytes > 0 && most > KEEP - 2 * LEN &&
	    most <= KEEP, "%zu bytes are kept at most, not in use", most);
	most = bs.spare_bytes;
	large = blob_new(&bs, LEN - 40);
	ok(bs.spare_bytes == most, "not for who takes less");
	b[0] = blob_new(&bs, LEN - 1);
	memset(b[0]->bytes, 1, LEN - 1);
	cost = account_cost(sizeof(*b[0]) + LEN - 1);
	ok(bs.spare_bytes == most - cost, "one is taken again");
	blob_drop(&bs, large);
	blob_drop(&bs, b[0]);
	bs.keep = bs.spare_bytes;	/* no room for other sizes */
	large = blob_new(&bs, 200);
	blob_drop(&bs, large);
	ok(blob_new(&bs, 200) == large, "the last is kept, others go for it");
	blob_drop(&bs, large);
	account_free_spare(&bs);
	ok(bs.used == 0 && bs.spare_bytes == 0, "in the end none is kept");
}

int
main(void)
{
	struct account bs = { .limit = 1000 };
	struct blob *a = blob_copy(&bs, "abc", 3), *b, *c;
	const size_t one = bs.used;

	ok(a != NULL && a->len == 3 && memcmp(a->bytes, "abc", 3) == 0 &&
	    a->refs == 1, "a copy is held once");
	ok(one == account_cost(sizeof(*a) + 3) && one % 16 == 0 &&
		one >= 19 + 8,
	    "it costs what malloc takes");
	blob_hold(a);
	blob_drop(&bs, a);
	ok(bs.used == one && a->refs == 1, "who drops leaves it to the other");
	blob_drop(&bs, a);
	ok(bs.used == 0, "the last gives its cost back");
	blob_drop(&bs, NULL);
	ok(bs.used == 0, "no blob is dropped at no cost");

	a = blob_new(&bs, 992 - 23);
	ok(a == NULL && bs.used == 0, "past the limit there is none");
	a = blob_new(&bs, 992 - 24);
	ok(a != NULL && bs.used == 992, "up to the limit there is");
	ok(blob_new(&bs, 0) == NULL, "a full account has no empty blob");
	ok(blob_new(&bs, SIZE_MAX) == NULL && blob_new(&bs, SIZE_MAX - 20) ==
	    NULL, "lengths that overflow have none");
	ok(account_charge(&bs, 8) && !account_charge(&bs, 1) && bs.used == 1000,
	    "the last byte can be charged, one more not");
	account_force(&bs, 500);
	ok(bs.used == 1500 && bs.most == 1500, "force goes past the limit");
	ok(!account_has_room(&bs, 0), "and then there is no room for nothing");
	account_uncharge(&bs, 508);
	blob_drop(&bs, a);
	ok(bs.used == 0 && bs.most == 1500, "all is given back");

	a = blob_new_behind(&bs, 32, 5);
	memset(blob_front(a), 1, 32);
	memset(a->bytes, 2, 5);
	ok(a->refs == 1 && a->len == 5 && bs.used ==
	    account_cost(32 + sizeof(*a) + 5), "one behind room costs both");
	blob_drop(&bs, a);
	ok(bs.used == 0, "and both go back");

	b = blob_copy(&bs, NULL, 0);
	c = blob_hold(b);
	ok(b == c && b->len == 0, "an empty blob is one");
	blob_drop(&bs, b);
	blob_drop(&bs, c);
	test_spare();
	return tap_end();
}
