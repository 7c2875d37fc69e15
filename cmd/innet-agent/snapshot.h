/*
 * snapshot.h - write the parts of a state one after another, or read them back
 *
 * An object with a state names its parts once, with snapshot_part(), in one
 * order for both directions: a snapshot that is written copies each part, one
 * that is read restores it.  Parts are the machine's own bytes.  Reading past
 * the end leaves a part as it was and marks the snapshot bad; a reader asks
 * snapshot_whole() once at the end.
 */
#ifndef INNET_AGENT_SNAPSHOT_H
#define INNET_AGENT_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"

struct snapshot {
	uint8_t *bytes;		/* owned */
	size_t len, room;	/* bytes: used, allocated */
	size_t at;		/* next to read */
	bool reading, bad;
};

/* Append n bytes; exits 1 without memory. */
static inline void
snapshot_add(struct snapshot *s, const void *p, size_t n)
{
	if (s->room - s->len < n) {
		s->room = s->len + n + s->room / 2;
		s->bytes = realloc(s->bytes, s->room);
		if (s->bytes == NULL)
			err(1, "no memory for a snapshot of %zu bytes",
			    s->room);
	}
	memcpy(s->bytes + s->len, p, n);
	s->len += n;
}

/* Write the n bytes at p, or read them back. */
static inline void
snapshot_part(struct snapshot *s, void *p, size_t n)
{
	if (!s->reading) {
		snapshot_add(s, p, n);
		return;
	}
	if (s->bad || s->len - s->at < n) {
		s->bad = true;
		return;
	}
	memcpy(p, s->bytes + s->at, n);
	s->at += n;
}

/* Was all of it read, to the last byte? */
static inline bool
snapshot_whole(const struct snapshot *s)
{
	return !s->bad && s->at == s->len;
}

static inline void
snapshot_free(struct snapshot *s)
{
	free(s->bytes);
	*s = (struct snapshot){ 0 };
}

#endif
