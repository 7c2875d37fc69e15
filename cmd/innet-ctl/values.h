/*
 * values.h - read JSON values that come from the network
 *
 * The functions here do not assume that a value has the expected type.
 */
#ifndef INNET_CTL_VALUES_H
#define INNET_CTL_VALUES_H

#include <math.h>
#include <stdio.h>

#include <cjson/cJSON.h>

enum { VALUES_NUMBER_BYTES = 32 };

/*
 * Return the value of a key of o, or NULL.  `o` does not need to be an object.
 */
static inline const cJSON *
values_get(const cJSON *o, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(o, key);
}

/*
 * Write a finite number with all its digits, or "-", to `text`; return `text`.
 */
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

/* Return the text of a JSON string, or "-" for other values. */
static inline const char *
values_string(const cJSON *s)
{
	return cJSON_IsString(s) && *s->valuestring != '\0' ?
	    s->valuestring : "-";
}

/* Return c, or '?' if c is a character that can control a terminal. */
static inline char
values_printable(char c)
{
	return c < 0x20 || c > 0x7e ? '?' : c;
}

/* Print s; replace characters that can control a terminal. */
static inline void
values_print(FILE *f, const char *s)
{
	for (; *s != '\0'; s++)
		putc(values_printable(*s), f);
}

#endif
