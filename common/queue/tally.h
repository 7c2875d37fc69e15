/*
 * tally.h - count what happened to every update, for each cluster and in total
 *
 * Each counter counts packets and constituents (the updates of workers that a
 * packet contains).  For every cluster, the numbers of constituents obey this
 * law:
 *
 * 	arrived = delivered + superseded + dropped_full + dropped_reward +
 * 	          dropped_limit + queued
 *
 * tally_free() frees the tables.  Unused pages of the tables use no memory.
 */
#ifndef INNET_QUEUE_TALLY_H
#define INNET_QUEUE_TALLY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum tally_event {
	TALLY_ARRIVED, TALLY_DELIVERED, TALLY_AGGREGATED, TALLY_REPLACED,
	TALLY_REPLACED_REWARD, TALLY_SUPERSEDED, TALLY_DROPPED_FULL,
	TALLY_DROPPED_REWARD, TALLY_DROPPED_LIMIT, TALLY_QUEUED, TALLY_EVENTS
};

struct tally_count {
	uint64_t packets, constituents;
};

/* The first four counters, which change most often, share a cache line. */
struct tally_cluster {
	_Alignas(64) struct tally_count of[TALLY_EVENTS];
};

struct tally {
	struct tally_cluster all;
	void *block;			/* owned; the memory that contains the
					 * aligned array `cluster` */
	struct tally_cluster *cluster;	/* counters by cluster id, one entry for
					 * each possible id */
	uint64_t *merged;		/* merged[m]: number of delivered
					 * packets with m constituents */
	uint32_t merged_room;		/* number of entries of `merged` */
};

/* Return the name of counter `what`. */
static inline const char *
tally_name(enum tally_event what)
{
	static const char *const name[TALLY_EVENTS] = {
		"arrived", "delivered", "aggregated", "replaced",
		"replaced_reward", "superseded", "dropped_full",
		"dropped_reward", "dropped_limit", "queued"
	};

	return name[what];
}

/*
 * Initialise t for the cluster ids from 0 to clusters - 1.  The table of
 * delivered packets has room for packets of up to `merged` constituents; it
 * grows if necessary.  Returns false if there is no memory.
 */
static inline bool
tally_init(struct tally *t, uint32_t clusters, uint32_t merged)
{
	*t = (struct tally){
		.block = calloc((size_t)clusters + 1, sizeof(*t->cluster)),
		.merged = calloc((size_t)merged + 1, sizeof(*t->merged)),
		.merged_room = merged + 1,
	};
	if (t->block != NULL)
		t->cluster = (struct tally_cluster *)(((uintptr_t)t->block +
		    63) & ~(uintptr_t)63);
	return t->cluster != NULL && t->merged != NULL;
}

/* Free the tables. */
static inline void
tally_free(struct tally *t)
{
	free(t->block);
	free(t->merged);
}

/*
 * Count one packet to which event `what` has happened, and the constituents of
 * this packet.
 */
static inline void
tally_add(struct tally *t, enum tally_event what, uint16_t cluster,
    uint16_t constituents)
{
	struct tally_count *c = &t->cluster[cluster].of[what];

	c->packets++;
	c->constituents += constituents;
	t->all.of[what].packets++;
	t->all.of[what].constituents += constituents;
}

/* Count one packet that was delivered, and the constituents of this packet. */
static inline void
tally_count_delivery(struct tally *t, uint16_t cluster, uint16_t constituents)
{
	tally_add(t, TALLY_DELIVERED, cluster, constituents);
	if (constituents >= t->merged_room) {	/* 65,536 entries are enough for
						 * any number of constituents */
		uint64_t *p = realloc(t->merged, 65536 * sizeof(*p));

		if (p == NULL)
			return;
		memset(p + t->merged_room, 0, (65536 - t->merged_room) *
		    sizeof(*p));
		t->merged = p;
		t->merged_room = 65536;
	}
	t->merged[constituents]++;
}

/* Add the counters of c to those of `to`. */
static inline void
tally_add_cluster(struct tally_cluster *to, const struct tally_cluster *c)
{
	for (int w = 0; w < TALLY_EVENTS; w++) {
		to->of[w].packets += c->of[w].packets;
		to->of[w].constituents += c->of[w].constituents;
	}
}

/* Do the counters in c obey the law at the top of this file? */
static inline bool
tally_is_conserved(const struct tally_cluster *c)
{
	static const enum tally_event out[] = { TALLY_DELIVERED,
	    TALLY_SUPERSEDED, TALLY_DROPPED_FULL, TALLY_DROPPED_REWARD,
	    TALLY_DROPPED_LIMIT, TALLY_QUEUED };
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(out) / sizeof(*out); i++)
		sum += c->of[out[i]].constituents;
	return sum == c->of[TALLY_ARRIVED].constituents;
}

#endif
