/* Compare synthetic gradients with sums made one by one. */
#include "common/traffic/synthetic.h"
#include "tests/unit/tap.h"

enum { N = 4096 };

int
main(void)
{
	static float v[N], sum[N];
	bool whole = true;

	for (uint32_t w = 0; w < 12; w++) {
		synthetic_fill(v, N, w, 5);
		for (uint32_t i = 0; i < N; i++) {
			whole &= v[i] >= -512 && v[i] <= 511 &&
			    v[i] == (float)(int)v[i];
			sum[i] += v[i];
		}
	}
	ok(whole, "elements are whole numbers from -512 to 511");
	ok(synthetic_wrong(sum, N, 12, 5) == N, "the sum of twelve gradients "
	    "is right");
	ok(synthetic_wrong(sum, N, 12, 6) < N, "the sum is wrong in another "
	    "iteration");
	ok(synthetic_wrong(sum, N, 11, 5) < N, "the sum is wrong for another "
	    "number of workers");
	sum[N - 1]++;
	ok(synthetic_wrong(sum, N, 12, 5) == N - 1,
	    "the function returns the place of a wrong element");
	return tap_end();
}
