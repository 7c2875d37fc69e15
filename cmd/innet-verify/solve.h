/* solve.h - decide whether an objective holds in all runs of a specification */
#ifndef INNET_VERIFY_SOLVE_H
#define INNET_VERIFY_SOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-verify/counterexample.h"
#include "cmd/innet-verify/spec.h"

enum verdict { HOLDS, FAILS, UNKNOWN };

/* One question: does the objective hold in all runs up to one horizon? */
struct step {
	uint64_t horizon_ns;
	size_t updates;		/* number of updates that can arrive before the
				 * horizon */
	enum verdict verdict;
	double seconds;
};

enum { STEPS_MAX = 5 };

struct answer {
	enum verdict verdict;
	uint64_t horizon_ns;	/* horizon of the last question */
	size_t updates;
	double seconds;		/* total time of all steps */
	struct step step[STEPS_MAX];
	size_t steps;		/* number of questions asked */
	/*
	 * The counterexample for the last horizon that has one, even if the
	 * verdict for the next horizon is UNKNOWN.  The counterexample was
	 * already simulated.  The struct owns it.
	 */
	uint64_t failed_ns;	/* horizon of the counterexample; 0: none */
	struct schedule schedule;
	struct played run;
};

/*
 * Is there a run that violates the objective, up to the horizon or up to a part
 * of the horizon?
 */
static inline bool
solve_has_run(const struct answer *a)
{
	return a->verdict == FAILS || (a->verdict == UNKNOWN && a->steps > 1 &&
	    a->step[a->steps - 2].verdict == FAILS);
}

/*
 * Called before each question.  The last step of the answer describes this
 * question.
 */
typedef void solve_progress(const struct answer *);

/*
 * Ask about an eighth of the horizon, a quarter, a half, three quarters and the
 * whole horizon.  Stop if a question is not answered within bound_ns from now.
 * Also stop at the first verdict FAILS, unless the objective is fairness: every
 * other objective that is violated up to one horizon is also violated up to all
 * later horizons.  Exit if a counterexample does not violate the objective when
 * it is simulated, or if the specification has no run.
 */
void solve(const struct spec *s, const struct objective *o, uint64_t bound_ns,
    solve_progress *tell, struct answer *a);

/* Print the question in SMT-LIB 2 on standard output. */
void solve_emit(const struct spec *s, const struct objective *o);

#endif
