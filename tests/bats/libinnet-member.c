/*
 * libinnet-member.c - a member of a job that uses libinnet.so, and checks sums
 *
 *	libinnet-member [OPTION...] ADDRESS RANK RANKS LENGTH...
 *
 * The member starts an operation for each length and checks its sum.  LENGTH is
 * a number of elements, or MIN-MAXxN for N random lengths, which are the same
 * for all members.  The vectors are those of ring-child.py.  The program prints
 * the number of right sums, or the first error, and then exits with status 1.
 *
 *	-d N	operations in flight at the same time (default 1)
 *	-i	store each sum in the vector that it replaces
 *	-k FILE	key		-a WORD	authentication
 *	-j N	job		-m N	length of the ring (default 2928)
 *	-f LIST	faults of sent packets
 *	-g MS	give-up time (default 20 s)
 *	-q MS	longest silence	-t MS	time-out of each wait (default: never)
 *	-s TEXT	session
 *	-p MS	pause before each operation
 *	-c	accept sums without the contributions of all members
 *	-n	the vectors contain infinities and NaN
 *	-l	leave without waiting for the sums
 *	-u	wait for each operation with innet_worker_test()
 *	-r	time the operations, and print the times in us
 *	-R WORD	reduction	-S MS	time for stragglers
 *
 * Three words can stand for a length: `misuse` calls functions with arguments
 * that they refuse, `threads` lets several threads wait, and `both` sums the
 * vectors of all ranks in this process, which must be the first rank.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/innet-worker/library/innet_worker.h"

enum { DEPTH_MAX = 4096, MS = 1000000 };

struct sum {
	uint64_t ticket;
	float *in, *out;
	uint32_t n, k;			/* length; number of the operation */
	struct innet_worker_count count;
	uint64_t begun_ns;
};

static struct innet_worker_options options = { .size = sizeof(options),
	.ring = 2928, .give_up_ns = UINT64_C(20000) * MS };
static unsigned depth = 1, pause_ms;
static uint64_t timeout_ns = INNET_WORKER_NEVER;
static bool in_place, partial, nonfinite, leaves, polls, times;
static struct sum sums[DEPTH_MAX];
static uint32_t started, checked;

static uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 * MS + (uint64_t)ts.tv_nsec;
}

static void
sleep_ms(unsigned ms)
{
	const struct timespec ts = { ms / 1000, (long)(ms % 1000) * MS };

	nanosleep(&ts, NULL);
}

/* Return element i of operation k of a member. */
static float
element(uint32_t rank, uint32_t k, uint32_t i, uint32_t n)
{
	if (nonfinite && rank == 0 && i == n - 1)
		return k % 3 == 0 ? INFINITY : k % 3 == 1 ? -INFINITY : NAN;
	return (float)(((uint64_t)i * 31 + (uint64_t)k * 17 +
	    (uint64_t)rank * 101) % 2001) - 1000;
}

static void __attribute__((noreturn))
fail(struct innet_worker *w)
{
	char why[INNET_WORKER_TEXT_BYTES];

	fprintf(stderr, "%s\n", innet_worker_error(w, why));
	innet_worker_leave(w);
	exit(1);
}

/* Check that a sum has the expected elements, and end if it has not. */
static void
check(const struct sum *s)
{
	if (s->count.most != options.ranks && !partial) {
		fprintf(stderr, "operation %u: %u contributions\n", s->k,
		    s->count.most);
		exit(1);
	}
	for (uint32_t i = 0; i < s->n && !partial; i++) {
		float want = 0;

		for (uint32_t r = 0; r < options.ranks; r++)
			want += element(r, s->k, i, s->n);
		if (s->out[i] == want || (isnan(want) && isnan(s->out[i])))
			continue;
		fprintf(stderr, "operation %u, element %u of %u: %g, not %g\n",
		    s->k, i, s->n, (double)s->out[i], (double)want);
		exit(1);
	}
	for (uint32_t i = 0; i < s->n && !in_place && !nonfinite; i++) {
		if (s->in[i] == element(options.rank, s->k, i, s->n))
			continue;
		fprintf(stderr, "operation %u: element %u of the input has "
		    "changed\n", s->k, i);
		exit(1);
	}
}

/* Wait for the oldest operation, and check its sum. */
static void
finish(struct innet_worker *w)
{
	struct sum *s = &sums[checked++ % DEPTH_MAX];
	int state = INNET_WORKER_PENDING;

	while (polls && (state = innet_worker_test(w, s->ticket)) ==
	    INNET_WORKER_PENDING)
		sleep_ms(1);
	if (!polls)
		state = innet_worker_wait(w, s->ticket, timeout_ns);
	if (state != INNET_WORKER_DONE)
		fail(w);
	if (times)
		printf("%.1f\n", (double)(now_ns() - s->begun_ns) / 1e3);
	if (!times)
		check(s);
	if (partial)
		printf("%u %u\n", s->count.most, s->count.least);
	free(s->in);
	if (!in_place)
		free(s->out);
}

/* Start the next operation, of n elements. */
static void
start(struct innet_worker *w, uint32_t n)
{
	struct sum *s = &sums[started % DEPTH_MAX];

	sleep_ms(pause_ms);
	*s = (struct sum){ .n = n, .k = started++ };
	/* at least one byte, so that the memory checkers see each access */
	s->in = malloc(4 * (size_t)n + (n == 0));
	s->out = in_place ? s->in : malloc(4 * (size_t)n + (n == 0));
	if (s->in == NULL || s->out == NULL)
		abort();
	for (uint32_t i = 0; i < n; i++)
		s->in[i] = element(options.rank, s->k, i, n);
	s->begun_ns = now_ns();
	s->count.most = options.ranks;
	s->ticket = innet_worker_start(w, s->in, s->out, n,
	    partial || s->k % 2 == 1 ? &s->count : NULL);
	if (s->ticket == 0)
		fail(w);
	while (started - checked >= depth && !leaves)
		finish(w);
}

/* Check that the worker refuses wrong arguments, and continues. */
static void
misuse(struct innet_worker *w)
{
	char why[INNET_WORKER_TEXT_BYTES];
	float one = 1;

	if (innet_worker_wait(w, 99, INNET_WORKER_NEVER) !=
	    INNET_WORKER_FAILED || innet_worker_test(w, 0) !=
	    INNET_WORKER_FAILED)
		abort();
	printf("%s\n", innet_worker_error(w, why));
	if (sizeof(size_t) > 4 && innet_worker_start(w, &one, &one,
	    (size_t)UINT32_MAX + 1, NULL) != 0)
		abort();
	printf("%s\n", innet_worker_error(w, why));
}

struct waiter {
	pthread_t thread;
	struct innet_worker *w;
	uint64_t ticket;
};

static void *
wait_in_thread(void *arg)
{
	const struct waiter *t = arg;

	if (innet_worker_wait(t->w, t->ticket, INNET_WORKER_NEVER) !=
	    INNET_WORKER_DONE)
		fail(t->w);
	return NULL;
}

/* Let four threads wait for four operations. */
static void
wait_in_threads(struct innet_worker *w)
{
	enum { THREADS = 4, ELEMENTS = 5000 };
	static float vec[THREADS][ELEMENTS];
	struct waiter t[THREADS];

	for (int i = 0; i < THREADS; i++) {
		for (int k = 0; k < ELEMENTS; k++)
			vec[i][k] = (float)i;
		t[i] = (struct waiter){ .w = w, .ticket = innet_worker_start(
		    w, vec[i], vec[i], ELEMENTS, NULL) };
		if (pthread_create(&t[i].thread, NULL, wait_in_thread,
		    &t[i]) != 0)
			abort();
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i].thread, NULL);
		if (vec[i][ELEMENTS - 1] != (float)i * (float)options.ranks)
			abort();
	}
}

/* Add the vectors of all ranks in this process. */
static void
sum_both(struct innet_worker *first)
{
	enum { RANKS_MAX = 8, ELEMENTS = 4000 };
	static float vec[RANKS_MAX][ELEMENTS];
	struct innet_worker *w[RANKS_MAX] = { first };
	struct innet_worker_options o = options;
	char why[INNET_WORKER_TEXT_BYTES];
	uint64_t ticket[RANKS_MAX];
	uint32_t r;

	for (r = 1; r < o.ranks && r < RANKS_MAX; r++) {
		o.rank = r;
		w[r] = innet_worker_join(&o, why);
		if (w[r] == NULL)
			abort();
	}
	for (r = 0; r < o.ranks && r < RANKS_MAX; r++) {
		vec[r][ELEMENTS - 1] = (float)r + 1;
		ticket[r] = innet_worker_start(w[r], vec[r], vec[r], ELEMENTS,
		    NULL);
	}
	for (r = 0; r < o.ranks && r < RANKS_MAX; r++) {
		if (innet_worker_wait(w[r], ticket[r], INNET_WORKER_NEVER) !=
		    INNET_WORKER_DONE || vec[r][ELEMENTS - 1] !=
		    (float)(o.ranks * (o.ranks + 1) / 2))
			fail(w[r]);
	}
	for (r = 1; r < o.ranks && r < RANKS_MAX; r++)
		innet_worker_leave(w[r]);
}

/* Start the operations of a word, such as 366 or 1-4000x50. */
static void
start_word(struct innet_worker *w, const char *word)
{
	static uint32_t draw = 1;
	unsigned low, high, n;

	if (strcmp(word, "misuse") == 0) {
		misuse(w);
		return;
	}
	if (strcmp(word, "threads") == 0) {
		wait_in_threads(w);
		return;
	}
	if (strcmp(word, "both") == 0) {
		sum_both(w);
		return;
	}
	if (sscanf(word, "%u-%ux%u", &low, &high, &n) != 3) {
		start(w, (uint32_t)strtoul(word, NULL, 10));
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		draw = draw * 1664525 + 1013904223;
		start(w, low + (draw >> 8) % (high - low + 1));
	}
}

static void
read_option(int ch)
{
	const uint64_t n = optarg == NULL ? 0 : strtoul(optarg, NULL, 10);

	switch (ch) {
	case 'a': options.auth = optarg; break;
	case 'c': partial = true; break;
	case 'd': depth = (unsigned)n; break;
	case 'f': options.impair = optarg; break;
	case 'g': options.give_up_ns = n * MS; break;
	case 'i': in_place = true; break;
	case 'j': options.job = (uint32_t)n; break;
	case 'k': options.key = optarg; break;
	case 'l': leaves = true; break;
	case 'm': options.ring = (uint32_t)n; break;
	case 'n': nonfinite = true; break;
	case 'p': pause_ms = (unsigned)n; break;
	case 'q': options.silence_ns = n * MS; break;
	case 'r': times = true; break;
	case 'R': options.reduce = optarg; break;
	case 'S': options.straggler_ns = n * MS; break;
	case 's':
		options.session = optarg;
		options.session_bytes = strlen(optarg);
		break;
	case 't': timeout_ns = n * MS; break;
	case 'u': polls = true; break;
	default: exit(2);
	}
}

int
main(int argc, char *argv[])
{
	char why[INNET_WORKER_TEXT_BYTES];
	struct innet_worker *w;
	int ch;

	options.job = 1;
	while ((ch = getopt(argc, argv,
	    "a:cd:f:g:ij:k:lm:np:q:rR:s:S:t:u")) != -1)
		read_option(ch);
	if (argc < optind + 3)
		return 2;
	options.address = argv[optind];
	options.rank = (uint32_t)strtoul(argv[optind + 1], NULL, 10);
	options.ranks = (uint32_t)strtoul(argv[optind + 2], NULL, 10);
	w = innet_worker_join(&options, why);
	if (w == NULL) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	for (int i = optind + 3; i < argc; i++)
		start_word(w, argv[i]);
	if (!leaves)
		while (checked < started)
			finish(w);
	innet_worker_leave(w);
	for (; checked < started; checked++) {
		free(sums[checked % DEPTH_MAX].in);
		if (!in_place)
			free(sums[checked % DEPTH_MAX].out);
	}
	fprintf(stderr, "%u right\n", started);
	return 0;
}
