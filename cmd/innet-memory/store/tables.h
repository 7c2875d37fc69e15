/*
 * tables.h - the tables of the server, by name
 */
#ifndef INNET_MEMORY_STORE_TABLES_H
#define INNET_MEMORY_STORE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table;

enum { TABLES_MAX = 256 };	/* few, and looked for one by one */

struct tables {
	struct table *v[TABLES_MAX];
	size_t n;
};

/* The table of this name, or NULL. */
struct table *tables_find(const struct tables *ts, const void *name,
    size_t len);

/* Add a table: NULL, or why not. */
const char *tables_add(struct tables *ts, struct table *t);

void tables_drop(struct tables *ts, struct table *t);
void tables_clear(struct tables *ts);

#endif
