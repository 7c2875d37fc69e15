/*
 * terms.h - make short terms for Z3
 *
 * Terms that are known to be true or false are left out, so a formula contains
 * only terms that are undecided.  Lists grow as needed.  The caller owns lists,
 * and the model's context owns terms.
 */
#ifndef INNET_VERIFY_TERMS_H
#define INNET_VERIFY_TERMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/message.h"

#include "cmd/innet-verify/model-state.h"

struct terms {
	Z3_ast *term;
	unsigned n, room;
};

/* Append t to the list. */
static inline void
terms_add(struct terms *l, Z3_ast t)
{
	if (l->n == l->room) {
		l->room = 2 * l->room + 8;
		l->term = reallocarray(l->term, l->room, sizeof(*l->term));
		if (l->term == NULL)
			err(1, "no memory for a list of %u terms", l->room);
	}
	l->term[l->n++] = t;
}

/* Return the decimal digits of v; numerals can have more than 64 bits. */
static inline const char *
terms_digits(unsigned __int128 v, char digits[48])
{
	char *p = digits + 47;

	*p = '\0';
	do
		*--p = (char)('0' + (int)(v % 10));
	while ((v /= 10) != 0);
	return p;
}

/* Return the real number num / den; den must be greater than 0. */
static inline Z3_ast
terms_ratio(const struct model *m, unsigned __int128 num,
    unsigned __int128 den)
{
	char a[48], b[48], text[100];

	snprintf(text, sizeof(text), "%s/%s", terms_digits(num, a),
	    terms_digits(den, b));
	return Z3_mk_numeral(m->z3, text, Z3_mk_real_sort(m->z3));
}

/* Return the term for a time of `ns` ns, in units of m->unit_ns. */
static inline Z3_ast
terms_ns(const struct model *m, uint64_t ns)
{
	return terms_ratio(m, ns, m->unit_ns);
}

/* Return a variable with the name NAME_ID_K, or NAME_ID if k is negative. */
static inline Z3_ast
terms_var(const struct model *m, Z3_sort sort, const char *name,
    uint64_t id,
    int64_t k)
{
	char text[64];

	snprintf(text, sizeof(text), k < 0 ? "%s_%llu" : "%s_%llu_%lld",
	    name, (unsigned long long)id, (long long)k);
	return Z3_mk_const(m->z3, Z3_mk_string_symbol(m->z3, text), sort);
}

static inline Z3_ast
terms_not(const struct model *m, Z3_ast a)
{
	return a == m->yes ? m->no : a == m->no ? m->yes :
	    Z3_mk_not(m->z3, a);
}

static inline Z3_ast
terms_and(const struct model *m, Z3_ast a, Z3_ast b)
{
	Z3_ast both[2] = { a, b };

	if (a == m->no || b == m->no)
		return m->no;
	return a == m->yes ? b : b == m->yes ? a : Z3_mk_and(m->z3, 2, both);
}

static inline Z3_ast
terms_or(const struct model *m, Z3_ast a, Z3_ast b)
{
	Z3_ast both[2] = { a, b };

	if (a == m->yes || b == m->yes)
		return m->yes;
	return a == m->no ? b : b == m->no ? a : Z3_mk_or(m->z3, 2, both);
}

/* Return a term that is true if at least one term of the list is true. */
static inline Z3_ast
terms_any(const struct model *m, const struct terms *l)
{
	return l->n == 0 ? m->no : l->n == 1 ? l->term[0] :
	    Z3_mk_or(m->z3, l->n, l->term);
}

static inline Z3_ast
terms_if(const struct model *m, Z3_ast cond, Z3_ast a, Z3_ast b)
{
	return cond == m->yes || a == b ? a : cond == m->no ? b :
	    Z3_mk_ite(m->z3, cond, a, b);
}

static inline Z3_ast
terms_plus(const struct model *m, Z3_ast a, Z3_ast b)
{
	Z3_ast both[2] = { a, b };

	return Z3_mk_add(m->z3, 2, both);
}

static inline Z3_ast
terms_minus(const struct model *m, Z3_ast a, Z3_ast b)
{
	Z3_ast both[2] = { a, b };

	return Z3_mk_sub(m->z3, 2, both);
}

static inline Z3_ast
terms_times(const struct model *m, Z3_ast a, Z3_ast b)
{
	Z3_ast both[2] = { a, b };

	return Z3_mk_mul(m->z3, 2, both);
}

/* Add t to the facts of the model. */
static inline void
terms_fact(const struct model *m, Z3_ast t)
{
	if (t != m->yes)
		Z3_ast_vector_push(m->z3, m->facts, t);
}

/*
 * Return a variable that equals formula t, so that the facts contain t only
 * once.
 */
static inline Z3_ast
terms_named(const struct model *m, Z3_sort sort, const char *name,
    uint64_t id, int64_t k, Z3_ast t)
{
	Z3_ast var;

	if (t == m->yes || t == m->no)
		return t;
	var = terms_var(m, sort, name, id, k);
	terms_fact(m, Z3_mk_eq(m->z3, var, t));
	return var;
}

#endif
