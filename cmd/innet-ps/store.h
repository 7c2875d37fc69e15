/*
 * store.h - the weights of all clusters in a file: --save and --load
 *
 * The file begins with "INNETPS2".  Each cluster follows, in little-endian
 * order: u16 cluster, u16 0, u32 elements, u32 n.  Then each range has u32
 * version, u32 step and f64 r_g, which is NaN if no reward has arrived.  Then
 * come weights, average and the two moments, as float32.  The file ends with a
 * u32 CRC-32C of everything before it.
 */
#ifndef INNET_PS_STORE_H
#define INNET_PS_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "common/olaf/server-rule.h"

/*
 * Parse len bytes into `clusters`, an empty array of 65,536 clusters.  Return
 * NULL, or the error; even after an error, the caller frees the clusters that
 * were parsed.
 */
const char *store_parse(const uint8_t *p, size_t len,
    struct server_rule *clusters);

/*
 * Load the file at path.  If it is invalid, print the error and exit with
 * status 1.
 */
void store_load_or_exit(const char *path, struct server_rule *clusters);

/*
 * Write the file at path completely, or not at all.  Return 0, or 1 after an
 * error.
 */
int store_save(const char *path, const struct server_rule *clusters);

#endif
