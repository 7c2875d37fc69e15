/*
 * values.h - what is read of JSON from the network, whatever it is
 *
 * Nothing here trusts that a value is of the kind that it should be.
 */
#ifndef INNET_CTL_VALUES_H
#define INNET_CTL_VALUES_H

#include <math.h>
#include <stdio.h>

#include <cjson/cJSON.h>

enum { VALUES_NUMBER_BYTES = 32 };

/* Get a member of an object, whatever o is. */
static inline const cJSON *
values_get(const cJSON *o, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(o, key);
}

/* A finite number with all its digits, in text, which is returned; or "-". */
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

/* A string, or "-" for none. */
static inline const char *
values_string(const cJSON *s)
{
	return cJSON_IsString(s) && *s->valuestring != '\0' ?
	    s->valuestring : "-";
}

/* A character as a terminal may have it. */
static inline char
values_printable(char c)
{
	return c < 0x20 || c > 0x7e ? '?' : c;
}

#endif
