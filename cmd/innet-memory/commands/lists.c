/* lists.c - commands for lists */
#include "cmd/innet-memory/commands/key-lookup.h"
#include "cmd/innet-memory/commands/lists.h"
#include "cmd/innet-memory/commands/parts.h"

/* Remove n elements from the left or the right end. */
static void
drop_elements(struct client *c, struct list *l, size_t n, bool left)
{
	while (n-- > 0)
		blob_drop(&c->srv->account, list_pop(l, left));
}

/* Add all values.  If there is no memory, add none and return false. */
static bool
add_values(struct client *c, struct list *l, const struct resp_args *a,
    bool left)
{
	if (!list_reserve(l, &c->srv->account, a->n - 2))
		return false;
	for (size_t i = 2; i < a->n; i++) {
		struct blob *b = args_keep_blob(c, a, i);

		if (b == NULL) {
			drop_elements(c, l, i - 2, left);
			return false;
		}
		list_push(l, b, left);
	}
	return true;
}

static void
push_values(struct client *c, const struct resp_args *a, bool left, bool make)
{
	struct keyspace *ks = &c->srv->keys;
	struct key *k;
	bool fresh;

	if (!keys_find_typed(c, a, 1, KEY_LIST, &k))
		return;
	fresh = k == NULL;
	if (fresh && !make) {
		reply_int(c, 0);
		return;
	}
	if (fresh)
		k = keyspace_add(ks, a->v[1].p, a->v[1].len);
	if (k == NULL) {
		reply_oom(c);
		return;
	}
	k->type = KEY_LIST;
	if (!add_values(c, &k->list, a, left)) {
		if (fresh)
			keyspace_remove(ks, k);
		reply_oom(c);
		return;
	}
	keys_mark_changed(c, k);
	reply_int(c, (int64_t)k->list.n);
}

static void
run_lpush(struct client *c, const struct resp_args *a)
{
	push_values(c, a, true, true);
}

static void
run_rpush(struct client *c, const struct resp_args *a)
{
	push_values(c, a, false, true);
}

static void
run_lpushx(struct client *c, const struct resp_args *a)
{
	push_values(c, a, true, false);
}

static void
run_rpushx(struct client *c, const struct resp_args *a)
{
	push_values(c, a, false, false);
}

/* Record the change, and remove the key if its list is now empty. */
static void
finish_change(struct client *c, struct key *k)
{
	keys_mark_changed(c, k);
	if (k->list.n == 0)
		keyspace_remove(&c->srv->keys, k);
}

static void
pop_elements(struct client *c, const struct resp_args *a, bool left)
{
	int64_t n = 1;
	struct key *k;

	if (a->n > 3) {
		reply_error(c, "ERR wrong number of arguments for '%s' command",
		    left ? "lpop" : "rpop");
		return;
	}
	if (a->n == 3 && (!args_read_integer(a, 2, &n) || n < 0)) {
		reply_error(c, "ERR value is out of range, must be positive");
		return;
	}
	if (!keys_find_typed(c, a, 1, KEY_LIST, &k))
		return;
	if (k == NULL) {
		if (a->n == 3)
			reply_nil_array(c);
		else
			reply_nil(c);
		return;
	}
	if ((uint64_t)n > k->list.n)
		n = (int64_t)k->list.n;
	if (a->n == 3)
		reply_array(c, (size_t)n);
	for (int64_t i = 0; i < n; i++) {
		struct blob *b = list_pop(&k->list, left);

		reply_blob(c, b);
		blob_drop(&c->srv->account, b);
	}
	if (n > 0)
		finish_change(c, k);
}

static void
run_lpop(struct client *c, const struct resp_args *a)
{
	pop_elements(c, a, true);
}

static void
run_rpop(struct client *c, const struct resp_args *a)
{
	pop_elements(c, a, false);
}

static void
run_llen(struct client *c, const struct resp_args *a)
{
	struct key *k;

	if (keys_find_typed(c, a, 1, KEY_LIST, &k))
		reply_int(c, k == NULL ? 0 : (int64_t)k->list.n);
}

static void
run_lindex(struct client *c, const struct resp_args *a)
{
	struct key *k;
	int64_t i;

	if (!keys_find_typed(c, a, 1, KEY_LIST, &k))
		return;
	if (k == NULL) {
		reply_nil(c);
		return;
	}
	if (!args_require_integer(c, a, 2, &i))
		return;
	if (i < 0)
		i += (int64_t)k->list.n;
	if (i < 0 || (uint64_t)i >= k->list.n)
		reply_nil(c);
	else
		reply_blob(c, list_get(&k->list, (size_t)i));
}

/*
 * Read arguments 2 and 3 as a range in a list of n elements.  Set *first to the
 * first index of the range and *count to its length.
 */
static bool
read_range(struct client *c, const struct resp_args *a, size_t n, size_t *first,
    size_t *count)
{
	int64_t from, to, have = (int64_t)n;

	if (!args_require_integer(c, a, 2, &from) ||
	    !args_require_integer(c, a, 3, &to))
		return false;
	from = from < 0 ? from + have : from;
	to = to < 0 ? to + have : to;
	from = from < 0 ? 0 : from;
	to = to >= have ? have - 1 : to;
	*first = from < have ? (size_t)from : n;
	*count = from > to ? 0 : (size_t)(to - from + 1);
	return true;
}

static void
run_lset(struct client *c, const struct resp_args *a)
{
	struct blob *b, **at;
	struct key *k;
	int64_t i;

	if (!keys_find_typed(c, a, 1, KEY_LIST, &k))
		return;
	if (k == NULL) {
		reply_error(c, "ERR no such key");
		return;
	}
	if (!args_require_integer(c, a, 2, &i))
		return;
	i += i < 0 ? (int64_t)k->list.n : 0;
	if (i < 0 || (uint64_t)i >= k->list.n) {
		reply_error(c, "ERR index out of range");
		return;
	}
	b = args_keep_blob(c, a, 3);
	if (b == NULL) {
		reply_oom(c);
		return;
	}
	at = &k->list.ring[(k->list.first + (size_t)i) & k->list.mask];
	blob_drop(&c->srv->account, *at);
	*at = b;
	keys_mark_changed(c, k);
	reply_status(c, "OK");
}

/*
 * Remove up to `count` elements that are equal to the value, beginning at the
 * left or, if `count` is negative, at the right.  If `count` is 0, remove all
 * of them.
 */
static void
run_lrem(struct client *c, const struct resp_args *a)
{
	size_t most, gone;
	int64_t count;
	struct key *k;

	if (!args_require_integer(c, a, 2, &count) || !keys_find_typed(c, a, 1,
	    KEY_LIST, &k))
		return;
	if (k == NULL) {
		reply_int(c, 0);
		return;
	}
	most = count == 0 ? SIZE_MAX : (size_t)(count < 0 ?
	    -(uint64_t)count : (uint64_t)count);
	gone = list_remove(&k->list, &c->srv->account, a->v[3].p, a->v[3].len,
	    most, count >= 0);
	if (gone > 0)
		finish_change(c, k);
	reply_int(c, (int64_t)gone);
}

bool
lists_side(const struct resp_args *a, size_t i, bool *left)
{
	*left = args_equal(a, i, "left");
	return *left || args_equal(a, i, "right");
}

/*
 * Move an element from an end of k to an end of `to`.  k and `to` may be the
 * same key.  If `to` is NULL, create the key.
 */
static void
move_element(struct client *c, struct key *k, bool from_left,
    const struct resp_arg *to_name, struct key *to, bool to_left)
{
	struct keyspace *ks = &c->srv->keys;
	const bool fresh = to == NULL;
	struct blob *b;

	if (fresh)
		to = keyspace_add(ks, to_name->p, to_name->len);
	if (to == NULL || !list_reserve(&to->list, &c->srv->account, 1)) {
		if (fresh && to != NULL)
			keyspace_remove(ks, to);
		reply_oom(c);
		return;
	}
	to->type = KEY_LIST;
	b = list_pop(&k->list, from_left);
	list_push(&to->list, b, to_left);
	keys_mark_changed(c, to);
	reply_blob(c, b);
	if (k != to)
		finish_change(c, k);
}

bool
lists_move(struct client *c, const struct resp_args *a, bool from_left,
    bool to_left)
{
	struct key *k, *to;

	if (!keys_find_typed(c, a, 1, KEY_LIST, &k))
		return true;
	if (k == NULL)
		return false;
	if (keys_find_typed(c, a, 2, KEY_LIST, &to))
		move_element(c, k, from_left, &a->v[2], to, to_left);
	return true;
}

static void
run_lmove(struct client *c, const struct resp_args *a)
{
	bool from, to;

	if (!lists_side(a, 3, &from) || !lists_side(a, 4, &to))
		reply_error(c, "ERR syntax error");
	else if (!lists_move(c, a, from, to))
		reply_nil(c);
}

static void
run_rpoplpush(struct client *c, const struct resp_args *a)
{
	if (!lists_move(c, a, false, true))
		reply_nil(c);
}

void
lists_pop_named(struct client *c, struct key *k, bool left)
{
	struct blob *b = list_pop(&k->list, left);

	reply_array(c, 2);
	reply_bulk(c, k->name, k->name_len);
	reply_blob(c, b);
	blob_drop(&c->srv->account, b);
	finish_change(c, k);
}

static void
run_lrange(struct client *c, const struct resp_args *a)
{
	size_t from, n;
	struct key *k;

	k = keys_find_arg(c, a, 1);
	if (!read_range(c, a, k == NULL || k->type != KEY_LIST ? 0 : k->list.n,
	    &from, &n) || !keys_find_typed(c, a, 1, KEY_LIST, &k))
		return;
	reply_array(c, n);
	for (size_t i = 0; i < n; i++)
		reply_blob(c, list_get(&k->list, from + i));
}

static void
run_ltrim(struct client *c, const struct resp_args *a)
{
	size_t from, n, after;
	struct key *k;

	k = keys_find_arg(c, a, 1);
	if (!read_range(c, a, k == NULL || k->type != KEY_LIST ? 0 : k->list.n,
	    &from, &n) || !keys_find_typed(c, a, 1, KEY_LIST, &k))
		return;
	if (k != NULL && n == 0) {
		keys_mark_changed(c, k);
		keyspace_remove(&c->srv->keys, k);
	} else if (k != NULL) {
		after = k->list.n - from - n;
		drop_elements(c, &k->list, from, true);
		drop_elements(c, &k->list, after, false);
		finish_change(c, k);
	}
	reply_status(c, "OK");
}

enum { READ = COMMAND_READ | COMMAND_FAST,
	ADD = COMMAND_WRITE | COMMAND_DENY_OOM | COMMAND_FAST };

static const struct command commands[] = {
    {"lindex", 3, COMMAND_READ, run_lindex, "list",
	"Returns an element from a list by its index.", "key index", 1, 1, 1,
	NULL},
    {"llen", 2, READ, run_llen, "list", "Returns the length of a list.", "key",
	1, 1, 1, NULL},
    {"lmove", 5, COMMAND_WRITE | COMMAND_DENY_OOM, run_lmove, "list",
	"Moves an element from an end of a list to an end of another.",
	"source destination LEFT|RIGHT LEFT|RIGHT", 1, 2, 1, NULL},
    {"lpop", -2, COMMAND_WRITE | COMMAND_FAST, run_lpop, "list",
	"Returns and removes the first elements of a list.", "key [count]", 1,
	1, 1, NULL},
    {"lpush", -3, ADD, run_lpush, "list",
	"Prepends one or more elements to a list.", "key element...", 1, 1, 1,
	NULL},
    {"lpushx", -3, ADD, run_lpushx, "list",
	"Prepends elements to a list that exists.", "key element...", 1, 1, 1,
	NULL},
    {"lrange", 4, COMMAND_READ, run_lrange, "list",
	"Returns a range of elements from a list.", "key start stop", 1, 1, 1,
	NULL},
    {"lrem", 4, COMMAND_WRITE, run_lrem, "list",
	"Removes elements that are equal from a list.", "key count element", 1,
	1, 1, NULL},
    {"lset", 4, COMMAND_WRITE | COMMAND_DENY_OOM, run_lset, "list",
	"Sets an element of a list by its index.", "key index element", 1, 1, 1,
	NULL},
    {"ltrim", 4, COMMAND_WRITE, run_ltrim, "list",
	"Removes elements from both ends of a list.", "key start stop", 1, 1, 1,
	NULL},
    {"rpop", -2, COMMAND_WRITE | COMMAND_FAST, run_rpop, "list",
	"Returns and removes the last elements of a list.", "key [count]", 1, 1,
	1, NULL},
    {"rpoplpush", 3, COMMAND_WRITE | COMMAND_DENY_OOM, run_rpoplpush, "list",
	"Moves the last element of a list to the front of another.",
	"source destination", 1, 2, 1, NULL},
    {"rpush", -3, ADD, run_rpush, "list",
	"Appends one or more elements to a list.", "key element...", 1, 1, 1,
	NULL},
    {"rpushx", -3, ADD, run_rpushx, "list",
	"Appends elements to a list that exists.", "key element...", 1, 1, 1,
	NULL},
    {0}};

const struct part lists_part = { .name = "lists", .commands = commands };
