/* per-manage.c - PER.CREATE, DROP, FRAMES, LIMIT, INFO and DUMP */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/innet-memory/commands/per.h"

/* Default and largest number of ids in a reply. */
enum { DUMP_DEFAULT = 1000, DUMP_MOST = 100000 };

enum { CAPACITY, ALPHA, SELECTOR, TIMES, RATIO, SLACK, CREATE_WORDS };
static const char *const create_words[] = {
	"capacity", "alpha", "selector", "times", "ratio", "slack", NULL
};

/* Read the option in argument *i, and set *i to the argument after it. */
static bool
read_option(struct client *c, const struct resp_args *a, size_t *i,
    struct replay_buffer_settings *settings, size_t *seen)
{
	const size_t at = *i;
	const int word = per_find_word(a, at, create_words);
	uint64_t v = 0;
	int selector;
	bool good;

	*i += 2;
	if (!per_check_once(c, create_words, word, at, seen))
		return false;
	switch (word) {
	case CAPACITY:
		good = per_read_whole(c, a, at + 1, "capacity", 1,
		    TABLE_CAPACITY_MAX, &v);
		settings->capacity = (size_t)v;
		return good;
	case ALPHA:
		return per_read_real(c, a, at + 1, "alpha", 0,
		    PRIORITIES_POWER_MAX, &settings->alpha);
	case SELECTOR:
		selector = at + 1 < a->n ? per_find_word(a, at + 1,
		    table_selectors) : PER_NO_WORD;
		if (selector == PER_NO_WORD)
			reply_error(c, "ERR selector (argument %zu): not one "
			    "of per, uniform, fifo, lifo", at + 1);
		settings->selector = selector == PER_NO_WORD ?
		    REPLAY_BUFFER_PER : (enum replay_buffer_selector)selector;
		return selector != PER_NO_WORD;
	case TIMES:
		good = per_read_whole(c, a, at + 1, "times", 0, UINT32_MAX, &v);
		settings->times = (uint32_t)v;
		return good;
	case RATIO:
		(*i)++;
		return per_read_ratio(c, a, at + 1, &settings->limit);
	case SLACK:
		return per_read_whole(c, a, at + 1, "slack", 0, INT64_MAX,
		    &settings->limit.slack);
	default:
		per_reply_no_word(c, a, at);
		return false;
	}
}

/* Check the name of a new table. */
static bool
check_new_name(struct client *c, const struct resp_args *a)
{
	const size_t len = a->v[1].len;
	char s[PER_SHOWN_BYTES];
	const char *why = NULL;

	if (len < 1 || len > TABLE_NAME_MAX)
		reply_error(c, "ERR a table's name is 1 to %d bytes, not %zu",
		    TABLE_NAME_MAX, len);
	else if (host_find_table(c, a, &why) != NULL)
		reply_error(c, "ERR a table '%s' exists already",
		    per_print_arg(a, 1, s));
	else if (why != NULL)
		reply_error(c, "%s", why);
	else
		return true;
	return false;
}

void
per_create(struct client *c, const struct resp_args *a)
{
	struct replay_buffer_settings settings = { .alpha = 0.6 };
	size_t seen[CREATE_WORDS] = { 0 };
	const char *why;

	for (size_t i = 2; i < a->n;) {
		if (!read_option(c, a, &i, &settings, seen))
			return;
	}
	if (settings.capacity == 0) {
		reply_error(c, "ERR capacity is missing; a table needs one");
		return;
	}
	if (seen[SLACK] == 0)
		settings.limit.slack = settings.capacity;
	if (!check_new_name(c, a))
		return;
	if (host_create_table(c, a, &settings, &why)) {
		host_mark_changed(c, a);
		reply_status(c, "OK");
	} else if (why != NULL) {
		reply_error(c, "ERR %s", why);
	} else {
		reply_oom(c);
	}
}

void
per_drop(struct client *c, const struct resp_args *a)
{
	struct table *t = per_find_table(c, a);

	if (t == NULL)
		return;
	host_drop_table(c, a, t);
	host_mark_changed(c, a);
	reply_status(c, "OK");
}

void
per_frames(struct client *c, const struct resp_args *a)
{
	struct table *t = per_find_table(c, a);
	uint64_t bytes, stack;
	const char *why;

	if (t == NULL ||
	    !per_read_whole(c, a, 2, "bytes of a frame", 1, RESP_BULK_MAX,
	    &bytes) ||
	    !per_read_whole(c, a, 3, "stack", 1, FRAMES_STACK_MAX, &stack))
		return;
	why = table_check_frames(bytes, stack);
	if (why != NULL) {
		reply_error(c, "ERR bytes (argument 2) and stack (argument "
		    "3): %s", why);
	} else if (t->buf.have > 0) {
		reply_error(c, "ERR frames can be declared only for an empty "
		    "table: this one holds %zu experiences", t->buf.have);
	} else {
		t->frames.bytes = (size_t)bytes;
		t->frames.stack = (unsigned)stack;
		host_mark_changed(c, a);
		reply_status(c, "OK");
	}
}

void
per_limit(struct client *c, const struct resp_args *a)
{
	struct table *t = per_find_table(c, a);
	struct sample_ratio limit;

	if (t == NULL)
		return;
	limit = t->buf.settings.limit;
	if (!args_equal(a, 2, "ratio")) {
		per_reply_no_word(c, a, 2);
		return;
	}
	if (!per_read_ratio(c, a, 3, &limit))
		return;
	if (a->n > 5 && !args_equal(a, 5, "slack")) {
		per_reply_no_word(c, a, 5);
		return;
	}
	if (a->n > 5 && !per_read_whole(c, a, 6, "slack", 0, INT64_MAX,
	    &limit.slack))
		return;
	if (a->n > 7) {
		per_reply_no_word(c, a, 7);
		return;
	}
	t->buf.settings.limit = limit;
	host_mark_changed(c, a);
	reply_status(c, "OK");
}

static void
reply_int_field(struct client *c, const char *name, uint64_t v)
{
	reply_text(c, name);
	reply_int(c, (int64_t)v);
}

static void
reply_real_field(struct client *c, const char *name, double v)
{
	reply_text(c, name);
	reply_double(c, v);
}

void
per_info(struct client *c, const struct resp_args *a)
{
	const struct table *t = per_find_table(c, a);
	const struct replay_buffer *b;
	uint64_t sum;
	int shift;

	if (t == NULL)
		return;
	b = &t->buf;
	sum = replay_buffer_draw_sum(b, &shift);
	reply_map(c, 27);
	reply_text(c, "selector");
	reply_text(c, table_selectors[b->settings.selector]);
	reply_int_field(c, "capacity", b->settings.capacity);
	reply_real_field(c, "alpha", b->settings.alpha);
	reply_int_field(c, "times", b->settings.times);
	reply_int_field(c, "have", b->have);
	reply_int_field(c, "inserted", b->inserted);
	reply_int_field(c, "sampled", b->sampled);
	reply_int_field(c, "updated", b->updated);
	reply_int_field(c, "stale", b->stale);
	reply_int_field(c, "evicted", b->evicted);
	reply_int_field(c, "removed", b->removed);
	reply_int_field(c, "worn", b->worn);
	reply_real_field(c, "ratio", b->inserted == 0 ? 0 : (double)b->sampled /
	    (double)b->inserted);
	reply_real_field(c, "ratio_lo", b->settings.limit.lo);
	reply_real_field(c, "ratio_hi", b->settings.limit.hi);
	reply_int_field(c, "slack", b->settings.limit.slack);
	reply_real_field(c, "highest", (double)b->highest);
	reply_int_field(c, "sum", sum);
	reply_int_field(c, "shift", (uint64_t)(int64_t)shift);
	reply_int_field(c, "raised",
	    b->settings.selector == REPLAY_BUFFER_PER ? b->per.raised : 0);
	reply_int_field(c, "rescaling", b->per.next.leaf == NULL ? 0 :
	    b->settings.capacity - b->per.made);
	reply_int_field(c, "rescaled_most", b->per.most);
	reply_int_field(c, "blobs_bytes", t->frames.tail_bytes);
	reply_int_field(c, "stack", t->frames.stack);
	reply_int_field(c, "frames", t->frames.count);
	reply_int_field(c, "frames_bytes", t->frames.count * t->frames.bytes);
	reply_int_field(c, "slots_bytes", t->charged);
}

/* Read the options "from ID" and "count N". */
static bool
read_page(struct client *c, const struct resp_args *a, uint64_t *from,
    uint64_t *count)
{
	static const char *const words[] = { "from", "count", NULL };
	size_t seen[2] = { 0 };

	for (size_t i = 2; i < a->n; i += 2) {
		const int word = per_find_word(a, i, words);

		if (word == PER_NO_WORD) {
			per_reply_no_word(c, a, i);
			return false;
		}
		if (!per_check_once(c, words, word, i, seen) ||
		    !per_read_whole(c, a, i + 1, words[word], word == 0 ? 0 : 1,
		    word == 0 ? INT64_MAX : DUMP_MOST, word == 0 ? from :
		    count))
			return false;
	}
	return true;
}

/*
 * Reply with the id at which to continue, or nil at the end, followed by pairs
 * of an id and a priority.
 */
void
per_dump(struct client *c, const struct resp_args *a)
{
	const struct table *t = per_find_table(c, a);
	uint64_t from = UINT64_MAX, count = DUMP_DEFAULT;
	struct replaydump_entry e;
	size_t start, at, n;

	if (t == NULL || !read_page(c, a, &from, &count))
		return;
	start = from == UINT64_MAX ? 0 : replaydump_seek(&t->buf, from);
	at = start;
	for (n = 0; n < count && replaydump_next(&t->buf, &at, &e); n++)
		;
	reply_array(c, 2);
	if (replaydump_next(&t->buf, &at, &e))
		reply_int(c, (int64_t)e.id);
	else
		reply_nil(c);
	reply_array(c, 2 * n);
	at = start;
	for (size_t i = 0; i < n && replaydump_next(&t->buf, &at, &e); i++) {
		reply_int(c, (int64_t)e.id);
		reply_double(c, (double)e.priority);
	}
}
