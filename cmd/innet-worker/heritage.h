/*
 * heritage.h - a worker's part in handing a state over, either way
 *
 * iswitch/handover.h decides; this sends, and says what is going on.  A mode
 * gives it the control messages that come, takes a snapshot when donor.wanted
 * is set (heritage_has()), and when it may not join for it is too late, begins
 * to fetch: then heritage_send(), by heir_due(), until heir.end.
 */
#ifndef INNET_WORKER_HERITAGE_H
#define INNET_WORKER_HERITAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/iswitch/handover.h"
#include "common/iswitch/membership.h"
#include "common/live/outlet.h"

#include "cmd/innet-worker/worker.h"

struct heritage {
	struct heir heir;
	struct donor donor;
	bool fetching;			/* the heir's */
	unsigned tries;
};

/*
 * What a machine has ended with: is there a state that would help?  been: it
 * has been in the job before.
 */
bool heritage_helps(const struct heritage *h, const struct membership *in,
    bool been);

/* Begin to fetch; what was joined as `in` is over, and is left. */
void heritage_begin(struct heritage *h, const struct worker_conf *cf,
    struct outlet *out, const struct membership *in, uint64_t now_ns);

/*
 * Is c of a state that is handed over?  Then it is done with; `given` results
 * are in the state that we have ourselves.
 */
bool heritage_take(struct heritage *h, const struct worker_conf *cf,
    struct outlet *out, struct membership *in, const struct control *c,
    uint64_t given, uint64_t now_ns);

/* Our state after `given` results, for who has asked; body becomes h's. */
void heritage_has(struct heritage *h, const struct worker_conf *cf,
    struct outlet *out, struct membership *in, uint8_t *body, uint32_t bytes,
    uint64_t given, uint64_t now_ns);

/* Send what is due of a fetch. */
void heritage_send(struct heritage *h, const struct worker_conf *cf,
    struct outlet *out, uint64_t now_ns);

/* Why the fetch has failed, in a line of its own; or what has come. */
void heritage_tell(const struct heritage *h, const struct worker_conf *cf);

void heritage_free(struct heritage *h);

#endif
