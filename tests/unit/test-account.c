/* Counters as JSON and as a line. */
#include <string.h>

#include "common/base/account.h"
#include "tests/unit/tap.h"

static void
fill(struct account *a, bool json)
{
	account_begin(a, json, "innet-x");
	account_put(a, "packets", UINT64_MAX);
	account_word(a, "state", "WAITING");
	account_in(a, "ignored");
	account_put(a, "short", 1);
	account_put(a, "long", 2);
	account_out(a);
	account_in(a, "lost");
	account_out(a);
	account_put(a, "step", 0);
}

int
main(void)
{
	struct account a;
	bool whole = true;

	fill(&a, true);
	ok(account_end(&a) && strcmp(a.text,
	    "{\"packets\":18446744073709551615,\"state\":\"WAITING\","
	    "\"ignored\":{\"short\":1,\"long\":2},\"lost\":{},\"step\":0}\n")
	    == 0, "an object: %s", a.text);
	fill(&a, false);
	ok(account_end(&a) && strcmp(a.text,
	    "innet-x: 18446744073709551615 packets, state WAITING; "
	    "ignored: 1 short, 2 long; lost: none, 0 step\n") == 0,
	    "a line: %s", a.text);
	account_begin(&a, true, "");
	ok(account_end(&a) && strcmp(a.text, "{}\n") == 0, "nothing counted");
	account_begin(&a, true, "");
	for (int i = 0; i < 1000; i++)
		account_put(&a, "counter", 1);
	whole = account_end(&a);
	ok(!whole && a.len == ACCOUNT_BYTES - 1 && a.text[a.len] == '\0',
	    "what does not fit is cut, and said to be");
	return tap_end();
}
