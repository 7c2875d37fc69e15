/* control-io.c - a worker's control messages: control-io.h */
#include <err.h>

#include "common/auth/nonce.h"
#include "common/net/timer.h"
#include "cmd/innet-worker/udp-multicast.h"

#include "cmd/innet-worker/state-transfer.h"
#include "cmd/innet-worker/control-io.h"

void
voice_open(struct voice *v, const struct worker_conf *cf,
    struct udp_transmit *out, uint64_t *malformed, uint64_t *bad_mac)
{
	*v = (struct voice){ .cf = cf, .out = out, .malformed = malformed,
	    .bad_mac = bad_mac };
	nonce_channel(&v->channel, cf->key->set ? cf->key : NULL, &cf->to);
	v->channel.needs_cookie |= worker_proves(cf); /* tokens are of a pass */
}

bool
voice_say(struct voice *v, uint8_t *msg, size_t len)
{
	return udp_transmit_send(v->out, &v->cf->to, CONTROL_TOS, msg,
	    channel_client_put(&v->channel, msg, len), timer_wall_ns());
}

bool
voice_hear(struct voice *v, struct membership *in, struct state_transfer *h,
    uint64_t given, const struct udpio_packet *p, struct control *c,
    uint64_t now_ns)
{
	switch (state_transfer_hear(
	    h, in, &v->channel, given, p->data, p->len, c, now_ns)) {
	case STATE_TRANSFER_MESSAGE: return true;
	case STATE_TRANSFER_TAKEN: inherit_send(h, v, in, now_ns); break;
	case STATE_TRANSFER_DOUBTFUL: ++*v->bad_mac; break;
	case STATE_TRANSFER_MALFORMED: ++*v->malformed; break;
	case STATE_TRANSFER_NOTHING: break;
	}
	return false;
}

void
voice_follow(struct voice *v, struct membership *in, uint64_t now_ns)
{
	struct udpio *u = v->out->u;
	char name[ADDR_NAME_BYTES];
	bool in_multicast_group = in->group.sa.sa_family != 0;

	if (in_multicast_group == in->in_multicast_group &&
	    (!in_multicast_group || addr_same(&u->group, &in->group)))
		return;
	if (udp_multicast_hear(u, &in->group, &v->cf->to) == -1) {
		warn("%s: results come one by one: cannot hear %s",
		    v->cf->to_name, addr_print(&in->group, name));
		v->deaf = true;
		in->cf.can_multicast = in_multicast_group = false;
		in->group = (union addr){ 0 };
	}
	in->in_multicast_group = in_multicast_group;
	membership_join(in, now_ns);
}
