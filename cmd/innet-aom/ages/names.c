/* names.c - number the names of clusters and workers, and sort them */
#include "common/base/message.h"

#include "cmd/innet-aom/ages/names.h"

#include <stdlib.h>

uint32_t
names_get_number(struct names *s, const struct format_name *n)
{
	uint64_t h = format_hash_name(CLUSTERS_HASH_START, n);
	uint32_t *at;

	/*
	 * if two names have equal hashes, the later name uses the next free key
	 */
	while ((at = hashmap_get(&s->index, h)) != NULL) {
		if (format_compare(&s->name[*at], n) == 0)
			return *at;
		h++;
	}
	if (s->n == s->room) {
		s->room = s->room * 2 + 64;
		s->name = realloc(s->name, s->room * sizeof(*s->name));
		if (s->name == NULL)
			err(1, "no memory for %zu names", s->room);
	}
	if (s->n == UINT32_MAX || hashmap_put(&s->index, h,
	    (uint32_t)s->n) == NULL)
		err(1, "no memory for %zu names", s->n);
	s->name[s->n] = *n;
	return (uint32_t)s->n++;
}

static int
compare_names(const void *a, const void *b, void *names)
{
	const struct format_name *name = names;

	return format_compare(&name[*(const uint32_t *)a],
	    &name[*(const uint32_t *)b]);
}

void
names_rank(struct names *s)
{
	struct format_name *sorted = calloc(s->n + 1, sizeof(*sorted));
	uint32_t *number = calloc(s->n + 1, sizeof(*number));

	s->place = calloc(s->n + 1, sizeof(*s->place));
	if (sorted == NULL || number == NULL || s->place == NULL)
		err(1, "no memory for %zu names", s->n);
	for (size_t i = 0; i < s->n; i++)
		number[i] = (uint32_t)i;
	qsort_r(number, s->n, sizeof(*number), compare_names, s->name);
	for (size_t i = 0; i < s->n; i++) {
		s->place[number[i]] = (uint32_t)i;
		sorted[i] = s->name[number[i]];
	}
	free(s->name);
	free(number);
	s->name = sorted;
}

void
names_free(struct names *s)
{
	hashmap_free(&s->index);
	free(s->name);
	free(s->place);
}
