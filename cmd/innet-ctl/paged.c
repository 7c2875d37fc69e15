/* paged.c - request a text page by page; see paged.h */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"

#include "cmd/innet-ctl/paged.h"

enum { ROUNDS = 5 };	/* number of attempts to get all pages */

/* The result of an attempt to get all pages. */
enum round { WHOLE, CHANGED, FAILED };

/* Request one page, and store its Ack in *k. */
static enum round
ask_page(struct ask *a, uint8_t action, enum control_scope scope,
    uint16_t page, struct control_ack *k)
{
	struct ask_answer w;
	uint8_t body[3];

	bytes_put(bytes_put(body, page, 2), scope, 1);
	if (!ask_request(a, action, body, action == CONTROL_STATS ? 3 : 2, &w))
		return FAILED;
	*k = w.ack;
	if (k->status != CONTROL_DONE) {
		if (page > 0) /* the text has changed, because this page existed
			       * when page 0 was requested */
			return CHANGED;
		ask_refused(a, k);
		return FAILED;
	}
	if (k->page != page || k->pages == 0) {
		ask_warn(a, action, "asked for page %u of the answer, but got "
		    "page %u of %u",
		    page, k->page, k->pages);
		return FAILED;
	}
	if (k->text_bytes > CONTROL_PAGE_BYTES) {
		ask_warn(a, action, "page %u of the answer has %zu bytes, more "
		    "than %d",
		    page, k->text_bytes, CONTROL_PAGE_BYTES);
		return FAILED;
	}
	return WHOLE;
}

/* Get all pages and append them to *text, which the caller frees. */
static enum round
get_pages(struct ask *a, uint8_t action, enum control_scope scope, char **text,
    size_t *len)
{
	struct control_ack k = { 0 };
	uint16_t pages = 1;
	enum round r;

	*len = 0;
	for (uint16_t page = 0; page < pages; page++) {
		r = ask_page(a, action, scope, page, &k);
		if (r != WHOLE)
			return r;
		if (page == 0) {
			pages = k.pages;
			free(*text);
			*text = malloc((size_t)pages * CONTROL_PAGE_BYTES + 1);
			if (*text == NULL)
				err(1, "no memory for %u pages", pages);
		}
		if (k.pages != pages)
			return CHANGED;
		memcpy(*text + *len, k.text, k.text_bytes);
		*len += k.text_bytes;
	}
	(*text)[*len] = '\0';
	return WHOLE;
}

/*
 * Remove the blanks between the words of valid JSON.  Return false if a string
 * contains a control character, because JSON forbids control characters
 * although cJSON accepts them.  cJSON_Minify() is not used, because it fails
 * for a string that ends in \\.
 */
static bool
remove_blanks(char *s)
{
	bool in = false, good = true;
	char *to = s;

	for (; *s != '\0'; s++) {
		const bool blank = (unsigned char)*s <= 0x20;

		if (!in && blank)
			continue;
		good = good && (!blank || *s == ' ');
		*to++ = *s;
		if (in && *s == '\\' && s[1] != '\0')
			*to++ = *++s;
		else if (*s == '"')
			in = !in;
	}
	*to = '\0';
	return good;
}

bool
paged_parse(struct paged *p, size_t len)
{
	const char *end = NULL;

	cJSON_Delete(p->root);
	p->root = cJSON_ParseWithLengthOpts(p->text, len + 1, &end, 1);
	if (!cJSON_IsObject(p->root) || strlen(p->text) != len)
		return false;
	return remove_blanks(p->text);
}

bool
paged_get(struct paged *p, struct ask *a, uint8_t action,
    enum control_scope scope)
{
	enum round r = WHOLE;
	size_t len = 0;

	*p = (struct paged){ 0 };
	for (int i = 0; i < ROUNDS; i++) {
		r = get_pages(a, action, scope, &p->text, &len);
		if (r == FAILED)
			break;
		if (r == WHOLE && paged_parse(p, len))
			return true;
	}
	if (r == CHANGED)
		ask_warn(a, action, "the answer changed while its pages were "
		    "read, %d times", ROUNDS);
	else if (r == WHOLE)
		ask_warn(a, action, "the answer, of %zu bytes, is not a JSON "
		    "object", len);
	paged_free(p);
	return false;
}

void
paged_free(struct paged *p)
{
	free(p->text);
	cJSON_Delete(p->root);
	*p = (struct paged){ 0 };
}
