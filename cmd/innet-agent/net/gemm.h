/*
 * gemm.h - products of matrices with vectors of GEMM_LANES floats
 *
 * Each set of vector code includes this file once, after it has defined
 *
 *	GEMM_LANES	floats in a vector, at least 8
 *	GEMM_HIGH	rows in a block of C: 6, or 12 with 32 registers
 *	GEMM_TARGET	the attribute of functions that use these vectors
 *	gemm_vec	a vector; gemm_mask: which of its lanes are in use
 *	gemm_lanes(n)	the mask of the first n lanes
 *	gemm_take(p, mask, part)	load; without `part`, all lanes
 *	gemm_put(p, mask, part, v)	store, as above
 *	gemm_same(f)	f in all lanes
 *	gemm_fma(a, b, c)	a * b + c, rounded once
 *
 * While the loop goes through a column of A and a row of B, a block of C of up
 * to GEMM_HIGH rows by two vectors stays in registers.  Each sum is computed in
 * the order of kern.h, so its bits do not depend on the size of a vector.
 */
#ifndef INNET_AGENT_NET_GEMM_H
#define INNET_AGENT_NET_GEMM_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/innet-agent/net/kern.h"

#ifdef GEMM_LANES
/* Compute a product of matrices as described in kern.h. */
GEMM_TARGET static void gemm(size_t m, size_t n, size_t k, struct kern_mat a,
    struct kern_mat b, const float *from, size_t ldf, float *c, size_t ldc);

/* implementation */

#define INLINE static inline __attribute__((always_inline)) GEMM_TARGET

enum {
	HIGH = GEMM_HIGH,	/* rows in a block of C */
	LANES = GEMM_LANES,	/* floats in a vector */
	WIDE = 2 * LANES,	/* columns in a block of C */
	DEEP = 256,		/* number of rows of B that are packed at a
				 * time */
	NARROW = 4,		/* maximum number of columns of C for
				 * narrow() */
	TALL = 16 * HIGH,	/* pack B if C has more rows than this */
	FAR = 128,		/* pack a matrix if its stride in floats is
				 * larger than this */
	BAND = 264,		/* number of rows of A that are packed at a
				 * time, a multiple of HIGH */
	BROAD = 64,	/* minimum number of columns of C for packing
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
 * Compute a block of C with `rows` rows and vecs * LANES columns, whose first
 * element is in row y, column x.  If `part` is set, the last vector has only
 * the lanes of the mask `edge`.  In every call, rows, vecs and part are
 * compile-time constants.
 */
INLINE void
block(size_t rows, size_t vecs, bool part, gemm_mask edge, const struct job *j,
    size_t y, size_t x)
{
	const size_t k = j->k, ldb = j->ldb, rs = j->a.row, cs = j->a.col;
	const float *a = j->a.p + y * rs, *b = j->b + (x - j->left);
	float *c = j->c + y * j->ldc + x;
	gemm_vec s[HIGH][8], u[8];

#pragma GCC unroll 16
	for (size_t r = 0; r < rows; r++) {
		const float *f = j->from == NULL ? NULL :
		    j->from + (y + r) * j->ldf + x;

#pragma GCC unroll 8
		for (size_t v = 0; v < vecs; v++)
			s[r][v] = f == NULL ? gemm_same(0) :
			    gemm_take(f + LANES * v, edge,
			    part && v == vecs - 1);
	}
	for (size_t i = 0; i < k; i++, b += ldb, a += cs) {
#pragma GCC unroll 8
		for (size_t v = 0; v < vecs; v++)
			u[v] = gemm_take(b + LANES * v, edge,
			    part && v == vecs - 1);
#pragma GCC unroll 16
		for (size_t r = 0; r < rows; r++) {
			const gemm_vec f = gemm_same(a[r * rs]);

#pragma GCC unroll 8
			for (size_t v = 0; v < vecs; v++)
				s[r][v] = gemm_fma(f, u[v], s[r][v]);
		}
	}
#pragma GCC unroll 16
	for (size_t r = 0; r < rows; r++) {
#pragma GCC unroll 8
		for (size_t v = 0; v < vecs; v++)
			gemm_put(c + r * j->ldc + LANES * v, edge,
			    part && v == vecs - 1, s[r][v]);
	}
}

/*
 * Compute `rows` <= HIGH rows of a panel, beginning with row y.  The panel has
 * at most WIDE columns.
 */
INLINE void
strip(size_t vecs, bool part, gemm_mask edge, const struct job *j, size_t rows,
    size_t y, size_t x)
{
	switch (rows) {
#if GEMM_HIGH > 6
	case 12: block(12, vecs, part, edge, j, y, x); break;
	case 11: block(11, vecs, part, edge, j, y, x); break;
	case 10: block(10, vecs, part, edge, j, y, x); break;
	case 9: block(9, vecs, part, edge, j, y, x); break;
	case 8: block(8, vecs, part, edge, j, y, x); break;
	case 7: block(7, vecs, part, edge, j, y, x); break;
#endif
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
GEMM_TARGET static void
panel(const struct job *j, size_t m, size_t n, size_t x)
{
	const gemm_mask edge = gemm_lanes(n > LANES ? n - LANES : n);
	size_t left = (m + HIGH - 1) / HIGH, rows;

	for (size_t y = 0; y < m; y += rows, left--) {
		rows = (m - y + left - 1) / left;
		if (n == WIDE)
			strip(2, false, edge, j, rows, y, x);
		else if (n > LANES)
			strip(2, true, edge, j, rows, y, x);
		else
			strip(1, true, edge, j, rows, y, x);
	}
}

/*
 * Compute one row of C, 8 vectors and then 4 vectors at a time, so that there
 * are enough independent sums to hide the latency of an addition.  Return the
 * number of columns computed.
 */
GEMM_TARGET static size_t
row(const struct job *j, size_t n)
{
	size_t x = 0;

	for (; x + 8 * LANES <= n; x += 8 * LANES)
		block(1, 8, false, gemm_lanes(0), j, 0, x);
	for (; x + 4 * LANES <= n; x += 4 * LANES)
		block(1, 4, false, gemm_lanes(0), j, 0, x);
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
	const gemm_mask all = gemm_lanes(LANES);

#pragma GCC unroll 8
	for (size_t i = 0; i < 8; i++) {
#pragma GCC unroll 2
		for (size_t v = 0; v < WIDE; v += LANES)
			gemm_put(to + i * WIDE + v, all, false,
			    gemm_take(p + i * ldp + v, all, false));
	}
}

/*
 * Copy a part of b into `to`: k rows, beginning with row i, and n <= WIDE
 * columns, beginning with column x.  The rows of `to` are WIDE floats apart.
 */
GEMM_TARGET static void
pack(struct kern_mat b, size_t x, size_t n, size_t i, size_t k, float *to)
{
	const float *p = b.p + i * b.row + x * b.col;
	const size_t k8 = k & ~(size_t)7;
	size_t n8 = 0;		/* number of columns that were copied in the
				 * first k8 rows */

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
GEMM_TARGET static void
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
 * faster to read them once than to read them for each panel.  A store writes
 * a whole vector even if a strip has fewer rows; the next store overwrites the
 * excess.
 */
GEMM_TARGET static void
pack_a(struct kern_mat a, size_t m, size_t k, float *to)
{
	const gemm_mask all = gemm_lanes(LANES);
	size_t left = (m + HIGH - 1) / HIGH, rows;

	for (size_t y = 0; y < m; y += rows, left--, to += k * HIGH) {
		rows = (m - y + left - 1) / left;
		for (size_t i = 0; i < k; i++) {
			const float *p = a.p + y + i * a.col;

			if (y + LANES <= m)
				gemm_put(to + i * HIGH, all, false,
				    gemm_take(p, all, false));
			for (size_t r = 0; y + LANES > m && r < rows; r++)
				to[i * HIGH + r] = p[r];
		}
	}
}

/* Compute a panel like panel(), but for a packed A and for WIDE columns. */
GEMM_TARGET static void
panel_of_packed(struct job j, size_t m, size_t x)
{
	size_t left = (m + HIGH - 1) / HIGH, rows;

	for (size_t y = 0; y < m; y += rows, left--) {
		rows = (m - y + left - 1) / left;
		strip(2, false, gemm_lanes(0), &j, rows, 0, x);
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
GEMM_TARGET static void
packed_both(struct job j, struct kern_mat b, size_t m, size_t n)
{
	float room[DEEP * WIDE] __attribute__((aligned(64)));
	float strips[BAND * DEEP + LANES] __attribute__((aligned(64)));
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
GEMM_TARGET static void
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
GEMM_TARGET static void
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

GEMM_TARGET static void
gemm(size_t m, size_t n, size_t k, struct kern_mat a, struct kern_mat b,
    const float *from, size_t ldf, float *c, size_t ldc)
{
	const struct job j = { k, a, b.p, 0, b.row, from, ldf, c, ldc };
	size_t x = 0;

	if (n == 1 && ldc == 1 && m > 1) {	/* in this case, computing a row
						 * is faster */
		for (size_t y = 0; y < m && from != c; y++)
			c[y] = from == NULL ? 0 : from[y * ldf];
		gemm(1, m, k, (struct kern_mat){ b.p, 0, b.row },
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
#endif

#endif
