/*
 * glob.h - match a pattern of Redis: * ? [a-z] [^a] and \x for x itself
 *
 * glob_compile() parses a pattern.  glob_match() then compares it with many
 * names.  A class without a closing bracket extends to the end of the pattern.
 *
 * The stars divide a pattern into parts.  The first part must match the
 * beginning of a name, and the last part its end.  Each part between these two
 * is searched for after the match of the part before it. memmem(3) finds a part
 * of plain characters, in time linear in the length of the name.  The shift-and
 * algorithm finds a part with ? or a class: it has one bit for each character
 * of the part.  A bit is set if the part up to this character matches at the
 * current position.  GLOB_WILD_MAX limits the number of these bits, and
 * therefore the work for each byte of a name.
 */
#ifndef INNET_MEMORY_COMMANDS_GLOB_H
#define INNET_MEMORY_COMMANDS_GLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	GLOB_MAX = 64 << 10,	/* largest number of bytes in a pattern */
	GLOB_WILD_MAX = 1024, /* limit on the characters in parts with ? or [ */
	GLOB_WORDS = GLOB_WILD_MAX / 64
};

struct glob_part {
	size_t len;		/* number of bytes that the part matches */
	size_t at;		/* offset of the part in `text`, or its first
				 * bit in `mask` */
	bool wild;		/* the part has ? or [ */
};

struct glob {
	struct glob_part *part;
	size_t parts;		/* number of stars plus 1 */
	uint8_t *text;		/* text of all parts without ? or [ */
	size_t text_len;
	/*
	 * For each value of a byte: the bits of all wild characters that match
	 * this byte.
	 */
	uint64_t (*mask)[GLOB_WORDS];	/* masks for wild parts; NULL if there
					 * are none */
	size_t bits;
};

/*
 * Parse the pattern p of n bytes.  Return NULL, or an error message.  After an
 * error, there is nothing to free.
 */
static inline const char *glob_compile(struct glob *g, const uint8_t *p,
    size_t n);

/* Free the memory that glob_compile() allocated. */
static inline void glob_free(struct glob *g);

/* Return true if the pattern matches the whole name s. */
static inline bool glob_match(const struct glob *g, const uint8_t *s,
    size_t len);

/* implementation */

/*
 * Return true if c is in the class that begins at p[0].  Set *used to the
 * length of the class in bytes.
 */
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

/*
 * Return true if the first element of p, which is not a star, matches c.  Set
 * *used to the length of the element in bytes.
 */
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

/*
 * Return the length in bytes of the part of the pattern that begins at p.  The
 * part ends before a star or at the end of the pattern.
 */
static inline size_t
glob_measure(const uint8_t *p, size_t n, struct glob_part *part)
{
	size_t i = 0, used;

	*part = (struct glob_part){ 0 };
	for (; i < n && p[i] != '*'; i += used) {
		part->wild |= p[i] == '?' || p[i] == '[';
		part->len++;
		(void)glob_one(p + i, n - i, 0, &used);
	}
	return i;
}

/* Add the bits of a wild part; return false if there is no memory. */
static inline bool
glob_add_wild(struct glob *g, const uint8_t *p, size_t n)
{
	size_t used = 0;

	if (g->mask == NULL)
		g->mask = calloc(256, sizeof(*g->mask));
	if (g->mask == NULL)
		return false;
	for (size_t i = 0; i < n; i += used, g->bits++) {
		const uint64_t bit = UINT64_C(1) << g->bits % 64;

		for (unsigned c = 0; c < 256; c++) {
			if (glob_one(p + i, n - i, (uint8_t)c, &used))
				g->mask[c][g->bits / 64] |= bit;
		}
	}
	return true;
}

/* Add the text of a plain part. */
static inline void
glob_add_plain(struct glob *g, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		i += p[i] == '\\' && i + 1 < n;
		g->text[g->text_len++] = p[i];
	}
}

/* Add all parts.  Return NULL, or an error message. */
static inline const char *
glob_add_parts(struct glob *g, const uint8_t *p, size_t n)
{
	size_t i = 0, len;

	for (;; i++) {
		struct glob_part *part = &g->part[g->parts++];

		len = glob_measure(p + i, n - i, part);
		part->at = part->wild ? g->bits : g->text_len;
		if (part->wild && part->len > GLOB_WILD_MAX - g->bits)
			return "ERR a pattern has at most 1024 characters "
			       "between stars where there is a ? or a [";
		if (!part->wild)
			glob_add_plain(g, p + i, len);
		else if (!glob_add_wild(g, p + i, len))
			return "OOM no memory for the pattern";
		i += len;
		if (i == n)
			return NULL;
	}
}

static inline void
glob_free(struct glob *g)
{
	free(g->part);
	free(g->text);
	free(g->mask);
	*g = (struct glob){ 0 };
}

static inline const char *
glob_compile(struct glob *g, const uint8_t *p, size_t n)
{
	const char *why = "OOM no memory for the pattern";
	size_t stars = 0;

	*g = (struct glob){ 0 };
	if (n > GLOB_MAX)
		return "ERR a pattern has at most 65536 bytes";
	for (size_t i = 0; i < n; i++)
		stars += p[i] == '*';
	g->part = malloc((stars + 1) * sizeof(*g->part));
	g->text = malloc(n + 1);
	if (g->part != NULL && g->text != NULL)
		why = glob_add_parts(g, p, n);
	if (why != NULL)
		glob_free(g);
	return why;
}

/* Return true if the part matches the part->len bytes at s. */
static inline bool
glob_part_is_at(const struct glob *g, const struct glob_part *part,
    const uint8_t *s)
{
	if (!part->wild)
		return part->len == 0 ||
		       memcmp(g->text + part->at, s, part->len) == 0;
	for (size_t i = 0; i < part->len; i++) {
		const size_t bit = part->at + i;

		if ((g->mask[s[i]][bit / 64] >> bit % 64 & 1) == 0)
			return false;
	}
	return true;
}

/*
 * Return the end of the first match of a wild part in s, or 0 if there is none.
 */
static inline size_t
glob_find_wild(const struct glob *g, const struct glob_part *part,
    const uint8_t *s, size_t len)
{
	const size_t end = part->at + part->len - 1;
	const size_t first = part->at / 64, last = end / 64;
	uint64_t state[GLOB_WORDS] = { 0 };

	for (size_t i = 0; i < len; i++) {
		const uint64_t *mask = g->mask[s[i]];
		uint64_t carry = 0;

		/* ignore the bits of other parts */
		for (size_t w = first; w <= last; w++) {
			const uint64_t was = state[w];
			const uint64_t begin = w == first ?
			    UINT64_C(1) << part->at % 64 : 0;

			state[w] = (was << 1 | carry | begin) & mask[w];
			carry = was >> 63;
		}
		if ((state[last] >> end % 64 & 1) != 0)
			return i + 1;
	}
	return 0;
}

static inline bool
glob_match(const struct glob *g, const uint8_t *s, size_t len)
{
	const struct glob_part *first = g->part, *last = first + g->parts - 1;

	if (g->parts == 1)
		return len == first->len && glob_part_is_at(g, first, s);
	if (len < first->len || len - first->len < last->len ||
	    !glob_part_is_at(g, first, s) ||
	    !glob_part_is_at(g, last, s + len - last->len))
		return false;
	s += first->len;
	len -= first->len + last->len;
	for (const struct glob_part *part = first + 1; part < last; part++) {
		const uint8_t *at = NULL;
		size_t end = 0;

		if (part->len == 0)
			continue;
		if (part->len <= len && part->wild)
			end = glob_find_wild(g, part, s, len);
		else if (part->len <= len)
			at = memmem(s, len, g->text + part->at, part->len);
		if (at != NULL)
			end = (size_t)(at - s) + part->len;
		if (end == 0)
			return false;
		s += end;
		len -= end;
	}
	return true;
}

#endif
