/* args.c - read the arguments of a request */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "common/base/num.h"

#include "cmd/innet-memory/server/args.h"

bool
word_equals(const char *word, const uint8_t *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (word[i] == '\0' || tolower(p[i]) != word[i])
			return false;
	}
	return word[i] == '\0';
}

bool
args_equal(const struct resp_args *a, size_t i, const char *word)
{
	return word_equals(word, a->v[i].p, a->v[i].len);
}

bool
args_read_integer(const struct resp_args *a, size_t i, int64_t *out)
{
	return resp_read_integer(a->v[i].p, a->v[i].len, out);
}

bool
args_read_real(const struct resp_args *a, size_t i, double *out)
{
	char s[64];
	const struct resp_arg *v = &a->v[i];

	if (v->len == 0 || v->len >= sizeof(s) ||
	    memchr(v->p, '\0', v->len) != NULL)
		return false;
	memcpy(s, v->p, v->len);
	s[v->len] = '\0';
	return num_real(s, -HUGE_VAL, HUGE_VAL, out) == NULL;
}

struct blob *
args_hold_blob(struct account *bs, const struct resp_args *a, size_t i)
{
	const struct resp_arg *v = &a->v[i];

	if (v->bulk != NULL)
		return blob_hold(v->bulk);
	return blob_copy(bs, v->p, v->len);
}

void
args_drop(struct account *bs, struct resp_args *a)
{
	for (size_t i = 0; i < a->n; i++) {
		blob_drop(bs, a->v[i].bulk);
		a->v[i].bulk = NULL;
	}
	a->n = 0;
}
