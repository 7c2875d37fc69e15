/*
 * plural.h - "1 packet, 2 packets": what stands behind a word that is counted
 */
#ifndef INNET_BASE_PLURAL_H
#define INNET_BASE_PLURAL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The ending of a regular noun of which there are n. */
static inline const char *
plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/*
 * Where the s stands that "updates in" is to lose for n of them: behind its
 * first word; or the length of what is counted, if it keeps all it has.  Names
 * of several_words are keys, and stay as they are.
 */
static inline size_t
plural_end(const char *what, uint64_t n)
{
	const size_t all = strlen(what), word = strcspn(what, " ");

	if (n != 1 || word < 2 || what[word - 1] != 's' ||
	    what[word - 2] == 's' || strchr(what, '_') != NULL)
		return all;
	return word - 1;
}

#endif
