/* missing.c - whom a job waits for, in words */
#include <stdbool.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "cmd/innet-worker/missing.h"

/* One member who misses something; what text then has. */
static size_t
say_member(const cJSON *m, char *text, size_t at)
{
	const cJSON *missing = cJSON_GetObjectItem(m, "missing");
	const cJSON *worker = cJSON_GetObjectItem(m, "worker");
	const cJSON *type = cJSON_GetObjectItem(m, "type");
	const cJSON *address = cJSON_GetObjectItem(m, "address");
	const cJSON *port = cJSON_GetObjectItem(m, "port");
	int n;

	if (!cJSON_IsNumber(missing) || missing->valuedouble < 1 ||
	    !cJSON_IsNumber(worker))
		return at;
	n = snprintf(text + at, MISSING_BYTES - at, "%s %s %.0f (%s:%.0f)",
	    at == 0 ? "; missing:" : ",", cJSON_IsString(type) ?
	    type->valuestring : "member", worker->valuedouble,
	    cJSON_IsString(address) ? address->valuestring : "?",
	    cJSON_IsNumber(port) ? port->valuedouble : 0);
	if (n < 0 || (size_t)n >= MISSING_BYTES - at) {
		text[at] = '\0';	/* as many as fit */
		return at;
	}
	return at + (size_t)n;
}

/* Seconds, as the switch tells milliseconds. */
static double
seconds(const cJSON *o, const char *key)
{
	const cJSON *n = cJSON_GetObjectItem(o, key);

	return cJSON_IsNumber(n) ? n->valuedouble / 1e3 : 0;
}

/* One who was a member; what text then has. */
static size_t
say_gone(const cJSON *m, char *text, size_t at)
{
	const cJSON *worker = cJSON_GetObjectItem(m, "worker");
	const cJSON *address = cJSON_GetObjectItem(m, "address");
	const cJSON *port = cJSON_GetObjectItem(m, "port");
	const bool evicted = cJSON_IsTrue(cJSON_GetObjectItem(m, "evicted"));
	int n;

	if (!cJSON_IsNumber(worker))
		return at;
	n = snprintf(text + at, MISSING_BYTES - at, "; worker %.0f (%s:%.0f) "
	    "%s %.1f s ago", worker->valuedouble, cJSON_IsString(address) ?
	    address->valuestring : "?", cJSON_IsNumber(port) ?
	    port->valuedouble : 0, evicted ? "was put out" : "left",
	    seconds(m, "gone_ms"));
	if (n > 0 && evicted && (size_t)n < MISSING_BYTES - at)
		n += snprintf(text + at + n, MISSING_BYTES - at - (size_t)n,
		    ", last heard %.1f s ago", seconds(m, "last_heard_ms"));
	if (n < 0 || (size_t)n >= MISSING_BYTES - at) {
		text[at] = '\0';	/* as many as fit */
		return at;
	}
	return at + (size_t)n;
}

/* Fewer members are left than a sum needs: who went? */
static size_t
say_too_few(const cJSON *json, double h, char *text)
{
	const cJSON *m;
	size_t at = (size_t)snprintf(text, MISSING_BYTES, "; %.0f needed, %d "
	    "left", h, cJSON_GetArraySize(cJSON_GetObjectItem(json,
	    "members")));

	cJSON_ArrayForEach(m, cJSON_GetObjectItem(json, "gone"))
		at = say_gone(m, text, at);
	return at;
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
