/*
 * train-pieces.h - workers whose gradients are pieces of a ring of segments
 *
 * In a scenario with ring_of_segments, each gradient is one piece of the ring
 * (common/iswitch/sync-ring.h).  Under --chaos --ring, the gradient of an
 * iteration consists of up to four pieces of random lengths, like the buckets
 * of a large model.  A worker adds all of them to its ring and waits for all
 * results.  Each element of a result is checked.
 */
#ifndef INNET_SIM_TRAIN_PIECES_H
#define INNET_SIM_TRAIN_PIECES_H

#include "cmd/innet-sim/training/train.h"

/* Open the ring of worker w.  Exits if out of memory. */
void train_pieces_open(const struct sim *s, struct train_worker *w);

/* Free the ring. */
void train_pieces_free(struct train_worker *w);

/* Begin to add the pieces of the next iteration. */
void train_pieces_add(struct sim *s, struct train_worker *w);

/* Add pieces for which the ring has room, and check complete results. */
void train_pieces_run(struct sim *s, struct train_worker *w);

/* Have all results of this iteration arrived? */
bool train_pieces_has(const struct train_worker *w);

/* Copy the gradient of segment i to vec. */
void train_pieces_put(const struct train_worker *w, uint32_t iteration,
    uint32_t i, uint8_t *vec);

/* Store result g, which the state machine of worker w takes. */
void train_pieces_store(struct train_worker *w, const struct seg *g);

#endif
