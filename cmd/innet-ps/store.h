/*
 * store.h - the weights of all clusters in a file: --save and --load
 *
 * "INNETPS2", then for each cluster, little-endian: u16 cluster, u16 0,
 * u32 elements, u32 n; for each range u32 version, u32 step, f64 r_g (NaN if
 * no reward has come); then weights, average and the two moments, float32
 * each.  Last, a u32 CRC-32C of all before.
 */
#ifndef INNET_PS_STORE_H
#define INNET_PS_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "common/olaf/server-rule.h"

/*
 * Read len bytes into clusters, an array of 65,536 that holds none.  NULL, or
 * what is wrong; clusters read before are kept, for the caller to free.
 */
const char *store_parse(const uint8_t *p, size_t len,
    struct server_rule *clusters);

/* The same from a file, or say what is wrong and exit 1. */
void store_load_or_exit(const char *path, struct server_rule *clusters);

/* Write path, whole or not at all.  0, or 1 after a line that says why. */
int store_save(const char *path, const struct server_rule *clusters);

#endif
