/* Test synchronous workers that lose packets, their switch or other workers. */
#include "tests/unit/iswitch/sync-workers.h"

static void
test_bad_network(struct world *w)
{
	static const double loss[] = { 0.001, 0.01, 0.05, 0.3 };

	for (int i = 0; i < 4; i++) {
		bool well = true;
		uint64_t took = 0;

		for (uint64_t seed = 0; seed < 4; seed++) {
			begin(w, 4, 3 * F + 1, 1500, SEG_ITERATIONS - 700,
			    seed);
			w->loss = loss[i];
			w->dup = w->reorder = 0.02;
			well = all_well(w) && well;
			took += w->now_ns;
			end(w);
		}
		ok(well, "4 workers with %g %% lost, duplicated and late "
		    "packets sum 6,000 iterations correctly", loss[i] * 100);
		note("%.2f ms an iteration", (double)took / 6000 / 1e6);
	}
}

/* Do some workers have a result that others lack? */
static bool
apart(const struct world *w)
{
	for (int k = 1; k < w->workers; k++) {
		if (w->doer[k].done != w->doer[0].done)
			return true;
	}
	return false;
}

static void
test_restarts(struct world *w, bool when_apart)
{
	bool well = true;
	unsigned restarts = 0;

	for (uint64_t seed = 0; seed < 8; seed++) {
		const unsigned most = restarts + 10;

		begin(w, 4, ELEMENTS, 400, 0, seed);
		w->loss = seed % 2 == 0 ? 0.001 : 0.01;
		for (uint64_t at = 50 * MS, together = 0; step(w);) {
			if (!when_apart || !apart(w))
				together = w->now_ns;
			if (w->now_ns < at || restarts == most ||
			    w->doer[0].done + 20 > w->goal ||
			    (when_apart && w->now_ns - together < MS / 4))
				continue;	/* no result is lost yet */
			at = w->now_ns + 30 * MS +
			    rng_below(&w->rng, 100 * MS);
			hub_restart(w);
			restarts++;
		}
		well = all_well(w) && well;
		end(w);
	}
	ok(well && restarts > 20, "sums are right with a switch that forgets "
	    "everything %u "
	    "times%s", restarts, when_apart ? ", when some have a result that "
	    "others lack" : "");
}

static void
test_early(struct world *w)
{
	begin(w, 4, ELEMENTS, 300, 0, 5);
	w->hub.straggler_ns = 2 * MS;
	w->early = true;
	w->loss = 0.01;
	w->doer[3].think_ns = 9 * MS;
	ok(all_well(w) && w->doer[3].partial, "a worker that is too slow for "
	    "the others gets every result in order");
	ok(w->doer[3].l.n[SYNC_WORKER_MISSED] > 100,
	    "the gradients of a slow worker are discarded and counted: %llu "
	    "missed",
	    (unsigned long long)w->doer[3].l.n[SYNC_WORKER_MISSED]);
	end(w);
}

/* A worker ends in time, with a message that names the thing it waited for. */
static void
ends(struct world *w, int k, const char *words, const char *what)
{
	char why[SYNC_WORKER_WHY_BYTES];

	while (step(w))
		;
	sync_worker_why(&w->doer[k].l, why);
	ok(!sync_worker_is_going(&w->doer[k].l) && strstr(why, words) != NULL &&
	    w->now_ns < 40000 * MS, "%s: %s", what, why);
	end(w);
}

static void
test_ends(struct world *w)
{
	begin(w, 4, ELEMENTS, 10, 0, 1);
	w->doer[2].dead = true;
	while (step(w))
		;
	ok(w->doer[0].l.text != NULL && strstr(w->doer[0].l.text,
	    "members") != NULL, "a worker that waits asks for the list of "
	    "members");
	ends(w, 0, "segment 0 of iteration 0 in 30.0 s",
	    "one that never joins");
	begin(w, 4, ELEMENTS, 10, 0, 1);
	w->hub.dead = true;
	ends(w, 1, "no answer to a Join after 30.0 s",
	    "no switch");
	begin(w, 2, ELEMENTS, 100000, 0, 1);
	while (step(w) && w->doer[1].done < 5)
		;
	w->doer[1].dead = true;
	ends(w, 0, "no result for segment",
	    "one that dies mid-vector");
	begin(w, 2, ELEMENTS, 100000, 0, 1);
	while (step(w) && w->doer[1].done < 5)
		;
	w->hub.dead = true;
	ends(w, 0, "no result for segment",
	    "a switch that dies");
	begin(w, 1, ELEMENTS, 10, 3, 1);
	w->hub.fails = CONTROL_REFUSED;
	ends(w, 0, "restore the weights of iteration 12",
	    "other weights");
	begin(w, 1, ELEMENTS, 10, 3, 1);
	w->hub.fails = CONTROL_BAD_VALUE;
	w->hub.elements = 77;
	ends(w, 0, "its vectors have 77 elements, 8 in a "
	    "segment; the vector of this worker has 128", "another length");
	begin(w, 1, ELEMENTS, 10, 3, 1);
	w->hub.fails = CONTROL_NO_ROOM;
	ends(w, 0, "no room", "a full switch");
}

/* Deliver a message of the switch to worker k. */
static void
tell(struct world *w, int k, enum control_action action)
{
	uint8_t msg[8];
	struct control c;

	control_put(msg, (uint8_t)action, 7, 1);
	assert(control_parse(msg, 8, &c));
	sync_worker_receive_control(&w->doer[k].l, &c, w->now_ns);
}

static void
test_halt(struct world *w)
{
	uint64_t until;
	bool well = true;

	begin(w, 2, ELEMENTS, 2000, 0, 1);
	while (step(w) && w->doer[0].done < 500)
		;
	w->hub.halted = true;
	until = w->now_ns + 300000 * MS;
	while (step(w) && w->now_ns < until)
		;
	well = w->doer[0].l.end == SYNC_WORKER_GOING &&
	    w->doer[0].l.in.halted &&
	    w->doer[0].done < 510;
	ok(well && joins(w) < 2 * 310, "halted workers stop their timers and "
	    "ask once a second: %llu Joins",
	    (unsigned long long)joins(w));
	w->hub.halted = false;
	tell(w, 0, CONTROL_RESUME);
	ok(all_well(w), "halted workers continue when they may, with or "
	    "without a Resume");
	end(w);

	begin(w, 1, ELEMENTS, 2000, 0, 1);
	while (step(w) && w->doer[0].done < 5)
		;
	tell(w, 0, CONTROL_RESET);
	ends(w, 0, "was reset", "a Reset ends the workers");
}

/*
 * Deliver the results of this iteration and the next to worker k, as if sent
 * late.
 */
static void
give_results(struct world *w, int k)
{
	struct doer *d = &w->doer[k];
	static const uint8_t vec[4 * F];
	struct seg s = { .contributions = 2, .n = F, .vec = vec,
	    .iteration = d->l.t };

	for (s.index = 0; s.index < SEGS; s.index++)
		sync_worker_receive_result(&d->l, &s, w->now_ns);
	if (sync_worker_is_whole(&d->l))
		sync_worker_advance(&d->l, w->now_ns);
}

/*
 * Deliver an Ack of a Join to worker k, with instance 9 of the job.  repairs:
 * the switch knows Probes.
 */
static void
let_in_as(struct world *w, int k, bool repairs)
{
	uint8_t msg[256], *p;
	struct control c;

	p = control_put_ack(control_put(msg, CONTROL_ACK, 7,
	    w->doer[k].l.in.join_xid), &(struct control_ack){
	    .action = CONTROL_JOIN, .elements = ELEMENTS, .floats = F,
	    .h = 2, .members = 2, .instance = 9, .repairs = repairs });
	assert(control_parse(msg, (size_t)(p - msg), &c));
	sync_worker_receive_control(&w->doer[k].l, &c, w->now_ns);
}

static void
let_in(struct world *w, int k)
{
	let_in_as(w, k, false);
}

/*
 * Let worker l send everything that is due after a second; return its last
 * Probe.
 */
static uint32_t
await_probe(struct world *w, struct sync_worker *l, uint32_t *segments)
{
	struct sync_worker_out o;
	struct control c;
	uint32_t xid = 0;

	*segments = 0;
	w->now_ns += 1000 * MS;
	while (sync_worker_next(l, w->now_ns, &o)) {
		*segments += o.count;
		if (o.count == 0 && control_parse(o.message, o.len, &c) &&
		    repair_is_help(&c))
			xid = c.xid;
	}
	return xid;
}

/* The STATE that answers the Probe with that xid lacks segment 3. */
static void
lack_segment(struct world *w, struct sync_worker *l, uint32_t xid)
{
	const uint8_t bits = 1 << 3;
	const struct repair_state st = { .iteration = l->t, .seen =
	    l->retransmit.serial, .lacks = { .bits = &bits, .bytes = 1 } };
	uint8_t msg[CONTROL_MAX_BYTES];
	struct control c;

	assert(control_parse(msg, (size_t)(repair_put_state(control_put(msg,
	    CONTROL_ACK, 7, xid), &st) - msg), &c));
	sync_worker_receive_control(l, &c, w->now_ns);
}

/* A result of an earlier instance of the job arrives late. */
static void
test_late_result(struct world *w)
{
	static const uint8_t vec[4 * F];
	const struct seg g = { .contributions = 2, .n = F, .vec = vec,
	    .index = 3 };
	struct sync_worker *l = &w->doer[0].l;
	uint32_t xid, n;

	begin(w, 2, ELEMENTS, 100, 0, 1);
	await_probe(w, l, &n);
	let_in_as(w, 0, true);
	sync_worker_set_gradient(l, w->now_ns);
	xid = await_probe(w, l, &n);
	ok(n == 8 && sync_worker_receive_result(l, &g, w->now_ns) ==
	    SYNC_WORKER_TAKE, "a worker accepts a result for a segment that it "
	    "sent");
	lack_segment(w, l, xid);
	ok(l->got[0] == 1, "a worker keeps a result that crossed its Probe");
	xid = await_probe(w, l, &n);
	lack_segment(w, l, xid);
	await_probe(w, l, &n);
	ok(n == 1 && l->got[0] == 0 && sync_worker_receive_result(l, &g,
	    w->now_ns) == SYNC_WORKER_TAKE,
	    "a worker discards a result that it had before the Probe, and "
	    "sends the segment again");
	end(w);
}

/*
 * The switch restarts, and results of its earlier instance arrive while a
 * worker's Join has no answer.
 */
static void
test_late_results(struct world *w)
{
	struct sync_worker *l = &w->doer[0].l;
	struct sync_worker_out o;
	uint32_t t;

	begin(w, 2, ELEMENTS, 100, 0, 1);
	while (step(w) && w->doer[0].done < 5)
		;
	t = l->t;
	l->in.joined = false;
	membership_join(&l->in, w->now_ns);
	sync_worker_next(l, w->now_ns, &o);
	give_results(w, 0);
	ok(l->t == t && l->in.join_open, "a worker that was removed stays at "
	    "the iteration that its Join names when late results arrive");
	end(w);

	begin(w, 2, ELEMENTS, 100, 0, 1);
	while (step(w) && w->doer[0].done < 5)
		;
	t = l->t;
	l->in.instance = 8;
	membership_join(&l->in, w->now_ns);
	sync_worker_next(l, w->now_ns, &o);
	give_results(w, 0);
	let_in(w, 0);
	ok(l->t == seg_step(t, 1) && !l->in.joined &&
	    sync_worker_next(l, w->now_ns, &o) &&
	    o.message[0] == CONTROL_LEAVE &&
	    sync_worker_next(l, w->now_ns, &o) &&
	    o.message[0] == CONTROL_JOIN && l->in.join_next == l->t,
	    "a worker that has gone on since its Join leaves another instance "
	    "of the job and joins it again from where it is");
	let_in(w, 0);
	ok(l->in.joined && l->in.instance == 9, "then the worker has joined");
	end(w);
}

int
main(void)
{
	struct world *w = world_open();

	test_bad_network(w);
	test_restarts(w, false);
	test_restarts(w, true);
	test_early(w);
	test_ends(w);
	test_halt(w);
	test_late_results(w);
	test_late_result(w);
	world_close(w);
	return tap_end();
}
