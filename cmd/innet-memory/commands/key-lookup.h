/*
 * key-lookup.h - find the key that an argument names, and read expiry times
 */
#ifndef INNET_MEMORY_COMMANDS_KEY_LOOKUP_H
#define INNET_MEMORY_COMMANDS_KEY_LOOKUP_H

#include <stdbool.h>

#include "cmd/innet-memory/server/client.h"
#include "cmd/innet-memory/store/keyspace.h"

/* What is said of a key of another type. */
extern const char keys_wrong_type[];

/* The key of this name; NULL: there is none, or its time was over. */
struct key *keys_find_live(struct server *srv, const uint8_t *name, size_t len);

/* How an argument says when a key expires. */
enum keys_time_unit {
	KEYS_SECONDS,
	KEYS_MS,
	KEYS_AT_SECONDS,
	KEYS_AT_MS
};

/* Argument i of a command, above 0, in ms of the wall clock; or it is said. */
bool keys_read_future_time(struct client *c, const struct resp_args *a,
    size_t i, enum keys_time_unit unit, const char *name,
    uint64_t *at_ms);

/* As keys_read_future_time(), but the time may be past. */
bool keys_read_time(struct client *c, const struct resp_args *a, size_t i,
    enum keys_time_unit unit, const char *name, int64_t *at_ms);

/* Is the time of the key over? */
bool keys_is_over(const struct key *k);

/* The time now, in ms of the wall clock. */
int64_t keys_now_ms(void);

/* The key that argument i names, or NULL. */
struct key *keys_find_arg(struct client *c, const struct resp_args *a,
    size_t i);

/*
 * The key that argument i names, NULL if there is none; false: it is of
 * another type, which has been said.
 */
bool keys_find_typed(struct client *c, const struct resp_args *a, size_t i,
    enum key_type type, struct key **k);

/* What stands at k is new. */
void keys_mark_changed(struct client *c, struct key *k);

#endif
