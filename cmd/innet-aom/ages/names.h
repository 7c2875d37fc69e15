/*
 * names.h - numbers for the clusters and workers of other protocols
 *
 * A name of any kind gets the next number when it is first seen.  When all has
 * been read, names_rank() says the place of each number in the order of the
 * names; from then on names_at() is asked by place.  Functions exit when there
 * is no memory.
 */
#ifndef INNET_AOM_NAMES_H
#define INNET_AOM_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/hashmap.h"
#include "cmd/innet-aom/format/format.h"

struct names {
	struct hashmap index;	/* hash of a name -> its number */
	struct format_name *name;	/* by number; once ranked by place */
	uint32_t *place;	/* by number, once ranked */
	size_t n, room;
};

/* The number of a name. */
uint32_t names_get_number(struct names *s, const struct format_name *n);

/* All names are there: order them. */
void names_rank(struct names *s);

void names_free(struct names *s);

/* The name at a place, once they are ranked. */
static inline const struct format_name *
names_at(const struct names *s, uint32_t place)
{
	return &s->name[place];
}

#endif
