/* blob.h: holders, the account and its limit */
#include "common/base/blob.h"
#include "tests/unit/tap.h"

int
main(void)
{
	struct blobs bs = { .limit = 1000 };
	struct blob *a = blob_copy(&bs, "abc", 3), *b, *c;
	const size_t one = bs.used;

	ok(a != NULL && a->len == 3 && memcmp(a->bytes, "abc", 3) == 0 &&
	    a->refs == 1, "a copy is held once");
	ok(one == blobs_cost(sizeof(*a) + 3) && one % 16 == 0 && one >= 19 + 8,
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
	ok(blobs_charge(&bs, 8) && !blobs_charge(&bs, 1) && bs.used == 1000,
	    "the last byte can be charged, one more not");
	blobs_force(&bs, 500);
	ok(bs.used == 1500 && bs.most == 1500, "force goes past the limit");
	ok(!blobs_room(&bs, 0), "and then there is no room for nothing");
	blobs_give(&bs, 508);
	blob_drop(&bs, a);
	ok(bs.used == 0 && bs.most == 1500, "all is given back");

	b = blob_copy(&bs, NULL, 0);
	c = blob_hold(b);
	ok(b == c && b->len == 0, "an empty blob is one");
	blob_drop(&bs, b);
	blob_drop(&bs, c);
	return tap_end();
}
