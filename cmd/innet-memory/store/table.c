/* table.c - a table of experiences: a name, a replay buffer and frames */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-memory/store/table.h"

const char *const table_selectors[] = {
	[REPLAY_BUFFER_PER] = "per", [REPLAY_BUFFER_UNIFORM] = "uniform",
	[REPLAY_BUFFER_FIFO] = "fifo", [REPLAY_BUFFER_LIFO] = "lifo", NULL
};

/*
 * Check settings that come from a file or a client.  The caller has already
 * parsed the words in a client's request.
 */
const char *
table_check_settings(const struct replay_buffer_settings *settings)
{
	if (settings->capacity < 1 || settings->capacity > TABLE_CAPACITY_MAX)
		return "the capacity must be from 1 to 2147483648";
	if (!(settings->alpha >= 0 && settings->alpha <= PRIORITIES_POWER_MAX))
		return "alpha must be from 0 to 4";
	if (settings->selector > REPLAY_BUFFER_LIFO)
		return "unknown selector";
	return sample_ratio_check(&settings->limit);
}

const char *
table_check_frames(uint64_t bytes, uint64_t stack)
{
	if (stack < 1 || stack > FRAMES_STACK_MAX)
		return "a stack must have 1 to 32 frames";
	if (bytes < 1 || bytes > (TABLE_EXPERIENCE_MAX / 2) / stack)
		return "an experience with such frames would exceed 512 MB";
	return NULL;
}

size_t
table_slots_bytes(const struct replay_buffer_settings *settings)
{
	/*
	 * a tree has 4 bytes per leaf, and an eighth more for its inner nodes
	 */
	const size_t tree = 5, trees = settings->selector == REPLAY_BUFFER_PER
	    && settings->capacity > TABLE_SLICE ? 2 : 1;
	const size_t slot = sizeof(struct replay_buffer_slot) + sizeof(float) +
	    trees * tree + (settings->times > 0 ? sizeof(void *) : 0);

	return sizeof(struct table) + settings->capacity * slot +
	    replay_buffer_touched_words(settings->capacity) * sizeof(uint64_t);
}

static void
drop_experience(void *arg, void *item)
{
	struct table *t = arg;

	frames_drop(&t->frames, item);
}

struct table *
table_open(struct account *account, const void *name, size_t len,
    const struct replay_buffer_settings *settings)
{
	const size_t bytes = table_slots_bytes(settings);
	struct table *t;

	assert(len >= 1 && len <= TABLE_NAME_MAX &&
	       table_check_settings(settings) == NULL);
	if (!account_charge(account, bytes))
		return NULL;
	t = calloc(1, sizeof(*t));
	if (t == NULL ||
	    !replay_buffer_open(&t->buf, settings, drop_experience, t)) {
		account_uncharge(account, bytes);
		free(t);
		return NULL;
	}
	t->buf.per.slice = TABLE_SLICE;
	t->frames.account = account;
	t->charged = bytes;
	t->name_len = len;
	memcpy(t->name, name, len);
	return t;
}

bool
table_free_some(struct table *t, size_t *n)
{
	const size_t each = 1 + frames_per(&t->frames);
	const size_t slots = (*n + each - 1) / each;
	size_t done;

	frames_forget(&t->frames);
	done = replay_buffer_free_some(&t->buf, slots);
	*n -= done * each < *n ? done * each : *n;
	return done < slots;
}

void
table_close(struct table *t)
{
	struct account *account = t->frames.account;

	replay_buffer_close(&t->buf);
	frames_forget(&t->frames);
	account_uncharge(account, t->charged);
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
