/*
 * args.h - read the arguments of a request
 *
 * a->v[0] is the command's name; a->v[1] to a->v[a->n - 1] are its arguments,
 * each with p and len.  They are valid until the command returns, or until a
 * parked client was answered.
 */
#ifndef INNET_MEMORY_SERVER_ARGS_H
#define INNET_MEMORY_SERVER_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/store/blob.h"
#include "cmd/innet-memory/server/resp.h"

/* Do these bytes equal the word, which is in lower case, in any case? */
bool word_equals(const char *word, const uint8_t *p, size_t len);

/* Does argument i equal the word, which is in lower case, in any case? */
bool args_equal(const struct resp_args *a, size_t i, const char *word);

/* Read argument i as Redis reads an integer; false: it is not one. */
bool args_read_integer(const struct resp_args *a, size_t i, int64_t *out);

/* Read argument i as a real number, not NaN; false: it is not one. */
bool args_read_real(const struct resp_args *a, size_t i, double *out);

/*
 * Return argument i in a blob of this account, which the caller holds.  It is
 * not copied if it came in a blob.  NULL: no memory.
 */
struct blob *args_hold_blob(struct account *bs, const struct resp_args *a,
    size_t i);

/* Drop the bulks of a request; it then has no arguments. */
void args_drop(struct account *bs, struct resp_args *a);

#endif
