/*
 * train-keys.h - the key and the secrets of a training job that authenticates
 */
#ifndef INNET_SIM_TRAIN_KEYS_H
#define INNET_SIM_TRAIN_KEYS_H

#include "cmd/innet-sim/training/train.h"

/* Return the key of a training job, or NULL if it has none. */
const struct key *train_key(const struct training *t);

/*
 * Draw the secret of machine number `who`, which has been restarted `lives`
 * times.
 */
void train_secret(const struct sim *s, const struct training *t,
    uint32_t who, uint32_t lives, uint8_t secret[32]);

#endif
