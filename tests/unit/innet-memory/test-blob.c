/* Test blob.h: holders, the account and its limit. */
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
	ok(bs.spare_bytes == 0, "a large freed piece is not kept");
	for (size_t i = 0; i < MANY; i++) {
		blob_drop(&bs, b[i]);
		most = bs.spare_bytes > most ? bs.spare_bytes : most;
	}
	ok(bs.used == 0 && bs.spare_bytes > 0 && most > KEEP - 2 * LEN &&
	    most <= KEEP, "at most %zu bytes of freed pieces are kept", most);
	most = bs.spare_bytes;
	large = blob_new(&bs, LEN - 40);
	ok(bs.spare_bytes == most, "a smaller request does not use a freed "
	    "piece");
	b[0] = blob_new(&bs, LEN - 1);
	memset(b[0]->bytes, 1, LEN - 1);
	cost = account_cost(sizeof(*b[0]) + LEN - 1);
	ok(bs.spare_bytes == most - cost, "a request of the same size uses a "
	    "freed piece");
	blob_drop(&bs, large);
	blob_drop(&bs, b[0]);
	bs.keep = bs.spare_bytes;	/* no room for other sizes */
	large = blob_new(&bs, 200);
	blob_drop(&bs, large);
	ok(blob_new(&bs, 200) == large, "the piece freed last is kept instead "
	    "of others");
	blob_drop(&bs, large);
	account_free_spare(&bs);
	ok(bs.used == 0 && bs.spare_bytes == 0, "in the end no piece is kept");
}

int
main(void)
{
	struct account bs = { .limit = 1000 };
	struct blob *a = blob_copy(&bs, "abc", 3), *b, *c;
	const size_t one = bs.used;

	ok(a != NULL && a->len == 3 && memcmp(a->bytes, "abc", 3) == 0 &&
	    a->refs == 1, "a copy has one holder");
	ok(one == account_cost(sizeof(*a) + 3) && one % 16 == 0 &&
		one >= 19 + 8,
	    "a blob costs what malloc takes");
	blob_hold(a);
	blob_drop(&bs, a);
	ok(bs.used == one && a->refs == 1, "a blob stays while it has a "
	    "holder");
	blob_drop(&bs, a);
	ok(bs.used == 0, "the last holder gives back the cost");
	blob_drop(&bs, NULL);
	ok(bs.used == 0, "dropping no blob changes nothing");

	a = blob_new(&bs, 992 - 23);
	ok(a == NULL && bs.used == 0, "a blob beyond the limit is refused");
	a = blob_new(&bs, 992 - 24);
	ok(a != NULL && bs.used == 992, "a blob up to the limit is made");
	ok(blob_new(&bs, 0) == NULL, "a full account has no empty blob");
	ok(blob_new(&bs, SIZE_MAX) == NULL && blob_new(&bs, SIZE_MAX - 20) ==
	    NULL, "lengths that overflow are refused");
	ok(account_charge(&bs, 8) && !account_charge(&bs, 1) && bs.used == 1000,
	    "the last byte can be charged, and one more cannot");
	account_force(&bs, 500);
	ok(bs.used == 1500 && bs.most == 1500, "a forced charge may exceed the "
	    "limit");
	ok(!account_has_room(&bs, 0), "beyond the limit there is no room for 0 "
	    "bytes");
	account_uncharge(&bs, 508);
	blob_drop(&bs, a);
	ok(bs.used == 0 && bs.most == 1500, "the account is 0 in the end");

	a = blob_new_behind(&bs, 32, 5);
	memset(blob_front(a), 1, 32);
	memset(a->bytes, 2, 5);
	ok(a->refs == 1 && a->len == 5 && bs.used ==
	    account_cost(32 + sizeof(*a) + 5), "a blob with room before it "
	    "costs both");
	blob_drop(&bs, a);
	ok(bs.used == 0, "both costs go back");

	b = blob_copy(&bs, NULL, 0);
	c = blob_hold(b);
	ok(b == c && b->len == 0, "all empty blobs are the same");
	blob_drop(&bs, b);
	blob_drop(&bs, c);
	test_spare();
	return tap_end();
}
