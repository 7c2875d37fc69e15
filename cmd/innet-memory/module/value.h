/*
 * value.h - the value of a key: a table with its own account
 *
 * All memory of the table is charged to this account only, so the server may
 * free the value in another thread.
 */
#ifndef INNET_MEMORY_MODULE_VALUE_H
#define INNET_MEMORY_MODULE_VALUE_H

#include "cmd/innet-memory/module/api.h"
#include "cmd/innet-memory/store/table.h"

struct table_value {
	struct account account;
	struct table *table;
};

/*
 * The name of every table in a value.  The real name of the table is the key.
 */
#define VALUE_NAME "-"

/* The data type of these values; type_open() creates it. */
extern rm_type *value_type;

/* Return a value without a table, or NULL if there is no memory. */
struct table_value *value_new(void);

/*
 * Return a value with an empty table with these settings, or NULL if there is
 * no memory.
 */
struct table_value *value_open(const struct replay_buffer_settings *settings);

/* Free the value and its table. */
void value_free(void *value);

#endif
