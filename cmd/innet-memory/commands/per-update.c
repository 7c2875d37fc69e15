/* per-update.c - PER.UPDATE and PER.REMOVE */
#include <stdlib.h>
#include <string.h>

#include "common/wire/stream.h"

#include "cmd/innet-memory/commands/per.h"

struct updates {
	size_t n;
	uint64_t *id;
	float *priority;
};

static bool
open_updates(struct client *c, struct updates *u, size_t n)
{
	if (!per_check_count(c, n))
		return false;
	u->n = n;
	u->id = malloc(n * sizeof(*u->id) + 1);
	u->priority = malloc(n * sizeof(*u->priority) + 1);
	if (u->id != NULL && u->priority != NULL)
		return true;
	reply_oom(c);
	return false;
}

/* Read pairs of an id and a priority as text. */
static bool
read_text_updates(struct client *c, const struct resp_args *a,
    struct updates *u)
{
	if (a->n % 2 != 0) {
		reply_error(c, "ERR give pairs of an id and a priority: the "
		    "last priority is missing");
		return false;
	}
	if (!open_updates(c, u, (a->n - 2) / 2))
		return false;
	for (size_t i = 0; i < u->n; i++) {
		if (!per_read_whole(c, a, 2 + 2 * i, "id", 0, INT64_MAX,
		    &u->id[i]) ||
		    !per_read_priority(c, a, 3 + 2 * i, false, &u->priority[i]))
			return false;
	}
	return true;
}

/*
 * Read packed u64 ids and the same number of packed f32 priorities, in the
 * format of binary replies.
 */
static bool
read_packed_updates(struct client *c, const struct resp_args *a,
    struct updates *u)
{
	const size_t ids = a->v[3].len, priorities = a->n > 4 ? a->v[4].len :
	    0;

	if (a->n != 5 || ids % 8 != 0 || ids / 2 != priorities) {
		reply_error(c, "ERR binary: give n ids of 8 bytes and n "
		    "priorities of 4 bytes, not %zu and %zu bytes", ids,
		    priorities);
		return false;
	}
	if (!open_updates(c, u, ids / 8))
		return false;
	for (size_t i = 0; i < u->n; i++) {
		const uint32_t bits = (uint32_t)stream_get_le(a->v[4].p +
		    4 * i, 4);

		u->id[i] = stream_get_le(a->v[3].p + 8 * i, 8);
		memcpy(&u->priority[i], &bits, sizeof(bits));
		if (!priorities_valid(u->priority[i])) {
			reply_error(c, "ERR priority %zu of argument 4: not a "
			    "finite number, 0 or more", i);
			return false;
		}
	}
	return true;
}

void
per_update(struct client *c, const struct resp_args *a)
{
	struct table *t = per_find_table(c, a);
	struct updates u = { 0 };

	if (t == NULL)
		return;
	if (args_equal(a, 2, "binary") ? read_packed_updates(c, a, &u) :
	    read_text_updates(c, a, &u)) {
		reply_int(c, (int64_t)replay_buffer_update_priorities(&t->buf,
		    u.id, u.priority, u.n));
		host_mark_changed(c, a);
	}
	free(u.id);
	free(u.priority);
}

void
per_remove(struct client *c, const struct resp_args *a)
{
	struct table *t = per_find_table(c, a);
	uint64_t id;
	int64_t n = 0;

	if (t == NULL || !per_check_count(c, a->n - 2))
		return;
	for (size_t i = 2; i < a->n; i++) {
		if (!per_read_whole(c, a, i, "id", 0, INT64_MAX, &id))
			return;
	}
	for (size_t i = 2; i < a->n; i++) {
		args_read_integer(a, i, (int64_t *)&id);
		n += replay_buffer_remove(&t->buf, id);
	}
	host_mark_changed(c, a);
	reply_int(c, n);
}
