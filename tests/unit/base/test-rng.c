/*
 * Compare random doubles with numpy's: the last rows of Gymnasium's traces
 * (tests/data).
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"
#include "tests/unit/tap.h"

int
main(void)
{
	static const struct {
		uint64_t seed;
		double x[8];
	} numpy[] = {
		{ 0, { 0x1.461fd79fb3850p-1, 0x1.1442f7e20b674p-2,
		    0x1.4fa7b529d9bd0p-5, 0x1.0ec9ed84d0bc0p-6,
		    0x1.a064f4f059bcap-1, 0x1.d354b2f34c803p-1,
		    0x1.3698f6e301db6p-1, 0x1.758092bff1053p-1 } },
		{ 1, { 0x1.060d7be6f245cp-1, 0x1.e6a32d7782a55p-1,
		    0x1.273d27b04760cp-3, 0x1.e5b5615da558dp-1,
		    0x1.3f50be80ff35cp-2, 0x1.b17c7d1779e1cp-2,
		    0x1.a7c8a2668bdcdp-1, 0x1.a30519310728ep-2 } },
		{ 4294967296, { 0x1.c78bd7c50b582p-1, 0x1.1d4132d1fc63bp-1,
		    0x1.9a109ff09b1bdp-1, 0x1.e9bc2dd875173p-1,
		    0x1.e02ce67c855d0p-5, 0x1.e4260c3881c34p-3,
		    0x1.935c1ed2806c8p-1, 0x1.4336a40d68000p-12 } },
	};
	struct rng r;
	uint64_t seen[7] = { 0 };
	bool same, even = true;

	for (size_t s = 0; s < sizeof(numpy) / sizeof(*numpy); s++) {
		r = rng_seed(numpy[s].seed);
		same = true;
		for (int i = 0; i < 8; i++)
			same = same && rng_double(&r) == numpy[s].x[i];
		ok(same, "seed %llu gives numpy's first eight doubles",
		    (unsigned long long)numpy[s].seed);
	}
	r = rng_seed(3);
	for (int i = 0; i < 70000; i++)
		seen[rng_below(&r, 7)]++;
	for (int i = 0; i < 7; i++)
		even = even && seen[i] > 9600 && seen[i] < 10400;
	ok(even, "rng_below draws all numbers of its range equally often");
	ok(rng_below(&r, 1) == 0, "rng_below(1) is 0");
	return tap_end();
}
