/*
 * solve.h - does an objective hold in every run of a specification?
 */
#ifndef INNET_VERIFY_SOLVE_H
#define INNET_VERIFY_SOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-verify/counterexample.h"
#include "cmd/innet-verify/spec.h"

enum verdict { HOLDS, FAILS, UNKNOWN };

/* One question, of the runs up to one horizon. */
struct step {
	uint64_t horizon_ns;
	size_t updates;		/* that can come before it */
	enum verdict verdict;
	double seconds;
};

enum { STEPS_MAX = 5 };

struct answer {
	enum verdict verdict;
	uint64_t horizon_ns;	/* of the run that fails, or all */
	size_t updates;
	double seconds;		/* of all steps */
	struct step step[STEPS_MAX];
	size_t steps;		/* of those asked */
	/*
	 * Of the last horizon at which it fails, if it fails, or fails there
	 * and is unknown later: owned, replayed, with what came of it.
	 */
	uint64_t failed_ns;	/* 0: there is none */
	struct schedule schedule;
	struct replay run;
};

/* Is there a run that misses it, up to the whole horizon or a part of it? */
static inline bool
solve_has_run(const struct answer *a)
{
	return a->verdict == FAILS || (a->verdict == UNKNOWN && a->steps > 1 &&
	    a->step[a->steps - 2].verdict == FAILS);
}

/* Told before each question, of which the last step of the answer is. */
typedef void solve_tell(const struct answer *);

/*
 * Ask about an eighth of the horizon, a quarter, a half, three quarters and
 * all of it, until one question is not answered by bound_ns from now, or, of
 * objectives that stay missed once they are, fails.  A counterexample that
 * its replay does not bear out, and a specification without any run, end the
 * program.
 */
void solve(const struct spec *s, const struct objective *o, uint64_t bound_ns,
    solve_tell *tell, struct answer *a);

/* Print the question in SMT-LIB 2 on the standard output. */
void solve_emit(const struct spec *s, const struct objective *o);

#endif
