/*
 * Compare median and trimmed mean with qsort(3), and the plain code with AVX2.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"
#include "common/iswitch/reduce.h"
#include "tests/unit/tap.h"

static const uint32_t odd[] = {
	0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000,
	0x3f800000, 0xbf800000, 0x3f800001, 0x33800000, 0x7f7fffff, 0xff7fffff,
	0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0xffc12345,
};
enum { ODD = sizeof(odd) / sizeof(*odd), ROWS = 33, ELEMENTS = 41 };

struct rows {
	uint8_t *at[ROWS];	/* each from malloc, starting `off` bytes later
				 */
	const uint8_t *row[ROWS];
	size_t k, off;
};

static void
put_bits(uint8_t *p, size_t i, uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	vec_set(p, i, f);
}

/*
 * Make k vectors of n numbers: one in four is special, one in four small and
 * often equal.
 */
static struct rows
rows_new(struct rng *r, size_t k, size_t n)
{
	struct rows rows = { .k = k, .off = rng_below(r, 5) };

	for (size_t j = 0; j < k; j++) {
		rows.at[j] = malloc(4 * n + rows.off + 1);
		rows.row[j] = rows.at[j] + rows.off;
		for (size_t i = 0; i < n; i++) {
			uint8_t *p = rows.at[j] + rows.off;
			uint32_t u = (uint32_t)rng_u64(r);

			switch (rng_below(r, 4)) {
			case 0: u = odd[rng_below(r, ODD)]; break;
			case 1: u = 0x40000000 + (u & 0x00800000); break;
			}
			put_bits(p, i, u);
		}
	}
	return rows;
}

static void
rows_free(struct rows *rows)
{
	for (size_t j = 0; j < rows->k; j++)
		free(rows->at[j]);
}

static int
compare_values(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;

	if (isnan(x) || isnan(y))
		return isnan(x) - isnan(y);
	return x < y ? -1 : x > y;
}

/* Are x and y equal, both NaN, or zeros? */
static bool
is_alike(float x, float y)
{
	return x == y || (isnan(x) && isnan(y));
}

/* Compute the mean by its definition: sort, drop, add, scale. */
static float
compute_mean(const struct rows *rows, size_t i, size_t trim, float scale)
{
	float v[ROWS];
	double sum = 0;

	for (size_t j = 0; j < rows->k; j++)
		v[j] = vec_get(rows->row[j], i);
	qsort(v, rows->k, sizeof(*v), compare_values);
	if (2 * trim >= rows->k)
		trim = (rows->k - 1) / 2;
	for (size_t j = trim; j < rows->k - trim; j++)
		sum += v[j];
	return (float)(sum * (scale / (double)(rows->k - 2 * trim)));
}

static bool
equals_definition(const struct rows *rows, const uint8_t *out, size_t n,
    size_t trim, float scale)
{
	for (size_t i = 0; i < n; i++) {
		const float want = compute_mean(rows, i, trim, scale);

		if (is_alike(vec_get(out, i), want))
			continue;
		note("k %zu, n %zu, i %zu, trim %zu: %a, not %a", rows->k, n,
		    i, trim, (double)vec_get(out, i), (double)want);
		return false;
	}
	return true;
}

/* Is the result in `out` equal to that of the plain code, bit for bit? */
static bool
equals_plain(const struct rows *rows, const uint8_t *out, size_t n, size_t trim,
    float scale)
{
	const struct robust_rows r = { .row = rows->row, .k = rows->k };
	uint8_t *plain = malloc(4 * n + 1);
	int32_t key[ROWS];
	bool same;

	if (2 * trim >= rows->k)
		trim = (rows->k - 1) / 2;
	robust_mean_plain(plain, &r, 0, n, trim,
	    scale / (double)(rows->k - 2 * trim), key);
	same = memcmp(plain, out, 4 * n) == 0;
	free(plain);
	return same;
}

static void
test_definition(struct rng *r)
{
	bool median = true, trimmed = true, plain = true;

	for (size_t k = 1; k <= ROWS; k++) {
		for (size_t n = 0; n < ELEMENTS; n++) {
			struct rows rows = rows_new(r, k, n);
			const float scale = (float)k * (n % 3 ? 1 : 0.3f);
			const size_t trim = rng_below(r, k);
			uint8_t *out = malloc(4 * n + 1);

			robust_median(out, rows.row, k, n, scale);
			median = median &&
				 equals_definition(&rows, out, n, k, scale);
			plain = plain && equals_plain(&rows, out, n, k, scale);
			robust_trimmed(out, rows.row, k, n, trim, scale);
			trimmed = trimmed &&
			    equals_definition(&rows, out, n, trim, scale);
			plain =
			    plain && equals_plain(&rows, out, n, trim, scale);
			free(out);
			rows_free(&rows);
		}
	}
	ok(median, "median: the result equals that of qsort for 1 to 33 rows "
	    "of 0 to 40 elements");
	ok(trimmed, "trimmed mean: the result equals that of qsort with any "
	    "trim");
	ok(plain, "median and trimmed mean equal the plain code, bit for bit");
}

/* Test every trim of 9 and of 32 rows, in three orders. */
static void
test_shuffles(struct rng *r)
{
	bool same = true;

	for (size_t k = 9; k <= 32; k += 23) {
		struct rows rows = rows_new(r, k, 24);
		uint8_t first[96], out[96];

		for (size_t trim = 0; trim <= k; trim++) {
			robust_trimmed(first, rows.row, k, 24, trim, 1);
			for (size_t j = k - 1; j > 0; j--) {
				const size_t to = rng_below(r, j + 1);
				const uint8_t *p = rows.row[j];

				rows.row[j] = rows.row[to];
				rows.row[to] = p;
			}
			robust_trimmed(out, rows.row, k, 24, trim, 1);
			same = same && memcmp(first, out, 96) == 0;
		}
		rows_free(&rows);
	}
	ok(same, "the order of the rows does not change a bit");
}

static void
test_by_hand(void)
{
	uint8_t a[4], b[4], c[4], d[4];
	const uint8_t *const row[] = { a, b, c, d };

	vec_set(a, 0, 8);
	vec_set(b, 0, -1);
	vec_set(c, 0, NAN);
	vec_set(d, 0, 3);
	robust_median(a, row, 4, 1, 4);
	ok(vec_get(a, 0) == 22, "the median of 8, -1, NaN, 3, in place, is "
	    "5.5, times 4");
	robust_median(a, row + 1, 3, 1, 3);
	ok(vec_get(a, 0) == 9, "the median of -1, NaN, 3 is 3, times 3");
	robust_trimmed(a, row + 1, 3, 1, 2, 1);
	ok(vec_get(a, 0) == 3, "a mean of three rows with one trimmed at each "
	    "end is the median");
	robust_trimmed(a, row + 1, 3, 1, 0, 1);
	ok(vec_bits(a, 0) == 0x7fc00000, "a mean of rows with a NaN and "
	    "nothing trimmed is always the same NaN");
	vec_set(b, 0, -INFINITY);
	vec_set(d, 0, INFINITY);
	vec_set(c, 0, -NAN);
	robust_median(a, row + 1, 3, 1, 1);
	ok(vec_get(a, 0) == INFINITY, "a negative NaN sorts last too");
	vec_set(c, 0, 0x1.fffffep127f);
	vec_set(d, 0, 0x1.fffffep127f);
	robust_median(a, row + 2, 2, 1, 1);
	ok(vec_get(a, 0) == 0x1.fffffep127f, "the median of FLT_MAX twice does "
	    "not overflow");
}

/*
 * Test 65,535 rows of two elements in one array: 0, 1, 2 and so on, shuffled.
 */
static void
test_many(void)
{
	const size_t k = ROBUST_MANY;
	uint8_t *base = malloc(8 * k), out[8];
	const struct robust_rows r = { .base = base, .stride = 8, .k = k };

	for (size_t j = 0; j < k; j++) {
		vec_set(base, 2 * j, (float)(j * 7919 % k));
		vec_set(base, 2 * j + 1, -(float)(j * 104729 % k));
	}
	robust_mean(out, &r, 2, k, 1);
	ok(vec_get(out, 0) == 32767 && vec_get(out, 1) == -32767,
	    "the median of 65535 rows is right");
	robust_mean(out, &r, 2, 100, 1);
	ok(vec_get(out, 0) == 32767 && vec_get(out, 1) == -32767,
	    "the trimmed mean of 65535 rows is right");
	free(base);
}

int
main(void)
{
	struct rng r = rng_seed(3);

	test_by_hand();
	test_definition(&r);
	test_shuffles(&r);
	test_many();
	return tap_end();
}
