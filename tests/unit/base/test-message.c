/* Test that control characters in messages are made visible. */
#include <string.h>

#include "common/base/message.h"
#include "tests/unit/tap.h"

/* Is `shown` what message_put() writes for text? */
static bool
shows(const char *text, const char *shown)
{
	char *out = NULL;
	size_t room = 0;
	FILE *f = open_memstream(&out, &room);
	bool same;

	message_put(f, text);
	fclose(f);
	same = strcmp(out, shown) == 0;
	if (!same)
		printf("# %s\n", out);
	free(out);
	return same;
}

int
main(void)
{
	ok(shows("", "") && shows("a b~'\"\\", "a b~'\"\\"),
	    "printable ASCII stays as it is");
	ok(shows("a\nb\rc\td", "a\\nb\\rc\\td"),
	    "the ends of lines and tabs are written as in C");
	ok(shows("\x1b[2J\x01\x7f", "\\x1b[2J\\x01\\x7f"),
	    "other control characters are written in hexadecimal");
	ok(shows("\u00a0\u00e4\u20ac\ud7ff\ue000\U0001f600\U0010ffff",
	    "\u00a0\u00e4\u20ac\ud7ff\ue000\U0001f600\U0010ffff"),
	    "valid UTF-8 characters stay as they are");
	ok(shows("\u00e4\xc2\x9b" "2J", "\u00e4\\xc2\\x9b2J") &&
	    shows("\x9b" "2J", "\\x9b2J"),
	    "control characters beyond ASCII are made visible");
	ok(shows("\xc0\xaf", "\\xc0\\xaf") &&
	    shows("\xe0\x80\x9b", "\\xe0\\x80\\x9b") &&
	    shows("\xed\xa0\x80", "\\xed\\xa0\\x80") &&
	    shows("\xf0\x80\x80\x9b", "\\xf0\\x80\\x80\\x9b") &&
	    shows("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80") &&
	    shows("\xff\xe2\x82", "\\xff\\xe2\\x82"),
	    "bytes that are not UTF-8 are written in hexadecimal");
	return tap_end();
}
