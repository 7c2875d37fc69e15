/*
 * paged.h - get the JSON text that a peer sends page by page
 *
 * The peer makes a copy of the text when page 0 is requested.  If the text
 * changes between two pages, because another client asked or the peer
 * restarted, all pages are requested again.  This happens at most five times.
 * A struct paged owns its text and its tree; paged_free() frees them.
 */
#ifndef INNET_CTL_PAGED_H
#define INNET_CTL_PAGED_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "cmd/innet-ctl/ask.h"

struct paged {
	char *text;		/* one line without blanks between words */
	cJSON *root;		/* a JSON object */
};

/*
 * Get all pages of the answer to `action`.  `scope` is only used for Stats.  If
 * this fails, warn and return false.
 */
bool paged_get(struct paged *, struct ask *, uint8_t action,
    enum control_scope scope);

/*
 * Parse the len bytes of p->text, which end with a zero byte, into p->root.
 * Return false if they are not exactly one JSON object.
 */
bool paged_parse(struct paged *p, size_t len);

void paged_free(struct paged *);

#endif
