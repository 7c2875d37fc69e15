/* Test synchronous workers: results, windows and signs of life. */
#include "tests/unit/iswitch/sync-workers.h"

static void
test_clean(struct world *w)
{
	static const uint32_t length[] = { 1, F - 1, F, F + 1, 5 * F + 3,
	    ELEMENTS };
	bool well = true;
	uint64_t helps = 0;

	for (int n = 1; n <= WORKERS; n++) {
		for (size_t i = 0; i < sizeof(length) / sizeof(*length); i++) {
			begin(w, n, length[i], 50, 0, 1);
			well = all_well(w) && well;
			helps += total(w, SYNC_WORKER_RETRANSMITTED);
			well = well && total(w, SYNC_WORKER_MISSED) == 0 &&
			    total(w, SYNC_WORKER_PARTIAL) == 0;
			end(w);
		}
	}
	ok(well, "sums are right for 1 to 8 workers and lengths of 1, F-1, F, "
	    "F+1 and more");
	note("%llu segments sent again", (unsigned long long)helps);
}

static void
test_life(struct world *w)
{
	uint64_t said;
	bool well;

	begin(w, 2, ELEMENTS, 3, 0, 1);
	w->doer[0].think_ns = w->doer[1].think_ns = 20000 * MS;
	well = all_well(w);
	said = joins(w);
	ok(well && said >= 2 * 11 && said <= 2 * 14,
	    "a worker that computes for long sends a sign of life each third "
	    "of the timeout: %llu Joins",
	    (unsigned long long)said);
	end(w);
}

/* Test results that are invalid. */
static void
test_nonsense(struct world *w)
{
	uint8_t vec[4 * F] = { 0 };
	struct seg s = { .contributions = 1, .n = F, .vec = vec };
	struct sync_worker *l = &w->doer[0].l;
	enum sync_worker_verdict v[7];

	begin(w, 1, ELEMENTS, 1000, 0, 1);
	v[0] = sync_worker_receive_result(l, &s, 0);
	while (step(w) && w->doer[0].done < 5)
		;
	s.iteration = l->t;
	s.index = SEGS;
	v[1] = sync_worker_receive_result(l, &s, w->now_ns);
	s.index = 0;
	s.n = F - 1;
	v[2] = sync_worker_receive_result(l, &s, w->now_ns);
	s.n = F;
	s.contributions = 0;
	v[3] = sync_worker_receive_result(l, &s, w->now_ns);
	s.contributions = 1;
	s.iteration = seg_step(l->t, -1);
	v[4] = sync_worker_receive_result(l, &s, w->now_ns);
	s.iteration = seg_step(l->t, 1);
	s.index = 3;
	v[5] = sync_worker_receive_result(l, &s, w->now_ns);
	v[6] = sync_worker_receive_result(l, &s, w->now_ns);
	ok(v[0] == SYNC_WORKER_BAD_INDEX && v[1] == SYNC_WORKER_BAD_INDEX &&
	    v[2] == SYNC_WORKER_BAD_LENGTH && v[3] == SYNC_WORKER_BAD_INDEX &&
	    v[4] == SYNC_WORKER_STALE, "invalid results are refused");
	ok(v[5] == SYNC_WORKER_TAKE && v[6] == SYNC_WORKER_DUPLICATE,
	    "a result of the next iteration is accepted once");
	s.iteration = seg_step(l->t, 2);
	ok(sync_worker_receive_result(l, &s, w->now_ns) == SYNC_WORKER_AHEAD &&
	    l->verdicts[SYNC_WORKER_BAD_INDEX] == 3,
	    "a result of a later iteration is refused");
	end(w);
}

/* A worker that knows only Help is challenged while it waits for results. */
static void
test_challenged(struct world *w)
{
	struct sync_worker *l = &w->doer[0].l;
	struct control_ack a = { .action = CONTROL_JOIN, .timeout_s = 10 };
	uint8_t m[CONTROL_MAX_BYTES];
	struct control c;
	bool paused;

	begin(w, 1, ELEMENTS, 1000, 0, 1);
	while (step(w) && w->doer[0].done < 5)
		;
	l->repairs = false;
	l->flight = 1;		/* a result is outstanding */
	l->in.instance = 7;
	c = (struct control){ .action = CONTROL_ACK, .job = l->in.cf.job };
	membership_receive_doubtful(&l->in, CHANNEL_CLIENT_CHALLENGED, &c,
	    w->now_ns);
	membership_next(&l->in, w->now_ns, &(struct membership_place){ 0 }, m);
	sync_worker_arm_timer(l, w->now_ns);
	paused = l->timer_ns == SYNC_WORKER_NEVER;
	a.instance = l->in.instance;
	a.elements = l->in.cf.elements;
	a.floats = l->in.floats;
	control_parse(m, (size_t)(control_put_ack(control_put(m, CONTROL_ACK,
	    l->in.cf.job, l->in.join_xid), &a) - m), &c);
	sync_worker_receive_control(l, &c, w->now_ns);
	ok(paused && l->in.joined && l->timer_ns != SYNC_WORKER_NEVER,
	    "a challenged worker that knows only Help waits for results again "
	    "when its Join is answered");
	end(w);
}

static void
test_window(struct world *w)
{
	struct sync_worker *l = &w->doer[0].l;

	begin(w, 1, ELEMENTS, 1, 0, 1);
	l->floats = 366;
	l->cf.window = 0;
	l->cf.run_bytes = 65507;
	l->cf.buffer_bytes = 16 << 20;
	ok(sync_worker_window_first(l) == 88 &&
	    sync_worker_window_max(l) == 1024,
	    "the first window is two full runs of 44 segments");
	l->floats = 16374;
	l->in.members = 4;
	ok(sync_worker_window_first(l) == 32, "the first window is at most "
	    "half of the buffer for all");
	l->cf.buffer_bytes = 212992;
	ok(sync_worker_window_first(l) == 2, "the first window has at least "
	    "two segments");
	l->floats = 366;
	l->cf.window = 10;
	ok(sync_worker_window_first(l) == 10, "the first window is at most the "
	    "one that was requested");
	l->window = l->slow = 4;
	for (int i = 0; i < 9; i++)
		sync_worker_widen_window(l);
	ok(l->window == 6, "beyond the size at which packets were lost the "
	    "window grows slowly");
	l->slow = 10;
	for (int i = 0; i < 9; i++)
		sync_worker_widen_window(l);
	ok(l->window == 10, "before that the window grows with each result, up "
	    "to its limit");
	end(w);
}

/*
 * A member that was there from iteration 0 on passes half of all iteration
 * numbers.
 */
static void
test_long(struct world *w)
{
	static const uint8_t vec[4 * F];
	struct seg s = { .contributions = 1, .n = F, .vec = vec };
	struct sync_worker *l = &w->doer[0].l;

	begin(w, 1, F, 1, 0, 1);
	while (!l->in.joined && step(w))
		;
	for (uint32_t k = 0; k < SEG_ITERATIONS / 2 + 2; k++) {
		s.iteration = l->t;
		sync_worker_set_gradient(l, w->now_ns);
		sync_worker_receive_result(l, &s, w->now_ns);
		sync_worker_advance(l, w->now_ns);
	}
	ok(l->t == SEG_ITERATIONS / 2 + 2 && !sync_worker_fetches(l),
	    "a worker contributes after 8 million iterations");
	end(w);
}

/*
 * Drop all that the worker sends now; is the last message a Help for segment i
 * of t?
 */
static bool
asks(struct sync_worker *l, uint32_t i, uint64_t now_ns)
{
	struct sync_worker_out o = { 0 };

	while (sync_worker_next(l, now_ns, &o))
		;
	return o.len > 0 && o.count == 0 && o.message[0] == CONTROL_HELP &&
	    bytes_get(o.message + 8, 8) == seg_word(l->t, 0, i);
}

/* Receive segments first to last of an answer, step_ns apart. */
static void
answers(struct sync_worker *l, uint32_t t, uint32_t first, uint32_t last,
    uint64_t step_ns, uint64_t *now_ns)
{
	static const uint8_t vec[4 * F];
	const struct seg s = { .contributions = 1, .n = F, .vec = vec,
	    .iteration = t };

	for (uint32_t i = first; i <= last; i++) {
		struct seg g = s;

		*now_ns += step_ns;
		g.index = i;
		sync_worker_receive_result(l, &g, *now_ns);
	}
}

/*
 * The last segment arrives that long after its request; return the time of the
 * request.
 */
static uint64_t
silence(struct sync_worker *l, uint64_t more_ns, uint64_t *now_ns)
{
	const uint32_t t = l->t;
	uint64_t since;

	sync_worker_set_gradient(l, *now_ns);
	asks(l, 0, *now_ns);
	answers(l, t, 0, SEGS - 2, 0, now_ns);
	since = *now_ns;
	while (!asks(l, SEGS - 1, *now_ns))
		*now_ns += MS / 2;
	since = *now_ns - since;
	answers(l, t, SEGS - 1, SEGS - 1, more_ns, now_ns);
	sync_worker_advance(l, *now_ns);
	return since;
}

/* Test a server that answers whole vectors. */
static void
test_whole(struct world *w)
{
	const struct control_ack a = { .action = CONTROL_JOIN,
	    .elements = ELEMENTS, .floats = F, .h = 1, .members = 1,
	    .timeout_s = 10000, .whole = true };
	struct sync_worker *l = &w->doer[0].l;
	uint64_t now_ns = 0, ns;
	uint8_t msg[CONTROL_MAX_BYTES];
	bool same = true;
	struct control c;

	begin(w, 1, ELEMENTS, 1, 0, 1);
	asks(l, 0, now_ns);
	assert(control_parse(msg, (size_t)(control_put_ack(control_put(msg,
	    CONTROL_ACK, 7, l->in.join_xid), &a) - msg), &c));
	sync_worker_receive_control(l, &c, now_ns);
	l->n[SYNC_WORKER_ITERATIONS] = 1;		/* the job is open */
	for (int k = 0; k < 8; k++) {
		ns = silence(l, 0, &now_ns);
		same = same && ns == 20 * MS;
	}
	ok(same, "the worker finds the eighth loss of an answer as soon as the "
	    "first");
	silence(l, 15 * MS, &now_ns);
	ns = silence(l, 0, &now_ns);
	ok(ns > 47 * MS && ns <= 50 * MS,
	    "if segments are late, the worker waits longer for the next");
	l->rtt = (struct rtt){ 0 };
	sync_worker_set_gradient(l, now_ns);
	asks(l, 0, now_ns);
	answers(l, l->t, 0, 0, 5 * MS, &now_ns);
	answers(l, l->t, 1, SEGS - 1, MS, &now_ns);
	ok(l->rtt.srtt_ns == 5 * MS && l->rtt.var_ns == 5 * MS / 2,
	    "a whole answer gives one round trip time");
	end(w);
}

/* A worker that comes late replaces workers that have left. */
static void
test_inherits(struct world *w)
{
	struct control_ack a = { .action = CONTROL_JOIN, .h = 1, .members = 1,
	    .next = 6, .floats = F, .elements = F, .timeout_s = 10,
	    .repairs = true };
	struct sync_worker *l = &w->doer[0].l;
	struct sync_worker_out o;
	uint8_t m[CONTROL_MAX_BYTES];
	struct control c;
	bool early = false;

	begin(w, 1, F, 1, 5, 1);
	for (int k = 0; k < 2; k++, a.next = 5) {
		membership_join(&l->in, w->now_ns);
		while (sync_worker_next(l, w->now_ns, &o) && o.count == 0 &&
		    o.message[0] != CONTROL_JOIN)
			;
		control_parse(o.message, o.len, &c);
		control_parse(m, (size_t)(control_put_ack(control_put(m,
		    CONTROL_ACK, 7, c.xid), &a) - m), &c);
		sync_worker_receive_control(l, &c, w->now_ns);
		if (k == 0)
			sync_worker_set_gradient(l, w->now_ns);
		while (k == 0 && sync_worker_next(l, w->now_ns, &o))
			early = early || o.count > 0;
	}
	ok(!early && sync_worker_next(l, w->now_ns, &o) && o.count == 1 &&
	    o.iteration == 5, "a late worker contributes to an iteration from "
	    "which others have left");
	end(w);
}

int
main(void)
{
	struct world *w = world_open();

	test_clean(w);
	test_life(w);
	test_nonsense(w);
	test_challenged(w);
	test_window(w);
	test_long(w);
	test_whole(w);
	test_inherits(w);
	world_close(w);
	return tap_end();
}
