/* solve.c - ask Z3 questions and check its answers */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/innet-verify/model.h"
#include "cmd/innet-verify/solve.h"
#include "cmd/innet-verify/terms.h"
#include "cmd/innet-verify/violation.h"
#include "common/base/message.h"
#include "common/net/timer.h"

enum { PAIRS_MAX = 200000 };

/* Return a solver that stops at the deadline. */
static Z3_solver
make_solver(const struct model *m, uint64_t deadline)
{
	const uint64_t now = timer_mono_ns();
	const uint64_t left_ms = deadline > now ? (deadline - now) / 1000000 +
	    1 : 1;
	Z3_solver z = m->whole ? Z3_mk_solver(m->z3) :
	    Z3_mk_solver_for_logic(m->z3, Z3_mk_string_symbol(m->z3,
	    "QF_LRA"));
	Z3_params p;

	Z3_solver_inc_ref(m->z3, z);
	p = Z3_mk_params(m->z3);
	Z3_params_inc_ref(m->z3, p);
	Z3_params_set_uint(m->z3, p, Z3_mk_string_symbol(m->z3, "timeout"),
	    left_ms < UINT32_MAX ? (unsigned)left_ms : UINT32_MAX - 1);
	Z3_params_set_bool(m->z3, p, Z3_mk_string_symbol(m->z3, "ctrl_c"),
	    false);
	Z3_solver_set_params(m->z3, z, p);
	Z3_params_dec_ref(m->z3, p);
	return z;
}

static void
assert_facts(const struct model *m, Z3_solver z)
{
	for (unsigned i = 0; i < Z3_ast_vector_size(m->z3, m->facts); i++)
		Z3_solver_assert(m->z3, z, Z3_ast_vector_get(m->z3, m->facts,
		    i));
}

/*
 * Return the value of time t in the Z3 model `is`, rounded down to ns.
 * Rounding down keeps the order of times.
 */
static uint64_t
value_ns(const struct model *m, Z3_model is, Z3_ast t)
{
	uint64_t ns;
	Z3_ast v;

	t = terms_times(m, t, terms_ratio(m, m->unit_ns, 1));
	if (!Z3_model_eval(m->z3, is, Z3_mk_real2int(m->z3, t), true, &v) ||
	    !Z3_get_numeral_uint64(m->z3, v, &ns))
		errx(1, "Z3 found a schedule but gave no value for an arrival; "
		    "this is a bug, please report it");
	return ns;
}

static bool
value_true(const struct model *m, Z3_model is, Z3_ast t)
{
	Z3_ast v;

	return Z3_model_eval(m->z3, is, t, true, &v) &&
	    Z3_get_bool_value(m->z3, v) == Z3_L_TRUE;
}

static int
by_arrival(const void *a, const void *b)
{
	const struct planned_update *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->c < y->c ? -1 : x->c > y->c;
}

/* Return the run that Z3 found. */
static struct schedule
schedule_of(const struct model *m, Z3_model is)
{
	struct schedule s = { .row = calloc(m->n + 1, sizeof(*s.row)) };

	if (s.row == NULL)
		err(1, "no memory for a schedule of %zu updates", m->n);
	for (size_t i = 0; i < m->n; i++) {
		const struct model_update *x = &m->update[i];

		if (value_true(m, is, x->present))
			s.row[s.n++] = (struct planned_update){.c = x->c,
			    .k = x->k,
			    .at_ns = value_ns(m, is, x->at),
			    .sent = value_true(m, is, x->sent)};
	}
	qsort(s.row, s.n, sizeof(*s.row), by_arrival);
	return s;
}

/*
 * Simulate the run that sends all updates as early as possible, and return it.
 */
static struct schedule
earliest_run(const struct model *m)
{
	struct schedule s = { .row = calloc(m->n + 1, sizeof(*s.row)) };
	struct played run;

	if (s.row == NULL)
		err(1, "no memory for a schedule of %zu updates", m->n);
	for (size_t i = 0; i < m->n; i++)
		s.row[s.n++] = (struct planned_update){ .c = m->update[i].c,
		    .k = m->update[i].k, .at_ns = m->update[i].lo_ns,
		    .sent = true };
	qsort(s.row, s.n, sizeof(*s.row), by_arrival);
	counterexample_play(m->spec, m->horizon_ns, &s, &run);
	return s;
}

/*
 * Append the variables to `from`, and their values in the simulated run s to
 * `to`.
 */
static void
assign_values(const struct model *m, const struct schedule *s,
    struct terms *from, struct terms *to)
{
	for (size_t c = 0; c < m->spec->n; c++) {
		terms_add(from, m->offset[c]);
		terms_add(to, terms_ns(m, m->spec->cluster[c].offset_lo_ns));
	}
	for (size_t i = 0; i < s->n; i++) {
		const struct planned_update *x = &s->row[i];
		const struct model_update *u = &m->update[m->first[x->c] +
		    x->k];

		terms_add(from, u->jitter);
		terms_add(to, terms_ns(m, 0));
		terms_add(from, u->begins);
		terms_add(to, terms_ns(m, x->begins_ns));
		terms_add(from, u->head);
		terms_add(to, x->fate == FATE_OPENED ? m->yes : m->no);
		if (u->sent != u->present) {
			terms_add(from, u->sent);
			terms_add(to, m->yes);
		}
	}
}

/*
 * Contradictory facts would prove every objective.  Therefore, simulate the run
 * that sends all updates as early as possible, and check that the facts allow
 * the values of this run.
 */
static void
check_some_run(const struct model *m, uint64_t deadline, struct step *st)
{
	struct schedule s = earliest_run(m);
	struct terms from = { 0 }, to = { 0 };
	Z3_solver z = make_solver(m, deadline);
	Z3_lbool result;

	assign_values(m, &s, &from, &to);
	for (unsigned i = 0; i < Z3_ast_vector_size(m->z3, m->facts); i++)
		Z3_solver_assert(m->z3, z, Z3_substitute(m->z3,
		    Z3_ast_vector_get(m->z3, m->facts, i), from.n, from.term,
		    to.term));
	result = Z3_solver_check(m->z3, z);
	Z3_solver_dec_ref(m->z3, z);
	free(from.term);
	free(to.term);
	free(s.row);
	if (result == Z3_L_FALSE)
		errx(1, "the formulas admit no schedule, not even the earliest "
		    "one; this is a bug, please report it");
	if (result == Z3_L_UNDEF)
		st->verdict = UNKNOWN;
}

/*
 * Ask one question: is there a run in which `wrong` holds?  If the verdict is
 * FAILS, *a contains a run that violates the objective when it is simulated.
 * Return false if the question must be asked again in whole ns.
 */
static bool
ask_question(struct model *m, const struct objective *o, Z3_ast wrong,
    uint64_t deadline, struct step *st, struct played *run, struct answer *a)
{
	Z3_solver z = make_solver(m, deadline);
	struct schedule s;
	Z3_lbool result;
	Z3_model is;

	assert_facts(m, z);
	Z3_solver_assert(m->z3, z, wrong);
	result = wrong == m->no ? Z3_L_FALSE : Z3_solver_check(m->z3, z);
	st->verdict = result == Z3_L_FALSE  ? HOLDS
		      : result == Z3_L_TRUE ? FAILS
					    : UNKNOWN;
	if (st->verdict != FAILS) {
		Z3_solver_dec_ref(m->z3, z);
		return true;
	}
	is = Z3_solver_get_model(m->z3, z);
	Z3_model_inc_ref(m->z3, is);
	s = schedule_of(m, is);
	Z3_model_dec_ref(m->z3, is);
	Z3_solver_dec_ref(m->z3, z);
	if (!counterexample_play(m->spec, m->horizon_ns, &s, run) ||
	    !counterexample_violates(m->spec, o, run)) {
		free(s.row);
		return false;
	}
	free(a->schedule.row);
	a->schedule = s;
	a->run = *run;
	a->failed_ns = m->horizon_ns;
	return true;
}

/*
 * Ask whether a run violates the objective.  For fairness, first ask about two
 * clusters with averages that are too far apart, then about a cluster without
 * an average.
 */
static bool
ask_objective(struct model *m, const struct objective *o, uint64_t deadline,
    struct step *st, struct played *run, struct answer *a)
{
	bool settled =
	    ask_question(m, o, violation(m, o), deadline, st, run, a);

	if (settled && st->verdict == HOLDS && o->kind == OBJECTIVE_FAIR)
		settled = ask_question(m, o, violation_without_average(m, o),
		    deadline, st, run, a);
	if (settled && st->verdict == HOLDS)
		check_some_run(m, deadline, st);
	return settled;
}

/*
 * Decide whether the objective holds up to one horizon, in rational numbers or,
 * if necessary, in whole ns.
 */
static void
decide_horizon(const struct spec *s, const struct objective *o,
    uint64_t deadline, struct step *st, struct answer *a)
{
	const uint64_t begin = timer_mono_ns();
	struct model m;
	struct played run;
	bool settled;

	model_open(&m, s, st->horizon_ns, o, false);
	settled = ask_objective(&m, o, deadline, st, &run, a);
	model_close(&m);
	if (!settled) {
		model_open(&m, s, st->horizon_ns, o, true);
		settled = ask_objective(&m, o, deadline, st, &run, a);
		model_close(&m);
	}
	if (!settled)
		errx(1, "the schedule that Z3 found does not miss %s when it "
		    "is replayed%s%s; this is a bug, please report it", o->text,
		    run.why == NULL ? "" : ", because it has ",
		    run.why == NULL ? "" : run.why);
	st->seconds = (double)(timer_mono_ns() - begin) * 1e-9;
}

/*
 * Is an objective that is violated up to one horizon also violated up to all
 * later horizons?
 */
static bool
stays_missed(const struct objective *o)
{
	return o->kind != OBJECTIVE_FAIR;
}

/* Exit with an error if the specification would need too much memory. */
static void
check_size(const struct spec *s)
{
	if (model_pairs(s) > PAIRS_MAX)
		errx(1, "%" PRIu64 " pairs of updates can meet in the queue, "
		    "but at most %d can be verified; lower the horizon",
		    model_pairs(s), PAIRS_MAX);
}

void
solve(const struct spec *s, const struct objective *o, uint64_t bound_ns,
    solve_progress *progress, struct answer *a)
{
	static const unsigned eighths[STEPS_MAX] = { 1, 2, 4, 6, 8 };
	const uint64_t begin = timer_mono_ns(), deadline = begin + bound_ns;

	*a = (struct answer){ .verdict = UNKNOWN };
	check_size(s);
	for (size_t i = 0; i < STEPS_MAX; i++) {
		struct step *st = &a->step[a->steps];

		st->horizon_ns = s->horizon_ns / 8 * eighths[i] +
		    s->horizon_ns % 8 * eighths[i] / 8;
		st->updates = spec_updates_all(s, st->horizon_ns);
		if (st->updates == 0)
			continue;
		a->steps++;
		if (progress != NULL)
			progress(a);
		decide_horizon(s, o, deadline, st, a);
		a->horizon_ns = st->horizon_ns;
		a->updates = st->updates;
		if (st->verdict == UNKNOWN || (st->verdict == FAILS &&
		    (stays_missed(o) || i + 1 == STEPS_MAX)))
			break;
	}
	a->verdict = a->step[a->steps - 1].verdict;
	a->seconds = (double)(timer_mono_ns() - begin) * 1e-9;
}

void
solve_emit(const struct spec *s, const struct objective *o)
{
	struct model m;
	Z3_solver z;
	Z3_ast wrong;

	check_size(s);
	model_open(&m, s, s->horizon_ns, o, false);
	wrong =
	    terms_or(&m, violation(&m, o), violation_without_average(&m, o));
	z = make_solver(&m, 0);
	assert_facts(&m, z);
	Z3_solver_assert(m.z3, z, wrong);
	printf("; %s up to %" PRIu64 " ns: unsat if it holds\n"
	    "; times are in units of %" PRIu64 " ns\n"
	    "(set-logic QF_LRA)\n%s(check-sat)\n(exit)\n", o->text,
	    s->horizon_ns, m.unit_ns, Z3_solver_to_string(m.z3, z));
	Z3_solver_dec_ref(m.z3, z);
	model_close(&m);
}
