/*
 * match.h - find the sent packet that belongs to a delivery
 *
 * Packets are compared by a hash of their payload or of the fields of their
 * format.  Equal packets are matched in the order in which they were sent, and
 * each packet is matched only once.  A delivery is ambiguous if several sent
 * packets are equal to it.  In that case, two packets bound the age of the
 * delivery: the earliest unmatched packet and the latest packet that was sent
 * before the delivery.  The functions exit if there is no memory.
 */
#ifndef INNET_AOM_MATCH_H
#define INNET_AOM_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct match_item {
	uint64_t hash, sent_ns;
	uint64_t group;		/* the sender, for match_newest() */
	uint32_t flow;		/* the sender's flow */
	uint32_t taken; /* in the first of several equal items: number of these
			 * items that were matched */
};

struct match {
	struct match_item *item;	/* sent packets, sorted by hash, then by
					 * time */
	uint32_t *by_group;	/* item indices, sorted by group and time, or
				 * NULL */
	size_t n, room;
};

/* The sent packet that belongs to a delivery. */
struct matched {
	uint32_t flow;
	uint64_t sent_ns;	/* time of sending, under the assumption that
				 * packets arrive in order */
	uint64_t earliest_ns, latest_ns;	/* bounds of sent_ns */
	bool ambiguous;
	bool newest;		/* found by match_newest() */
};

/* Add a sent packet; call this in order of time. */
void match_sent(struct match *m, const struct match_item *item);

/*
 * Sort the items after all of them have been added.  Set `groups` if
 * match_newest() will be called.
 */
void match_sort(struct match *m, bool groups);

/*
 * Find the sent packet with this hash that was received at t_ns.  Return false
 * if no such packet is left.
 */
bool match_find(struct match *m, uint64_t hash, uint64_t t_ns,
    struct matched *found);

/*
 * Find the newest packet of a group that was sent at t_ns or before.  Return
 * false if there is none.
 */
bool match_newest(const struct match *m, uint64_t group, uint64_t t_ns,
    struct matched *found);

/* Free all items. */
void match_free(struct match *m);

#endif
