/*
 * args.h - read the arguments of a request
 *
 * a->v[0] is the command's name; a->v[1] to a->v[a->n - 1] are its arguments,
 * each with a pointer p and a length len.  The arguments are valid until the
 * command returns.  If the command parks the client, they are valid until the
 * client gets its reply.
 */
#ifndef INNET_MEMORY_SERVER_ARGS_H
#define INNET_MEMORY_SERVER_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-memory/store/blob.h"
#include "cmd/innet-memory/server/resp.h"

/*
 * Return true if the len bytes at p equal `word` (lower case), ignoring case.
 */
bool word_equals(const char *word, const uint8_t *p, size_t len);

/* Return true if argument i equals `word` (lower case), ignoring case. */
bool args_equal(const struct resp_args *a, size_t i, const char *word);

/*
 * Read argument i as an integer by the rules of Redis; return false if it is
 * not an integer.
 */
bool args_read_integer(const struct resp_args *a, size_t i, int64_t *out);

/*
 * Read argument i as a real number; return false if it is not a number or is
 * NaN.
 */
bool args_read_real(const struct resp_args *a, size_t i, double *out);

/*
 * Return argument i as a blob of account bs; the caller must drop it later.  An
 * argument that arrived in a blob is not copied.  Return NULL if there is no
 * memory.
 */
struct blob *args_hold_blob(struct account *bs, const struct resp_args *a,
    size_t i);

/* Drop the bulks of a request.  After this, the request has no arguments. */
void args_drop(struct account *bs, struct resp_args *a);

#endif
