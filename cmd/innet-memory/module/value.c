/* value.c - the value of a key: a table with its own account */
#include <stdlib.h>
#include <unistd.h>

#include "cmd/innet-memory/module/value.h"

rm_type *value_type;

struct table_value *
value_new(void)
{
	struct table_value *h = calloc(1, sizeof(*h));

	/* maximum size of a table, even if a file contains a larger size */
	if (h != NULL)
		h->account.limit = (size_t)sysconf(_SC_PHYS_PAGES) *
		    (size_t)sysconf(_SC_PAGESIZE);
	return h;
}

struct table_value *
value_open(const struct replay_buffer_settings *settings)
{
	struct table_value *h = value_new();

	if (h != NULL)
		h->table = table_open(&h->account, VALUE_NAME, 1, settings);
	if (h != NULL && h->table == NULL) {
		free(h);
		h = NULL;
	}
	return h;
}

/* The server may call this function in another thread. */
void
value_free(void *value)
{
	struct table_value *h = value;

	table_close(h->table);
	free(h);
}
