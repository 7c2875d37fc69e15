/*
 * Fuzz numbers with units.  Byte 0 selects the limits, and the rest is the
 * text; all readers get it.
 */
#include <inttypes.h>

#include "common/base/num.h"
#include "common/capture/rotate.h"
#include "common/wire/networks.h"
#include "tests/fuzz/fuzz.h"

typedef const char *reader(const char *, uint64_t, uint64_t, uint64_t *);

static void
whole(reader *f, const char *s, uint64_t lo, uint64_t hi)
{
	const uint64_t before = 0x5eed5eed5eed5eed;
	uint64_t v = before, again = 0;
	const char *why = f(s, lo, hi, &v);
	char text[32], *end;

	if (why != NULL) {
		must(v == before && *why != '\0', "refused, and untouched");
		return;
	}
	must(v >= lo && v <= hi, "a value lies within its limits");
	snprintf(text, sizeof(text), "%" PRIu64, v);
	must(f(text, lo, hi, &again) == NULL && again == v,
	    "the value itself reads as itself");
	if (s[strspn(s, "0123456789")] == '\0')
		must(strtoull(s, &end, 10) == v && *end == '\0',
		    "digits mean what they mean to strtoull");
}

static void
real(const char *s, double lo, double hi)
{
	double v = 77;
	const char *why = num_real(s, lo, hi, &v);

	if (why != NULL)
		must(v == 77, "refused, and untouched");
	else
		must(isfinite(v) && v >= lo && v <= hi,
		    "a value lies within its limits");
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static const struct {
		uint64_t lo, hi;
	} limit[] = {
		{ 0, UINT64_MAX }, { 1, UINT32_MAX }, { 0, 0 }, { 0, 65535 },
		{ UINT64_MAX, UINT64_MAX }, { 1, INT64_MAX }, { 1000, 1024 },
	};
	double share = -1;
	uint64_t t = 7;
	struct rotate rotate = { 0 };
	struct networks nets = { 0 };
	bool relative = false;
	char *s;

	if (len < 1)
		return 0;
	s = malloc(len);	/* without byte 0 there is room for the last
				 * zero */
	if (s == NULL)
		abort();
	memcpy(s, p + 1, len - 1);
	s[len - 1] = '\0';
	for (int i = 0; i < 5; i++) {
		static reader *const all[] = { num_u64, num_bytes, num_rate,
		    num_time, num_vector };
		const size_t k = p[0] % (sizeof(limit) / sizeof(*limit));

		whole(all[i], s, limit[k].lo, limit[k].hi);
	}
	real(s, -1, 1);
	real(s, 0, 1e300);
	if (num_share(s, &share) == NULL)
		must(share >= 0 && share <= 1, "a share lies in 0 to 1");
	else
		must(share == -1, "refused, and untouched");
	if (num_instant(s, &t, &relative) == NULL)
		must(t <= INT64_MAX && relative == (s[0] == '+'),
		    "an instant, relative if it says so");
	else
		must(t == 7 && !relative, "refused, and untouched");
	if (networks_parse(&nets, s) == NULL)
		must(nets.n >= 1 && nets.n <= NETWORKS_MAX, "some networks");
	for (unsigned i = 0; i < nets.n; i++)
		must(nets.net[i].bits <= 128, "no more bits than there are");
	if (rotate_parse(s, &rotate) == NULL)
		must(rotate.bytes >= 1000 && rotate.keep >= 1 &&
		    rotate.keep <= ROTATE_KEEP_MAX, "a rotation within limits");
	free(s);
	return 0;
}
