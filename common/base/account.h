/*
 * account.h - counters as a JSON object, or as a line for people
 *
 *	{"answers":12,"ignored":{"short":1}}
 *	innet-ps: 12 answers; ignored: 1 short
 *
 * An account owns its text, which is cut at ACCOUNT_BYTES; account_end() says
 * whether it was.  Names are plain words: nothing is escaped.
 */
#ifndef INNET_BASE_ACCOUNT_H
#define INNET_BASE_ACCOUNT_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { ACCOUNT_BYTES = 4096 };

struct account {
	char text[ACCOUNT_BYTES];
	size_t len;
	bool json;
	bool begun;		/* something stands before, in this group */
};

__attribute__((format(printf, 2, 3))) static inline void
account_add(struct account *a, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(a->text + a->len, sizeof(a->text) - a->len, fmt, ap);
	va_end(ap);
	if (n > 0)
		a->len += (size_t)n;
	if (a->len >= sizeof(a->text))
		a->len = sizeof(a->text) - 1;
}

/* Begin; who stands in front of a line for people. */
static inline void
account_begin(struct account *a, bool json, const char *who)
{
	a->len = 0;
	a->json = json;
	a->begun = false;
	if (json)
		account_add(a, "{");
	else
		account_add(a, "%s: ", who);
}

static inline void
account_put(struct account *a, const char *name, uint64_t v)
{
	const char *comma = !a->begun ? "" : a->json ? "," : ", ";

	if (a->json)
		account_add(a, "%s\"%s\":%" PRIu64, comma, name, v);
	else
		account_add(a, "%s%" PRIu64 " %s", comma, v, name);
	a->begun = true;
}

static inline void
account_word(struct account *a, const char *name, const char *word)
{
	const char *comma = !a->begun ? "" : a->json ? "," : ", ";

	if (a->json)
		account_add(a, "%s\"%s\":\"%s\"", comma, name, word);
	else
		account_add(a, "%s%s %s", comma, name, word);
	a->begun = true;
}

/* A group of counters within; account_out() is its end. */
static inline void
account_in(struct account *a, const char *name)
{
	if (a->json)
		account_add(a, "%s\"%s\":{", a->begun ? "," : "", name);
	else
		account_add(a, "%s%s: ", a->begun ? "; " : "", name);
	a->begun = false;
}

static inline void
account_out(struct account *a)
{
	if (a->json)
		account_add(a, "}");
	else if (!a->begun)
		account_add(a, "none");
	a->begun = true;
}

/* The end of the line.  False if the text is cut. */
static inline bool
account_end(struct account *a)
{
	account_add(a, a->json ? "}\n" : "\n");
	return a->len < sizeof(a->text) - 1;
}

#endif
