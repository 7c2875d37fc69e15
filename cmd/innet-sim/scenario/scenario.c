/* scenario.c - find parts of a scenario by name; see scenario.h */
#include "cmd/innet-sim/scenario/scenario.h"

#include <stddef.h>
#include <string.h>

/* Return the index of the item whose first field is `name`, or -1. */
static int64_t
find_name(const struct json_reader_list *l, size_t bytes, const char *name)
{
	for (size_t i = 0; i < l->n; i++) {
		if (strcmp((const char *)l->item + i * bytes, name) == 0)
			return (int64_t)i;
	}
	return -1;
}

_Static_assert(offsetof(struct scenario_switch, name) == 0 &&
    offsetof(struct scenario_server, name) == 0 &&
    offsetof(struct scenario_link, from) == 0, "for find_name()");

int64_t
scenario_switch(const struct scenario *s, const char *name)
{
	return find_name(&s->switches, sizeof(struct scenario_switch), name);
}

int64_t
scenario_server(const struct scenario *s, const char *name)
{
	return find_name(&s->servers, sizeof(struct scenario_server), name);
}

const struct scenario_link *
scenario_uplink(const struct scenario *s, const char *name)
{
	const int64_t i =
	    find_name(&s->links, sizeof(struct scenario_link), name);

	return i == -1 ? NULL : &scenario_links(s)[i];
}
