/*
 * glob.h - match a pattern of Redis: * ? [a-z] [^a] and \\x for x itself
 *
 * A class without a closing bracket ends with the pattern.  The time is at most
 * the product of both lengths, because only the last star is tried again.
 */
#ifndef INNET_MEMORY_COMMANDS_GLOB_H
#define INNET_MEMORY_COMMANDS_GLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is c in the class that begins at p[0]?  *used: bytes of the class. */
static inline bool
glob_class(const uint8_t *p, size_t n, uint8_t c, size_t *used)
{
	const bool not = n > 1 && p[1] == '^';
	size_t i = 1 + not;
	bool in = false;

	for (; i < n && p[i] != ']'; i++) {
		if (p[i] == '\\' && i + 1 < n) {
			in |= p[++i] == c;
		} else if (i + 2 < n && p[i + 1] == '-') {
			const uint8_t lo = p[i] < p[i + 2] ? p[i] : p[i + 2];

			in |= c >= lo && c <= (p[i] ^ p[i + 2] ^ lo);
			i += 2;
		} else {
			in |= p[i] == c;
		}
	}
	*used = i < n ? i + 1 : n;
	return in != not;
}

/* Does the first element of p, not a star, match c?  *used: its bytes. */
static inline bool
glob_one(const uint8_t *p, size_t n, uint8_t c, size_t *used)
{
	*used = 1;
	if (p[0] == '?')
		return true;
	if (p[0] == '[')
		return glob_class(p, n, c, used);
	if (p[0] != '\\' || n < 2)
		return p[0] == c;
	*used = 2;
	return p[1] == c;
}

/* Does all of s match the pattern p? */
static inline bool
glob_match(const uint8_t *p, size_t n, const uint8_t *s, size_t len)
{
	size_t at = 0, i = 0, used, star = SIZE_MAX, from = 0;

	while (i < len) {
		if (at < n && p[at] == '*') {
			star = ++at;
			from = i;
		} else if (at < n && glob_one(p + at, n - at, s[i], &used)) {
			at += used;
			i++;
		} else if (star != SIZE_MAX) {	/* the star matches one more */
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

#endif
