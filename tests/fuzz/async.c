/*
 * Fuzz the packets that an asynchronous worker receives.  The input is a byte
 * of settings, then events.  An event is a byte with its kind (2 bits) and a
 * number (6 bits), a length of two bytes, and a body of that length.  Kinds
 * are: time passes, a control message arrives, a segment arrives.  The worker
 * must never send endlessly, and must send only segments that it has and
 * messages that can be parsed.
 */
#include "common/iswitch/async-worker.h"
#include "tests/fuzz/fuzz.h"

enum { JOB = 3, ELEMENTS = 95, RUN = 4, OUTS_MAX = 4096 };

static struct async_worker w;
static uint64_t now_ns;
static uint32_t xid;		/* xid of the last message that the worker sent
				 */

/* Send all packets that are due. */
static void
send_all(uint32_t room)
{
	struct async_worker_out o;
	struct control c;
	uint32_t n = 0;

	while (async_worker_next(&w, now_ns, &o)) {
		must(n++ < OUTS_MAX, "a worker does not send without end");
		if (o.count == 0) {
			must(o.len <= sizeof(o.message) &&
			    control_parse(o.message, o.len, &c) &&
			    c.job == JOB, "a message can be parsed");
			xid = c.xid;
			continue;
		}
		must(o.count <= RUN && o.first < w.weights.segs &&
		    o.count <= w.weights.segs - o.first,
		    "a run is within the vector");
		async_worker_count_sent(&w, &o, o.count < room ? o.count :
		    room, now_ns);
		if (o.count > room)
			break;
	}
	async_worker_note_room(&w);
}

/* Let time pass; if possible, the worker commits a gradient. */
static void
pass(unsigned how)
{
	static const uint64_t step_ns[] = { 0, 1000, 100000, 1000000, 20000000,
	    250000000, 1000000000, 5000000000 };

	now_ns += step_ns[how & 7];
	if (async_worker_is_ready(&w, true, now_ns) &&
	    async_worker_is_fresh(&w, how >> 4))
		async_worker_commit(&w, now_ns);
	send_all((how & 8) != 0 ? 1 : RUN);
	must(async_worker_deadline_ns(&w) > 0, "there is a deadline");
}

/* Deliver a control message: the action, then the body. */
static void
receive_control(unsigned how, const uint8_t *p, size_t len)
{
	uint8_t msg[CONTROL_HEADER_BYTES + 4096];
	struct control c;
	uint8_t *copy;

	if (len < 1)
		return;
	memcpy(control_put(msg, p[0], how < 32 ? JOB : JOB + 1, xid - (how &
	    7)), p + 1, len - 1);
	copy = fuzz_copy(msg, CONTROL_HEADER_BYTES + len - 1);
	if (control_parse(copy, CONTROL_HEADER_BYTES + len - 1, &c))
		async_worker_receive_control(&w, &c, now_ns);
	free(copy);
}

/* Deliver a segment: its header, then its floats. */
static void
receive_segment(const uint8_t *p, size_t len)
{
	uint8_t *copy = fuzz_copy(p, len);
	struct seg g;

	if (seg_parse(copy, len, &g))
		async_worker_receive_result(&w, &g, now_ns);
	free(copy);
}

static void
happen(unsigned what, unsigned how, const uint8_t *p, size_t len)
{
	switch (what) {
	case 0:
	case 1: pass(how); break;
	case 2: receive_control(how, p, len); break;
	default: receive_segment(p, len); break;
	}
	must(w.asked <= w.asks, "requests are taken from the queue in order");
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static const uint8_t zeros[4 * ELEMENTS];
	const struct membership_conf in = { .type = CONTROL_WORKER, .job = JOB,
	    .number = 5, .elements = ELEMENTS, .async = true,
	    .repairs = true, .sends_state = true,
	    .floats_max = 366, .xid = 77, .give_up_ns = 60000000000u };
	char why[ASYNC_WORKER_WHY_BYTES];
	struct async_worker_conf cf = { .gamma = 1, .staleness = 3,
	    .run_segments = RUN };

	if (len < 1)
		return 0;
	cf.pace_bps = (p[0] & 1) != 0 ? 1000000 : 0;
	now_ns = 1000000000;
	xid = 0;
	if (!async_worker_init(&w, &in, &cf, zeros, now_ns))
		return 0;
	send_all(RUN);
	for (p++, len--; len >= 3;) {
		const unsigned what = p[0];
		size_t n = bytes_get(p + 1, 2);

		p += 3;
		len -= 3;
		n = n < len ? n : len;
		n = n < 4096 ? n : 4096;
		happen(what & 3, what >> 2, p, n);
		p += n;
		len -= n;
	}
	must(strlen(async_worker_why(&w, why)) < sizeof(why),
	    "the reason of the end has room");
	async_worker_free(&w);
	return 0;
}
