/*
 * paged.h - get the JSON text that a peer sends page by page
 *
 * The peer keeps a copy of the text when page 0 is requested.  If the text
 * changes between pages (another client asked, or the peer was restarted), all
 * pages are requested again, up to five times.  A struct paged owns its text
 * and its tree; call paged_free().
 */
#ifndef INNET_CTL_PAGED_H
#define INNET_CTL_PAGED_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

#include "cmd/innet-ctl/ask.h"

struct paged {
	char *text;		/* one line, without blanks between words */
	cJSON *root;		/* an object */
};

/*
 * Get all pages of the answer to `action`; scope matters for Stats only.  False
 * after a warning if that fails.
 */
bool paged_get(struct paged *, struct ask *, uint8_t action,
    enum control_scope scope);

/*
 * Parse the len bytes of p->text, which end in a zero byte, into p->root. False
 * unless they are one JSON object and nothing else.
 */
bool paged_parse(struct paged *p, size_t len);

void paged_free(struct paged *);

#endif
