/* heritage.c - a state from another worker, or for another: heritage.h */
#include <err.h>
#include <inttypes.h>

#include "common/live/timer.h"
#include "common/wire/mac.h"

#include "cmd/innet-worker/heritage.h"

enum {
	TRIES = 10,			/* each too late for its Join */
	PATIENT = 2			/* tries; then the job waits for us */
};

static void
say(const struct worker_conf *cf, struct outlet *out, uint8_t *msg,
    size_t len)
{
	outlet_send(out, &cf->to, CONTROL_TOS, msg, mac_sign(cf->key, msg,
	    len), timer_wall_ns());
}

bool
heritage_helps(const struct heritage *h, const struct membership *in,
    bool been)
{
	return h->tries < TRIES && (in->end == MEMBERSHIP_GOING ||
	    (in->end == MEMBERSHIP_REFUSED && in->status == CONTROL_REFUSED &&
	    (been || seg_before(in->join_next, in->job_next))));
}

void
heritage_begin(struct heritage *h, const struct worker_conf *cf,
    struct outlet *out, const struct membership *in, uint64_t now_ns)
{
	uint8_t msg[CONTROL_MAX_BYTES];

	heir_free(&h->heir);
	if (in->joined)
		say(cf, out, msg, (size_t)(control_put(msg, CONTROL_LEAVE,
		    cf->job, in->xid) - msg));
	heir_init(&h->heir, cf->job, cf->worker, in->xid + 1,
	    h->tries >= PATIENT, cf->give_up_ns, now_ns);
	h->fetching = true;
	h->tries++;
	donor_free(&h->donor);
}

/* Answer a Fetch. */
static void
give(struct heritage *h, const struct worker_conf *cf, struct outlet *out,
    struct membership *in, const struct handover_fetch *f)
{
	uint8_t msg[CONTROL_MAX_BYTES];
	const uint32_t n = donor_count(&h->donor, f);

	for (uint32_t k = 0; k < n; k++)
		say(cf, out, msg, donor_put(&h->donor, f, k, cf->job,
		    membership_xid(in), msg));
}

void
heritage_has(struct heritage *h, const struct worker_conf *cf,
    struct outlet *out, struct membership *in, uint8_t *body, uint32_t bytes,
    uint64_t given, uint64_t now_ns)
{
	const bool wanted = h->donor.wanted;

	donor_has(&h->donor, body, bytes, given, now_ns);
	if (wanted)
		give(h, cf, out, in, &h->donor.asked);
}

bool
heritage_take(struct heritage *h, const struct worker_conf *cf,
    struct outlet *out, struct membership *in, const struct control *c,
    uint64_t given, uint64_t now_ns)
{
	struct handover_fetch f;
	struct handover_chunk k;
	struct control_ack a;

	if (c->job != cf->job)
		return false;
	switch (c->action) {
	case CONTROL_FETCH:
		if (!in->cf.gives || !in->joined || h->fetching ||
		    !handover_get_fetch(c, &f))
			return false;
		donor_asked(&h->donor, &f, given, now_ns);
		give(h, cf, out, in, &f);
		return true;
	case CONTROL_CHUNK:
		if (!h->fetching || !handover_get_chunk(c, &k))
			return false;
		heir_take(&h->heir, &k, now_ns);
		return true;
	case CONTROL_ACK:
		if (!h->fetching || !control_get_ack(c, &a) ||
		    a.action != CONTROL_FETCH)
			return false;
		heir_refused(&h->heir, a.status, now_ns);
		return true;
	default: return false;
	}
}

void
heritage_send(struct heritage *h, const struct worker_conf *cf,
    struct outlet *out, uint64_t now_ns)
{
	uint8_t msg[CONTROL_MAX_BYTES];
	size_t len;

	while ((len = heir_next(&h->heir, now_ns, msg)) > 0)
		say(cf, out, msg, len);
}

void
heritage_tell(const struct heritage *h, const struct worker_conf *cf)
{
	const struct heir *e = &h->heir;

	switch (e->end) {
	case HEIR_HAS:
		if (!cf->quiet)
			warnx("%s: job %u: took over the state of worker %"
			    PRIu32 ", %" PRIu32 " bytes, after iteration %"
			    PRIu64, cf->to_name, cf->job, e->donor, e->bytes,
			    e->iteration);
		break;
	case HEIR_REFUSED:
		warnx("%s: job %u is past what this worker has, and no other "
		    "can hand over its state: %s", cf->to_name, cf->job,
		    e->status == CONTROL_REFUSED ? "none has one to give" :
		    control_status_text(e->status));
		break;
	case HEIR_UNANSWERED:
		warnx("%s: job %u: no state of another worker came in %.1f s",
		    cf->to_name, cf->job, (double)e->give_up_ns / 1e9);
		break;
	case HEIR_NO_MEMORY:
		warnx("%s: job %u: no memory for a state of %" PRIu32 " bytes",
		    cf->to_name, cf->job, e->bytes);
		break;
	case HEIR_GOING: break;
	}
}

void
heritage_free(struct heritage *h)
{
	heir_free(&h->heir);
	donor_free(&h->donor);
}
