/*
 * answered.h - what was answered to whom, so that nothing is done twice
 *
 * Of each source (address, port, job) the last request's xid and its Ack: an
 * equal xid is answered with the same Ack, an older one is dropped.  Also the
 * text that a source reads page by page, and when it was last told off.
 * Sources are remembered up to ANSWERED_MAX; then the oldest is forgotten.
 * Owns its memory: answered_free().
 */
#ifndef INNET_PROGRAM_ANSWERED_H
#define INNET_PROGRAM_ANSWERED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/keymap.h"
#include "common/wire/addr.h"
#include "common/wire/control.h"

enum {
	ANSWERED_MAX = 8192, ANSWERED_NONE = UINT32_MAX,
	ANSWERED_TEXT_BYTES = 16 << 20	/* of all texts */
};

struct reply {
	union addr at;
	uint16_t job;
	bool asked;		/* xid and ack are of a request */
	uint32_t xid;
	uint64_t told_ns;	/* when it heard last that it is no member */
	uint8_t *ack;		/* owned */
	uint32_t ack_bytes;
	char *text;		/* owned: frozen when page 0 was asked */
	uint32_t text_bytes;
	uint32_t next;		/* of the same key */
};

struct answered {
	struct reply *r;	/* ANSWERED_MAX, once there is any */
	uint32_t n, oldest;
	struct keymap index;	/* key -> the latest of it */
	struct keymap_number by;	/* of its keys */
	uint64_t text_bytes;
};

static inline void
answered_free(struct answered *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		free(s->r[i].ack);
		free(s->r[i].text);
	}
	free(s->r);
	keymap_free(&s->index);
	*s = (struct answered){ 0 };
}

static inline uint64_t
answered_key(const struct answered *s, const union addr *at, uint16_t job)
{
	return addr_key(at, &s->by) * 0x9e3779b97f4a7c15 + job;
}

/* Source r reads no text any more. */
static inline void
answered_no_text(struct answered *s, struct reply *r)
{
	s->text_bytes -= r->text_bytes;
	free(r->text);
	r->text = NULL;
	r->text_bytes = 0;
}

/*
 * Source r reads that text from now on, which is r's to free; NULL: none.
 * When all are too long together others' are gone: they begin anew.
 */
static inline void
answered_text(struct answered *s, struct reply *r, char *text)
{
	answered_no_text(s, r);
	r->text = text;
	r->text_bytes = text == NULL ? 0 : (uint32_t)strlen(text);
	s->text_bytes += r->text_bytes;
	for (uint32_t i = 0; s->text_bytes > ANSWERED_TEXT_BYTES && i < s->n;
	    i++) {
		if (&s->r[i] != r)
			answered_no_text(s, &s->r[i]);
	}
}

/* Forget source i. */
static inline void
answered_forget(struct answered *s, uint32_t i)
{
	const uint64_t key = answered_key(s, &s->r[i].at,
	    s->r[i].job);
	uint32_t *where = keymap_get(&s->index, key);

	if (where != NULL && *where == i && s->r[i].next == ANSWERED_NONE) {
		keymap_remove(&s->index, key);
	} else {
		while (where != NULL && *where != i)
			where = *where == ANSWERED_NONE ? NULL :
			    &s->r[*where].next;
		if (where != NULL)	/* it was never found again */
			*where = s->r[i].next;
	}
	free(s->r[i].ack);
	answered_no_text(s, &s->r[i]);
}

/* What is known of a source, made if it is new; NULL without memory. */
static inline struct reply *
answered_of(struct answered *s, const union addr *at, uint16_t job)
{
	const uint64_t key = answered_key(s, at, job);
	uint32_t *head, i;

	if (s->r == NULL)
		s->r = calloc(ANSWERED_MAX, sizeof(*s->r));
	if (s->r == NULL)
		return NULL;
	head = keymap_get(&s->index, key);
	for (i = head == NULL ? ANSWERED_NONE : *head; i != ANSWERED_NONE;
	    i = s->r[i].next) {
		if (s->r[i].job == job && addr_same(&s->r[i].at, at))
			return &s->r[i];
	}
	i = s->n;
	if (s->n == ANSWERED_MAX) {
		i = s->oldest++ % ANSWERED_MAX;
		answered_forget(s, i);
	} else {
		s->n++;
	}
	s->r[i] = (struct reply){ .at = *at, .job = job,
	    .next = ANSWERED_NONE };
	head = keymap_put(&s->index, key, ANSWERED_NONE);
	if (head == NULL) {	/* not found again, but all else works */
		s->r[i].at = (union addr){ 0 };
		return NULL;
	}
	s->r[i].next = *head;
	*head = i;
	return &s->r[i];
}

/* Remember the Ack of a request; without memory it will be done anew. */
static inline void
answered_keep(struct reply *r, uint32_t xid, const uint8_t *ack,
    uint32_t bytes)
{
	uint8_t *p = realloc(r->ack, bytes);

	r->asked = p != NULL;
	if (p == NULL)
		return;
	r->ack = p;
	r->ack_bytes = bytes;
	r->xid = xid;
	memcpy(p, ack, bytes);
}

#endif
