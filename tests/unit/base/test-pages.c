/* Test that pages that were used before are zeroed completely, at any size. */
#include <err.h>

#include "common/base/pages.h"
#include "tests/unit/tap.h"

static bool
is_filled_with(const uint8_t *p, uint8_t what, size_t n)
{
	return p[0] == what && memcmp(p, p + 1, n - 1) == 0;
}

int
main(void)
{
	const size_t size[] = { 1, 4096, PAGES_HUGE - 1, PAGES_HUGE + 1,
		PAGES_LATER - 1, PAGES_LATER, PAGES_LATER + 1,
		PAGES_LATER + PAGES_HUGE + 4097 };
	uint8_t *p;

	for (size_t i = 0; i < sizeof(size) / sizeof(*size); i++) {
		p = pages_raw(size[i] + PAGES_HUGE);
		if (p == NULL)
			err(1, "%zu bytes", size[i]);
		memset(p, 0xff, size[i] + PAGES_HUGE);
		pages_zero(p, size[i]);
		ok(is_filled_with(p, 0, size[i]), "%zu bytes are 0", size[i]);
		ok(is_filled_with(p + size[i], 0xff, PAGES_HUGE),
		    "the bytes after these stay as they are");
		free(p);
	}
	return tap_end();
}
