/*
 * impair.h - a bad network on purpose: loss, duplication, reordering, delay
 *
 * Says of each packet when its copies are to be sent.  Pure: the random
 * numbers are its own, seeded by the caller, time is an argument.
 */
#ifndef INNET_TRAFFIC_IMPAIR_H
#define INNET_TRAFFIC_IMPAIR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/base/num.h"
#include "common/base/rng.h"

/* A reordered packet is held back by so much more, for others to pass. */
enum { IMPAIR_REORDER_NS = 1000000 };

struct impair {
	double loss, dup, reorder;	/* probabilities */
	uint64_t delay_ns;
	struct rng rng;
	uint64_t lost, duplicated, reordered;	/* packets so far */
};

/*
 * Read "loss=1%,dup=0.1%,reorder=1%,delay=2ms" into *im.  NULL, or what is
 * wrong.
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
			return "item too long";
		memcpy(item, s, len);
		item[len] = '\0';
		for (k = 0; k < 4 && strncmp(item, name[k],
		    strlen(name[k])) != 0; k++)
			;
		if (k == 4)
			return "not loss=, dup=, reorder= or delay=";
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

/* Does it do anything at all? */
static inline bool
impair_any(const struct impair *im)
{
	return im->loss > 0 || im->dup > 0 || im->reorder > 0 ||
	    im->delay_ns > 0;
}

/* A packet is sent at now_ns: 0, 1 or 2 copies, each at its at_ns[]. */
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
