/*
 * names.h - number the names of clusters and workers of other protocols
 *
 * When a name is first seen, it gets the next number.  After all captures have
 * been read, names_rank() sorts the names.  The array s->place[] maps the
 * number of a name to its place in the sorted order, and names_at() returns the
 * name at a place.  The functions exit if there is no memory.
 */
#ifndef INNET_AOM_NAMES_H
#define INNET_AOM_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/hashmap.h"
#include "cmd/innet-aom/format/format.h"

struct names {
	struct hashmap index;	/* maps the hash of a name to the number of the
				 * name */
	struct format_name *name;	/* indexed by the number of a name or,
					 * after names_rank(), by its place */
	uint32_t *place;	/* place of the name with each number, set by
				 * names_rank() */
	size_t n, room;
};

/* Return the number of a name; a new name gets a new number. */
uint32_t names_get_number(struct names *s, const struct format_name *n);

/* Sort the names. */
void names_rank(struct names *s);

/* Free all names. */
void names_free(struct names *s);

/* Return the name at a place; call names_rank() first. */
static inline const struct format_name *
names_at(const struct names *s, uint32_t place)
{
	return &s->name[place];
}

#endif
