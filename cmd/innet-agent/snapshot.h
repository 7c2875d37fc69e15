/*
 * snapshot.h - write the parts of a state one after another, or read them back
 *
 * An object names the parts of its state in one function, by calls of
 * snapshot_part().  The same function writes and reads a snapshot: writing
 * copies each part into the snapshot, and reading restores each part.
 * Parts are stored in the machine's own byte order.  A read beyond the end
 * leaves the part unchanged and marks the snapshot as bad.  The reader calls
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
	size_t len, room;	/* bytes used; bytes allocated */
	size_t at;		/* index of the next byte to read */
	bool reading, bad;
};

/* Append the n bytes at p.  Exits with status 1 if there is no memory. */
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

/* Write the n bytes at p to s, or read them back. */
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

/* Return whether the snapshot was read exactly to its end. */
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
