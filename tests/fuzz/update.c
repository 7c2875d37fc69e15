/*
 * Fuzz UDP payloads as updates, models and weights, and the kernels on vectors.
 */
#include "common/wire/update.h"
#include "tests/fuzz/fuzz.h"

#ifdef VEC_AVX2
/*
 * Use the two halves of a vector of finite numbers: plain C and AVX2 must
 * agree.
 */
static void
twins(const uint8_t *v, size_t n, double wa)
{
	const size_t half = n / 2;
	const uint8_t *b = v + 4 * half;
	uint8_t *x = fuzz_copy(v, 4 * half), *y = fuzz_copy(v, 4 * half);

	vec_add_from(x, b, 0, half);
	vec_add_avx2(y, b, half);
	must(memcmp(x, y, 4 * half) == 0, "vec_add: plain is AVX2");
	vec_mean_from(x, v, b, 0, half, wa, 1 - wa);
	vec_mean_avx2(y, v, b, half, wa, 1 - wa);
	must(memcmp(x, y, 4 * half) == 0, "vec_mean: plain is AVX2");
	must(vec_finite(x, half), "means of finite numbers are finite");
	free(x);
	free(y);
}
#endif

/* Parse and write: the bytes must be the same, except for undefined flags. */
static void
put_again(const uint8_t *p, const struct update *u)
{
	uint8_t head[UPDATE_MODEL_BYTES];
	const size_t n = update_head_bytes(u->kind);

	must(update_put(head, u) == head + n, "the header's size");
	if (u->kind == UPDATE_MODEL)
		head[35] |= p[35] & 0xfc;
	must(memcmp(head, p, n) == 0, "parsed and put: the same bytes");
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	uint8_t *q = fuzz_copy(p, len);
	struct update u;
	enum update_bad why = update_parse(q, len, &u);

	must(update_reason(why) != NULL, "a reason has a name");
	must((why == UPDATE_SHORT) == (len < UPDATE_HEADER_BYTES ||
	    (len < UPDATE_MODEL_BYTES && p[0] == UPDATE_VERSION &&
	    p[1] == UPDATE_MODEL)), "short is what is too short");
#ifdef VEC_AVX2
	if (vec_avx2())
		must(vec_finite_from(q, 0, len / 4) ==
		    vec_finite_avx2(q, len / 4), "vec_finite: plain is AVX2");
#endif
	if (why == UPDATE_OK) {
		must((size_t)(u.vec - q) + (size_t)u.n * 4 == len && u.n > 0,
		    "the vector ends where the payload does");
		must((uint64_t)u.first + u.n <= u.elements,
		    "the range lies in the vector");
		must((u.following == 0) ==
		    ((uint64_t)u.first + u.n == u.elements),
		    "the last packet ends the vector");
		must(vec_finite(u.vec, u.n), "its elements are finite");
		put_again(q, &u);
#ifdef VEC_AVX2
		if (vec_avx2())
			twins(u.vec, u.n, u.merged / 65536.0);
#endif
	}
	free(q);
	return 0;
}
