/*
 * Test authentication tags of data: the vectors of
 * tests/data/trust-vectors.txt, a change of every byte, different contexts,
 * tokens and windows of counters. The cost of a tag is only printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/auth/key.h"
#include "common/auth/tag.h"
#include "tests/unit/tap.h"

enum { VALUE_MAX = 2048, PAYLOAD = 1456 };

struct value {
	uint8_t b[VALUE_MAX];
	size_t n;
};

/*
 * Return the value with that name, or an empty one if the file does not have
 * it.
 */
static struct value
read_vector(const char *name)
{
	const char *dir = getenv("srcdir");
	struct value v = { .n = 0 };
	char path[4096], line[2 * VALUE_MAX + 64];
	const size_t n = strlen(name);
	unsigned byte;
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/data/trust-vectors.txt",
	    dir == NULL ? "." : dir);
	f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, name, n) != 0 || line[n] != ' ')
			continue;
		for (const char *p = line + n + 1; v.n < VALUE_MAX &&
		    sscanf(p, "%2x", &byte) == 1; p += 2)
			v.b[v.n++] = (uint8_t)byte;
	}
	if (f != NULL)
		fclose(f);
	return v;
}

static struct key file_key;
static struct tag_key key;
static uint8_t pass[TAG_COOKIE_BYTES];

/* The key and the cookie of the vectors. */
static void
load_keys(void)
{
	const struct value k = read_vector("key"), salt = read_vector("salt"),
	    p = read_vector("pass-192.0.2.1-4660");

	key_set(&file_key, k.b, k.n);
	tag_key_set(&key, &file_key, salt.b);
	memcpy(pass, p.b, sizeof(pass));
	ok(salt.n == TAG_SALT_BYTES && p.n == 24,
	    "the file of test vectors is complete");
}

static void
test_contexts(void)
{
	const struct value up = read_vector("context-up"),
	    down = read_vector("context-down");
	const struct tag_head a = tag_head(TAG_UP, 1, 0, pass),
	    b = tag_head(TAG_DOWN, 1, 0, NULL);

	ok(up.n == TAG_CONTEXT_BYTES && memcmp(a.b, up.b, up.n) == 0,
	    "the key of the direction to the switch equals the vector");
	ok(down.n == TAG_CONTEXT_BYTES && memcmp(b.b, down.b, down.n) == 0,
	    "the key of the direction to the member equals the vector");
}

static void
test_segment(const char *name, enum tag_direction way)
{
	const struct tag_head h = tag_head(way, 1, 0,
	    way == TAG_UP ? pass : NULL);
	struct value v = read_vector(name), made = v;
	size_t passed = 0;

	memset(made.b + 8, 0, TAG_BYTES);
	tag_segment_put(&key, h, made.b, made.b + 16, made.n - 16);
	ok(v.n > 16 && memcmp(made.b, v.b, v.n) == 0,
	    "%s: the tag equals the vector",
	    name);
	ok(tag_segment_good(&key, h, v.b, v.n), "%s: the tag is valid", name);
	for (size_t i = 0; i < v.n; i++) {
		v.b[i] ^= 1;
		passed += tag_segment_good(&key, h, v.b, v.n);
		v.b[i] ^= 1;
	}
	ok(passed == 0, "%s: the tag is invalid if any of %zu bytes "
	    "changes", name, v.n);
	ok(!tag_segment_good(&key, h, v.b, v.n - 4),
	    "%s: a shorter message is invalid", name);
}

static void
test_update(const char *name, enum tag_direction way, uint64_t counter)
{
	const struct tag_head h = tag_head(way, 0, 0,
	    way == TAG_UP ? pass : NULL);
	struct value v = read_vector(name), made = v;
	uint64_t c = 0;
	size_t passed = 0;

	memset(made.b + v.n - TAG_TAIL_BYTES, 0, TAG_TAIL_BYTES);
	ok(tag_update_put(&key, h, made.b, v.n - TAG_TAIL_BYTES,
	    counter) == v.n && memcmp(made.b, v.b, v.n) == 0,
	    "%s: the tag equals the vector", name);
	ok(tag_update_good(&key, h, v.b, v.n, &c) && c == counter,
	    "%s: the tag is valid, and its counter is right", name);
	for (size_t i = 0; i < v.n; i++) {
		v.b[i] ^= 1;
		passed += tag_update_good(&key, h, v.b, v.n, &c);
		v.b[i] ^= 1;
	}
	ok(passed == 0, "%s: the tag is invalid if any of %zu bytes "
	    "changes", name, v.n);
	ok(!tag_update_good(&key, h, v.b, TAG_TAIL_BYTES - 1, &c),
	    "%s: a message shorter than a tag is invalid", name);
}

/* Tags of another member, direction, job, epoch or salt are wrong. */
static void
test_other_contexts(void)
{
	const struct value v = read_vector("segment-3");
	uint8_t later[TAG_COOKIE_BYTES];
	struct tag_head other[] = {
		tag_head(TAG_UP, 1, 0, NULL),
		tag_head(TAG_DOWN, 1, 0, NULL),
		tag_head(TAG_DOWN, 1, 0, pass),
		tag_head(TAG_UP, 2, 0, pass),
		tag_head(TAG_UP, 1, 1, pass)
	};
	const uint8_t salt[TAG_SALT_BYTES] = { 1 };
	struct tag_key fresh;
	size_t passed = 0, n = sizeof(other) / sizeof(*other);

	memcpy(later, pass, sizeof(later));
	later[TAG_COOKIE_BYTES - 1]++;
	other[0] = tag_head(TAG_UP, 1, 0, later);
	for (size_t i = 0; i < n; i++)
		passed += tag_segment_good(&key, other[i], v.b, v.n);
	ok(passed == 0, "a tag is valid for one direction, job, epoch and "
	    "member");
	tag_key_set(&fresh, &file_key, salt);
	ok(!tag_segment_good(&fresh, tag_head(TAG_UP, 1, 0, pass), v.b,
	    v.n), "a tag is invalid under the salt of another run");
}

static void
test_tokens(void)
{
	const struct value salt = read_vector("salt");
	struct value v = read_vector("segment-3");
	struct tag_head up = tag_head(TAG_UP, 1, 0, pass),
	    down = tag_head(TAG_DOWN, 1, 0, NULL);
	struct tag_key k;

	tag_key_set(&k, NULL, salt.b);
	tag_segment_put(&k, up, v.b, v.b + 16, v.n - 16);
	ok(memcmp(v.b + 8, pass, 8) == 0 &&
	    tag_segment_good(&k, up, v.b, v.n),
	    "without a key, the token to the switch is the nonce of the "
	    "cookie");
	ok(!tag_segment_good(&k, down, v.b, v.n),
	    "the nonce is not a token in the other direction");
	tag_segment_put(&k, down, v.b, v.b + 16, v.n - 16);
	ok(memcmp(v.b + 8, salt.b, 8) == 0 &&
	    tag_segment_good(&k, down, v.b, v.n),
	    "without a key, the token to the member is the beginning of the "
	    "salt");
	v.b[15] ^= 1;
	ok(!tag_segment_good(&k, down, v.b, v.n),
	    "all 8 bytes of the token count");
}

static void
test_window(void)
{
	static const struct { uint64_t c; bool good; } step[] = {
		{ 1, true }, { 1, false }, { 3, true }, { 2, true },
		{ 2, false }, { 100, true }, { 36, false }, { 37, true },
		{ 37, false }, { 0, false }, { 3, false },
		{ 163, true }, { 100, false }, { 99, false },
		{ 101, true }, { UINT64_MAX, true }, { UINT64_MAX, false },
		{ UINT64_MAX - 63, true }, { UINT64_MAX - 64, false }
	};
	struct tag_window w = { 0 };
	bool good = true;

	for (size_t i = 0; i < sizeof(step) / sizeof(*step); i++)
		good = good && tag_window_accept(&w, step[i].c) ==
		    step[i].good;
	ok(good, "a window accepts each counter once, and none that is 64 or "
	    "more before the newest");
}

/* Compare a window with a table of all counters so far. */
static void
test_window_twin(void)
{
	static bool came[4096];
	struct tag_window w = { 0 };
	uint64_t top = 0, x = 1;
	bool same = true;

	for (int i = 0; i < 20000; i++) {
		uint64_t c;
		bool good;

		x = x * 6364136223846793005u + 1442695040888963407u;
		c = (top > 100 ? top - 100 : 0) + (x >> 33) % 110;
		if (c >= sizeof(came) / sizeof(*came))
			break;
		good = c > 0 && !came[c] && c + TAG_WINDOW > top;
		same = same && tag_window_accept(&w, c) == good;
		came[c] |= good;
		top = good && c > top ? c : top;
	}
	ok(same && top > 100, "a window agrees with a table of all counters");
}

/*
 * Compare the processor's multiplication with Nettle, at each length,
 * unaligned.
 */
static void
test_both_implementations(void)
{
	static uint8_t p[PAYLOAD + 1];
	struct tag_key plain = key, ones = key;
	struct tag_head h = tag_head(TAG_UP, 7, 9, pass);
	uint8_t a[TAG_BYTES], b[TAG_BYTES], c[TAG_BYTES];
	bool same = true;

	plain.fast = false;
	ones.powers.fours = false;
	for (size_t i = 0; i < sizeof(p); i++)
		p[i] = (uint8_t)(i * i + (i >> 3));
	for (size_t n = 0; n < PAYLOAD; n++) {
		h.b[31] = (uint8_t)n;
		tag_make(&key, &h, p + (n & 1), n, a);
		tag_make(&plain, &h, p + (n & 1), n, b);
		tag_make(&ones, &h, p + (n & 1), n, c);
		same = same && memcmp(a, b, sizeof(a)) == 0 &&
		    memcmp(a, c, sizeof(a)) == 0;
	}
	ok(same, "%s", !key.fast ? "this processor has no carry-less "
	    "multiplication" : key.powers.fours ?
	    "tags equal those of Nettle at each length, by four blocks and by "
	    "one" :
	    "tags equal those of Nettle at each length");
}

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Measure a tag for floats in the cache: the least of ten rounds. */
static void
measure_cost(size_t bytes)
{
	static uint8_t p[16 + PAYLOAD];
	const struct tag_head h = tag_head(TAG_UP, 1, 0, pass);
	double best = 1e18;

	for (int round = 0; round < 10; round++) {
		const double from = now_ns();
		double ns;

		for (int i = 0; i < 2000; i++)
			tag_segment_put(&key, h, p, p + 16, bytes);
		ns = (now_ns() - from) / 2000;
		best = ns < best ? ns : best;
	}
	note("a tag of %zu bytes takes %.0f ns", 8 + bytes, best);
}

int
main(void)
{
	load_keys();
	test_contexts();
	test_segment("segment-3", TAG_UP);
	test_segment("segment-364", TAG_UP);
	test_segment("result-364", TAG_DOWN);
	test_update("update-4", TAG_UP, 17);
	test_update("model-4", TAG_DOWN, 18);
	test_other_contexts();
	test_tokens();
	test_window();
	test_window_twin();
	test_both_implementations();
	measure_cost(4);
	measure_cost(PAYLOAD);
	key.powers.fours = false;
	note("the cost with one block per instruction:");
	measure_cost(PAYLOAD);
	key.fast = false;
	note("the cost with Nettle's GHASH:");
	measure_cost(4);
	measure_cost(PAYLOAD);
	return tap_end();
}
