/* table.c - a table of experiences: a name, a replay buffer, frames */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-memory/store/table.h"

const char *const table_picks[] = {
	[REPLAY_TABLE_PER] = "per", [REPLAY_TABLE_UNIFORM] = "uniform",
	[REPLAY_TABLE_FIFO] = "fifo", [REPLAY_TABLE_LIFO] = "lifo", NULL
};

/* What a file or a client may have put wrong; words are checked before. */
const char *
table_wrong(const struct replay_table_conf *conf)
{
	if (conf->capacity < 1 || conf->capacity > TABLE_CAPACITY_MAX)
		return "a capacity is 1 to 2147483648";
	if (!(conf->alpha >= 0 && conf->alpha <= PRIORITIES_POWER_MAX))
		return "alpha is 0 to 4";
	if (conf->pick > REPLAY_TABLE_LIFO)
		return "no selector has this number";
	return ratio_wrong(&conf->limit);
}

const char *
table_frames_wrong(uint64_t bytes, uint64_t stack)
{
	if (stack < 1 || stack > FRAMES_STACK_MAX)
		return "a stack is 1 to 32 frames";
	if (bytes < 1 || bytes > (RESP_BULK_MAX / 2) / stack)
		return "an experience of such frames is more than 512 MB";
	return NULL;
}

size_t
table_bytes(const struct replay_table_conf *conf)
{
	/* a tree: a leaf, and an eighth of one for what is above it */
	const size_t tree = 5, trees = conf->pick == REPLAY_TABLE_PER &&
	    conf->capacity > TABLE_SLICE ? 2 : 1;
	const size_t slot = sizeof(struct replay_table_slot) + sizeof(float) +
	    trees * tree + (conf->times > 0 ? sizeof(void *) : 0);

	return sizeof(struct table) + conf->capacity * slot;
}

static void
drop(void *arg, void *item)
{
	struct table *t = arg;

	frames_drop(&t->frames, item);
}

struct table *
table_open(struct blobs *blobs, const void *name, size_t len,
    const struct replay_table_conf *conf)
{
	const size_t bytes = table_bytes(conf);
	struct table *t;

	assert(len >= 1 && len <= TABLE_NAME_MAX && table_wrong(conf) == NULL);
	if (!blobs_charge(blobs, bytes))
		return NULL;
	t = calloc(1, sizeof(*t));
	if (t == NULL || !replay_table_open(&t->buf, conf, drop, t)) {
		blobs_give(blobs, bytes);
		free(t);
		return NULL;
	}
	t->buf.per.slice = TABLE_SLICE;
	t->frames.blobs = blobs;
	t->charged = bytes;
	t->name_len = len;
	memcpy(t->name, name, len);
	return t;
}

bool
table_shed(struct table *t, size_t *n)
{
	const size_t each = 1 + frames_per(&t->frames);
	const size_t slots = (*n + each - 1) / each;
	size_t done;

	frames_forget(&t->frames);
	done = replay_table_shed(&t->buf, slots);
	*n -= done * each < *n ? done * each : *n;
	return done < slots;
}

void
table_close(struct table *t)
{
	struct blobs *blobs = t->frames.blobs;

	replay_table_close(&t->buf);
	frames_forget(&t->frames);
	blobs_give(blobs, t->charged);
	free(t);
}

void
table_rename(struct table *t, const void *name, size_t len)
{
	assert(len >= 1 && len <= TABLE_NAME_MAX);
	memcpy(t->name, name, len);
	t->name[len] = '\0';
	t->name_len = len;
}
