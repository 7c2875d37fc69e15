/* json.h - integers into cJSON objects, with all their digits */
#ifndef INNET_SWITCH_JSON_H
#define INNET_SWITCH_JSON_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

/* cJSON stores doubles: an integer goes in as its own digits. */
static inline void
json_u64(cJSON *o, const char *key, uint64_t v)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRIu64, v);
	cJSON_AddRawToObject(o, key, digits);
}

/* The text of root, which is freed; the caller's to free; NULL without memory. */
static inline char *
json_text(cJSON *root, bool pretty)
{
	char *text = pretty ? cJSON_Print(root) :
	    cJSON_PrintUnformatted(root);

	cJSON_Delete(root);
	return text;
}

#endif
