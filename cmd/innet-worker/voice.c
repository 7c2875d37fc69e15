/* voice.c - a worker's control messages: voice.h */
#include "common/live/nonce.h"
#include "common/live/timer.h"

#include "cmd/innet-worker/inherit.h"
#include "cmd/innet-worker/voice.h"

void
voice_open(struct voice *v, const struct worker_conf *cf, struct outlet *out,
    uint64_t *malformed, uint64_t *bad_mac)
{
	*v = (struct voice){ .cf = cf, .out = out, .malformed = malformed,
	    .bad_mac = bad_mac };
	nonce_channel(&v->channel, cf->key->set ? cf->key : NULL, &cf->to);
	v->channel.passes |= worker_proves(cf);	/* tokens are of a pass */
}

bool
voice_say(struct voice *v, uint8_t *msg, size_t len)
{
	return outlet_send(v->out, &v->cf->to, CONTROL_TOS, msg,
	    channel_put(&v->channel, msg, len), timer_wall_ns());
}

bool
voice_hear(struct voice *v, struct membership *in, struct heritage *h,
    uint64_t given, const struct udpio_packet *p, struct control *c,
    uint64_t now_ns)
{
	enum channel_news news;

	if (!control_parse(p->data, p->len, c)) {
		++*v->malformed;
		return false;
	}
	news = channel_take(&v->channel, p->data, p->len, c);
	if (news == CHANNEL_GOOD) {
		if (!heritage_take(h, in, c, given, now_ns))
			return true;
		inherit_send(h, v, in, now_ns);
		return false;
	}
	*v->bad_mac += news == CHANNEL_BAD || news == CHANNEL_HINT;
	membership_doubts(in, news, c, now_ns);
	if (news == CHANNEL_CHALLENGED)
		heritage_again(h, now_ns);
	return false;
}
