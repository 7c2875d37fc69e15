/*
 * impair.h - simulate a bad network, which loses, duplicates, reorders and
 * delays packets
 *
 * impair_plan() decides how many copies of a packet are sent, and when.  A
 * struct impair contains its own random number generator, which the caller
 * seeds.  The functions do not read a clock; the caller passes the time.
 */
#ifndef INNET_TRAFFIC_IMPAIR_H
#define INNET_TRAFFIC_IMPAIR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/base/nearest.h"
#include "common/base/num.h"
#include "common/base/rng.h"

/*
 * The additional delay, in ns, of a packet that is to be overtaken by later
 * packets.
 */
enum { IMPAIR_REORDER_NS = 1000000 };

struct impair {
	double loss, dup, reorder;	/* probabilities of these impairments */
	uint64_t delay_ns;
	struct rng rng;
	uint64_t lost, duplicated, reordered;	/* number of packets that were
						 * lost, duplicated or reordered
						 * so far */
};

/*
 * Return an error message about an item that does not begin with a valid name.
 * The message contains the valid name that is nearest.  The next call
 * overwrites the message.
 */
static inline const char *
impair_unknown(const char *item, const char *const name[4])
{
	static _Thread_local char why[64 + NEAREST_TEXT];
	char typed[64], hint[NEAREST_TEXT];
	struct nearest near = { 0 };

	snprintf(typed, sizeof(typed), "%.*s", (int)strcspn(item, "=") + 1,
	    item);
	for (size_t k = 0; k < 4; k++)
		nearest_offer(&near, typed, name[k]);
	snprintf(why, sizeof(why), "not one of loss=, dup=, reorder=, delay=%s",
	    nearest_hint(&near, typed, "", hint));
	return why;
}

/*
 * Read a list such as "loss=1%,dup=0.1%,reorder=1%,delay=2ms" into *im.
 * Returns NULL or an error message.
 */
static inline const char *
impair_parse(const char *s, struct impair *im)
{
	static const char *const name[] = { "loss=", "dup=", "reorder=",
	    "delay=" };
	double *const share[] = { &im->loss, &im->dup, &im->reorder };
	char item[64];
	size_t len, k;
	const char *why;

	while (*s != '\0') {
		len = strcspn(s, ",");
		if (len >= sizeof(item))
			return "an item that is too long";
		memcpy(item, s, len);
		item[len] = '\0';
		for (k = 0; k < 4 && strncmp(item, name[k],
		    strlen(name[k])) != 0; k++)
			;
		if (k == 4)
			return impair_unknown(item, name);
		if (k == 3)
			why = num_time(item + strlen(name[k]), 0,
			    60000000000, &im->delay_ns);
		else
			why = num_share(item + strlen(name[k]), share[k]);
		if (why != NULL)
			return why;
		s += len + (s[len] == ',');
	}
	return NULL;
}

/* Is any impairment set? */
static inline bool
impair_any(const struct impair *im)
{
	return im->loss > 0 || im->dup > 0 || im->reorder > 0 ||
	    im->delay_ns > 0;
}

/*
 * Decide what happens to a packet that is sent at now_ns.  Returns the number
 * of copies to send (0, 1 or 2), and stores the time of each copy in at_ns[].
 */
static inline int
impair_plan(struct impair *im, uint64_t now_ns, uint64_t at_ns[2])
{
	at_ns[0] = at_ns[1] = now_ns + im->delay_ns;
	if (im->loss > 0 && rng_double(&im->rng) < im->loss) {
		im->lost++;
		return 0;
	}
	if (im->reorder > 0 && rng_double(&im->rng) < im->reorder) {
		im->reordered++;
		at_ns[0] += IMPAIR_REORDER_NS;
	}
	if (im->dup > 0 && rng_double(&im->rng) < im->dup) {
		im->duplicated++;
		return 2;
	}
	return 1;
}

#endif
