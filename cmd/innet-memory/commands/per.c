/* per.c - functions that the PER commands share: arguments and waiting */
#include <float.h>
#include <inttypes.h>
#include <stdio.h>

#include "cmd/innet-memory/commands/per.h"
#include "cmd/innet-memory/store/table.h"

const char *
per_print_arg(const struct resp_args *a, size_t i, char buf[PER_SHOWN_BYTES])
{
	const struct resp_arg *v = &a->v[i];
	const size_t room = PER_SHOWN_BYTES - 4;
	size_t n;

	for (n = 0; n < v->len && n < room; n++)
		buf[n] = v->p[n] >= ' ' && v->p[n] <= '~' ? (char)v->p[n] :
		    '?';
	snprintf(buf + n, 4, "%s", v->len > room ? "..." : "");
	return buf;
}

struct table *
per_find_table(struct client *c, const struct resp_args *a)
{
	const char *why;
	struct table *t = host_find_table(c, a, &why);
	char s[PER_SHOWN_BYTES];

	if (t == NULL && why != NULL)
		reply_error(c, "%s", why);
	else if (t == NULL)
		reply_error(c, "ERR no table '%s'; create it with PER.CREATE",
		    per_print_arg(a, 1, s));
	return t;
}

int
per_find_word(const struct resp_args *a, size_t i, const char *const *words)
{
	for (int k = 0; words[k] != NULL; k++) {
		if (args_equal(a, i, words[k]))
			return k;
	}
	return PER_NO_WORD;
}

bool
per_check_once(struct client *c, const char *const *words, int word, size_t i,
    size_t *seen)
{
	if (word == PER_NO_WORD)
		return true;
	if (seen[word] == 0) {
		seen[word] = i;
		return true;
	}
	reply_error(c, "ERR %s (arguments %zu and %zu): given twice",
	    words[word], seen[word], i);
	return false;
}

void
per_reply_no_word(struct client *c, const struct resp_args *a, size_t i)
{
	char s[PER_SHOWN_BYTES];

	reply_error(c, "ERR argument %zu: unknown option '%s'", i,
	    per_print_arg(a, i, s));
}

/* If argument i is missing, reply with an error and return false. */
static bool
check_value_given(struct client *c, const struct resp_args *a, size_t i,
    const char *what)
{
	if (i >= a->n)
		reply_error(c, "ERR %s: its value is missing", what);
	return i < a->n;
}

bool
per_read_whole(struct client *c, const struct resp_args *a, size_t i,
    const char *what, uint64_t lo, uint64_t hi, uint64_t *out)
{
	char s[PER_SHOWN_BYTES];
	int64_t v;

	if (!check_value_given(c, a, i, what))
		return false;
	if (args_read_integer(a, i, &v) && v >= 0 && (uint64_t)v >= lo &&
	    (uint64_t)v <= hi) {
		*out = (uint64_t)v;
		return true;
	}
	reply_error(c, "ERR %s '%s' (argument %zu): not a whole number from %"
	    PRIu64 " to %" PRIu64, what, per_print_arg(a, i, s), i, lo, hi);
	return false;
}

bool
per_read_real(struct client *c, const struct resp_args *a, size_t i,
    const char *what, double lo, double hi, double *out)
{
	char s[PER_SHOWN_BYTES];

	if (!check_value_given(c, a, i, what))
		return false;
	if (args_read_real(a, i, out) && *out >= lo && *out <= hi)
		return true;
	reply_error(c, "ERR %s '%s' (argument %zu): not a number from %g to "
	    "%g", what, per_print_arg(a, i, s), i, lo, hi);
	return false;
}

bool
per_check_count(struct client *c, size_t n)
{
	/*
	 * accept a replicated request, because the master has already accepted
	 * it
	 */
	if (n <= PER_MOST || host_is_replicated(c))
		return true;
	reply_error(c, "ERR %zu experiences in one request; the limit is %d", n,
	    PER_MOST);
	return false;
}

bool
per_read_priority(struct client *c, const struct resp_args *a, size_t i,
    bool max, float *out)
{
	double p = -1;

	if (!(max && args_equal(a, i, "max")) &&
	    !per_read_real(c, a, i, "priority", 0, FLT_MAX, &p))
		return false;
	*out = (float)p;
	if (p > 0 && *out == 0)
		*out = FLT_TRUE_MIN;	/* small, but not 0 */
	return true;
}

bool
per_read_ratio(struct client *c, const struct resp_args *a, size_t i,
    struct sample_ratio *out)
{
	const double most = 1e15; /* limit of counts; above this value, they are
				   * not exact */
	const char *why;

	if (!per_read_real(c, a, i, "lowest ratio", 0, most, &out->lo) ||
	    !per_read_real(c, a, i + 1, "highest ratio", 0, most, &out->hi))
		return false;
	why = sample_ratio_check(out);
	if (why != NULL)
		reply_error(c, "ERR ratio (arguments %zu and %zu): %s", i,
		    i + 1, why);
	return why == NULL;
}

void
per_answer_or_wait(struct client *c, const struct resp_args *a,
    per_attempt *attempt, host_retry *retry)
{
	uint64_t timeout_ms = 0;

	if (attempt(c, a, &timeout_ms, false))
		return;
	if (timeout_ms == 0 || !host_park_client(c, a, timeout_ms, retry))
		attempt(c, a, &timeout_ms, true);
}
