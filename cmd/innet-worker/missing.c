/* missing.c - whom a job waits for, in words */
#include <stdarg.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "cmd/innet-worker/missing.h"

enum { NAME_BYTES = 128 };

/* Seconds, as the switch tells milliseconds. */
static double
seconds(const cJSON *o, const char *key)
{
	const cJSON *n = cJSON_GetObjectItem(o, key);

	return cJSON_IsNumber(n) ? n->valuedouble / 1e3 : 0;
}

/* More words, behind what is there; only if all fit. */
__attribute__((format(printf, 3, 4))) static size_t
say(char *text, size_t at, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text + at, MISSING_BYTES - at, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < MISSING_BYTES - at)
		return at + (size_t)n;
	text[at] = '\0';
	return at;
}

/* A member's type, number and address. */
static const char *
who(const cJSON *m, char name[NAME_BYTES])
{
	const cJSON *type = cJSON_GetObjectItem(m, "type");
	const cJSON *worker = cJSON_GetObjectItem(m, "worker");
	const cJSON *address = cJSON_GetObjectItem(m, "address");
	const cJSON *port = cJSON_GetObjectItem(m, "port");

	snprintf(name, NAME_BYTES, "%s %.0f (%s:%.0f)", cJSON_IsString(type) ?
	    type->valuestring : "member", cJSON_IsNumber(worker) ?
	    worker->valuedouble : 0, cJSON_IsString(address) ?
	    address->valuestring : "?", cJSON_IsNumber(port) ?
	    port->valuedouble : 0);
	return name;
}

/* One member who misses something; what text then has. */
static size_t
say_member(const cJSON *m, char *text, size_t at)
{
	const cJSON *missing = cJSON_GetObjectItem(m, "missing");
	char name[NAME_BYTES];

	if (!cJSON_IsNumber(missing) || missing->valuedouble < 1)
		return at;
	return say(text, at, "%s %s", at == 0 ? "; missing:" : ",",
	    who(m, name));
}

/* One who was a member; what text then has. */
static size_t
say_gone(const cJSON *m, char *text, size_t at)
{
	char name[NAME_BYTES];

	who(m, name);
	if (!cJSON_IsTrue(cJSON_GetObjectItem(m, "evicted")))
		return say(text, at, "; %s left %.1f s ago", name,
		    seconds(m, "gone_ms"));
	return say(text, at, "; %s was put out %.1f s ago, last heard %.1f s "
	    "ago", name, seconds(m, "gone_ms"), seconds(m, "last_heard_ms"));
}

/* Fewer members are left than a sum needs: who went? */
static void
say_too_few(const cJSON *json, double h, char *text)
{
	const cJSON *m;
	size_t at = say(text, 0, "; %.0f needed, %d left", h,
	    cJSON_GetArraySize(cJSON_GetObjectItem(json, "members")));

	cJSON_ArrayForEach(m, cJSON_GetObjectItem(json, "gone"))
		at = say_gone(m, text, at);
}

void
missing_say(const struct sync_worker *l, char text[MISSING_BYTES])
{
	cJSON *json = l->text == NULL || l->text_bytes == 0 ? NULL :
	    cJSON_ParseWithLength(l->text, l->text_bytes);
	const cJSON *list = cJSON_GetObjectItem(json, "members"), *m;
	const cJSON *open = cJSON_GetObjectItem(json, "open");
	const cJSON *h = cJSON_GetObjectItem(json, "h");
	size_t at = 0;

	text[0] = '\0';
	if (json == NULL)
		snprintf(text, MISSING_BYTES, "; it does not say who is "
		    "missing");
	else if (cJSON_IsFalse(open) && cJSON_IsNumber(h))
		snprintf(text, MISSING_BYTES, "; the job is not open: %d of "
		    "%.0f have joined", cJSON_GetArraySize(list),
		    h->valuedouble);
	else if (cJSON_IsNumber(h) && cJSON_GetArraySize(list) < h->valuedouble)
		say_too_few(json, h->valuedouble, text);
	else
		cJSON_ArrayForEach(m, list)
			at = say_member(m, text, at);
	cJSON_Delete(json);
}
