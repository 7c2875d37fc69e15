/* missing.c - whom a job waits for, in words */
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
	else
		cJSON_ArrayForEach(m, list)
			at = say_member(m, text, at);
	cJSON_Delete(json);
}
