/*
 * Test the transfer of a state from one worker to another, directly and through
 * the switch.
 */
#include "common/base/rng.h"
#include "common/iswitch/state-transfer.h"
#include "tests/unit/iswitch/rig.h"
#include "tests/unit/tap.h"

enum { STATE = 300 * TRANSFER_CHUNK_BYTES + 7, MS = 1000000 };

/* bytes that depend on their place */
static uint8_t *
make_state(uint32_t bytes)
{
	uint8_t *p = malloc(bytes + 1u);

	for (uint32_t i = 0; i < bytes; i++)
		p[i] = (uint8_t)(i * 31 + i / 251);
	return p;
}

/*
 * Deliver d's answer to a Fetch to h, with loss; return the number of Chunks.
 */
static uint32_t
answer(struct state_sender *d, struct state_receiver *h, const uint8_t *msg,
    size_t len, struct rng *r, double loss, uint64_t now_ns)
{
	uint8_t out[CONTROL_MAX_BYTES];
	struct transfer_fetch f;
	struct transfer_chunk k;
	struct control c;
	uint32_t n;

	if (!control_parse(msg, len, &c) || !transfer_get_fetch(&c, &f))
		return 0;
	state_sender_receive_fetch(d, &f, 9, now_ns);
	n = state_sender_count(d, &f);
	for (uint32_t i = 0; i < n; i++) {
		const size_t m = state_sender_put_chunk(d, &f, i, 1, i, out);

		if (rng_double(r) < loss || !control_parse(out, m, &c) ||
		    !transfer_get_chunk(&c, &k))
			continue;
		state_receiver_receive(h, &k, now_ns);
	}
	return n;
}

/*
 * Transfer `bytes` bytes over a lossy network; return the time in ns and the
 * number of Chunks.
 */
static uint64_t
transfer_state(uint32_t bytes, double loss, uint32_t *chunks)
{
	struct state_sender d = { .worker = 4 };
	struct rng r = rng_seed(bytes);
	uint8_t msg[CONTROL_MAX_BYTES];
	uint64_t now = 1000;
	struct state_receiver h;
	size_t len;

	*chunks = 0;
	state_receiver_init(&h, 1, 2, 1, false, UINT64_MAX, now);
	while (h.end == STATE_RECEIVER_GOING) {
		while ((len = state_receiver_next(&h, now, msg)) > 0) {
			if (rng_double(&r) >= loss)
				*chunks += answer(&d, &h, msg, len, &r, loss,
				    now);
			if (d.wanted)
				state_sender_set_snapshot(
				    &d, make_state(bytes), bytes, 9, now);
		}
		if (h.end == STATE_RECEIVER_GOING &&
		    state_receiver_deadline_ns(&h) > now)
			now = state_receiver_deadline_ns(&h);
	}
	if (h.end != STATE_RECEIVER_HAS || h.bytes != bytes ||
	    h.iteration != 9 || h.sender != 4 ||
	    memcmp(h.body, d.body, bytes) != 0)
		now = UINT64_MAX;
	state_receiver_free(&h);
	state_sender_free(&d);
	return now;
}

static void
test_hand(void)
{
	uint32_t n;

	ok(transfer_state(STATE, 0, &n) < 50 * MS && n <= 305,
	    "a state is transferred");
	ok(transfer_state(0, 0, &n) < 50 * MS &&
		transfer_state(1, 0, &n) < 50 * MS &&
		transfer_state(TRANSFER_CHUNK_BYTES, 0, &n) < 50 * MS,
	    "a state of no bytes, of one byte and of one chunk is transferred");
	ok(transfer_state(STATE, 0.2, &n) < (uint64_t)2000 * MS && n < 500,
	    "with a loss of a fifth the state arrives, and few chunks are sent "
	    "twice (%u)", n);
	ok(transfer_state(STATE, 0.8, &n) != UINT64_MAX,
	    "with a loss of most packets the state arrives");
}

/* Give receiver h a Chunk that does not match. */
static void
receive_chunk(
    struct state_receiver *h, struct transfer_chunk k, uint64_t now_ns)
{
	static const uint8_t zero[TRANSFER_CHUNK_BYTES];

	k.data = zero;
	k.data_bytes = transfer_chunk_bytes(k.bytes, k.index);
	state_receiver_receive(h, &k, now_ns);
}

static void
test_heir(void)
{
	struct transfer_chunk k = { .ready = true, .snapshot = 3, .bytes = 8,
	    .crc = 1 };
	uint8_t msg[CONTROL_MAX_BYTES];
	struct state_receiver h;

	state_receiver_init(&h, 1, 2, 1, false, (uint64_t)1000 * MS, 0);
	for (int i = 0; i < TRANSFER_TRIES; i++)
		receive_chunk(&h, k, 0);
	ok(h.end == STATE_RECEIVER_REFUSED && h.status == CONTROL_BAD_VALUE,
	    "chunks that do not match are requested a limited number of times");
	state_receiver_free(&h);
	state_receiver_init(&h, 1, 2, 1, false, (uint64_t)1000 * MS, 0);
	state_receiver_next(&h, 0, msg);
	receive_chunk(&h, (struct transfer_chunk){ .ready = false }, 500 * MS);
	ok(state_receiver_next(&h, (uint64_t)1000 * MS, msg) == 0 &&
		h.end == STATE_RECEIVER_UNANSWERED,
	    "a sender without a state does not count as a sign of life");
	state_receiver_init(&h, 1, 2, 1, false, (uint64_t)1000 * MS, 0);
	state_receiver_receive_status(&h, CONTROL_NO_ROOM, 0);
	ok(h.end == STATE_RECEIVER_GOING && state_receiver_deadline_ns(&h) > 0,
	    "a receiver that gets no room tries again");
	h.refused_ns = TRANSFER_REFUSED_NS;
	state_receiver_receive_status(&h, CONTROL_REFUSED,
	    (uint64_t)5000 * MS);
	state_receiver_receive_status(&h, CONTROL_REFUSED,
	    (uint64_t)6999 * MS);
	ok(h.end == STATE_RECEIVER_GOING &&
	    state_receiver_deadline_ns(&h) == (uint64_t)7249 * MS,
	    "a Fetch is repeated for 2 s after its first refusal, because a "
	    "sender may still join (chaos seed 6000445782), even if it had no "
	    "answer before (chaos seed 9570043264)");
	receive_chunk(&h, (struct transfer_chunk){ .ready = false },
	    (uint64_t)7000 * MS);
	state_receiver_receive_status(&h, CONTROL_REFUSED,
	    (uint64_t)8000 * MS);
	ok(h.end == STATE_RECEIVER_GOING,
	    "the answer of a sender ends the series of refusals");
	state_receiver_receive_status(&h, CONTROL_NOT_READY,
	    (uint64_t)17999 * MS);
	ok(h.end == STATE_RECEIVER_GOING,
	    "it is repeated for 10 s if the job is not open");
	state_receiver_receive_status(&h, CONTROL_REFUSED,
	    (uint64_t)18000 * MS);
	ok(h.end == STATE_RECEIVER_REFUSED,
	    "after that, a refusal ends the transfer");
	state_receiver_init(&h, 1, 2, 1, false, (uint64_t)1000 * MS, 0);
	state_receiver_receive_status(&h, CONTROL_REFUSED, 0);
	ok(h.end == STATE_RECEIVER_REFUSED,
	    "it ends the transfer at once if the receiver can start the job "
	    "again");
	state_receiver_init(&h, 1, 2, 1, false, (uint64_t)1000 * MS, 0);
	k.bytes = 2 * TRANSFER_CHUNK_BYTES;
	receive_chunk(&h, k, 0);
	k.snapshot = 4;
	k.index = 1;
	k.crc = crc32c(0, (uint8_t[2 * TRANSFER_CHUNK_BYTES]){ 0 },
	    2 * TRANSFER_CHUNK_BYTES);
	receive_chunk(&h, k, 249 * MS);
	receive_chunk(&h, (struct transfer_chunk){ .ready = false }, 249 * MS);
	ok(h.end == STATE_RECEIVER_GOING && h.here == 1 && h.snapshot != 4 &&
	    h.snapshot != 0, "while chunks arrive, a late answer does not "
	    "start the transfer again (chaos seed 7500000726)");
	receive_chunk(&h, k, 250 * MS);
	ok(h.end == STATE_RECEIVER_GOING && h.here == 1 && h.snapshot == 4,
	    "after a silence, a chunk of another snapshot starts the transfer "
	    "again");
	k.index = 0;
	receive_chunk(&h, k, 251 * MS);
	ok(h.end == STATE_RECEIVER_HAS, "the transfer of the other snapshot "
	    "ends");
	state_receiver_free(&h);
}

/* Let worker w join; it can send its state. */
static void
join_worker(uint32_t w)
{
	struct control_ack a;

	rig_join_as((uint16_t)(1000 + w), (struct control_join){
	    .type = CONTROL_WORKER, .worker = w, .elements = 4,
	    .sends_state = true }, &a);
}

/*
 * Send a Fetch of worker w from that port; return the Ack's status, or -1
 * without an Ack.
 */
static int
send_fetch(uint16_t port, uint32_t w, bool waits)
{
	const struct transfer_fetch f = { .worker = w, .count = 1,
	    .waits = waits };
	struct control_ack a;
	uint8_t body[32];

	return rig_control(port, CONTROL_FETCH, 1, body,
	    (size_t)(transfer_put_fetch(body, &f) - body), &a);
}

/*
 * Return the port that was sent that action last, or 0, and the receiver in it.
 */
static uint16_t
find_sent(enum control_action action, uint16_t *receiver)
{
	struct control c;

	for (uint32_t k = rig_n; k-- > 0;) {
		if (rig_out[k].tos != CONTROL_TOS || !control_parse(
		    rig_out[k].bytes, rig_out[k].len, &c) ||
		    c.action != action)
			continue;
		if (receiver != NULL)
			*receiver = (uint16_t)bytes_get(c.body, 2);
		return rig_out[k].to == POST_GROUP ? UINT16_MAX :
		    rig_out[k].port;
	}
	return 0;
}

/* Send an empty Chunk from worker w for that receiver. */
static void
send_chunk(uint32_t w, uint16_t receiver)
{
	const struct transfer_chunk k = { .receiver = receiver, .ready = true,
	    .snapshot = 1, .sender = w };
	struct control_ack a;
	uint8_t body[64];

	rig_control((uint16_t)(1000 + w), CONTROL_CHUNK, 1, body,
	    (size_t)(transfer_put_chunk(body, &k) - body), &a);
}

/* Let the worker at that port send Fetch, as after a Join that was refused. */
static void
permit(uint16_t port)
{
	const union addr at = rig_addr(port);

	iswitch_permit_fetch(rig.job[0], &at, rig_now);
}

/* An unknown client may not fetch; a refused worker may, and the job waits. */
static void
test_permit(void)
{
	const struct job_conf cf = rig_conf(2);
	struct control_join j = { .type = CONTROL_WORKER, .elements = 4,
	    .sends_state = true, .crc = 5 };
	struct control_ack a;

	rig_open(&cf, 0);
	rig_join_as(1000, j, &a);
	ok(send_fetch(2000, 7, true) == CONTROL_NOT_MEMBER &&
	    !rig.job[0]->core.halted, "an unknown client neither gets a state "
	    "nor halts the job");
	j.worker = 7;
	j.crc = 6;
	ok(rig_join_as(2000, j, &a) == CONTROL_REFUSED &&
	    send_fetch(2000, 7, true) == -1 && rig.job[0]->core.halted,
	    "a worker whose Join was refused may fetch, and the job waits for "
	    "it");
	for (uint64_t until = rig_now + ISWITCH_HOLD_NS; rig_now < until;) {
		rig_now += 1000000000;
		send_fetch(2000, 7, true);
		iswitch_run_deadlines(&rig, rig_now);
	}
	ok(!rig.job[0]->core.halted && rig_count(JOB_HOLDS_ENDED) == 1,
	    "the job waits at most 30 s");
	send_fetch(2000, 7, true);
	ok(!rig.job[0]->core.halted, "the job does not wait again soon");
	rig_now += ISWITCH_PERMIT_NS;
	ok(send_fetch(2000, 7, true) == CONTROL_NOT_MEMBER,
	    "a permit that is not used expires after 30 s");
	rig_join_as(1000, (struct control_join){ .type = CONTROL_WORKER,
	    .elements = 4, .sends_state = true }, &a);
	rig_control(1000, CONTROL_LEAVE, 1, NULL, 0, &a);
	ok(send_fetch(1000, 0, false) != CONTROL_NOT_MEMBER,
	    "a member that has left may fetch");
	rigged_close(&rig_plane);
}

/* Is the Chunk that was sent last one with data? */
static bool
has_data(void)
{
	struct transfer_chunk k;
	struct control c;

	return rig_n > 0 && control_parse(rig_out[rig_n - 1].bytes,
	    rig_out[rig_n - 1].len, &c) && c.action == CONTROL_CHUNK &&
	    transfer_get_chunk(&c, &k) && k.ready;
}

/*
 * Seed 9570141212: the job continues while a state is sent, so its first Chunk
 * is too old when it is sent again.
 */
static void
test_old_state(void)
{
	const struct job_conf cf = rig_conf(2);
	const struct control_join j = { .type = CONTROL_WORKER, .elements = 4,
	    .sends_state = true, .repairs = true };
	struct control_join k = j;
	struct control_ack a;

	rig_open(&cf, 0);
	k.worker = 1;
	rig_join_as(1000, j, &a);
	rig_join_as(1001, k, &a);
	permit(2000);
	send_fetch(2000, 7, false);
	send_chunk(0, 1);
	ok(find_sent(CONTROL_CHUNK, NULL) == 2000 && has_data(),
	    "a Chunk of the state is passed on");
	for (uint32_t t = 0; t < 5; t++) {
		rig_segment(0, t, 0, 4, 1);
		rig_segment(1, t, 0, 4, 1);
	}
	send_fetch(2000, 7, false);
	send_chunk(0, 1);
	ok(find_sent(CONTROL_CHUNK, NULL) == 2000 && !has_data(),
	    "if the state is too old, the receiver must ask for another");
	rigged_close(&rig_plane);
}

/* One host does not get all places for receivers. */
static void
test_places(void)
{
	const struct job_conf cf = rig_conf(1);
	union addr at = rig_addr(1);
	struct transfer_fetch f = { .count = 1, .worker = 9 };
	uint8_t m[64];
	struct control c;
	int n = 0;

	rig_open(&cf, 0);
	join_worker(0);
	control_parse(m, (size_t)(transfer_put_fetch(control_put(m,
	    CONTROL_FETCH, 1, 1), &f) - m), &c);
	at.in.sin_addr.s_addr = htonl(0x0a000001);
	for (uint16_t port = 1; port <= 40; port++) {
		at.in.sin_port = htons(port);
		n += iswitch_receive_fetch(&rig, rig.job[0], &at, &c,
		    rig_now) == CONTROL_DONE;
	}
	ok(n == ISWITCH_RECEIVERS / 2, "one host gets half of the 40 places "
	    "for receivers");
	at.in.sin_addr.s_addr = htonl(0x0a000002);
	ok(iswitch_receive_fetch(&rig, rig.job[0], &at, &c, rig_now) ==
	    CONTROL_DONE, "another host gets a place");
	rigged_close(&rig_plane);
}

/* A receiver whose switch has restarted sends its Join again. */
static void
test_repeats_join(void)
{
	const struct membership_conf cf = { .type = CONTROL_WORKER, .job = 3,
	    .elements = 4, .floats_max = 4, .sends_state = true,
	    .give_up_ns = 5000000000 };
	struct membership in;
	struct state_transfer h = { 0 };
	struct control_join j;
	struct control c;
	uint8_t m[CONTROL_MAX_BYTES];
	size_t len;

	membership_init(&in, &cf, 1);
	in.join_next = 12;
	state_transfer_init(&h, 5);
	state_transfer_start_fetch(&h, &in, true, 1);
	len = state_transfer_next(&h, &in, 1, m);
	ok(control_parse(m, len, &c) && c.action == CONTROL_FETCH,
	    "a receiver sends Fetch");
	state_receiver_receive_status(&h.receiver, CONTROL_NOT_MEMBER, 2);
	len = state_transfer_next(&h, &in, state_transfer_deadline_ns(&h), m);
	ok(control_parse(m, len, &c) && c.action == CONTROL_JOIN &&
	    control_get_join(&c, &j) && j.next == 12,
	    "if the switch does not know the receiver, the receiver sends its "
	    "Join again");
	len = state_transfer_next(&h, &in, state_transfer_deadline_ns(&h), m);
	ok(control_parse(m, len, &c) && c.action == CONTROL_FETCH,
	    "then the receiver sends Fetch again");
	state_transfer_free(&h);
}

/*
 * Seed 7000029424: if many packets are lost, a sender that has sent Chunks may
 * seem to be silent for a while.
 */
static void
test_keeps_sender(void)
{
	const struct job_conf cf = rig_conf(3);

	rig_open(&cf, 0);
	for (uint32_t w = 0; w < 3; w++)
		join_worker(w);
	permit(2000);
	send_fetch(2000, 7, false);
	send_chunk(0, 1);
	for (int i = 0; i < 2 * ISWITCH_FETCH_TRIES; i++)
		send_fetch(2000, 7, false);
	ok(find_sent(CONTROL_FETCH, NULL) == 1000,
	    "a sender that has sent Chunks is not replaced at once");
	rig_now += ISWITCH_SENDER_NS;
	send_fetch(2000, 7, false);
	ok(find_sent(CONTROL_FETCH, NULL) == 1001,
	    "it is replaced if it sends none for 5 s");
	rigged_close(&rig_plane);
}

static void
test_relay(void)
{
	const struct job_conf cf = rig_conf(3);
	uint16_t receiver = 0;

	rig_open(&cf, 0);
	ok(send_fetch(2000, 7, false) == CONTROL_NO_JOB,
	    "without a job there is no state");
	for (uint32_t w = 0; w < 3; w++)
		join_worker(w);
	for (uint16_t i = 0; i < ISWITCH_RECEIVERS; i++)
		permit((uint16_t)(2000 + i));
	permit(3000);
	ok(send_fetch(2000, 7, false) == -1 &&
		find_sent(CONTROL_FETCH, &receiver) == 1000 && receiver == 1,
	    "the worker with the lowest number is the sender");
	ok(send_fetch(2001, 0, false) == -1 &&
		find_sent(CONTROL_FETCH, &receiver) == 1001 && receiver == 2,
	    "a worker that returned does not get its own state");
	send_chunk(0, 1);
	ok(find_sent(CONTROL_CHUNK, &receiver) == 2000 && receiver == 0,
	    "a chunk goes to the receiver that asked for it");
	send_chunk(2, 1);
	ok(find_sent(CONTROL_CHUNK, NULL) == 0, "a chunk of another worker is "
	    "dropped");
	send_chunk(0, 3);
	send_chunk(0, 0);
	send_chunk(0, UINT16_MAX);
	ok(find_sent(CONTROL_CHUNK, NULL) == 0 &&
		rig.n[ISWITCH_BAD_CONTROL] == 4,
	    "a chunk for an unknown receiver is dropped");
	for (int i = 1; i < ISWITCH_FETCH_TRIES; i++)
		send_fetch(2001, 0, false);
	ok(find_sent(CONTROL_FETCH, NULL) == 1001,
	    "a sender that sends nothing gets eight Fetches");
	send_fetch(2001, 0, false);
	ok(find_sent(CONTROL_FETCH, NULL) == 1002,
	    "then the next sender gets them");
	for (int i = 0; i < ISWITCH_FETCH_TRIES + 1; i++)
		send_fetch(2001, 0, false);
	ok(find_sent(CONTROL_FETCH, NULL) == 1001,
	    "after the last sender, the first one gets them again");
	for (uint16_t i = 2; i < ISWITCH_RECEIVERS; i++)
		send_fetch((uint16_t)(2000 + i), 7, false);
	ok(send_fetch(3000, 7, false) == CONTROL_NO_ROOM,
	    "the number of receivers is limited");
	rig_now += (uint64_t)ISWITCH_RECEIVER_NS + 1;
	ok(send_fetch(3000, 7, false) == -1, "a silent receiver makes room for "
	    "another");
	rigged_close(&rig_plane);
}

static void
test_waits(void)
{
	const struct job_conf cf = rig_conf(2);

	rig_open(&cf, 0);
	join_worker(0);
	join_worker(1);
	permit(2000);
	send_fetch(2000, 1, true);
	ok(rig.job[0]->core.halted &&
		find_sent(CONTROL_HALT, NULL) == UINT16_MAX,
	    "the job waits for a receiver");
	rig_now += (uint64_t)ISWITCH_RECEIVER_NS - 1;
	iswitch_run_deadlines(&rig, rig_now);
	ok(rig.job[0]->core.halted, "the job waits for a limited time");
	rig_n = 0;
	rig_now = iswitch_deadline_ns(&rig);
	iswitch_run_deadlines(&rig, rig_now);
	outbox_flush(rig.out);
	ok(!rig.job[0]->core.halted &&
		find_sent(CONTROL_RESUME, NULL) == UINT16_MAX,
	    "then the job resumes");
	send_fetch(1001, 1, true);
	ok(rig.job[0]->core.halted, "the job waits again for another receiver");
	rig_control(1001, CONTROL_LEAVE, 1, NULL, 0,
	    &(struct control_ack){ 0 });
	rig_join(1, 4, 0);
	ok(!rig.job[0]->core.halted, "the job resumes when the receiver has "
	    "joined");
	rigged_close(&rig_plane);
	rig_open(&cf, 0);
	rig.cf.strict = true;
	join_worker(0);
	permit(2000);
	send_fetch(2000, 1, false);
	ok(rig.job[0]->core.halted, "--strict: the job waits for any receiver");
	rig_control(1, CONTROL_RESUME, 1, NULL, 0, &(struct control_ack){ 0 });
	ok(!rig.job[0]->core.halted, "a user can resume the job");
	rigged_close(&rig_plane);
}

/*
 * A Chunk is forwarded to its receiver.  A Chunk that is not ready has no data,
 * whatever its length field says and however long it is.
 */
static void
test_chunk(void)
{
	uint8_t msg[CONTROL_MAX_BYTES], data[TRANSFER_CHUNK_BYTES] = { 0 };
	struct transfer_chunk k = { .receiver = 1, .data = data }, got;
	struct control c;

	for (int ready = 0; ready < 2; ready++) {
		for (uint32_t n = 0; n <= sizeof(data); n += sizeof(data)) {
			size_t len;

			k.ready = ready;
			k.snapshot = k.bytes = k.data_bytes = n;
			len = (size_t)(transfer_put_chunk(control_put(msg,
			    CONTROL_CHUNK, 1, 1), &k) - msg);
			ok(control_parse(msg, len, &c) &&
			    transfer_get_chunk(&c, &got) == (ready == (n > 0)),
			    "a Chunk that is %sready, of %u bytes, is accepted "
			    "only if it should be",
			    ready ? "" : "not ", n);
		}
	}
}

/* Only a snapshot of the sender's present iteration is sent twice. */
static void
test_snapshot_age(void)
{
	const struct transfer_fetch f = { .worker = 1, .count = 1 };
	struct state_sender d = { .worker = 0 };

	state_sender_receive_fetch(&d, &f, 10, 1);
	state_sender_set_snapshot(&d, calloc(1, 8), 8, 10, 1);
	state_sender_receive_fetch(&d, &f, 10, 2);
	ok(d.has && !d.wanted, "a snapshot of the present iteration is sent "
	    "again");
	state_sender_receive_fetch(&d, &f, 11, 3);
	ok(!d.has && d.wanted, "a snapshot of the previous iteration is not, "
	    "because no worker could join with it if a parent has few slots");
	state_sender_free(&d);
}

int
main(void)
{
	test_snapshot_age();
	test_permit();
	test_old_state();
	test_places();
	test_repeats_join();
	test_hand();
	test_heir();
	test_keeps_sender();
	test_relay();
	test_waits();
	test_chunk();
	return tap_end();
}
