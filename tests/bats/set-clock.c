/*
 * set-clock - a wall clock that is set while a tool runs, for tests
 *
 *	LD_PRELOAD=./set-clock.so SET_CLOCK=AFTER:SECONDS COMMAND
 *
 * After AFTER received messages the wall clock, and the kernel's timestamps,
 * which use it, are SECONDS ahead, or behind if SECONDS is negative.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

static unsigned long received;

/* How far the clock is ahead by now. */
static long
ahead(void)
{
	static unsigned long after;
	static long seconds;
	static bool read, told;
	const char *set = getenv("SET_CLOCK");

	if (!read && set != NULL && sscanf(set, "%lu:%ld", &after,
	    &seconds) != 2)
		abort();
	read = true;
	if (received < after)
		return 0;
	if (!told) {
		told = true;
		fprintf(stderr, "the clock is set\n");
	}
	return seconds;
}

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	static int (*next)(clockid_t, struct timespec *);
	int rc;

	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
	rc = next(id, ts);
	if (rc == 0 && id == CLOCK_REALTIME)
		ts->tv_sec += ahead();
	return rc;
}

/* The stamps of a message, struct timespec or timeval: seconds are first. */
static void
restamp(struct msghdr *m)
{
	struct cmsghdr *c;
	time_t s;

	for (c = CMSG_FIRSTHDR(m); c != NULL; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || (c->cmsg_type !=
		    SO_TIMESTAMPNS && c->cmsg_type != SO_TIMESTAMP))
			continue;
		memcpy(&s, CMSG_DATA(c), sizeof(s));
		s += ahead();
		memcpy(CMSG_DATA(c), &s, sizeof(s));
	}
}

int
recvmmsg(int fd, struct mmsghdr *m, unsigned n, int flags,
    struct timespec *timeout)
{
	static int (*next)(int, struct mmsghdr *, unsigned, int,
	    struct timespec *);
	int got;

	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "recvmmsg");
	got = next(fd, m, n, flags, timeout);
	for (int i = 0; i < got; i++) {
		received++;
		restamp(&m[i].msg_hdr);
	}
	return got;
}
