/*
 * match.h - which packet that was sent is the one that came?
 *
 * Packets are known again by a hash: of their payload, or of what their format
 * says.  Equal ones are taken in the order in which they were sent, each once.
 * Where a delivery could be more than one of them, that is ambiguous: the
 * earliest that is left and the latest sent before it bound its age.
 * Functions exit when there is no memory.
 */
#ifndef INNET_AOM_MATCH_H
#define INNET_AOM_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct match_item {
	uint64_t hash, sent_ns;
	uint64_t group;		/* of a fallback: who sent it */
	uint32_t flow;		/* the sender's flow */
	uint32_t taken;		/* of the first of equals: how many are */
};

struct match {
	struct match_item *item;	/* sorted by hash, then time */
	uint32_t *by_group;	/* items by group, then time; or NULL */
	size_t n, room;
};

/* What a delivery was. */
struct matched {
	uint32_t flow;
	uint64_t sent_ns;	/* taken in order */
	uint64_t earliest_ns, latest_ns;	/* it can be */
	bool ambiguous;
	bool newest;		/* changed on its way: the group's newest */
};

/* It was sent at sent_ns; in order of time. */
void match_sent(struct match *m, const struct match_item *item);

/* All was sent; groups: match_newest() will be asked. */
void match_sort(struct match *m, bool groups);

/* What came at t_ns with that hash; false if none is left. */
bool match_find(struct match *m, uint64_t hash, uint64_t t_ns,
    struct matched *found);

/* The newest of a group sent by t_ns; false if there is none. */
bool match_newest(const struct match *m, uint64_t group, uint64_t t_ns,
    struct matched *found);

void match_free(struct match *m);

#endif
