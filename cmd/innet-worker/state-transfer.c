/* state-transfer.c - a state from another worker, or for another:
 * state-transfer.h */
#include <err.h>
#include <inttypes.h>

#include "cmd/innet-worker/state-transfer.h"

void
inherit_send(struct state_transfer *h, struct voice *v, struct membership *in,
    uint64_t now_ns)
{
	uint8_t msg[CONTROL_MAX_BYTES];
	size_t len;

	while ((len = state_transfer_next(h, in, now_ns, msg)) > 0)
		voice_say(v, msg, len);
}

void
inherit_tell(const struct state_transfer *h, const struct worker_conf *cf)
{
	const struct state_receiver *e = &h->receiver;

	switch (e->end) {
	case STATE_RECEIVER_HAS:
		if (!cf->quiet)
			warnx("%s: job %u: took over the state of worker %"
			    PRIu32 ", %" PRIu32 " bytes, after iteration %"
			    PRIu64, cf->to_name, cf->job, e->sender, e->bytes,
			    e->iteration);
		break;
	case STATE_RECEIVER_REFUSED:
		warnx("%s: job %u is past what this worker has, and no other "
		    "can hand over its state: %s", cf->to_name, cf->job,
		    e->status == CONTROL_REFUSED ? "none has one to give" :
		    control_status_text(e->status));
		break;
	case STATE_RECEIVER_UNANSWERED:
		warnx("%s: job %u: no state of another worker came in %.1f s",
		    cf->to_name, cf->job, (double)e->give_up_ns / 1e9);
		break;
	case STATE_RECEIVER_NO_MEMORY:
		warnx("%s: job %u: no memory for a state of %" PRIu32 " bytes",
		    cf->to_name, cf->job, e->bytes);
		break;
	case STATE_RECEIVER_GOING: break;
	}
}
