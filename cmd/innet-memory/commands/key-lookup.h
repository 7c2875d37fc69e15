/*
 * key-lookup.h - find the key that an argument names, and read expiry times
 */
#ifndef INNET_MEMORY_COMMANDS_KEY_LOOKUP_H
#define INNET_MEMORY_COMMANDS_KEY_LOOKUP_H

#include <stdbool.h>

#include "cmd/innet-memory/server/client.h"
#include "cmd/innet-memory/store/keyspace.h"

/* The error for a key of another type. */
extern const char keys_wrong_type[];

/*
 * Return the key of this name; NULL: it does not exist, or has expired and was
 * removed.
 */
struct key *keys_find_live(struct server *srv, const uint8_t *name, size_t len);

/* The unit of an expiry time in an argument. */
enum keys_time_unit {
	KEYS_SECONDS,
	KEYS_MS,
	KEYS_AT_SECONDS,
	KEYS_AT_MS
};

/*
 * Read argument i, above 0, as ms of the wall clock; false, after an error
 * reply about the command `name`: it is invalid.
 */
bool keys_read_future_time(struct client *c, const struct resp_args *a,
    size_t i, enum keys_time_unit unit, const char *name,
    uint64_t *at_ms);

/* Do the same for a time that may be past. */
bool keys_read_time(struct client *c, const struct resp_args *a, size_t i,
    enum keys_time_unit unit, const char *name, int64_t *at_ms);

/* Has the key expired? */
bool keys_is_over(const struct key *k);

/* Return the time in ms of the wall clock. */
int64_t keys_now_ms(void);

/* Return the key that argument i names, or NULL. */
struct key *keys_find_arg(struct client *c, const struct resp_args *a,
    size_t i);

/*
 * Store the key that argument i names, or NULL, in *k; false, after an error
 * reply: it is of another type.
 */
bool keys_find_typed(struct client *c, const struct resp_args *a, size_t i,
    enum key_type type, struct key **k);

/* Note that the value of k has changed. */
void keys_mark_changed(struct client *c, struct key *k);

#endif
