/* Test a child process that returns what it gets: cat(1). */
#include <poll.h>

#include "common/net/child.h"
#include "tests/unit/tap.h"

enum { N = 3000000 };			/* more than pipes can hold */

/* Return the next message, and write meanwhile. */
static int
wait_for_message(struct child *c, struct stream_head *h, const uint8_t **body)
{
	int got;

	while ((got = child_next_message(c, h, body)) == 0) {
		struct pollfd p[2] = { { c->from, POLLIN, 0 },
		    { c->out_have == 0 ? -1 : c->to, POLLOUT, 0 } };

		if (poll(p, 2, 10000) <= 0)
			return 0;
		child_write(c);
	}
	return got;
}

int
main(void)
{
	char *cat[] = { "cat", NULL };
	char *odd[] = { "sh", "-c", "echo a line that is longer than "
	    "the header of a stream; exit 3", NULL };
	char *leaves[] = { "sh", "-c", "trap '' TERM; sleep 60 >&- &", NULL };
	const struct stream_head head = { .kind = STREAM_RESULT,
	    .elements = N, .iteration = 5 };
	float *vec = calloc(N, sizeof(*vec));
	struct stream_head h = { 0 };
	const uint8_t *body = NULL;
	struct child c;
	sigset_t mask;

	if (vec == NULL)
		return 1;
	vec[N - 1] = 42;
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&mask);
	child_start(&c, cat, &mask);
	ok(!child_has_exited(&c) && !child_is_too_slow(&c), "the child runs");
	child_send(&c, &head, vec);
	ok(child_unread_bytes(&c) > 0, "a long message waits in the pipe");
	ok(wait_for_message(&c, &h, &body) == 1 && h.iteration == 5 &&
	    memcmp(body, vec, N * sizeof(*vec)) == 0,
	    "a long message comes back completely");
	for (int i = 0; i < 8; i++)
		child_send(&c, &head, vec);
	ok(child_is_too_slow(&c), "a child that reads nothing is too slow");
	for (int i = 0; i < 8; i++)
		wait_for_message(&c, &h, &body);
	ok(!child_is_too_slow(&c) && child_unread_bytes(&c) == 0,
	    "a child that has read is no longer too slow");
	ok(child_stop(&c, 10 * (uint64_t)TIMER_SECOND_NS, true) == 0 &&
	    c.pid == 0, "a child ends when its input ends");
	child_start(&c, odd, &mask);
	ok(wait_for_message(&c, &h, &body) == -2,
	    "output that is not a stream is detected");
	ok(child_stop(&c, 10 * (uint64_t)TIMER_SECOND_NS, false) == 1,
	    "the exit status of the child is returned");
	child_start(&c, leaves, &mask);
	while (!child_has_exited(&c))
		wait_for_message(&c, &h, &body);
	ok(kill(-c.group, 0) == 0, "a process that the child started may "
	    "outlive it");
	child_stop(&c, TIMER_SECOND_NS / 10, true);
	ok(kill(-c.group, 0) == -1, "such a process is ended too, if necessary "
	    "by SIGKILL");
	free(vec);
	return tap_end();
}
