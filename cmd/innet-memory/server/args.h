/*
 * args.h - the arguments of a request, whoever brought it
 *
 * a->v[0] is the command's name and a->v[1].. to a->v[a->n - 1] are its
 * arguments: p and len, valid until the command returns (while its client is
 * parked: until it has answered).
 */
#ifndef INNET_MEMORY_COMMANDS_ARGS_H
#define INNET_MEMORY_COMMANDS_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/store/blob.h"
#include "cmd/innet-memory/server/resp.h"

/* Are these bytes this word (lower case), in any case? */
bool word_equals(const char *word, const uint8_t *p, size_t len);

/* Is argument i? */
bool args_equal(const struct resp_args *a, size_t i, const char *word);

/* Argument i as Redis reads an integer; false: it is none. */
bool args_read_integer(const struct resp_args *a, size_t i, int64_t *out);

/* Argument i as a real number, not NaN; false: it is none. */
bool args_read_real(const struct resp_args *a, size_t i, double *out);

/*
 * Argument i in a blob of this account, which the caller then holds: without a
 * copy if it came in one.  NULL: memory is full.
 */
struct blob *args_hold_blob(struct account *bs, const struct resp_args *a,
    size_t i);

/* Drop the bulks of a request; it then has no arguments. */
void args_drop(struct account *bs, struct resp_args *a);

#endif
