/*
 * sumtree - compare the sum tree with a binary tree of float32 sums, as common
 * libraries have it; the two take turns with the same work
 *
 * usage: sumtree LEAVES BATCH ROUNDS: print a line for each operation, hot,
 *   cold or plain (hot, without vector code), with the ns of each tree for an
 *   element of a batch.  These are medians over the rounds.  Several rounds of
 *   one tree follow each other, so that the other tree is not in the caches
 * usage: sumtree least LEAVES ROUNDS: print the ns for a write to a random leaf
 *   of 4 bytes, with prefetch, which every layout needs
 * usage: sumtree long LEAVES UPDATES: are the sums exact after UPDATES updates?
 */
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/stats.h"
#include "common/replay/sumtree.h"
#include "tests/bench/number.h"

enum {
	WORK = 1 << 16, FLUSH = 64 << 20, ROUNDS_MAX = 1001,
	BLOCK = 7,		/* rounds of one tree in succession */
	WARM = 4		/* rounds to warm up before */
};

/* The work of both trees: the same leaves, weights and shares of the total. */
struct sums {
	uint64_t ours[WORK];
	float peers[WORK];
};
static struct {
	uint32_t at[WORK], weight[WORK], found[WORK], worth[WORK];
	float value[WORK], got[WORK];
	struct sums any, strata;
} job;

static struct sumtree tree;
static float *peer;		/* node 1 is the root, leaf i is leaves + i */
static size_t leaves, batch;

/* A sum tree in an array, which computes each sum again on the way up. */
static void
peer_set(float *sums, size_t n, size_t i, float value)
{
	i += n;
	sums[i] = value;
	for (i /= 2; i >= 1; i /= 2)
		sums[i] = sums[2 * i] + sums[2 * i + 1];
}

static size_t
peer_find(const float *sums, size_t n, float x)
{
	size_t i = 1;

	while (i < n) {
		if (sums[2 * i] > x) {
			i = 2 * i;
		} else {
			x -= sums[2 * i];
			i = 2 * i + 1;
		}
	}
	return i - n;
}

/* Run one round of each operation on `batch` elements from i on. */
static void
ours_sample(const struct sums *x, size_t i, bool weights)
{
	tree.stale = true;	/* as after an update */
	sumtree_find(&tree, x->ours + i, batch, job.found + i,
	    weights ? job.worth + i : NULL);
}

static void
peer_sample(const struct sums *x, size_t i, bool weights)
{
	for (size_t j = i; j < i + batch; j++) {
		job.found[j] = (uint32_t)peer_find(peer, leaves, x->peers[j]);
		if (weights)
			job.got[j] = peer[leaves + job.found[j]];
	}
}

static void
ours(int what, size_t i)
{
	switch (what) {
	case 0: ours_sample(&job.any, i, false); break;
	case 1: ours_sample(&job.any, i, true); break;
	case 2: ours_sample(&job.strata, i, true); break;
	case 3: sumtree_update(&tree, job.at + i, job.weight + i, batch); break;
	case 4: sumtree_insert(&tree, i % leaves, job.weight + i, batch); break;
	}
}

static void
theirs(int what, size_t i)
{
	switch (what) {
	case 0: peer_sample(&job.any, i, false); break;
	case 1: peer_sample(&job.any, i, true); break;
	case 2: peer_sample(&job.strata, i, true); break;
	case 3:
		for (size_t j = i; j < i + batch; j++)
			peer_set(peer, leaves, job.at[j], job.value[j]);
		break;
	case 4:
		for (size_t j = i; j < i + batch; j++)
			peer_set(peer, leaves, j % leaves, job.value[j]);
		break;
	}
}

static const char *const names[] = { "sample", "weights", "stratified",
	"update", "insert" };
enum { NAMES = sizeof(names) / sizeof(*names) };

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Remove our data from the caches, as other work would. */
static void
flush(void)
{
	static unsigned char *other;

	if (other == NULL && (other = pages_new(FLUSH)) == NULL)
		err(1, NULL);
	for (size_t i = 0; i < FLUSH; i += PAGES_LINE)
		other[i]++;
}

/*
 * Return the thread time of batches from one on, without the time of the clock
 * calls.
 */
static double
took_ns(void (*side)(int what, size_t i), int what, size_t from, size_t upto)
{
	const double begin = now_ns(), empty = now_ns() - begin;

	for (size_t i = from; i < upto; i += batch)
		side(what, i);
	return now_ns() - begin - 2 * empty;
}

/*
 * Return ns for each element: of all the work, or of a batch with cold caches.
 */
static double
timed(void (*side)(int what, size_t i), int what, bool cold, size_t round)
{
	const size_t from = cold ? round * batch % WORK : 0;
	const size_t upto = cold ? from + batch : WORK;

	if (cold)
		flush();
	return took_ns(side, what, from, upto) / (double)(upto - from);
}

static void
put(struct sums *x, size_t i, double share)
{
	x->ours[i] = (uint64_t)(share * (double)tree.total);
	x->peers[i] = (float)share * peer[1];
}

static void
fill(struct rng *r)
{
	for (size_t i = 0; i < WORK; i++) {
		job.at[i] = (uint32_t)rng_below(r, leaves);
		job.weight[i] = (uint32_t)rng_below(r, SUMTREE_WEIGHT_MAX) + 1;
		job.value[i] = (float)job.weight[i];
		put(&job.any, i, rng_double(r));
		put(&job.strata, i, ((double)(i % batch) + rng_double(r)) /
		    (double)batch);
	}
}

static void
open_both(void)
{
	struct rng r = rng_seed(1);

	peer = calloc(2 * leaves, sizeof(*peer));
	if (peer == NULL || !sumtree_open(&tree, leaves))
		err(1, NULL);
	for (size_t i = 0; i < leaves; i++) {
		const uint32_t w = (uint32_t)rng_below(&r, SUMTREE_WEIGHT_MAX);

		sumtree_insert(&tree, i, &w, 1);
		peer[leaves + i] = (float)w;
	}
	for (size_t i = leaves - 1; i >= 1; i--)
		peer[i] = peer[2 * i] + peer[2 * i + 1];
}

/*
 * Run rounds of one tree in succession, so that only this tree uses the caches.
 */
static void
block(void (*side)(int what, size_t i), int what, bool cold, size_t from,
    size_t upto, double *ns)
{
	for (int i = 0; i < WARM && !cold; i++)
		took_ns(side, what, 0, WORK);
	for (size_t n = from; n < upto; n++)
		ns[n] = timed(side, what, cold, n);
}

static void
compare(const char *how, size_t rounds)
{
	static double a[NAMES][ROUNDS_MAX], b[NAMES][ROUNDS_MAX];
	const bool cold = strcmp(how, "cold") == 0;
	struct rng r = rng_seed(2);

	for (size_t n = 0, upto; n < rounds; n = upto) {
		upto = rounds - n < BLOCK ? rounds : n + BLOCK;
		fill(&r);
		for (int what = 0; what < NAMES; what++) {
			block(ours, what, cold, n, upto, a[what]);
			block(theirs, what, cold, n, upto, b[what]);
		}
	}
	for (int what = 0; what < NAMES; what++)
		printf("%s %s %.2f %.2f\n", how, names[what],
		    stats_percentile(a[what], rounds, 50),
		    stats_percentile(b[what], rounds, 50));
}

/* Time the writes to leaves, which an update of any tree needs. */
static void
least(size_t rounds)
{
	static double ns[ROUNDS_MAX];
	uint32_t *const leaf = pages_new(leaves * sizeof(*leaf));
	struct rng r = rng_seed(2);

	if (leaf == NULL)
		err(1, NULL);
	for (size_t i = 0; i < leaves; i++)
		leaf[i] = 1;
	for (size_t i = 0; i < WORK; i++)
		job.at[i] = (uint32_t)rng_below(&r, leaves);
	for (size_t n = 0; n < rounds + WARM; n++) {
		const double begin = now_ns();

		for (size_t i = 0; i < WORK; i++) {
			prefetch_line_to_write(leaf +
			    job.at[(i + SUMNODE_AHEAD) % WORK]);
			leaf[job.at[i]]++;
		}
		if (n >= WARM)
			ns[n - WARM] = (now_ns() - begin) / WORK;
	}
	printf("%.2f\n", stats_percentile(ns, rounds, 50));
	free(leaf);
}

/* Run many updates; is the total then the sum of the leaves? */
static int
exact(uint64_t updates)
{
	struct rng r = rng_seed(3);
	uint64_t done = 0, sum = 0, u;
	size_t m;

	open_both();
	for (; done < updates; done += m) {
		m = updates - done < WORK ? updates - done : WORK;
		for (size_t i = 0; i < m; i++) {
			u = rng_u64(&r);
			job.at[i] = (uint32_t)((u & UINT32_MAX) * leaves >> 32);
			job.weight[i] = (uint32_t)(u >> 41);
		}
		sumtree_update(&tree, job.at, job.weight, m);
	}
	for (size_t i = 0; i < leaves; i++)
		sum += sumtree_weight(&tree, i);
	printf("%llu updates of %zu leaves: total %llu, sum of leaves %llu\n",
	    (unsigned long long)done, leaves, (unsigned long long)tree.total,
	    (unsigned long long)sum);
	return sum != tree.total;
}

int
main(int argc, char *argv[])
{
	size_t rounds;

	if (argc != 4)
		errx(2, "usage: sumtree LEAVES BATCH ROUNDS");
	if (strcmp(argv[1], "least") == 0) {
		leaves = number(argv[2], UINT32_MAX);
		least(number(argv[3], ROUNDS_MAX - 1));
		return 0;
	}
	if (strcmp(argv[1], "long") == 0) {
		leaves = number(argv[2], UINT32_MAX);
		return exact(number(argv[3], UINT64_MAX));
	}
	leaves = number(argv[1], UINT32_MAX);
	batch = number(argv[2], WORK);
	rounds = number(argv[3], ROUNDS_MAX);
	open_both();
	compare("hot", rounds);
	compare("cold", rounds);
	tree.form = sumnode_plain();
	compare("plain", rounds);
	return 0;
}
