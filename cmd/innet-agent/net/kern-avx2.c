/*
 * kern-avx2.c - the loops of training, eight floats at a time
 *
 * As in kern.c, a product and a sum are rounded separately.  Fused operations
 * would make the plain set far slower on processors without them.  They would
 * also gain little, because Zen processors add and multiply in separate pipes.
 * While the loop goes through a column of A and a row of B, a block of C of up
 * to 6 rows by 16 columns stays in registers.  The loop uses all 16 registers:
 * 12 sums, 2 vectors of B, 1 number of A and 1 product.
 */
#include "config.h"

#include "cmd/innet-agent/net/kern-avx2.h"

#ifdef __x86_64__
#include <immintrin.h>
#include <stdint.h>

#define AVX2 __attribute__((target("avx2")))
#define INLINE static inline __attribute__((always_inline)) AVX2

/* Return a mask of the first n of 8 lanes. */
INLINE __m256i
lanes(size_t n)
{
	const __m256i id = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

	return _mm256_cmpgt_epi32(_mm256_set1_epi32(n < 8 ? (int)n : 8), id);
}

INLINE __m256
take(const float *p, __m256i mask, bool part)
{
	return part ? _mm256_maskload_ps(p, mask) : _mm256_loadu_ps(p);
}

INLINE void
put(float *p, __m256i mask, bool part, __m256 v)
{
	if (part)
		_mm256_maskstore_ps(p, mask, v);
	else
		_mm256_storeu_ps(p, v);
}

INLINE __m256
mul_add(__m256 a, __m256 b, __m256 c)
{
	return _mm256_add_ps(c, _mm256_mul_ps(a, b));
}

enum {
	HIGH = 6, WIDE = 16,	/* rows and columns in a block of C */
	DEEP = 256,		/* number of rows of B that are packed at a
				 * time */
	NARROW = 4,		/* maximum number of columns of C for
				 * narrow() */
	TALL = 16 * HIGH,	/* pack B if C has more rows than this */
	FAR = 128,		/* pack if the stride in floats is larger */
	BAND = 43 * HIGH,	/* number of rows of A that are packed at a
				 * time */
	BROAD = 4 * WIDE,	/* minimum number of columns of C for packing
				 * A */
};

/* The parameters that are common to all blocks of a product or of its part. */
struct job {
	size_t k;		/* number of products in each sum */
	struct kern_mat a;
	const float *b;		/* B, beginning with its column `left` */
	size_t left, ldb;
	const float *from;	/* initial sums; NULL: all are 0 */
	size_t ldf;
	float *c;
	size_t ldc;
};

/*
 * Compute a block of C with `rows` rows and vecs * 8 columns, whose first
 * element is in row y, column x.  If `part` is set, the last vector has only
 * the lanes of the mask `edge`.  Every call passes compile-time constants as
 * rows, vecs and part.
 */
INLINE void
block(size_t rows, size_t vecs, bool part, __m256i edge, const struct job *j,
    size_t y, size_t x)
{
	const size_t k = j->k, ldb = j->ldb, rs = j->a.row, cs = j->a.col;
	const float *a = j->a.p + y * rs, *b = j->b + (x - j->left);
	float *c = j->c + y * j->ldc + x;
	__m256 s[HIGH][8], u[8];

#pragma GCC unroll 8
	for (size_t r = 0; r < rows; r++) {
		const float *f = j->from == NULL ? NULL :
		    j->from + (y + r) * j->ldf + x;

#pragma GCC unroll 8
		for (size_t v = 0; v < vecs; v++)
			s[r][v] = f == NULL ? _mm256_setzero_ps() :
			    take(f + 8 * v, edge, part && v == vecs - 1);
	}
	for (size_t i = 0; i < k; i++, b += ldb, a += cs) {
#pragma GCC unroll 8
		for (size_t v = 0; v < vecs; v++)
			u[v] = take(b + 8 * v, edge, part && v == vecs - 1);
#pragma GCC unroll 8
		for (size_t r = 0; r < rows; r++) {
			const __m256 f = _mm256_broadcast_ss(a + r * rs);

#pragma GCC unroll 8
			for (size_t v = 0; v < vecs; v++)
				s[r][v] = mul_add(f, u[v], s[r][v]);
		}
	}
#pragma GCC unroll 8
	for (size_t r = 0; r < rows; r++) {
#pragma GCC unroll 8
		for (size_t v = 0; v < vecs; v++)
			put(c + r * j->ldc + 8 * v, edge,
			    part && v == vecs - 1, s[r][v]);
	}
}

/*
 * Compute `rows` <= HIGH rows of a panel, beginning with row y.  The panel has
 * at most WIDE columns.
 */
INLINE void
strip(size_t vecs, bool part, __m256i edge, const struct job *j, size_t rows,
    size_t y, size_t x)
{
	switch (rows) {
	case 6: block(6, vecs, part, edge, j, y, x); break;
	case 5: block(5, vecs, part, edge, j, y, x); break;
	case 4: block(4, vecs, part, edge, j, y, x); break;
	case 3: block(3, vecs, part, edge, j, y, x); break;
	case 2: block(2, vecs, part, edge, j, y, x); break;
	default: block(1, vecs, part, edge, j, y, x); break;
	}
}

/*
 * Compute a panel of C: all m rows of n <= WIDE columns, beginning with column
 * x.  Divide the panel into strips of similar height.
 */
AVX2 static void
panel(const struct job *j, size_t m, size_t n, size_t x)
{
	const __m256i edge = lanes(n > 8 ? n - 8 : n);
	size_t left = (m + HIGH - 1) / HIGH, rows;

	for (size_t y = 0; y < m; y += rows, left--) {
		rows = (m - y + left - 1) / left;
		if (n == WIDE)
			strip(2, false, edge, j, rows, y, x);
		else if (n > 8)
			strip(2, true, edge, j, rows, y, x);
		else
			strip(1, true, edge, j, rows, y, x);
	}
}

/*
 * Compute one row of C, 64 columns at a time, so that there are enough
 * independent sums to hide the latency of an addition.  Return the number of
 * columns computed.
 */
AVX2 static size_t
row(const struct job *j, size_t n)
{
	size_t x = 0;

	for (; x + 64 <= n; x += 64)
		block(1, 8, false, lanes(0), j, 0, x);
	return x;
}

/*
 * Transpose the 8 x 8 floats at p into `to`.  The rows of p are ldp floats
 * apart, and the rows of `to` are WIDE floats apart.
 */
INLINE void
flip8(const float *p, size_t ldp, float *to)
{
	__m256 r[8], s[8];

#pragma GCC unroll 8
	for (size_t i = 0; i < 8; i++)
		r[i] = _mm256_loadu_ps(p + i * ldp);
#pragma GCC unroll 8
	for (size_t i = 0; i < 8; i += 2) {
		s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
		s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
	}
#pragma GCC unroll 8
	for (size_t i = 0; i < 8; i += 4) {
		r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
		r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xee);
		r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
		r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xee);
	}
#pragma GCC unroll 8
	for (size_t i = 0; i < 4; i++) {
		_mm256_storeu_ps(to + i * WIDE,
		    _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
		_mm256_storeu_ps(to + (i + 4) * WIDE,
		    _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
	}
}

/* Copy 8 rows of WIDE columns from p to `to`, without transposing them. */
INLINE void
copy8(const float *p, size_t ldp, float *to)
{
#pragma GCC unroll 8
	for (size_t i = 0; i < 8; i++) {
		const __m256 lo = _mm256_loadu_ps(p + i * ldp);

		_mm256_storeu_ps(to + i * WIDE + 8,
		    _mm256_loadu_ps(p + i * ldp + 8));
		_mm256_storeu_ps(to + i * WIDE, lo);
	}
}

/*
 * Copy a part of b into `to`: k rows, beginning with row i, and n <= WIDE
 * columns, beginning with column x.  The rows of `to` are WIDE floats apart.
 */
AVX2 static void
pack(struct kern_mat b, size_t x, size_t n, size_t i, size_t k, float *to)
{
	const float *p = b.p + i * b.row + x * b.col;
	const size_t k8 = k & ~(size_t)7;
	size_t n8 = 0;		/* columns copied in the first k8 rows */

	if (b.col == 1 && n == WIDE) {
		n8 = WIDE;
		for (size_t y = 0; y < k8; y += 8)
			copy8(p + y * b.row, b.row, to + y * WIDE);
	}
	for (; b.row == 1 && n8 + 8 <= n; n8 += 8) {
		for (size_t y = 0; y < k8; y += 8)
			flip8(p + y + n8 * b.col, b.col, to + y * WIDE + n8);
	}
	for (size_t y = 0; y < k; y++) {
		for (size_t v = y < k8 ? n8 : 0; v < n; v++)
			to[y * WIDE + v] = p[y * b.row + v * b.col];
	}
}

/*
 * Compute n <= WIDE columns of C, beginning with column x, from a packed copy
 * of these columns of B.
 */
AVX2 static void
packed(struct job j, struct kern_mat b, size_t m, size_t n, size_t x)
{
	float room[DEEP * WIDE] __attribute__((aligned(64)));
	const size_t k = j.k;

	j.b = room;
	j.left = x;
	j.ldb = WIDE;
	for (size_t i = 0; i == 0 || i < k; i += DEEP) {
		j.k = k - i < DEEP ? k - i : DEEP;
		pack(b, x, n, i, j.k, room);
		panel(&j, m, n, x);
		j.a.p += DEEP * j.a.col;
		j.from = j.c;
		j.ldf = j.ldc;
	}
}

/*
 * Pack the first k columns of A into the strips of panel().  The m numbers of a
 * column are contiguous in memory, but the columns are far apart, so it is
 * faster to read them once than to read them for each panel.  A store writes 8
 * floats even if a strip has 6 rows; the next store overwrites the excess.
 */
AVX2 static void
pack_a(struct kern_mat a, size_t m, size_t k, float *to)
{
	size_t left = (m + HIGH - 1) / HIGH, rows;

	for (size_t y = 0; y < m; y += rows, left--, to += k * HIGH) {
		rows = (m - y + left - 1) / left;
		for (size_t i = 0; i < k; i++) {
			const float *p = a.p + y + i * a.col;

			if (y + 8 <= m)
				_mm256_storeu_ps(to + i * HIGH,
				    _mm256_loadu_ps(p));
			for (size_t r = 0; y + 8 > m && r < rows; r++)
				to[i * HIGH + r] = p[r];
		}
	}
}

/* Compute a panel like panel(), but for a packed A and for WIDE columns. */
AVX2 static void
panel_of_packed(struct job j, size_t m, size_t x)
{
	size_t left = (m + HIGH - 1) / HIGH, rows;

	for (size_t y = 0; y < m; y += rows, left--) {
		rows = (m - y + left - 1) / left;
		strip(2, false, lanes(8), &j, rows, 0, x);
		j.a.p += j.k * HIGH;
		j.c += rows * j.ldc;
		if (j.from != NULL)
			j.from += rows * j.ldf;
	}
}

/*
 * Pack both A and B, and compute m <= BAND rows and n columns of C.  The number
 * n must be a multiple of WIDE.
 */
AVX2 static void
packed_both(struct job j, struct kern_mat b, size_t m, size_t n)
{
	float room[DEEP * WIDE] __attribute__((aligned(64)));
	float strips[BAND * DEEP + 2] __attribute__((aligned(64)));
	struct kern_mat a = j.a;
	const size_t k = j.k;

	j.a = (struct kern_mat){ strips, 1, HIGH };
	j.b = room;
	j.ldb = WIDE;
	for (size_t i = 0; i == 0 || i < k; i += DEEP) {
		j.k = k - i < DEEP ? k - i : DEEP;
		pack_a(a, m, j.k, strips);
		for (j.left = 0; j.left < n; j.left += WIDE) {
			pack(b, j.left, WIDE, i, j.k, room);
			panel_of_packed(j, m, j.left);
		}
		a.p += DEEP * a.col;
		j.from = j.c;
		j.ldf = j.ldc;
	}
}

/* Call packed_both() for each band of rows, so that m can be any number. */
AVX2 static void
bands(struct job j, struct kern_mat b, size_t m, size_t n)
{
	for (size_t y = 0; y < m; y += BAND) {
		packed_both(j, b, m - y < BAND ? m - y : BAND, n);
		j.a.p += BAND;
		j.c += BAND * j.ldc;
		if (j.from != NULL)
			j.from += BAND * j.ldf;
	}
}

/*
 * Compute a product with n <= NARROW columns, if A is transposed in memory.
 * This computes the transpose of the product, because the rows of the transpose
 * fill all lanes.
 */
AVX2 static void
narrow(size_t m, size_t n, const struct job *j, struct kern_mat b)
{
	float room[NARROW * WIDE];
	struct job turned = { .k = j->k, .a = { b.p, b.col, b.row },
	    .ldb = j->a.col, .from = j->from == NULL ? NULL : room,
	    .ldf = WIDE, .c = room, .ldc = WIDE };

	for (size_t y = 0; y < m; y += WIDE) {
		const size_t some = m - y < WIDE ? m - y : WIDE;

		for (size_t r = 0; r < some && j->from != NULL; r++) {
			for (size_t x = 0; x < n; x++)
				room[x * WIDE + r] =
				    j->from[(y + r) * j->ldf + x];
		}
		turned.b = j->a.p + y;
		panel(&turned, n, some, 0);
		for (size_t r = 0; r < some; r++) {
			for (size_t x = 0; x < n; x++)
				j->c[(y + r) * j->ldc + x] =
				    room[x * WIDE + r];
		}
	}
}

AVX2 static void
avx2_gemm(size_t m, size_t n, size_t k, struct kern_mat a, struct kern_mat b,
    const float *from, size_t ldf, float *c, size_t ldc)
{
	const struct job j = { k, a, b.p, 0, b.row, from, ldf, c, ldc };
	size_t x = 0;

	if (n == 1 && ldc == 1 && m > 1) {	/* computing a row is faster */
		for (size_t y = 0; y < m && from != c; y++)
			c[y] = from == NULL ? 0 : from[y * ldf];
		avx2_gemm(1, m, k, (struct kern_mat){ b.p, 0, b.row },
		    (struct kern_mat){ a.p, a.col, a.row }, c, m, c, m);
		return;
	}
	if (a.row == 1 && m > n && n <= NARROW) {
		narrow(m, n, &j, b);
		return;
	}
	if (m == 1 && b.col == 1)
		x = row(&j, n);
	if (a.row == 1 && a.col > FAR && n >= BROAD && m >= TALL) {
		x = n - n % WIDE;
		bands(j, b, m, x);
	}
	for (; x < n; x += WIDE) {
		const size_t some = n - x < WIDE ? n - x : WIDE;

		if (b.col != 1 || m > TALL ||
		    (b.row > FAR && m > 2 * HIGH))
			packed(j, b, m, some, x);
		else
			panel(&j, m, some, x);
	}
}

AVX2 static void
avx2_relu(float *x, size_t n)
{
	const __m256 zero = _mm256_setzero_ps();
	size_t i;

	for (i = 0; i + 8 <= n; i += 8)
		_mm256_storeu_ps(x + i,
		    _mm256_max_ps(_mm256_loadu_ps(x + i), zero));
	kern_plain.relu(x + i, n - i);
}

AVX2 static void
avx2_relu_back(float *x, const float *by, size_t n)
{
	const __m256 zero = _mm256_setzero_ps();
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		const __m256 on = _mm256_cmp_ps(_mm256_loadu_ps(x + i), zero,
		    _CMP_GT_OQ);

		_mm256_storeu_ps(x + i,
		    _mm256_and_ps(_mm256_loadu_ps(by + i), on));
	}
	kern_plain.relu_back(x + i, by + i, n - i);
}

AVX2 static void
avx2_tanh_back(float *x, const float *by, size_t n)
{
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		__m256 y = _mm256_loadu_ps(x + i);

		y = _mm256_sub_ps(_mm256_set1_ps(1), _mm256_mul_ps(y, y));
		_mm256_storeu_ps(x + i,
		    _mm256_mul_ps(_mm256_loadu_ps(by + i), y));
	}
	kern_plain.tanh_back(x + i, by + i, n - i);
}

/* Return a + y * b. */
INLINE __m256
poly(float a, __m256 y, __m256 b)
{
	return _mm256_add_ps(_mm256_set1_ps(a), _mm256_mul_ps(y, b));
}

AVX2 static void
avx2_tanh(float *x, size_t n)
{
	const __m256 top = _mm256_set1_ps(4.97f), low = _mm256_set1_ps(-4.97f);
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		__m256 t = _mm256_loadu_ps(x + i), y, p, q;

		t = _mm256_max_ps(_mm256_min_ps(t, top), low);
		y = _mm256_mul_ps(t, t);
		p = poly(378, y, _mm256_set1_ps(1));
		p = poly(135135, y, poly(17325, y, p));
		q = poly(3150, y, _mm256_set1_ps(28));
		q = poly(135135, y, poly(62370, y, q));
		_mm256_storeu_ps(x + i, _mm256_div_ps(_mm256_mul_ps(t, p), q));
	}
	kern_plain.tanh(x + i, n - i);
}

AVX2 static void
avx2_adam(float *w, float *m, float *v, const float *g, size_t n,
    const struct kern_adam *k)
{
	const __m256 b1 = _mm256_set1_ps(k->b1), b2 = _mm256_set1_ps(k->b2);
	const __m256 c1 = _mm256_set1_ps(1 - k->b1);
	const __m256 c2 = _mm256_set1_ps(1 - k->b2);
	const __m256 rate = _mm256_set1_ps(k->rate);
	const __m256 fix = _mm256_set1_ps(k->fix);
	const __m256 eps = _mm256_set1_ps(k->eps);
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		__m256 f = _mm256_loadu_ps(g + i), s, t, d;

		s = _mm256_mul_ps(b1, _mm256_loadu_ps(m + i));
		s = _mm256_add_ps(s, _mm256_mul_ps(c1, f));
		t = _mm256_mul_ps(b2, _mm256_loadu_ps(v + i));
		t = _mm256_add_ps(t, _mm256_mul_ps(c2, _mm256_mul_ps(f, f)));
		_mm256_storeu_ps(m + i, s);
		_mm256_storeu_ps(v + i, t);
		d = _mm256_sqrt_ps(_mm256_mul_ps(t, fix));
		d = _mm256_div_ps(_mm256_mul_ps(rate, s),
		    _mm256_add_ps(d, eps));
		_mm256_storeu_ps(w + i,
		    _mm256_add_ps(_mm256_loadu_ps(w + i), d));
	}
	kern_plain.adam(w + i, m + i, v + i, g + i, n - i, k);
}

const struct kern *
kern_avx2(void)
{
	static const struct kern set = {
		.name = "AVX2",
		.gemm = avx2_gemm,
		.relu = avx2_relu,
		.tanh = avx2_tanh,
		.relu_back = avx2_relu_back,
		.tanh_back = avx2_tanh_back,
		.adam = avx2_adam,
	};

	return __builtin_cpu_supports("avx2") ? &set : NULL;
}
#else
const struct kern *
kern_avx2(void)
{
	return NULL;
}
#endif
