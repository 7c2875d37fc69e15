/*
 * replay.h - the last experiences, and a fair draw from them
 *
 * A ring: each experience beyond the last `size` takes the oldest one's place.
 */
#ifndef INNET_AGENT_REPLAY_H
#define INNET_AGENT_REPLAY_H

#include "cmd/innet-agent/nstep.h"
#include "common/rng.h"

/* Experiences by row. */
struct rows {
	float *obs, *next;		/* wide floats each */
	union env_action *action;
	float *reward, *go;
};

struct replay {
	size_t size, wide;
	size_t have, at;	/* in the ring; where the next one goes */
	struct rows ring;
	struct rows batch;	/* the last draw */
};

/* For draws of up to batch_max; exits 1 without memory. */
struct replay replay_open(size_t size, size_t wide, size_t batch_max);
void replay_close(struct replay *r);

void replay_add(struct replay *r, const struct experience *e);

/*
 * Draw n, each of all there are with the same chance, the same one perhaps
 * more than once.  Borrowed until the next draw.  There must be one.
 */
const struct rows *replay_draw(struct replay *r, struct rng *rng, size_t n);

#endif
