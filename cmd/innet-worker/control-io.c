/* control-io.c - send and receive control messages; see control-io.h */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/auth/nonce.h"
#include "common/net/timer.h"
#include "cmd/innet-worker/udp-multicast.h"

#include "cmd/innet-worker/control-io.h"

bool
control_open(struct control_io *v, const struct worker_conf *cf,
    struct udp_transmit *out, uint64_t *malformed, uint64_t *bad_mac)
{
	*v = (struct control_io){ .cf = cf, .out = out, .malformed = malformed,
	    .bad_mac = bad_mac };
	if (!nonce_try_open_channel(&v->channel, cf->key->set ? cf->key : NULL,
	    &cf->to))
		return false;
	v->channel.needs_cookie |=
	    worker_tags_data(cf); /* tokens need a cookie */
	return true;
}

bool
control_send(struct control_io *v, uint8_t *msg, size_t len)
{
	return udp_transmit_send(v->out, &v->cf->to, CONTROL_TOS, msg,
	    channel_client_protect(&v->channel, msg, len), timer_wall_ns());
}

void
control_send_transfer(struct state_transfer *h, struct control_io *v,
    struct membership *in, uint64_t now_ns)
{
	uint8_t msg[CONTROL_MAX_BYTES];
	size_t len;

	while ((len = state_transfer_next(h, in, now_ns, msg)) > 0)
		control_send(v, msg, len);
}

void
control_explain_transfer(const struct state_transfer *h,
    const struct worker_conf *cf, char text[CONTROL_IO_TEXT_BYTES])
{
	const struct state_receiver *e = &h->receiver;
	const int n = snprintf(text, CONTROL_IO_TEXT_BYTES, "%s: job %u",
	    cf->to_name, cf->job);
	const size_t at = n < CONTROL_IO_TEXT_BYTES ? (size_t)n : 0,
		     room = CONTROL_IO_TEXT_BYTES - at;

	switch (e->end) {
	case STATE_RECEIVER_HAS:
		if (cf->quiet)
			text[0] = '\0';
		else
			snprintf(text + at, room, ": took over the state of "
			    "worker %" PRIu32 " (%" PRIu32 " bytes) after "
			    "iteration %" PRIu64, e->sender, e->bytes,
			    e->iteration);
		break;
	case STATE_RECEIVER_REFUSED:
		snprintf(text + at, room, " is ahead of this worker, and no "
		    "other worker can send the state of the job: %s",
		    e->status == CONTROL_REFUSED ? "none has one" :
		    control_status_text(e->status));
		break;
	case STATE_RECEIVER_UNANSWERED:
		snprintf(text + at, room, ": no state of another worker "
		    "arrived in %.1f s", (double)e->give_up_ns / 1e9);
		break;
	case STATE_RECEIVER_NO_MEMORY:
		snprintf(text + at, room, ": no memory for a state of %" PRIu32
		    " bytes", e->bytes);
		break;
	case STATE_RECEIVER_GOING: text[0] = '\0'; break;
	}
}

bool
control_receive(struct control_io *v, struct membership *in,
    struct state_transfer *h, uint64_t given, const struct udpio_packet *p,
    struct control *c, uint64_t now_ns)
{
	switch (state_transfer_receive(
	    h, in, &v->channel, given, p->data, p->len, c, now_ns)) {
	case STATE_TRANSFER_MESSAGE: return true;
	case STATE_TRANSFER_TAKEN:
		control_send_transfer(h, v, in, now_ns);
		break;
	case STATE_TRANSFER_DOUBTFUL: ++*v->bad_mac; break;
	case STATE_TRANSFER_MALFORMED: ++*v->malformed; break;
	case STATE_TRANSFER_NOTHING: break;
	}
	return false;
}

bool
control_join_group(struct control_io *v, struct membership *in,
    char text[CONTROL_IO_TEXT_BYTES], uint64_t now_ns)
{
	struct udpio *u = v->out->u;
	char name[ADDR_NAME_BYTES];
	bool has_group = in->group.sa.sa_family != 0, good = true;

	if (has_group == in->in_multicast_group &&
	    (!has_group || addr_same(&u->group, &in->group)))
		return true;
	if (udp_multicast_set_group(u, &in->group, &v->cf->to) == -1) {
		snprintf(text, CONTROL_IO_TEXT_BYTES, "%s: cannot join the "
		    "group %s, so this worker gets its own copy of each "
		    "result: %s", v->cf->to_name, addr_print(&in->group, name),
		    strerror(errno));
		good = false;
		v->cannot_multicast = true;
		in->cf.can_multicast = has_group = false;
		in->group = (union addr){ 0 };
	}
	in->in_multicast_group = has_group;
	membership_join(in, now_ns);
	return good;
}
