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
 * Parse len bytes into clusters, an empty array of 65,536.  Returns NULL, or
 * what is wrong; the caller frees the clusters that were parsed before.
 */
const char *store_parse(const uint8_t *p, size_t len,
    struct server_rule *clusters);

/* Load a file, or print what is wrong and exit 1. */
void store_load_or_exit(const char *path, struct server_rule *clusters);

/* Write path completely or not at all.  Returns 0, or 1 after an error. */
int store_save(const char *path, const struct server_rule *clusters);

#endif
