/*
 * Test an asynchronous worker: what it sends, when it sends, and what ends it.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"
#include "common/iswitch/async-worker.h"
#include "tests/unit/tap.h"

#define MS ((uint64_t)1000000)
#define SECOND ((uint64_t)1000000000)

enum { ELEMENTS = 95, F = 10, SEGS = 10, RUN = 4 };

static struct async_worker w;
static struct async_worker_out o;
static uint64_t now;
static bool repairs;	/* the worker repairs losses */
static uint8_t vec[4 * F];

/* Make an Ack of a switch; each test uses the fields that it needs. */
static const struct control_ack ack = { .action = CONTROL_JOIN, .floats = F,
	.elements = ELEMENTS, .h = 2, .members = 1, .timeout_s = 9,
	.async = true };

static void
make_worker(const struct async_worker_conf *more)
{
	static const uint8_t zeros[4 * ELEMENTS];
	const struct membership_conf in = { .type = CONTROL_WORKER, .job = 3,
	    .number = 5, .elements = ELEMENTS, .async = true,
	    .floats_max = 366, .xid = 77, .give_up_ns = 5 * SECOND,
	    .repairs = repairs };
	struct async_worker_conf cf = *more;

	async_worker_free(&w);
	cf.gamma = 1;
	cf.staleness = 3;
	cf.run_segments = RUN;
	now = SECOND;
	assert(async_worker_init(&w, &in, &cf, zeros, now));
}

/*
 * Does the worker send this message, and is it about this Seg if it is a Help?
 */
static bool
writes_control(enum control_action action, uint64_t word)
{
	if (!async_worker_next(&w, now, &o) || o.count > 0 ||
	    o.message[0] != action)
		return false;
	return action != CONTROL_HELP ||
	    bytes_get(o.message + CONTROL_HEADER_BYTES, 8) == word;
}

/* Does the worker send this run? */
static bool
sends_run(uint32_t push, uint32_t first, uint32_t count)
{
	return async_worker_next(&w, now, &o) && o.count == count &&
	    o.first == first && o.iteration == push;
}

static bool
silent(void)
{
	return !async_worker_next(&w, now, &o);
}

/* The first n segments of the run have left. */
static void
count_sent(uint32_t n)
{
	async_worker_count_sent(&w, &o, n, now);
}

/* Send all of push k. */
static bool
pushes(uint32_t k)
{
	bool good = true;

	for (uint32_t i = 0; i < SEGS; i += RUN) {
		good = sends_run(k, i, SEGS - i < RUN ? SEGS - i : RUN) && good;
		count_sent(o.count);
	}
	return good;
}

static void
receive_ack(struct control_ack a, uint32_t xid)
{
	uint8_t p[CONTROL_MAX_BYTES];
	struct control c;

	assert(control_parse(p, (size_t)(control_put_ack(control_put(p,
	    CONTROL_ACK, 3, xid), &a) - p), &c));
	async_worker_receive_control(&w, &c, now);
}

/* Let the server ask for a segment of that push. */
static void
receive_help(uint32_t push, uint32_t index)
{
	uint8_t p[CONTROL_HEADER_BYTES + 8];
	struct control c;

	bytes_put(control_put(p, CONTROL_HELP, 3, 1), seg_word(push, 0, index),
	    8);
	assert(control_parse(p, sizeof(p), &c));
	async_worker_receive_control(&w, &c, now);
}

/* Receive segments first to last of a round. */
static void
receive_rounds(uint32_t round, uint32_t first, uint32_t last)
{
	for (uint32_t i = first; i <= last; i++) {
		const struct seg s = { .iteration = round, .index = i,
		    .contributions = 2, .vec = vec,
		    .n = seg_floats_at(ELEMENTS, F, i) };

		async_worker_receive_result(&w, &s, now);
	}
}

/* Make a member of a job whose next round is the first. */
static void
member(const struct control_ack *a, const struct async_worker_conf *more)
{
	make_worker(more);
	writes_control(CONTROL_JOIN, 0);
	receive_ack(*a, 77);
}

static void
test_joins(void)
{
	struct async_worker_conf cf = { .first = 7 };
	struct control_ack closed = ack;
	struct control_join join;
	struct control c;

	make_worker(&cf);
	ok(async_worker_deadline_ns(&w) == now &&
		!async_worker_is_ready(&w, true, now) &&
		writes_control(CONTROL_JOIN, 0) &&
		control_parse(o.message, o.len, &c) &&
		control_get_join(&c, &join) && join.async && join.next == 7 &&
		join.crc == async_weights_weights_crc(&w.weights) &&
		!join.again && silent(),
	    "a worker joins with its round and the checksum of its weights");
	closed.next = 7;
	closed.closed = true;
	receive_ack(closed, 77);
	ok(async_worker_is_ready(&w, true, now) &&
		!async_worker_is_ready(&w, false, now),
	    "a worker that has joined accepts a gradient if the socket has "
	    "room");
	async_worker_commit(&w, now);
	ok(silent() && async_worker_deadline_ns(&w) == now + 50 * MS,
	    "a worker keeps its gradient while others have not joined");
	now += 50 * MS;
	writes_control(CONTROL_JOIN, 0);
	closed.closed = false;
	receive_ack(closed, 78);
	ok(async_worker_deadline_ns(&w) <= now && pushes(0) && silent() &&
	    w.n[ASYNC_WORKER_SENT] == 1 && w.n[ASYNC_WORKER_SEGMENTS] == SEGS,
	    "then the worker sends its gradient in runs");
}

static void
test_room(void)
{
	struct async_worker_conf paced = { .pace_bps =
	    8 * (SEG_HEADER_BYTES + 4 * F) * 2000 };

	member(&ack, &(struct async_worker_conf){ 0 });
	async_worker_commit(&w, now + MS);
	ok(silent() && async_worker_deadline_ns(&w) == now + MS,
	    "a worker waits until its pace allows the next packet");
	now += MS;
	sends_run(0, 0, RUN);
	count_sent(1);
	ok(silent() && async_worker_deadline_ns(&w) > now,
	    "without room in the socket a worker sends nothing, and sets no "
	    "deadline");
	async_worker_note_room(&w);
	ok(sends_run(0, 1, RUN) && !async_worker_is_ready(&w, true, now),
	    "with room in the socket the worker continues from there");
	count_sent(RUN);
	sends_run(0, 1 + RUN, RUN);
	count_sent(RUN);
	sends_run(0, 1 + 2 * RUN, 1);
	count_sent(1);
	ok(silent() && async_worker_is_ready(&w, true, now),
	    "after all of a gradient has left, the next can come");

	member(&ack, &paced);
	async_worker_commit(&w, now);
	ok(sends_run(0, 0, 2), "2,000 segments a second are 2 in a "
	    "millisecond");
	count_sent(2);
	ok(silent() && async_worker_deadline_ns(&w) == now + MS,
	    "the next millisecond has its own segments");
	now += MS + MS / 2;
	sends_run(0, 2, 2);
	count_sent(2);
	ok(silent() && async_worker_deadline_ns(&w) == now + MS / 2,
	    "a worker that runs late keeps to its times");
	now += 5 * MS;
	sends_run(0, 4, 2);
	count_sent(2);
	ok(sends_run(0, 6, 2), "a worker makes up for one millisecond");
	count_sent(2);
	ok(silent() && async_worker_deadline_ns(&w) == now + MS,
	    "a worker does not make up for more");
}

static void
test_rounds(void)
{
	member(&ack, &(struct async_worker_conf){ 0 });
	async_worker_commit(&w, now);
	pushes(0);
	receive_rounds(0, 0, 4);
	ok(!async_worker_is_ready(&w, true, now) &&
	    async_worker_ready_ns(&w) == now + 20 * MS,
	    "within a round a worker waits up to 20 ms for the next gradient");
	receive_rounds(0, 5, SEGS - 1);
	ok(async_worker_is_ready(&w, true, now) && w.weights.t_s == 1,
	    "after a round a worker takes the next gradient at once");
	now += MS;
	receive_rounds(2, 3, 3);
	ok(writes_control(CONTROL_HELP, seg_word(1, 0, 3)) && silent(),
	    "an early result shows which one must be requested");
	async_worker_commit(&w, now);
	now = w.weights.retry_ns;
	pushes(1);
	ok(writes_control(CONTROL_HELP, seg_word(1, 0, 3)),
	    "a Help goes after the segments that can leave");
	ok(async_worker_is_fresh(&w, 3) && !async_worker_is_fresh(&w, 4),
	    "a gradient that is more than S rounds old is not sent");
}

static void
test_server(void)
{
	struct control_ack server = ack;
	bool good = true;

	server.whole = true;
	member(&server, &(struct async_worker_conf){ 0 });
	receive_help(0, 0);
	ok(silent(), "before its first push a worker ignores requests for "
	    "segments");
	async_worker_commit(&w, now);
	sends_run(0, 0, RUN);
	count_sent(RUN);
	receive_help(0, RUN - 1);
	receive_help(0, RUN);
	receive_help(1, 0);
	ok(sends_run(0, RUN - 1, 1) && o.again,
	    "a worker sends a requested segment again");
	count_sent(1);
	ok(sends_run(0, RUN, RUN) && !o.again,
	    "a worker does not send a segment that was not sent yet, or of "
	    "another gradient");
	count_sent(RUN);
	sends_run(0, 2 * RUN, 2);
	count_sent(2);
	ok(!async_worker_is_ready(&w, true, now) &&
	    async_worker_ready_ns(&w) == ASYNC_WORKER_NEVER,
	    "the next gradient waits for the answer");
	for (uint32_t i = 2; i < SEGS; i++)
		receive_help(0, i);
	for (uint32_t i = 2; i < SEGS; i += RUN) {
		good = good && sends_run(0, i, RUN) && o.again;
		count_sent(o.count);
	}
	ok(good && silent(), "successive segments are sent in runs");
	now += SECOND - 1;
	while (async_worker_next(&w, now, &o) && o.count == 0)
		;
	ok(o.count == 0 && async_worker_deadline_ns(&w) <= now + 1,
	    "the worker sends nothing before the second is over");
	now++;
	ok(pushes(0) && w.n[ASYNC_WORKER_SENT] == 1 &&
	    w.n[ASYNC_WORKER_SEGMENTS] == SEGS &&
	    w.n[ASYNC_WORKER_RESENT] == 1 + 8 + SEGS,
	    "after a second of silence all of the push is sent again");
	receive_rounds(0, 0, SEGS - 1);
	ok(async_worker_is_ready(&w, true, now),
	    "the worker does that until there is an answer");
}

/* Has the worker ended with this reason? */
static void
ended_with(enum async_worker_end end, const char *words)
{
	char why[ASYNC_WORKER_WHY_BYTES];

	ok(!async_worker_is_going(&w) && w.end == end && silent() &&
	    async_worker_deadline_ns(&w) == ASYNC_WORKER_NEVER &&
	    strcmp(async_worker_why(&w, why), words) == 0, "%s", why);
}

/* Evict after `rounds` rounds, then join again a job that is at `next`. */
static void
join_again(uint32_t rounds, uint32_t next)
{
	struct control_ack a = ack, out = { .action = CONTROL_HELP,
	    .status = CONTROL_NOT_MEMBER };

	member(&ack, &(struct async_worker_conf){ 0 });
	for (uint32_t r = 0; r < rounds; r++)
		receive_rounds(r, 0, SEGS - 1);
	receive_ack(out, 78);
	writes_control(CONTROL_JOIN, 0);
	a.next = next;
	receive_ack(a, w.in.join_xid);
}

/* Drop all messages of the worker until it ends. */
static void
test_wait(void)
{
	for (int i = 0; async_worker_is_going(&w) && i < 10000; i++) {
		while (async_worker_next(&w, now, &o)) {
			if (o.count > 0)
				count_sent(o.count);
			else if (o.message[0] == CONTROL_JOIN)
				receive_ack(ack, w.in.join_xid);
		}
		if (async_worker_is_going(&w))
			now = async_worker_deadline_ns(&w);
	}
}

static void
test_ends(void)
{
	struct control_ack no = ack, gone = { .action = CONTROL_HELP,
	    .status = CONTROL_GONE, .seg = seg_word(0, 0, 1) };
	uint64_t since;

	make_worker(&(struct async_worker_conf){ 0 });
	writes_control(CONTROL_JOIN, 0);
	no.status = CONTROL_NO_ROOM;
	receive_ack(no, 77);
	ended_with(ASYNC_WORKER_GOING, "job 3: refused: no room");
	member(&ack, &(struct async_worker_conf){ 0 });
	async_worker_commit(&w, now);
	receive_rounds(0, 0, 2);
	since = now;
	test_wait();
	ended_with(ASYNC_WORKER_STUCK,
	    "job 3: round 0 of segment 3 did not arrive in 5.0 s; members that "
	    "have joined: 1, contributions needed: 2");
	ok(now >= since + 5 * SECOND && now < since + 6 * SECOND,
	    "the worker gives up in time");
	member(&ack, &(struct async_worker_conf){ 0 });
	receive_ack(gone, 1);
	ended_with(ASYNC_WORKER_GONE,
	    "job 3: round 0 of segment 1 is no longer kept by the switch; "
	    "restore weights that all workers share");
	join_again(3, 2);
	ended_with(ASYNC_WORKER_AHEAD,
	    "job 3: round 3 of segment 0 is not known to the switch, which was "
	    "restarted; restore weights that all workers share");
	join_again(3, 5);
	ok(async_worker_is_going(&w) && !async_worker_is_ready(&w, true, now) &&
	    writes_control(CONTROL_HELP, seg_word(2, 0, 0)),
	    "a worker that joins again requests its last result");
	vec[0]++;
	receive_rounds(2, 0, 0);
	ended_with(ASYNC_WORKER_OTHER,
	    "job 3: round 2 of segment 0 is different at the switch, which was "
	    "restarted; restore weights that all workers share");
	join_again(3, 5);
	test_wait();
	ended_with(ASYNC_WORKER_SILENT,
	    "job 3: round 2 of segment 0 is not reported by the switch, which "
	    "may have been restarted; restore weights that all workers share");
	join_again(3, 5);
	receive_rounds(2, 0, 0);
	ok(async_worker_is_ready(&w, true, now),
	    "with its own result the worker continues");
	async_worker_leave(&w, now);
	ok(!async_worker_is_ready(&w, true, now) &&
		writes_control(CONTROL_LEAVE, 0),
	    "the worker leaves when it is told to");
}

/* Rounds that a worker lacks need pushes of others, which wait too. */
static void
test_behind(void)
{
	member(&ack, &(struct async_worker_conf){ 0 });
	for (uint32_t round = 0; round < 3; round++)
		receive_rounds(round, 0, 0);
	ok(async_weights_is_behind(&w.weights) &&
	    !async_worker_is_ready(&w, true, now),
	    "a worker that lacks rounds does not push");
	now += ASYNC_WEIGHTS_QUIET_MAX_NS;
	ok(async_worker_is_ready(&w, true, now),
	    "a worker that lacks rounds pushes after a second of silence");
}

/* A server on a bad network: its part of the push, and its answers. */
struct server {
	struct rng rng;
	double loss;
	bool has[SEGS];
	uint32_t push, have;
	uint64_t quiet_ns;
};

static bool
lose_packet(struct server *s)
{
	return rng_double(&s->rng) < s->loss;
}

/* Pass a segment to the server. */
static void
server_takes(struct server *s, uint32_t push, uint32_t i)
{
	if (push != s->push || s->has[i])
		return;
	s->has[i] = true;
	s->quiet_ns = now + 20 * MS;
	if (++s->have < SEGS)
		return;
	memset(s->has, 0, sizeof(s->has));
	s->push++;
	s->have = 0;
	for (uint32_t k = 0; k < SEGS; k++) {
		if (!lose_packet(s))
			receive_rounds(push, k, k);
	}
}

/* Exchange messages with the server; requests and answers can be lost. */
static void
exchange(struct server *s)
{
	while (async_worker_next(&w, now, &o)) {
		const struct seg g = seg_split(bytes_get(o.message +
		    CONTROL_HEADER_BYTES, 8));
		const uint32_t n = o.count > 2 ? o.count - 1 : o.count;

		if (o.count == 0 && o.message[0] == CONTROL_HELP &&
		    g.iteration < s->push && !lose_packet(s) && !lose_packet(s))
			receive_rounds(g.iteration, g.index, g.index);
		if (o.count == 0)
			continue;
		async_worker_count_sent(&w, &o, n, now);
		async_worker_note_room(&w);
		for (uint32_t i = 0; i < n; i++) {
			if (!lose_packet(s))
				server_takes(s, o.iteration, o.first + i);
		}
	}
	for (uint32_t i = 0; i < SEGS && s->have > 0 && now >= s->quiet_ns;
	    i++) {
		if (!s->has[i] && !lose_packet(s))
			receive_help(s->push, i);
	}
}

static void
test_loss(void)
{
	struct server s = { .rng = rng_seed(1), .loss = 0.2 };
	struct control_ack a = ack;
	uint32_t done = 0;

	a.whole = true;
	a.timeout_s = 10000;
	member(&a, &(struct async_worker_conf){ 0 });
	for (int i = 0; i < 1000000 && done < 500; i++) {
		now += MS;
		exchange(&s);
		if (async_worker_is_ready(&w, true, now)) {
			async_worker_commit(&w, now);
			done++;
		}
	}
	ok(done == 500 && async_worker_is_going(&w) && s.push >= 499 &&
	    w.n[ASYNC_WORKER_RESENT] > 0, "a server answers all of 500 "
	    "gradients although 20 %% of the packets are lost both ways");
}

/*
 * Found by fuzzing: the switch restarts as a switch that does not repair
 * losses, before it has acknowledged the segments.  The worker once sent empty
 * messages without end.
 */
static void
test_no_repair(void)
{
	struct control_ack a = ack, out = { .action = CONTROL_HELP,
	    .status = CONTROL_NOT_MEMBER };

	a.repairs = repairs = true;
	member(&a, &(struct async_worker_conf){ 0 });
	async_worker_commit(&w, now);
	pushes(0);
	receive_ack(out, 78);
	writes_control(CONTROL_JOIN, 0);
	receive_ack(a, w.in.join_xid);
	ok(pushes(0) && w.sent == SEGS,
	    "a worker sends its gradient again to a restarted switch");
	receive_help(0, SEGS);
	ok(w.asks == w.asked, "a request for a segment beyond the vector is "
	    "ignored");
	receive_ack(out, w.in.join_xid + 1);
	writes_control(CONTROL_JOIN, 0);
	a.repairs = repairs = false;
	receive_ack(a, w.in.join_xid);
	ok(pushes(0) && !w.busy && w.n[ASYNC_WORKER_SENT] == 1,
	    "a worker sends its gradient again to a switch that does not "
	    "repair losses");
}

int
main(void)
{
	test_joins();
	test_room();
	test_rounds();
	test_behind();
	test_server();
	test_ends();
	test_loss();
	test_no_repair();
	async_worker_free(&w);
	return tap_end();
}
