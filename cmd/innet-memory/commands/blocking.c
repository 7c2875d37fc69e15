/* blocking.c - commands that wait for an element: BLPOP, BRPOP, BLMOVE */
#include <math.h>
#include <string.h>

#include "common/net/timer.h"

#include "cmd/innet-memory/commands/key-lookup.h"
#include "cmd/innet-memory/commands/lists.h"
#include "cmd/innet-memory/commands/parts.h"

/*
 * Read argument i, a timeout in seconds, and compute the deadline.  If the
 * timeout is invalid, reply with an error and return false.
 */
static bool
read_deadline(struct client *c, const struct resp_args *a, size_t i,
    uint64_t *deadline_ns)
{
	const double most = (double)INT64_MAX / 1000;
	double s;

	if (!args_read_real(a, i, &s))
		reply_error(c, "ERR timeout is not a float or out of range");
	else if (s < 0)
		reply_error(c, "ERR timeout is negative");
	else if (s >= most)
		reply_error(c, "ERR timeout is out of range");
	else {
		*deadline_ns = s == 0 || s > 1e9 ? TIMER_NEVER :
		    timer_after(c->srv->now_ns, (uint64_t)ceil(s * 1e9));
		return true;
	}
	return false;
}

/*
 * Pop an element from the first list that is not empty, beginning with the list
 * in argument 1.  Return false if all lists are empty.
 */
static bool
pop_first_list(struct client *c, const struct resp_args *a, bool left,
    bool waits)
{
	for (size_t i = 1; i + 1 < a->n; i++) {
		struct key *k = keys_find_arg(c, a, i);

		if (k == NULL || (waits && k->type != KEY_LIST))
			continue;
		if (keys_find_typed(c, a, i, KEY_LIST, &k))
			lists_pop_named(c, k, left);
		return true;
	}
	return false;
}

/*
 * If the deadline has passed, reply that no element arrived, and return true.
 */
static bool
reply_timeout(struct client *c, bool late)
{
	if (late)
		reply_nil_array(c);
	return late;
}

static bool
retry_blpop(struct client *c, const struct resp_args *a, bool late)
{
	return pop_first_list(c, a, true, true) || reply_timeout(c, late);
}

static bool
retry_brpop(struct client *c, const struct resp_args *a, bool late)
{
	return pop_first_list(c, a, false, true) || reply_timeout(c, late);
}

static void
pop_or_wait(struct client *c, const struct resp_args *a, bool left)
{
	uint64_t deadline_ns;

	if (!read_deadline(c, a, a->n - 1, &deadline_ns) ||
	    pop_first_list(c, a, left, false))
		return;
	if (!client_park(c, deadline_ns, left ? retry_blpop : retry_brpop))
		reply_nil_array(c);	/* within EXEC: do not wait */
}

static void
run_blpop(struct client *c, const struct resp_args *a)
{
	pop_or_wait(c, a, true);
}

static void
run_brpop(struct client *c, const struct resp_args *a)
{
	pop_or_wait(c, a, false);
}

/*
 * Move an element for BLMOVE or BRPOPLPUSH.  BRPOPLPUSH has no arguments for
 * the ends of the lists.
 */
static bool
move_element(struct client *c, const struct resp_args *a)
{
	bool from = false, to = true;

	if (a->n == 6 && (!lists_side(a, 3, &from) || !lists_side(a, 4, &to)))
		return false;
	return lists_move(c, a, from, to);
}

static bool
retry_move(struct client *c, const struct resp_args *a, bool late)
{
	const struct key *k = keys_find_arg(c, a, 1);

	if (k != NULL && k->type == KEY_LIST)
		return move_element(c, a);
	return reply_timeout(c, late);
}

static void
move_or_wait(struct client *c, const struct resp_args *a)
{
	uint64_t deadline_ns;

	if (!read_deadline(c, a, a->n - 1, &deadline_ns) || move_element(c, a))
		return;
	if (!client_park(c, deadline_ns, retry_move))
		reply_nil(c);	/* within EXEC: do not wait */
}

static void
run_blmove(struct client *c, const struct resp_args *a)
{
	bool side;

	if (lists_side(a, 3, &side) && lists_side(a, 4, &side))
		move_or_wait(c, a);
	else
		reply_error(c, "ERR syntax error");
}

enum { WRITE = COMMAND_WRITE, MORE = COMMAND_WRITE | COMMAND_DENY_OOM };

static const struct command commands[] = {
	{ "blmove", 6, MORE, run_blmove, "list",
	    "Moves an element to another list, or waits for an element.",
	    "source destination LEFT|RIGHT LEFT|RIGHT timeout", 1, 2, 1,
	    NULL },
	{ "blpop", -3, WRITE, run_blpop, "list",
	    "Removes and returns the first element, or waits for one.",
	    "key... timeout", 1, -2, 1, NULL },
	{ "brpop", -3, WRITE, run_brpop, "list",
	    "Removes and returns the last element, or waits for one.",
	    "key... timeout", 1, -2, 1, NULL },
	{ "brpoplpush", 4, MORE, move_or_wait, "list",
	    "Moves the last element to another list, or waits for one.",
	    "source destination timeout", 1, 2, 1, NULL },
	{ 0 }
};

const struct part blocking_part = { .name = "blocking",
	.commands = commands };
