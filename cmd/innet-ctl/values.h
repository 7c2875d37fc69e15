/*
 * values.h - read values of JSON that comes from the network
 *
 * No function here assumes that a value has the type that it should have.
 */
#ifndef INNET_CTL_VALUES_H
#define INNET_CTL_VALUES_H

#include <math.h>
#include <stdio.h>

#include <cjson/cJSON.h>

enum { VALUES_NUMBER_BYTES = 32 };

/* Return a member of o, or NULL; o need not be an object. */
static inline const cJSON *
values_get(const cJSON *o, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(o, key);
}

/* Write a finite number with all its digits, or "-", to text; return it. */
static inline const char *
values_number(const cJSON *n, char text[VALUES_NUMBER_BYTES])
{
	const double v = cJSON_IsNumber(n) ? n->valuedouble : NAN;

	if (!isfinite(v))
		return "-";
	snprintf(text, VALUES_NUMBER_BYTES, fabs(v) <= 0x1p53 && v == floor(v) ?
	    "%.0f" : "%.17g", v);
	return text;
}

/* Return a string, or "-" if there is none. */
static inline const char *
values_string(const cJSON *s)
{
	return cJSON_IsString(s) && *s->valuestring != '\0' ?
	    s->valuestring : "-";
}

/* Return c, or '?' for a character that could control a terminal. */
static inline char
values_printable(char c)
{
	return c < 0x20 || c > 0x7e ? '?' : c;
}

/* Print s without characters that could control a terminal. */
static inline void
values_print(FILE *f, const char *s)
{
	for (; *s != '\0'; s++)
		putc(values_printable(*s), f);
}

#endif
