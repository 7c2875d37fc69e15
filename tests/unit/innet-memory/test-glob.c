/*
 * Unit tests of glob.h: patterns and long parts, compared with a simple
 * matcher.
 */
#include "cmd/innet-memory/commands/glob.h"
#include "common/base/rng.h"
#include "tests/unit/tap.h"

/* Match by trying the last star again, in time that is not bounded. */
static bool
match_slowly(const uint8_t *p, size_t n, const uint8_t *s, size_t len)
{
	size_t at = 0, i = 0, used, star = SIZE_MAX, from = 0;

	while (i < len) {
		if (at < n && p[at] == '*') {
			star = ++at;
			from = i;
		} else if (at < n && glob_one(p + at, n - at, s[i], &used)) {
			at += used;
			i++;
		} else if (star != SIZE_MAX) {
			at = star;
			i = ++from;
		} else {
			return false;
		}
	}
	while (at < n && p[at] == '*')
		at++;
	return at == n;
}

static bool
match(const char *p, size_t n, const char *s, size_t len)
{
	struct glob g;
	bool yes;

	if (glob_compile(&g, (const uint8_t *)p, n) != NULL)
		return false;
	yes = glob_match(&g, (const uint8_t *)s, len);
	glob_free(&g);
	return yes;
}

static void
check(const char *p, const char *s, bool yes)
{
	ok(match(p, strlen(p), s, strlen(s)) == yes, "%s %s %s", p,
	    yes ? "matches" : "does not match", s);
}

/* Compare random patterns, n and len bytes at most, with the twin. */
static void
compare(const char *signs, size_t n_max, size_t len_max, int runs)
{
	struct rng r = rng_seed(n_max);
	const size_t count = strlen(signs);
	char p[256], s[256];
	int differ = 0, matched = 0;

	for (int i = 0; i < runs; i++) {
		const size_t n = rng_below(&r, (uint32_t)n_max + 1);
		const size_t len = rng_below(&r, (uint32_t)len_max + 1);
		bool yes;

		for (size_t k = 0; k < n; k++)
			p[k] = signs[rng_below(&r, (uint32_t)count)];
		for (size_t k = 0; k < len; k++)
			s[k] = "ab"[rng_below(&r, 2)];
		yes = match_slowly((uint8_t *)p, n, (uint8_t *)s, len);
		matched += yes;
		differ += match(p, n, s, len) != yes;
	}
	ok(differ == 0 && matched > 0, "%d of %d random patterns of up to %zu "
	    "bytes match, as with the simple matcher", matched, runs, n_max);
}

int
main(void)
{
	static char p[GLOB_MAX + 1], s[2 * GLOB_WILD_MAX];
	struct glob g;

	check("", "", true);
	check("", "a", false);
	check("*", "", true);
	check("a*b?c", "axxbyc", true);
	check("*[a-c]\\*", "zb*", true);
	check("*[^a]b*", "aabab", false);
	check("[ab", "b", true);
	check("a*ab", "ab", false);
	compare("ab*?[]^-\\*ab", 9, 9, 100000);
	compare("abababababababab?*", 60, 200, 20000);
	compare("?????????????????a", 200, 200, 20000);
	/* a wild part over several words, found at each place of the second */
	memset(p, '?', 100);
	p[0] = p[101] = '*';
	p[100] = 'x';
	for (size_t at = 99; at < 300; at += 67) {
		memset(s, 'a', 300);
		s[at] = 'x';
		ok(match(p, 102, s, 300), "a wild part matches up to position "
		    "%zu", at);
	}
	ok(!match(p, 102, s, 98), "a wild part longer than the name does not "
	    "match");
	memset(p, '?', sizeof(p));
	ok(glob_compile(&g, (uint8_t *)p, GLOB_WILD_MAX) == NULL &&
	    glob_match(&g, (uint8_t *)s, GLOB_WILD_MAX),
	    "the longest wild part is accepted");
	glob_free(&g);
	ok(glob_compile(&g, (uint8_t *)p, GLOB_WILD_MAX + 1) != NULL,
	    "a wild part that is one character longer is refused");
	memset(p, 'a', sizeof(p));
	ok(glob_compile(&g, (uint8_t *)p, GLOB_MAX) == NULL,
	    "the longest pattern is accepted");
	glob_free(&g);
	ok(glob_compile(&g, (uint8_t *)p, GLOB_MAX + 1) != NULL,
	    "a pattern that is one byte longer is refused");
	return tap_end();
}
