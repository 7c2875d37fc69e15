/* Workers in step, their control, in the world of hub.h. */
#include "tests/unit/hub.h"
#include "tests/unit/tap.h"

static void
worker_send(struct world *w, int k)
{
	struct doer *d = &w->doer[k];
	uint8_t msg[SEG_HEADER_BYTES + 4 * F];
	struct lockstep_out o;

	while (lockstep_next(&d->l, w->now_ns, &o)) {
		if (o.count == 0)
			post(w, k, SWITCH, CONTROL_TOS, o.message, o.len);
		for (uint32_t i = o.first; i < o.first + o.count; i++) {
			uint32_t n = seg_floats_at(w->elements, F, i);

			memcpy(seg_put(msg, o.iteration, 1, i),
			    &d->grad[o.iteration & 1][i * F], 4 * (size_t)n);
			post(w, k, SWITCH, SEG_TOS, msg,
			    SEG_HEADER_BYTES + 4 * (size_t)n);
		}
	}
}

static void
worker_take(struct world *w, int k, const struct datagram *p)
{
	struct doer *d = &w->doer[k];
	struct control c;
	struct seg seg;

	if (p->tos == CONTROL_TOS) {
		assert(control_parse(p->bytes, p->len, &c));
		lockstep_control(&d->l, &c, w->now_ns);
		return;
	}
	assert(seg_parse(p->bytes, p->len, &seg));
	if (lockstep_result(&d->l, &seg, w->now_ns) == LOCKSTEP_TAKE)
		memcpy(&d->result[seg.iteration & 1][seg.index * F], seg.vec,
		    4 * (size_t)seg.n);
}

/* Is the result what it must be? */
static void
worker_check(struct world *w, struct doer *d)
{
	const uint32_t t = d->l.t;

	d->partial |= lockstep_partial(&d->l);
	for (uint32_t i = 0; i < w->elements && !w->early; i++) {
		float want = 0;

		for (int k = 0; k < w->workers; k++)
			want += value(k, t, i);
		d->wrong |= d->result[t & 1][i] != want;
	}
}

/* Its own life: results taken, gradients made, the end. */
static void
worker_live(struct world *w, int k)
{
	struct doer *d = &w->doer[k];
	struct lockstep *l = &d->l;

	while (lockstep_whole(l) && d->done < w->goal) {
		worker_check(w, d);
		lockstep_advance(l, w->now_ns);
		d->done++;
		if (!d->busy && d->done < w->goal) {
			d->busy = true;
			d->ready_ns = w->now_ns + d->think_ns;
		}
	}
	if (d->done == w->goal) {
		lockstep_leave(l, w->now_ns);
	} else if (d->busy && w->now_ns >= d->ready_ns) {
		for (uint32_t i = 0; i < w->elements; i++)
			d->grad[l->t & 1][i] = value(k, l->t, i);
		lockstep_gradient(l, w->now_ns);
		d->busy = false;
	}
	worker_send(w, k);
}

static uint64_t
worker_due(const struct doer *d)
{
	uint64_t due = lockstep_due(&d->l);

	return d->busy && d->ready_ns < due ? d->ready_ns : due;
}

/* One event.  False when all have ended. */
static bool
step(struct world *w)
{
	uint64_t next = w->flying > 0 ? w->fly[0].at_ns : UINT64_MAX;
	bool going = false;

	for (int k = 0; k < w->workers; k++) {
		struct doer *d = &w->doer[k];

		if (d->dead || !lockstep_going(&d->l))
			continue;
		going = true;
		if (worker_due(d) < next)
			next = worker_due(d);
	}
	if (!going || next == UINT64_MAX)
		return false;
	w->now_ns = next > w->now_ns ? next : w->now_ns;
	hub_stragglers(w);
	if (w->flying > 0 && w->fly[0].at_ns <= w->now_ns) {
		struct datagram d = land(w);

		if (d.to != SWITCH && !w->doer[d.to].dead)
			worker_take(w, d.to, &d);
		else if (d.to == SWITCH && !w->hub.dead && d.tos == SEG_TOS)
			hub_segment(w, d.from, d.bytes, d.len);
		else if (d.to == SWITCH && !w->hub.dead)
			hub_control(w, d.from, d.bytes, d.len);
	}
	for (int k = 0; k < w->workers; k++) {
		if (!w->doer[k].dead && lockstep_going(&w->doer[k].l))
			worker_live(w, k);
	}
	return true;
}

static void
begin(struct world *w, int workers, uint32_t elements, uint32_t goal,
    uint32_t next, uint64_t seed)
{
	struct datagram *fly = w->fly;

	*w = (struct world){ .rng = rng_seed(seed), .workers = workers,
	    .elements = elements, .goal = goal, .fly = fly };
	w->hub.h = (unsigned)workers;
	w->hub.elements = elements;
	for (int k = 0; k < workers; k++) {
		const struct membership_conf in = { .type = CONTROL_WORKER,
		    .job = 7, .cluster = 1, .number = (uint32_t)k,
		    .elements = elements, .floats_max = 366,
		    .give_up_ns = 30000 * MS,
		    .xid = (uint32_t)rng_u64(&w->rng) };
		const struct lockstep_conf cf = { .next = next, .window = 8,
		    .run_bytes = 4 * (SEG_HEADER_BYTES + 4 * F),
		    .buffer_bytes = 65536 };

		w->doer[k].busy = true;
		lockstep_init(&w->doer[k].l, &in, &cf, 0);
	}
}

/* Run to the end; true if all left, with all their results right. */
static bool
all_well(struct world *w)
{
	bool well = true;

	while (step(w))
		;
	for (int k = 0; k < w->workers; k++) {
		const struct doer *d = &w->doer[k];
		char why[LOCKSTEP_WHY_BYTES];

		well = well && d->l.in.end == MEMBERSHIP_LEFT && !d->wrong &&
		    d->done == w->goal;
		if (!well)
			note("worker %d: %u of %u, end %d, t %u%s: %s", k,
			    d->done, w->goal, d->l.in.end, d->l.t, d->wrong ?
			    ", wrong" : "", lockstep_why(&d->l, why));
	}
	return well;
}

static uint64_t
joins(const struct world *w)
{
	uint64_t n = 0;

	for (int k = 0; k < w->workers; k++)
		n += w->doer[k].l.in.joins;
	return n;
}

static uint64_t
total(const struct world *w, enum lockstep_count what)
{
	uint64_t n = 0;

	for (int k = 0; k < w->workers; k++)
		n += w->doer[k].l.n[what];
	return n;
}

static void
end(struct world *w)
{
	for (int k = 0; k < w->workers; k++)
		lockstep_free(&w->doer[k].l);
}

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
			helps += total(w, LOCKSTEP_RETRANSMITTED);
			well = well && total(w, LOCKSTEP_MISSED) == 0 &&
			    total(w, LOCKSTEP_PARTIAL) == 0;
			end(w);
		}
	}
	ok(well, "1 to 8 workers, lengths 1, F-1, F, F+1, more: sums right");
	note("%llu segments sent again", (unsigned long long)helps);
}

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
		ok(well, "4 workers, %g %% lost, and doubled, and late: 6,000 "
		    "iterations right", loss[i] * 100);
		note("%.2f ms an iteration", (double)took / 6000 / 1e6);
	}
}

/* Do some have a result that others lack? */
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
				continue;	/* not lost yet */
			at = w->now_ns + 30 * MS +
			    rng_below(&w->rng, 100 * MS);
			hub_restart(w);
			restarts++;
		}
		well = all_well(w) && well;
		end(w);
	}
	ok(well && restarts > 20, "a switch that forgets everything, %u times"
	    "%s", restarts, when_apart ? ", when some have a result that "
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
	ok(all_well(w) && w->doer[3].partial, "a worker too slow for the "
	    "others gets every result, in order");
	ok(w->doer[3].l.n[LOCKSTEP_MISSED] > 100, "and its own gradients are "
	    "discarded and counted: %llu missed",
	    (unsigned long long)w->doer[3].l.n[LOCKSTEP_MISSED]);
	end(w);
}

/* How one ends: within patience, with words that name what it waited for. */
static void
ends(struct world *w, int k, const char *words, const char *what)
{
	char why[LOCKSTEP_WHY_BYTES];

	while (step(w))
		;
	lockstep_why(&w->doer[k].l, why);
	ok(!lockstep_going(&w->doer[k].l) && strstr(why, words) != NULL &&
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
	    "members") != NULL, "who is stuck asks who the members are");
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
	ends(w, 0, "restore those of iteration 12",
	    "other weights");
	begin(w, 1, ELEMENTS, 10, 3, 1);
	w->hub.fails = CONTROL_BAD_VALUE;
	w->hub.elements = 77;
	ends(w, 0, "it has 77 elements, 8 a segment; this "
	    "is a vector of 128", "another length");
	begin(w, 1, ELEMENTS, 10, 3, 1);
	w->hub.fails = CONTROL_NO_ROOM;
	ends(w, 0, "no room", "a full switch");
}

/* A message from the switch to worker k. */
static void
tell(struct world *w, int k, enum control_action action)
{
	uint8_t msg[8];
	struct control c;

	control_put(msg, (uint8_t)action, 7, 1);
	assert(control_parse(msg, 8, &c));
	lockstep_control(&w->doer[k].l, &c, w->now_ns);
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
	well = w->doer[0].l.end == LOCKSTEP_GOING && w->doer[0].l.in.halted &&
	    w->doer[0].done < 510;
	ok(well && joins(w) < 2 * 310, "halted, the clocks "
	    "stop, and it asks once a second: %llu Joins",
	    (unsigned long long)joins(w));
	w->hub.halted = false;
	tell(w, 0, CONTROL_RESUME);
	ok(all_well(w), "and goes on when it may, told or not");
	end(w);

	begin(w, 1, ELEMENTS, 2000, 0, 1);
	while (step(w) && w->doer[0].done < 5)
		;
	tell(w, 0, CONTROL_RESET);
	ends(w, 0, "was reset", "Reset is the end");
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
	ok(well && said >= 2 * 11 && said <= 2 * 14, "a long thinker shows "
	    "a sign of life each third of the time-out: %llu Joins",
	    (unsigned long long)joins);
	end(w);
}

/* Results that cannot be. */
static void
test_nonsense(struct world *w)
{
	uint8_t vec[4 * F] = { 0 };
	struct seg s = { .contributions = 1, .n = F, .vec = vec };
	struct lockstep *l = &w->doer[0].l;
	enum lockstep_verdict v[7];

	begin(w, 1, ELEMENTS, 1000, 0, 1);
	v[0] = lockstep_result(l, &s, 0);
	while (step(w) && w->doer[0].done < 5)
		;
	s.iteration = l->t;
	s.index = SEGS;
	v[1] = lockstep_result(l, &s, w->now_ns);
	s.index = 0;
	s.n = F - 1;
	v[2] = lockstep_result(l, &s, w->now_ns);
	s.n = F;
	s.contributions = 0;
	v[3] = lockstep_result(l, &s, w->now_ns);
	s.contributions = 1;
	s.iteration = seg_step(l->t, -1);
	v[4] = lockstep_result(l, &s, w->now_ns);
	s.iteration = seg_step(l->t, 1);
	s.index = 3;
	v[5] = lockstep_result(l, &s, w->now_ns);
	v[6] = lockstep_result(l, &s, w->now_ns);
	ok(v[0] == LOCKSTEP_BAD_INDEX && v[1] == LOCKSTEP_BAD_INDEX &&
	    v[2] == LOCKSTEP_BAD_LENGTH && v[3] == LOCKSTEP_BAD_INDEX &&
	    v[4] == LOCKSTEP_STALE, "results that cannot be are not taken");
	ok(v[5] == LOCKSTEP_TAKE && v[6] == LOCKSTEP_DUPLICATE,
	    "one of the next iteration is, once");
	s.iteration = seg_step(l->t, 2);
	ok(lockstep_result(l, &s, w->now_ns) == LOCKSTEP_AHEAD &&
	    l->verdicts[LOCKSTEP_BAD_INDEX] == 3, "one after that is not");
	end(w);
}

static void
test_window(struct world *w)
{
	struct lockstep *l = &w->doer[0].l;

	begin(w, 1, ELEMENTS, 1, 0, 1);
	l->floats = 366;
	l->cf.window = 0;
	l->cf.run_bytes = 65507;
	l->cf.buffer_bytes = 16 << 20;
	ok(lockstep_window_first(l) == 88 && lockstep_window_max(l) == 1024,
	    "two full runs of 44 to begin with");
	l->floats = 16374;
	l->in.members = 4;
	ok(lockstep_window_first(l) == 32, "a half of the buffer for all");
	l->cf.buffer_bytes = 212992;
	ok(lockstep_window_first(l) == 2, "but two at least");
	l->floats = 366;
	l->cf.window = 10;
	ok(lockstep_window_first(l) == 10, "and what was asked for at most");
	l->window = l->slow = 4;
	for (int i = 0; i < 9; i++)
		lockstep_widen(l);
	ok(l->window == 6, "past where packets were lost it grows slowly");
	l->slow = 10;
	for (int i = 0; i < 9; i++)
		lockstep_widen(l);
	ok(l->window == 10, "before that by each result, and to its limit");
	end(w);
}

/* A member of the job from iteration 0 on, and past half of all numbers. */
static void
test_long(struct world *w)
{
	static const uint8_t vec[4 * F];
	struct seg s = { .contributions = 1, .n = F, .vec = vec };
	struct lockstep *l = &w->doer[0].l;

	begin(w, 1, F, 1, 0, 1);
	while (!l->in.joined && step(w))
		;
	for (uint32_t k = 0; k < SEG_ITERATIONS / 2 + 2; k++) {
		s.iteration = l->t;
		lockstep_gradient(l, w->now_ns);
		lockstep_result(l, &s, w->now_ns);
		lockstep_advance(l, w->now_ns);
	}
	ok(l->t == SEG_ITERATIONS / 2 + 2 && !lockstep_fetches(l),
	    "8 million iterations later it still adds its own");
	end(w);
}

/* What it wants sent now; is the last of it a Help for segment i of t? */
static bool
asks(struct lockstep *l, uint32_t i, uint64_t now_ns)
{
	struct lockstep_out o = { 0 };

	while (lockstep_next(l, now_ns, &o))
		;
	return o.len > 0 && o.count == 0 && o.message[0] == CONTROL_HELP &&
	    wire_get(o.message + 8, 8) == seg_word(l->t, 0, i);
}

/* Segments first to last of an answer come, step_ns apart. */
static void
answers(struct lockstep *l, uint32_t t, uint32_t first, uint32_t last,
    uint64_t step_ns, uint64_t *now_ns)
{
	static const uint8_t vec[4 * F];
	const struct seg s = { .contributions = 1, .n = F, .vec = vec,
	    .iteration = t };

	for (uint32_t i = first; i <= last; i++) {
		struct seg g = s;

		*now_ns += step_ns;
		g.index = i;
		lockstep_result(l, &g, *now_ns);
	}
}

/* The last of an answer comes so long after it is asked for; when it was. */
static uint64_t
silence(struct lockstep *l, uint64_t more_ns, uint64_t *now_ns)
{
	const uint32_t t = l->t;
	uint64_t since;

	lockstep_gradient(l, *now_ns);
	asks(l, 0, *now_ns);
	answers(l, t, 0, SEGS - 2, 0, now_ns);
	since = *now_ns;
	while (!asks(l, SEGS - 1, *now_ns))
		*now_ns += MS / 2;
	since = *now_ns - since;
	answers(l, t, SEGS - 1, SEGS - 1, more_ns, now_ns);
	lockstep_advance(l, *now_ns);
	return since;
}

/* A server answers whole vectors. */
static void
test_whole(struct world *w)
{
	const struct control_ack a = { .action = CONTROL_JOIN,
	    .elements = ELEMENTS, .floats = F, .h = 1, .members = 1,
	    .timeout_s = 10000, .whole = true };
	struct lockstep *l = &w->doer[0].l;
	uint64_t now_ns = 0, ns;
	uint8_t msg[CONTROL_MAX_BYTES];
	bool same = true;
	struct control c;

	begin(w, 1, ELEMENTS, 1, 0, 1);
	asks(l, 0, now_ns);
	assert(control_parse(msg, (size_t)(control_put_ack(control_put(msg,
	    CONTROL_ACK, 7, l->in.join_xid), &a) - msg), &c));
	lockstep_control(l, &c, now_ns);
	l->n[LOCKSTEP_ITERATIONS] = 1;		/* it is open */
	for (int k = 0; k < 8; k++) {
		ns = silence(l, 0, &now_ns);
		same = same && ns == 20 * MS;
	}
	ok(same, "a server's answers: the eighth loss is found as soon as "
	    "the first");
	silence(l, 15 * MS, &now_ns);
	ns = silence(l, 0, &now_ns);
	ok(ns > 47 * MS && ns <= 50 * MS,
	    "what is late all the same may be so again");
	l->rto = (struct rto){ 0 };
	lockstep_gradient(l, now_ns);
	asks(l, 0, now_ns);
	answers(l, l->t, 0, 0, 5 * MS, &now_ns);
	answers(l, l->t, 1, SEGS - 1, MS, &now_ns);
	ok(l->rto.srtt_ns == 5 * MS && l->rto.var_ns == 5 * MS / 2,
	    "a whole answer is one round trip");
	end(w);
}

int
main(void)
{
	struct world *w = calloc(1, sizeof(*w));

	assert(w != NULL);
	w->fly = malloc(FLYING * sizeof(*w->fly));
	assert(w->fly != NULL);
	test_clean(w);
	test_bad_network(w);
	test_restarts(w, false);
	test_restarts(w, true);
	test_early(w);
	test_ends(w);
	test_halt(w);
	test_life(w);
	test_nonsense(w);
	test_window(w);
	test_long(w);
	test_whole(w);
	free(w->fly);
	free(w);
	return tap_end();
}
