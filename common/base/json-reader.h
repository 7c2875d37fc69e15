/*
 * json-reader.h - read JSON objects into structs, by tables of keys
 *
 * A section is a struct and a table of keys.  Each key fills one field of the
 * struct, and has a type, limits, a default as a user would write it, and a
 * description.  --list-keys prints this table, so its output is always up to
 * date.
 *
 * A value of the wrong type or outside its limits, an unknown key and a
 * repeated key are errors.  If there is an error, json_reader_object() returns
 * false, and r->why contains the place and the reason: "links[2].rat: unknown
 * key; the nearest is 'rate'".  Control characters are shown as '?', so that
 * r->why is a single line.
 *
 * Times, rates and sizes are strings with units as in num.h.  A time must have
 * a unit.  Counts may be JSON numbers.  A list becomes an array of structs,
 * which the caller owns and which json_reader_free() frees.
 */
#ifndef INNET_BASE_JSON_READER_H
#define INNET_BASE_JSON_READER_H

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/base/file-open.h"
#include "common/base/nearest.h"
#include "common/base/num.h"

enum { JSON_READER_NAME_BYTES = 32, JSON_READER_FILE_BYTES = 256 };
#define JSON_READER_TEXT_MAX 268435456	/* maximum length of a document, in
					 * bytes */

/* The longest time, unless a key sets another limit: 104 days. */
#define JSON_READER_TIME_MAX ((uint64_t)1 << 53)

enum json_reader_type {
	JSON_READER_COUNT,		/* uint64_t */
	JSON_READER_TIME,		/* uint64_t, ns */
	JSON_READER_RATE,		/* uint64_t, bits/s */
	JSON_READER_BYTES,		/* uint64_t */
	JSON_READER_VECTOR,		/* uint64_t, elements */
	JSON_READER_SHARE,		/* double, 0 to 1 */
	JSON_READER_REAL,		/* double */
	JSON_READER_BOOL,		/* bool */
	JSON_READER_WORD,		/* uint64_t: index in `words` */
	JSON_READER_NAME,		/* char[JSON_READER_NAME_BYTES] */
	JSON_READER_FILE,		/* char[JSON_READER_FILE_BYTES] */
	/*
	 * struct json_reader_range: a number or a string; 5 means 1 to 5, and
	 * "6-10" means 6 to 10
	 */
	JSON_READER_RANGE,
	/*
	 * struct json_reader_list: a list of items, each described by a section
	 */
	JSON_READER_LIST,
	JSON_READER_ANY		/* the caller reads the value itself */
};

struct json_reader_range {
	uint64_t from, to;
};

struct json_reader_list {
	void *item;		/* owned */
	size_t n;
};

struct json_reader_key {
	const char *name;
	enum json_reader_type type;
	size_t at;		/* offset of the field, in bytes */
	const char *preset;	/* default value, as a user would write it; NULL
				 * means zero */
	uint64_t lo, hi;	/* limits of an integer; if hi is 0, the upper
				 * limit is JSON_READER_TIME_MAX for a time and
				 * INT64_MAX for the other types */
	/*
	 * A NULL-terminated list.  For a JSON_READER_WORD it contains the valid
	 * values.  For other types it contains words that stand for the numbers
	 * UINT64_MAX, UINT64_MAX - 1 and so on.
	 */
	const char *const *words;
	const struct json_reader_section *list;	/* for a JSON_READER_LIST: the
						 * section that describes its
						 * items */
	bool needed;		/* the key must be given */
	const char *help;	/* description of the key, in lower case and
				 * without a full stop */
};

struct json_reader_section {
	const struct json_reader_key *key;	/* array of keys; the name of
						 * the last one is NULL */
	size_t bytes;		/* size of the struct */
};

struct json_reader {
	char path[256];		/* path of the value that is being read, such as
				 * "links[2].rate" */
	size_t at;		/* length of path */
	char why[512];		/* error message; valid after a function has
				 * failed */
};

/*
 * Read and parse the file at path ("-" is standard input).  Returns the root of
 * the document, which the caller must free.  On failure returns NULL; r->why
 * then names the file.
 */
static inline cJSON *json_reader_load(struct json_reader *r, const char *path);

/*
 * Parse the len bytes at `text`.  A null byte must follow these bytes.  Returns
 * the root, or NULL with r->why.
 */
static inline cJSON *json_reader_parse(struct json_reader *r, const char *text,
    size_t len);

/*
 * Fill the struct at `to` from the object o.  Returns false with r->why on
 * failure.
 */
static inline bool json_reader_object(struct json_reader *r, const cJSON *o,
    const struct json_reader_section *s, void *to);

/* Set all fields of the struct at `to` to their defaults. */
static inline void json_reader_preset(const struct json_reader_section *s,
    void *to);

/*
 * Read the value v of key k into the field at p.  Returns false with r->why if
 * the value does not fit.
 */
static inline bool json_reader_value(struct json_reader *r,
    const struct json_reader_key *k, const cJSON *v, void *p);

/* Free the lists in the struct at `of`, which the section describes. */
static inline void json_reader_free(const struct json_reader_section *s,
    void *of);

/*
 * Append `key` or, if `key` is NULL, the index i to the path that messages
 * contain.  Returns the previous length of the path, for json_reader_up().
 */
static inline size_t json_reader_down(struct json_reader *r, const char *key,
    size_t i);

/* Shorten the path that messages contain to `at` bytes. */
static inline void json_reader_up(struct json_reader *r, size_t at);

/*
 * Write the path and the reason to r->why.  Always returns false, so that the
 * caller can return this result.
 */
__attribute__((format(printf, 2, 3)))
static inline bool json_reader_fail(struct json_reader *r, const char *fmt,
    ...);

/*
 * Work like json_reader_fail(), but for item i of the list named `list` or, if
 * `key` is not NULL, for this key of the item.
 */
__attribute__((format(printf, 5, 6)))
static inline bool json_reader_fail_at(struct json_reader *r, const char *list,
    size_t i, const char *key, const char *fmt, ...);

/*
 * Find s in the list `words` and store its index in *to.  Returns NULL, or an
 * error message, which is written to the `bytes` bytes at `room`.
 */
static inline const char *json_reader_word(const char *s,
    const char *const *words, uint64_t *to, char *room, size_t bytes);

/*
 * Print a line for each key: its path, type or words, default and description.
 */
static inline void json_reader_list_keys(FILE *f,
    const struct json_reader_section *s, const char *prefix);

/* implementation */

/* Replace control characters in s by '?', so that s is a single line. */
static inline void
json_reader_clean(char *s)
{
	for (; *s != '\0'; s++) {
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = '?';
	}
}

__attribute__((format(printf, 2, 3))) static inline bool
json_reader_fail(struct json_reader *r, const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(r->why, sizeof(r->why), "%s%s", r->path,
	    r->at == 0 ? "" : ": ");

	va_start(ap, fmt);
	vsnprintf(r->why + n, sizeof(r->why) - (size_t)n, fmt, ap);
	va_end(ap);
	json_reader_clean(r->why);
	return false;
}

__attribute__((format(printf, 5, 6))) static inline bool
json_reader_fail_at(struct json_reader *r, const char *list, size_t i,
    const char *key,
    const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(r->why, sizeof(r->why), "%s[%zu]%s%s: ", list, i,
	    key == NULL ? "" : ".", key == NULL ? "" : key);

	va_start(ap, fmt);
	vsnprintf(r->why + n, sizeof(r->why) - (size_t)n, fmt, ap);
	va_end(ap);
	json_reader_clean(r->why);
	return false;
}

static inline size_t
json_reader_down(struct json_reader *r, const char *key, size_t i)
{
	size_t at = r->at, room = sizeof(r->path) - at;
	int n;

	if (key == NULL)
		n = snprintf(r->path + at, room, "[%zu]", i);
	else
		n = snprintf(r->path + at, room, "%s%.64s", at == 0 ? "" : ".",
		    key);
	r->at = at + ((size_t)n < room ? (size_t)n : room - 1);
	json_reader_clean(r->path + at);
	return at;
}

static inline void
json_reader_up(struct json_reader *r, size_t at)
{
	r->at = at;
	r->path[at] = '\0';
}

static inline bool
json_reader_fail_unknown(struct json_reader *r,
    const struct json_reader_section *s,
    const char *name)
{
	struct nearest near = { 0 };

	for (const struct json_reader_key *k = s->key; k->name != NULL; k++)
		nearest_offer(&near, name, k->name);
	return json_reader_fail(r, "unknown key; the nearest is '%s'",
	    near.word);
}

/*
 * Return a string or a number as a user would write it on a command line.
 * Returns NULL if the value has another type.
 */
static inline const char *
json_reader_words_of(const cJSON *v, char *room, size_t bytes)
{
	if (cJSON_IsString(v))
		return v->valuestring;
	if (!cJSON_IsNumber(v))
		return NULL;
	if (v->valuedouble == floor(v->valuedouble) &&
	    fabs(v->valuedouble) < 1e15)
		snprintf(room, bytes, "%.0f", v->valuedouble);
	else
		snprintf(room, bytes, "%.17g", v->valuedouble);
	return room;
}

/*
 * Read an integer, which may be a number such as 8 or a string such as "10k" or
 * "1.5k".
 */
static inline const char *
json_reader_count(const char *s, uint64_t lo, uint64_t hi, uint64_t *to)
{
	if (strchr(s, '.') != NULL && strspn(s, "0123456789.") == strlen(s))
		return "not a whole number";
	return num_u64(s, lo, hi, to);
}

/* Read a time, which must have a unit unless it is 0. */
static inline const char *
json_reader_time(const char *s, uint64_t lo, uint64_t hi, uint64_t *to)
{
	size_t len = strlen(s);
	const char *why = num_time(s, lo, hi, to);

	if (why == NULL && *to != 0 && s[len - 1] != 's' &&
	    s[len - 1] != 'h' && s[len - 1] != 'n')
		return "a unit is missing (ns, us, ms, s, min, h)";
	return why;
}

static inline const char *
json_reader_range_of(const char *s, uint64_t lo, uint64_t hi,
    struct json_reader_range *to)
{
	const char *dash = strchr(s, '-'), *why;
	char first[24];
	uint64_t a, b;

	if (dash == NULL) {
		why = num_u64(s, lo, hi, &b);
		if (why == NULL)
			*to = (struct json_reader_range){ 1, b };
		return why;
	}
	if ((size_t)(dash - s) >= sizeof(first))
		return "not a range such as 6-10";
	memcpy(first, s, (size_t)(dash - s));
	first[dash - s] = '\0';
	why = num_u64(first, lo, hi, &a);
	if (why == NULL)
		why = num_u64(dash + 1, lo, hi, &b);
	if (why != NULL)
		return why;
	if (a > b)
		return "the first number is greater than the last";
	*to = (struct json_reader_range){ a, b };
	return NULL;
}

static inline const char *
json_reader_text(const char *s, char *to, size_t bytes, bool name)
{
	if (s[0] == '\0')
		return "empty";
	if (strlen(s) >= bytes)
		return "too long";
	if (name && strspn(s, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != strlen(s))
		return "may have only letters, digits, '-' and '_'";
	memcpy(to, s, strlen(s) + 1);
	return NULL;
}

static inline const char *
json_reader_word(const char *s, const char *const *words, uint64_t *to,
    char *room,
    size_t bytes)
{
	int n = snprintf(room, bytes, "not one of");
	char hint[NEAREST_TEXT];
	struct nearest near = { 0 };

	for (uint64_t i = 0; words[i] != NULL; i++) {
		if (strcmp(s, words[i]) == 0) {
			*to = i;
			return NULL;
		}
		nearest_offer(&near, s, words[i]);
		if ((size_t)n < bytes)
			n += snprintf(room + n, bytes - (size_t)n, "%s %s",
			    i == 0 ? "" : ",", words[i]);
	}
	if ((size_t)n < bytes)
		snprintf(room + n, bytes - (size_t)n, "%s",
		    nearest_hint(&near, s, "", hint));
	return room;
}

/*
 * Read the text s as the value of key k into the field at p.  Returns NULL or
 * an error message.
 */
static inline const char *
json_reader_words(const struct json_reader_key *k, const char *s, void *p,
    char *room,
    size_t bytes)
{
	const uint64_t hi = k->hi != 0 ? k->hi : k->type == JSON_READER_TIME ?
	    JSON_READER_TIME_MAX : INT64_MAX;

	for (uint64_t i = 0; k->type != JSON_READER_WORD && k->words != NULL &&
	    k->words[i] != NULL; i++) {
		if (strcmp(s, k->words[i]) == 0) {
			*(uint64_t *)p = UINT64_MAX - i;
			return NULL;
		}
	}
	switch (k->type) {
	case JSON_READER_COUNT: return json_reader_count(s, k->lo, hi, p);
	case JSON_READER_TIME: return json_reader_time(s, k->lo, hi, p);
	case JSON_READER_RATE: return num_rate(s, k->lo, hi, p);
	case JSON_READER_BYTES: return num_bytes(s, k->lo, hi, p);
	case JSON_READER_VECTOR: return num_vector(s, k->lo, hi, p);
	case JSON_READER_SHARE: return num_share(s, p);
	case JSON_READER_REAL: return num_real(s, -1e300, 1e300, p);
	case JSON_READER_WORD: return json_reader_word(s, k->words, p, room,
	    bytes);
	case JSON_READER_NAME: return json_reader_text(s, p,
	    JSON_READER_NAME_BYTES, true);
	case JSON_READER_FILE: return json_reader_text(s, p,
	    JSON_READER_FILE_BYTES, false);
	case JSON_READER_RANGE: return json_reader_range_of(s, k->lo, hi, p);
	case JSON_READER_BOOL:
		*(bool *)p = strcmp(s, "true") == 0;
		return NULL;
	case JSON_READER_LIST:
	case JSON_READER_ANY:
		break;
	}
	return NULL;
}

static inline bool
json_reader_list_of(struct json_reader *r, const struct json_reader_key *k,
    const cJSON *v,
    struct json_reader_list *to)
{
	size_t n = (size_t)cJSON_GetArraySize(v), at, i = 0;
	const cJSON *e;

	if (!cJSON_IsArray(v))
		return json_reader_fail(r, "is not a list: [ { ... }, ... ]");
	to->item = calloc(n == 0 ? 1 : n, k->list->bytes);
	if (to->item == NULL)
		return json_reader_fail(r, "no memory for %zu", n);
	to->n = n;
	cJSON_ArrayForEach(e, v) {
		at = json_reader_down(r, NULL, i);
		if (!json_reader_object(r, e, k->list, (char *)to->item +
		    i * k->list->bytes))
			return false;
		json_reader_up(r, at);
		i++;
	}
	return true;
}

static inline bool
json_reader_value(struct json_reader *r, const struct json_reader_key *k,
    const cJSON *v,
    void *p)
{
	char number[40], room[256];
	const char *s, *why;

	if (k->type == JSON_READER_ANY)
		return true;
	if (k->type == JSON_READER_LIST)
		return json_reader_list_of(r, k, v, p);
	if (k->type == JSON_READER_BOOL) {
		if (!cJSON_IsBool(v))
			return json_reader_fail(r, "is not true or false");
		*(bool *)p = cJSON_IsTrue(v);
		return true;
	}
	s = cJSON_IsBool(v) && k->words != NULL ? cJSON_IsTrue(v) ? "true" :
	    "false" : json_reader_words_of(v, number, sizeof(number));
	if (s == NULL)
		return json_reader_fail(r, "is not a string or a number");
	why = json_reader_words(k, s, p, room, sizeof(room));
	return why == NULL || json_reader_fail(r, "'%.64s': %s", s, why);
}

static inline void
json_reader_preset(const struct json_reader_section *s, void *to)
{
	char room[256];

	memset(to, 0, s->bytes);
	for (const struct json_reader_key *k = s->key; k->name != NULL; k++) {
		if (k->preset != NULL)
			json_reader_words(k, k->preset, (char *)to + k->at,
			    room,
			    sizeof(room));
	}
}

static inline cJSON *
json_reader_parse(struct json_reader *r, const char *text, size_t len)
{
	const char *end = text;
	size_t line = 1, column = 1;
	cJSON *root = cJSON_ParseWithLengthOpts(text, len, &end, 0);

	*r = (struct json_reader){ 0 };
	while (root != NULL && end < text + len &&
	    memchr(" \t\r\n", *end, 4) != NULL)
		end++;
	if (root != NULL && end == text + len)
		return root;
	cJSON_Delete(root);
	for (const char *p = text; p < end && p < text + len; p++) {
		column = *p == '\n' ? 1 : column + 1;
		line += *p == '\n';
	}
	snprintf(r->why, sizeof(r->why), "%zu:%zu: not valid JSON",
	    line, column);
	return NULL;
}

/*
 * Read all of f and append a null byte.  Returns the text, which the caller
 * must free, or NULL with errno.
 */
static inline char *
json_reader_slurp(FILE *f, size_t *len)
{
	char *text = NULL, *more;
	size_t room = 0, n = 1;

	for (*len = 0; n > 0; *len += n) {
		if (*len + 65536 > room) {
			room = 2 * room + 65537;
			more = *len > JSON_READER_TEXT_MAX ? NULL :
			    realloc(text, room);
			if (more == NULL) {
				free(text);
				errno = EFBIG;
				return NULL;
			}
			text = more;
		}
		n = fread(text + *len, 1, 65536, f);
	}
	if (ferror(f)) {
		free(text);
		return NULL;
	}
	text[*len] = '\0';
	return text;
}

static inline cJSON *
json_reader_load(struct json_reader *r, const char *path)
{
	const bool std = strcmp(path, "-") == 0;
	FILE *f = std ? stdin : file_open_stream(path, false);
	const char *name = std ? "standard input" : path;
	cJSON *root = NULL;
	char why[sizeof(r->why)];
	size_t len;
	char *text = f == NULL ? NULL : json_reader_slurp(f, &len);

	*r = (struct json_reader){ 0 };
	if (text == NULL) {
		snprintf(r->why, sizeof(r->why), "%.256s: %s", name,
		    strerror(errno));
	} else {
		root = json_reader_parse(r, text, len);
		snprintf(why, sizeof(why), "%.256s:%.128s", name, r->why);
		memcpy(r->why, why, sizeof(why));
	}
	if (f != NULL && !std)
		fclose(f);
	free(text);
	return root;
}

static inline bool
json_reader_object(struct json_reader *r, const cJSON *o,
    const struct json_reader_section *s, void *to)
{
	const struct json_reader_key *k;
	const cJSON *v, *w;
	size_t at;

	json_reader_preset(s, to);
	if (!cJSON_IsObject(o))
		return json_reader_fail(r, "is not an object: { ... }");
	cJSON_ArrayForEach(v, o) {
		at = json_reader_down(r, v->string, 0);
		for (k = s->key; k->name != NULL &&
		    strcmp(k->name, v->string) != 0; k++)
			;
		if (k->name == NULL)
			return json_reader_fail_unknown(r, s, v->string);
		for (w = v->next; w != NULL; w = w->next) {
			if (strcmp(w->string, v->string) == 0)
				return json_reader_fail(r, "given twice");
		}
		if (!json_reader_value(r, k, v, (char *)to + k->at))
			return false;
		json_reader_up(r, at);
	}
	for (k = s->key; k->name != NULL; k++) {
		if (k->needed && cJSON_GetObjectItemCaseSensitive(o,
		    k->name) == NULL) {
			json_reader_down(r, k->name, 0);
			return json_reader_fail(r, "is missing");
		}
	}
	return true;
}

static inline void
json_reader_free(const struct json_reader_section *s, void *of)
{
	for (const struct json_reader_key *k = s->key; k->name != NULL; k++) {
		struct json_reader_list *l = (void *)((char *)of + k->at);

		if (k->type != JSON_READER_LIST)
			continue;
		for (size_t i = 0; i < l->n; i++)
			json_reader_free(k->list, (char *)l->item +
			    i * k->list->bytes);
		free(l->item);
		*l = (struct json_reader_list){ 0 };
	}
}

static inline void
json_reader_list_keys(FILE *f, const struct json_reader_section *s,
    const char *prefix)
{
	static const char *const type[] = {
		[JSON_READER_COUNT] = "count", [JSON_READER_TIME] = "time",
		[JSON_READER_RATE] = "rate", [JSON_READER_BYTES] = "size",
		[JSON_READER_VECTOR] = "vector",
		[JSON_READER_SHARE] = "share", [JSON_READER_REAL] = "number",
		[JSON_READER_BOOL] = "true or false",
		    [JSON_READER_NAME] = "name",
		[JSON_READER_FILE] = "file", [JSON_READER_RANGE] = "range",
		[JSON_READER_LIST] = "list", [JSON_READER_ANY] = "object",
	};

	for (const struct json_reader_key *k = s->key; k->name != NULL; k++) {
		char path[256];

		fprintf(f, "%s%s\t", prefix, k->name);
		if (k->type != JSON_READER_WORD)
			fputs(type[k->type], f);
		for (size_t i = 0; k->words != NULL && k->words[i] != NULL; i++)
			fprintf(f, "%s%s", i == 0 &&
			    k->type == JSON_READER_WORD ?
			    "" : "|", k->words[i]);
		fprintf(f, "\t%s\t%s\n", k->needed ? "needed" :
		    k->preset == NULL ? "-" : k->preset, k->help);
		if (k->type == JSON_READER_LIST) {
			snprintf(path, sizeof(path), "%.160s%.64s[].", prefix,
			    k->name);
			json_reader_list_keys(f, k->list, path);
		}
	}
}

#endif
