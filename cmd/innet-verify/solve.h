/* solve.h - decide whether an objective holds in all runs of a specification */
#ifndef INNET_VERIFY_SOLVE_H
#define INNET_VERIFY_SOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-verify/counterexample.h"
#include "cmd/innet-verify/spec.h"

enum verdict { HOLDS, FAILS, UNKNOWN };

/* One question: the runs up to one horizon. */
struct step {
	uint64_t horizon_ns;
	size_t updates;		/* that can arrive before it */
	enum verdict verdict;
	double seconds;
};

enum { STEPS_MAX = 5 };

struct answer {
	enum verdict verdict;
	uint64_t horizon_ns;	/* of the failing run, or the whole one */
	size_t updates;
	double seconds;		/* of all steps */
	struct step step[STEPS_MAX];
	size_t steps;		/* questions asked */
	/*
	 * The counterexample of the last horizon that has one, also if the next
	 * horizon is unknown; owned, and played.
	 */
	uint64_t failed_ns;	/* 0: there is none */
	struct schedule schedule;
	struct played run;
};

/* Is there a run that violates it, up to the whole horizon or a part of it? */
static inline bool
solve_has_run(const struct answer *a)
{
	return a->verdict == FAILS || (a->verdict == UNKNOWN && a->steps > 1 &&
	    a->step[a->steps - 2].verdict == FAILS);
}

/* Called before each question, which is the last step of the answer. */
typedef void solve_progress(const struct answer *);

/*
 * Ask about an eighth of the horizon, a quarter, a half, three quarters and all
 * of it.  Stop if a question is not answered within bound_ns from now, or, for
 * objectives that stay violated, if one fails.  A counterexample that violates
 * nothing when it is played, and a specification without any run, end the
 * program.
 */
void solve(const struct spec *s, const struct objective *o, uint64_t bound_ns,
    solve_progress *tell, struct answer *a);

/* Print the question in SMT-LIB 2 on standard output. */
void solve_emit(const struct spec *s, const struct objective *o);

#endif
