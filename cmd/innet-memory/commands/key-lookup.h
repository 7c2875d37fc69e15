/*
 * key-lookup.h - find the key that an argument names, and read expiry times
 */
#ifndef INNET_MEMORY_COMMANDS_KEY_LOOKUP_H
#define INNET_MEMORY_COMMANDS_KEY_LOOKUP_H

#include <stdbool.h>

#include "cmd/innet-memory/server/client.h"
#include "cmd/innet-memory/store/keyspace.h"

/* The error reply for a key of the wrong type. */
extern const char keys_wrong_type[];

/*
 * Return the key with this name, or NULL if it does not exist.  If the key has
 * expired, remove it and return NULL.
 */
struct key *keys_find_live(struct server *srv, const uint8_t *name, size_t len);

/* The unit of an expiry time in an argument, relative or absolute. */
enum keys_time_unit {
	KEYS_SECONDS,
	KEYS_MS,
	KEYS_AT_SECONDS,
	KEYS_AT_MS
};

/*
 * Read argument i, which must be above 0, and convert it to wall-clock time in
 * ms.  If the argument is invalid, reply with an error that contains `name`,
 * the name of the command, and return false.
 */
bool keys_read_future_time(struct client *c, const struct resp_args *a,
    size_t i, enum keys_time_unit unit, const char *name,
    uint64_t *at_ms);

/*
 * Read argument i like keys_read_future_time(), but accept times in the past.
 */
bool keys_read_time(struct client *c, const struct resp_args *a, size_t i,
    enum keys_time_unit unit, const char *name, int64_t *at_ms);

/* Return true if the key has expired. */
bool keys_is_over(const struct key *k);

/* Return the wall-clock time in ms. */
int64_t keys_now_ms(void);

/* Return the key that argument i names, or NULL. */
struct key *keys_find_arg(struct client *c, const struct resp_args *a,
    size_t i);

/*
 * Set *k to the key that argument i names, or to NULL if it does not exist.  If
 * the key has another type, reply with an error and return false.
 */
bool keys_find_typed(struct client *c, const struct resp_args *a, size_t i,
    enum key_type type, struct key **k);

/* Record that the value of k has changed. */
void keys_mark_changed(struct client *c, struct key *k);

#endif
