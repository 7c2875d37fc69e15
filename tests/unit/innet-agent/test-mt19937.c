/*
 * Compare the random number generator with the values of its authors, of C++
 * and of numpy.
 */
#include "cmd/innet-agent/env/mt19937.h"
#include "tests/unit/tap.h"

int
main(void)
{
	/* The authors' own test, mt19937ar.out. */
	static const uint32_t key[] = { 0x123, 0x234, 0x345, 0x456 };
	static const uint32_t authors[] = { 1067595299, 955945823, 477289528,
	    4107218783, 4228976476 };
	/*
	 * numpy 1.24: RandomState(seed).rand(4), and the last one for seed [5,
	 * 1].
	 */
	static const struct {
		uint64_t seed;
		double x[4];
		uint32_t bits;		/* then randint(2), the first in the top
					 * bit */
	} numpy[] = {
		{ 0, { 0x1.18fe1565f12a8p-1, 0x1.6e2d4cf608733p-1,
		    0x1.349d66b6e894bp-1, 0x1.16faedb6395f5p-1 }, 0xe416 },
		{ 7, { 0x1.388f0a7465c98p-4, 0x1.8f5184146a0a7p-1,
		    0x1.c0ee597d36686p-2, 0x1.726a071d284d9p-1 }, 0x5423 },
		{ 4294967295, { 0x1.8fe69a3924820p-4, 0x1.d323d824032b1p-1,
		    0x1.93fc6f61af3f9p-1, 0x1.8f5ca1b151c07p-1 }, 0xb6d9 },
		{ 4294967301, { 0x1.4218067c49768p-3, 0x1.21442cf1e9172p-2,
		    0x1.357affb575f81p-1, 0x1.dbe785ae59e00p-7 }, 0xc6d1 },
	};
	struct mt m;
	bool same = true;
	uint32_t last = 0;

	mt_seed_words(&m, key, 4);
	for (int i = 0; i < 5; i++)
		same = same && mt_u32(&m) == authors[i];
	ok(same, "the authors' key gives their first five numbers");
	mt_seed(&m, 5489);
	for (int i = 0; i < 10000; i++)
		last = mt_u32(&m);
	ok(last == 4123659995, "the 10,000th number of seed 5489 is that of "
	    "the C++ standard");
	for (size_t s = 0; s < sizeof(numpy) / sizeof(*numpy); s++) {
		uint32_t bits = 0;

		mt_seed(&m, numpy[s].seed);
		same = true;
		for (int i = 0; i < 4; i++)
			same = same && mt_double(&m) == numpy[s].x[i];
		for (int i = 0; i < 16; i++)
			bits = bits << 1 | (mt_u32(&m) & 1);
		ok(same && bits == numpy[s].bits,
		    "seed %llu gives the doubles and bits of numpy",
		    (unsigned long long)numpy[s].seed);
	}
	return tap_end();
}
