/*
 * replay-load - replay-load CLIENT ADDR TASK [ROUNDS [BYTES [HELD]]]: measure
 * the requests of actors and a learner to a replay memory; print the median
 * time of ROUNDS (7) in ms
 *
 * CLIENT is ours or hiredis.  Experiences have BYTES (213500), and the memory
 * has room for HELD (2000).  With frames, an experience has eight frames of
 * 7,056 bytes and a tail.  Before the measurement each task runs once, and the
 * program compares every byte of the reply with the bytes that it sent.
 */
#include <stdio.h>

#include "common/base/num.h"
#include "common/base/rng.h"
#include "common/base/stats.h"
#include "common/net/timer.h"
#include "tests/bench/loadclient.h"

enum {
	PUSHED = 200,		/* experiences in a push */
	SAMPLED = 512,
	PARAMS = 13000000,	/* bytes */
	FRAME = 7056, STACK = 4,
	/* bytes of an experience with frames, its number first */
	TAIL = 16,
	FRAMES = PUSHED + STACK,	/* frames to which a push refers */
	BY_REF = 2 * STACK * 2 + TAIL	/* bytes of a pushed experience by
					 * reference */
};

struct work {
	struct load *l;
	struct rng rng;
	size_t bytes, held;
	uint8_t *experience;	/* PUSHED of them, the number first */
	uint8_t *params;
	uint8_t *frame;		/* FRAMES frames, the number first */
	uint8_t *ref;		/* PUSHED experiences by reference */
	uint64_t version;
	char text[SAMPLED][32];
	char held_text[32], keep_text[32];
	char name[32];		/* of the list and the table */
};

#define WORDS(l, ...) load_words(l, (const char *const[]){ __VA_ARGS__ }, \
	sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static uint8_t *
noise(struct rng *rng, size_t n, size_t bytes)
{
	uint8_t *p = malloc(n * bytes + 8);

	if (p == NULL)
		err(1, "%zu bytes", n * bytes);
	for (size_t i = 0; i < n * bytes; i += 8) {
		const uint64_t x = rng_u64(rng);

		memcpy(p + i, &x, 8);
	}
	for (uint64_t i = 0; bytes >= 8 && i < n; i++)
		memcpy(p + i * bytes, &i, 8);
	return p;
}

static void
make(struct work *w)
{
	w->rng = rng_seed(9);
	w->experience = noise(&w->rng, PUSHED, w->bytes);
	w->params = noise(&w->rng, 1, PARAMS);
	w->frame = noise(&w->rng, FRAMES, FRAME);
	w->ref = noise(&w->rng, PUSHED, BY_REF);
	for (size_t i = 0; i < PUSHED; i++) {
		uint8_t *p = w->ref + i * BY_REF;
		const uint64_t number = i;

		for (size_t k = 0; k < 2 * STACK; k++, p += 2) {
			const size_t f = i + k % STACK + k / STACK;

			p[0] = (uint8_t)f;
			p[1] = (uint8_t)(f >> 8);
		}
		memcpy(p, &number, 8);
	}
	snprintf(w->name, sizeof(w->name), "experience:%zu", w->bytes);
	snprintf(w->held_text, sizeof(w->held_text), "%zu", w->held);
	snprintf(w->keep_text, sizeof(w->keep_text), "-%zu", w->held);
}

static void
check(bool good, const char *what)
{
	if (!good)
		errx(1, "what came back is not what was sent: %s", what);
}

/* Is a bulk one of our experiences, by value? */
static void
check_experience(const struct work *w, const struct load_item *it)
{
	uint64_t number;

	check(it->kind == '$' && (size_t)it->n == w->bytes, "its length");
	memcpy(&number, it->p, 8);
	check(number < PUSHED && memcmp(it->p, w->experience +
	    number * w->bytes, w->bytes) == 0, "an experience");
}

static void
push_list(struct work *w)
{
	load_begin(w->l, 2 + PUSHED);
	load_word(w->l, "RPUSH");
	load_word(w->l, w->name);
	for (size_t i = 0; i < PUSHED; i++)
		load_arg(w->l, w->experience + i * w->bytes, w->bytes);
	WORDS(w->l, "LTRIM", w->name, w->keep_text, "-1");
}

static void
push_keys(struct work *w)
{
	load_begin(w->l, 1 + 2 * PUSHED);
	load_word(w->l, "MSET");
	for (size_t i = 0; i < PUSHED; i++) {
		snprintf(w->text[i], sizeof(w->text[i]), "%zu:%zu",
		    w->bytes, (size_t)w->version * PUSHED % w->held + i);
		load_word(w->l, w->text[i]);
		load_arg(w->l, w->experience + i * w->bytes, w->bytes);
	}
	w->version++;
}

static void
sample_list(struct work *w)
{
	for (size_t i = 0; i < SAMPLED; i++) {
		snprintf(w->text[i], sizeof(w->text[i]), "%zu",
		    (size_t)(rng_u64(&w->rng) % w->held));
		WORDS(w->l, "LINDEX", w->name, w->text[i]);
	}
}

static void
sample_keys(struct work *w)
{
	load_begin(w->l, 1 + SAMPLED);
	load_word(w->l, "MGET");
	for (size_t i = 0; i < SAMPLED; i++) {
		snprintf(w->text[i], sizeof(w->text[i]), "%zu:%zu",
		    w->bytes, (size_t)(rng_u64(&w->rng) % w->held));
		load_word(w->l, w->text[i]);
	}
}

static void
check_sample(const struct work *w)
{
	const struct load_item *it = w->l->item;
	const size_t skip = w->l->items - SAMPLED;

	check(skip <= 1, "how many");
	for (size_t i = 0; i < SAMPLED; i++)
		check_experience(w, &it[skip + i]);
}

static void
set(struct work *w)
{
	w->version++;
	memcpy(w->params, &w->version, 8);
	load_begin(w->l, 3);
	load_word(w->l, "SET");
	load_word(w->l, "params");
	load_arg(w->l, w->params, PARAMS);
}

static void
get(struct work *w)
{
	WORDS(w->l, "GET", "params");
}

static void
check_get(const struct work *w)
{
	const struct load_item *it = w->l->item;

	check(it->kind == '$' && it->n == PARAMS && memcmp(it->p + 8,
	    w->params + 8, PARAMS - 8) == 0, "the parameters");
}

static void
push_table(struct work *w)
{
	load_begin(w->l, 2 + 2 * PUSHED);
	load_word(w->l, "PER.ADD");
	load_word(w->l, w->name);
	for (size_t i = 0; i < PUSHED; i++) {
		load_word(w->l, i % 2 == 0 ? "0.5" : "1.25");
		load_arg(w->l, w->experience + i * w->bytes, w->bytes);
	}
}

static void
push_frames(struct work *w)
{
	load_begin(w->l, 4 + FRAMES + 2 * PUSHED);
	load_word(w->l, "PER.ADD");
	load_word(w->l, "frames");
	load_word(w->l, "FRAMES");
	snprintf(w->text[0], sizeof(w->text[0]), "%d", FRAMES);
	load_word(w->l, w->text[0]);
	for (size_t i = 0; i < FRAMES; i++)
		load_arg(w->l, w->frame + i * FRAME, FRAME);
	for (size_t i = 0; i < PUSHED; i++) {
		load_word(w->l, i % 2 == 0 ? "0.5" : "1.25");
		load_arg(w->l, w->ref + i * BY_REF, BY_REF);
	}
}

static void
check_push(const struct work *w)
{
	check(w->l->item[0].kind == '*' && w->l->item[0].n == PUSHED, "ids");
}

static void
sample_table(struct work *w)
{
	WORDS(w->l, "PER.SAMPLE", w->name, "512", "BETA", "0.4", "BINARY");
}

static void
sample_frames(struct work *w)
{
	WORDS(w->l, "PER.SAMPLE", "frames", "512", "BETA", "0.4", "BINARY",
	    "REFS");
}

/* Check packed ids, probabilities and weights; the array of blobs follows. */
static const struct load_item *
check_drawn(const struct work *w, size_t parts)
{
	const struct load_item *it = w->l->item;

	check(it[0].kind == '*' && (size_t)it[0].n == parts, "the parts");
	check(it[1].n == 8 * SAMPLED && it[2].n == 4 * SAMPLED &&
	    it[3].n == 4 * SAMPLED, "ids, probabilities and weights");
	check(it[4].kind == '*' && it[4].n == SAMPLED, "blobs");
	return &it[4];
}

static void
check_table(const struct work *w)
{
	const struct load_item *it = check_drawn(w, 4);

	for (size_t i = 0; i < SAMPLED; i++)
		check_experience(w, ++it);
}

static void
check_frames(const struct work *w)
{
	const struct load_item *blob = check_drawn(w, 5) + 1;
	const struct load_item *frame = blob + SAMPLED;
	uint64_t number, f;

	check(frame->kind == '*', "frames");
	for (size_t i = 0; i < SAMPLED; i++, blob++) {
		check(blob->n == 2 * STACK * 4 + TAIL, "a blob by reference");
		memcpy(&number, blob->p + 2 * STACK * 4, 8);
		for (size_t k = 0; k < 2 * STACK; k++) {
			const uint8_t *p = blob->p + 4 * k;
			const size_t at = p[0] | (size_t)p[1] << 8 |
			    (size_t)p[2] << 16 | (size_t)p[3] << 24;

			check(at < (size_t)frame->n, "a reference");
			memcpy(&f, frame[1 + at].p, 8);
			check(f == number + k % STACK + k / STACK, "its frame");
			check(frame[1 + at].n == FRAME && memcmp(frame[1 +
			    at].p, w->frame + f * FRAME, FRAME) == 0,
			    "a frame");
		}
	}
}

static const struct task {
	const char *name;
	void (*ask)(struct work *w);
	void (*check)(const struct work *w);
} tasks[] = {
	{ "push-list", push_list, NULL }, { "push-keys", push_keys, NULL },
	{ "sample-list", sample_list, check_sample },
	{ "sample-keys", sample_keys, check_sample },
	{ "set", set, NULL }, { "get", get, check_get },
	{ "push-table", push_table, check_push },
	{ "push-frames", push_frames, check_push },
	{ "sample-table", sample_table, check_table },
	{ "sample-frames", sample_frames, check_frames },
};

static double
once(struct work *w, const struct task *t, bool checked)
{
	const uint64_t begin = timer_mono_ns();

	t->ask(w);
	load_run(w->l);
	if (checked && t->check != NULL)
		t->check(w);
	load_free(w->l);
	return (double)(timer_mono_ns() - begin) * 1e-6;
}

/* Make the tables of innet-memory; before a push task, fill its table. */
static void
fill(struct work *w, const struct task *t)
{
	char bytes[32], stack[32];

	if (strcmp(t->name, "push-table") == 0 ||
	    strcmp(t->name, "push-frames") == 0) {
		const char *name = strchr(t->name, '-') + 1;

		name = *name == 't' ? w->name : "frames";
		WORDS(w->l, "PER.CREATE", name, "CAPACITY", w->held_text);
		if (*name == 'f') {
			snprintf(bytes, sizeof(bytes), "%d", FRAME);
			snprintf(stack, sizeof(stack), "%d", STACK);
			WORDS(w->l, "PER.FRAMES", name, bytes, stack);
		}
		load_run(w->l);
		load_free(w->l);
	}
	for (size_t i = 0; i < w->held; i += PUSHED)
		once(w, t, true);
}

static size_t
number(const char *s)
{
	uint64_t v = 0;

	if (num_u64(s, 1, 1 << 30, &v) != NULL)
		errx(2, "not a number from 1 to 2^30: %s", s);
	return v;
}

int
main(int argc, char *argv[])
{
	static struct load l;
	struct work w = { .l = &l, .bytes = 213500, .held = 2000 };
	size_t rounds = 7, i = 0;
	const struct task *t = NULL;
	double *ms;
	bool filling;

	if (argc < 4 || argc > 7)
		errx(2, "usage: replay-load ours|hiredis ADDR [fill-]TASK "
		    "[ROUNDS [BYTES [HELD]]]");
	if (argc > 4)
		rounds = number(argv[4]);
	if (argc > 5)
		w.bytes = number(argv[5]);
	if (argc > 6)
		w.held = number(argv[6]);
	filling = strncmp(argv[3], "fill-", 5) == 0;
	for (; i < sizeof(tasks) / sizeof(*tasks) && t == NULL; i++) {
		if (strcmp(argv[3] + 5 * filling, tasks[i].name) == 0)
			t = &tasks[i];
	}
	if (t == NULL)
		errx(2, "no task '%s'", argv[3]);
	load_open(&l, argv[1], argv[2], SAMPLED * w.bytes + PARAMS);
	make(&w);
	if (filling) {
		fill(&w, t);
	} else {
		ms = calloc(rounds, sizeof(*ms));
		if (ms == NULL)
			err(1, "rounds");
		once(&w, t, true);
		for (i = 0; i < rounds; i++)
			ms[i] = once(&w, t, false);
		printf("%.4f\n", stats_percentile(ms, rounds, 0.5));
		free(ms);
	}
	free(w.experience);
	free(w.params);
	free(w.frame);
	free(w.ref);
	load_close(&l);
	return 0;
}
