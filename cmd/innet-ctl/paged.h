/*
 * paged.h - the JSON text that a peer gives page by page
 *
 * The peer freezes the text when page 0 is asked.  If it changes all the same
 * (another asked, or the peer was started anew) all is asked again, a few
 * times.  A struct paged owns its text and its tree; paged_free().
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
 * Ask for all of it; of Stats those of the scope.  False if it cannot be had,
 * which has been said.
 */
bool paged_get(struct paged *, struct ask *, uint8_t action,
    enum control_scope scope);

/*
 * Make the tree of the len bytes of p->text and a zero byte: an object, and
 * nothing behind it.  False if it is none.
 */
bool paged_parse(struct paged *p, size_t len);

void paged_free(struct paged *);

#endif
