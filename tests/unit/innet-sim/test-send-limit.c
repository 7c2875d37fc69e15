/* Test the limit on packets without progress (send-limit.h). */
#include "cmd/innet-sim/training/send-limit.h"
#include "tests/unit/tap.h"

#define SECOND UINT64_C(1000000000)

int
main(void)
{
	struct send_limit l;
	bool good = true;

	send_limit_init(&l, 2, 3);
	for (int i = 0; i < 3; i++)
		good = good && send_limit_count(&l, 1, 10, 0);
	ok(good, "a node may send as many packets as the limit allows");
	ok(!send_limit_count(&l, 1, SECOND - 1, 0),
	    "it may send no further packet in the same second");
	ok(send_limit_count(&l, 0, SECOND - 1, 0),
	    "the packets of another node do not count");
	ok(send_limit_count(&l, 1, SECOND, 0),
	    "the count begins again in the next second");
	good = true;
	for (int i = 0; i < 10; i++)
		good = good && send_limit_count(&l, 0, SECOND, (uint64_t)i);
	ok(good, "the count begins again with each result");
	send_limit_free(&l);
	return tap_end();
}
