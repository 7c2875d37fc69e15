/*
 * Test the search for the nearest word: distances, likely words and the text
 * for messages.
 */
#include "common/base/nearest.h"
#include "tests/unit/tap.h"

/* Return the hint for a word that was typed in place of slots, rate or seed. */
static const char *
hint_for(const char *typed, char text[NEAREST_TEXT])
{
	struct nearest n = { 0 };

	nearest_offer(&n, typed, "slots");
	nearest_offer(&n, typed, "rate");
	nearest_offer(&n, typed, "seed");
	return nearest_hint(&n, typed, "--", text);
}

int
main(void)
{
	char text[NEAREST_TEXT];

	ok(nearest_distance("", "") == 0 && nearest_distance("", "abc") == 3 &&
	    nearest_distance("kitten", "sitting") == 3,
	    "known pairs of words have the right distances");
	ok(strcmp(hint_for("slot", text), "; the nearest is '--slots'") == 0 &&
	    strcmp(hint_for("rote", text), "; the nearest is '--rate'") == 0,
	    "the hint names the word of least distance");
	ok(strcmp(hint_for("colour", text), "") == 0,
	    "there is no hint if every word is far away");
	return tap_end();
}
