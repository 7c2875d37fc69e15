/*
 * nearest.h - find the valid word that is nearest to a mistyped one
 *
 * Error messages contain the nearest word: "unknown option '--slot'; the
 * nearest is '--slots'".  A caller begins with a zeroed struct nearest, offers
 * every valid word to it, and then asks for the result.  Words are borrowed and
 * must outlive the struct.  The functions have no side effects.
 */
#ifndef INNET_BASE_NEAREST_H
#define INNET_BASE_NEAREST_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { NEAREST_MAX = 64, NEAREST_TEXT = 128 };

struct nearest {
	const char *word;	/* valid word with the smallest distance so far,
				 * or NULL */
	size_t distance;
};

/*
 * Return the Levenshtein distance of two words: the least number of characters
 * that must be changed, added or removed to turn one word into the other.  Only
 * the first NEAREST_MAX characters are compared.
 */
static inline size_t
nearest_distance(const char *a, const char *b)
{
	const size_t na = strnlen(a, NEAREST_MAX);
	const size_t nb = strnlen(b, NEAREST_MAX);
	size_t row[NEAREST_MAX + 1];

	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t best = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[nb];
}

/*
 * Offer a valid word.  If several words have the same smallest distance, the
 * first of them is the nearest.
 */
static inline void
nearest_offer(struct nearest *n, const char *typed, const char *word)
{
	const size_t d = nearest_distance(typed, word);

	if (n->word == NULL || d < n->distance)
		*n = (struct nearest){ .word = word, .distance = d };
}

/*
 * Return the nearest word if the user probably meant that word, otherwise NULL.
 * The function assumes that the user meant the word if at most about a third of
 * its characters differ.
 */
static inline const char *
nearest_likely(const struct nearest *n, const char *typed)
{
	return n->distance <= (strnlen(typed, NEAREST_MAX) + 1) / 3 ?
	    n->word : NULL;
}

/*
 * If nearest_likely() finds a word, write a hint such as "; the nearest is
 * '--slots'" (with the prefix "--") to `text`; otherwise write an empty string.
 * Returns `text`.
 */
static inline const char *
nearest_hint(const struct nearest *n, const char *typed, const char *prefix,
    char text[NEAREST_TEXT])
{
	const char *word = nearest_likely(n, typed);

	text[0] = '\0';
	if (word != NULL)
		snprintf(text, NEAREST_TEXT, "; the nearest is '%s%.64s'",
		    prefix, word);
	return text;
}

#endif
