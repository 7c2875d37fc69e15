/*
 * Test a client with servers that answer, are silent, disappear or do not
 * exist.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "cmd/innet-agent/apex/resp-call.h"
#include "tests/unit/tap.h"

static char path[64];		/* the path at which a server listens */
static int door;

/* Return a client that is connected to *far. */
static struct respcall
connect_client(int *far, uint64_t timeout_ns)
{
	struct respcall c = { .name = path, .timeout_ns = timeout_ns };

	if (!respcall_open(&c) || (*far = accept(door, NULL, NULL)) == -1)
		abort();
	return c;
}

static void
send_answer(int far, const char *bytes)
{
	if (write(far, bytes, strlen(bytes)) != (ssize_t)strlen(bytes))
		abort();
}

static void
test_request(void)
{
	static char big[5000];
	static char got[2 * sizeof(big)], want[2 * sizeof(big)];
	struct respcall c;
	struct respreply r;
	size_t n = 0;
	int far;

	memset(big, 'x', sizeof(big));
	c = connect_client(&far, 1000000000);
	respcall_begin(&c, 4);
	respcall_word(&c, "ADD");
	respcall_real(&c, 0.25);
	respcall_arg(&c, big, sizeof(big));
	respcall_count(&c, 18446744073709551615u);
	respcall_words(&c, (const char *[]){ "PING", "", NULL });
	big[0] = 'y';		/* the bulk was not copied, so the change is
				 * sent */
	ok(respcall_send(&c, "ADD"), "the client sends two requests");
	n = (size_t)sprintf(want, "*4\r\n$3\r\nADD\r\n$4\r\n0.25\r\n$5000\r\n");
	memcpy(want + n, big, sizeof(big));
	n += sizeof(big);
	n += (size_t)sprintf(want + n, "\r\n$20\r\n18446744073709551615\r\n"
	    "*2\r\n$4\r\nPING\r\n$0\r\n\r\n");
	ok(recv(far, got, n, MSG_WAITALL) == (ssize_t)n &&
	    memcmp(got, want, n) == 0, "the requests follow the RESP format");
	send_answer(far,
	    "-LIMIT so it is\r\n*2\r\n$3\r\nabc\r\n:7\r\n+PONG\r\n");
	ok(respcall_next(&c, &r, "ADD") && r.kind == RESPREPLY_ERROR &&
	    strcmp(r.text, "LIMIT so it is") == 0, "an error is a reply");
	ok(respcall_next(&c, &r, "x") && r.n == 2 && respcall_rest(&c, "x") &&
	    respcall_want(&c, RESPREPLY_STATUS, &r, "PING") &&
	    strcmp(r.text, "PONG") == 0, "the client skips the rest of a "
	    "reply");
	send_answer(far, ":7\r\n-ERR gone\r\n");
	ok(!respcall_want(&c, RESPREPLY_STATUS, &r, "SET") &&
	    strstr(c.why, "SET: an unexpected kind of answer") != NULL,
	    "another kind than the one wanted fails");
	respcall_close(&c);
	close(far);
}

/* A client that was redirected sends ASKING before each request. */
static void
test_asking(void)
{
	static const char want[] =
	    "*1\r\n$6\r\nASKING\r\n*1\r\n$1\r\na\r\n"
	    "*1\r\n$6\r\nASKING\r\n*1\r\n$1\r\nb\r\n";
	char got[sizeof(want)] = "";
	struct respcall c;
	struct respreply r;
	int far;

	c = connect_client(&far, 1000000000);
	c.asking = true;
	respcall_words(&c, (const char *[]){ "a", NULL });
	respcall_words(&c, (const char *[]){ "b", NULL });
	ok(respcall_send(&c, "a") && recv(far, got, sizeof(want) - 1,
	    MSG_WAITALL) > 0 && strcmp(got, want) == 0,
	    "the client sends ASKING before each request");
	send_answer(far, "+OK\r\n*2\r\n:1\r\n$2\r\nxy\r\n+OK\r\n:3\r\n");
	ok(respcall_want(&c, RESPREPLY_ARRAY, &r, "a") && respcall_want(&c,
	    RESPREPLY_INT, &r, "a") && respcall_want(&c, RESPREPLY_BULK, &r,
	    "a") && respcall_want(&c, RESPREPLY_INT, &r, "b") && r.n == 3,
	    "the client skips the answers to ASKING");
	send_answer(far, "-ERR no\r\n");
	ok(!respcall_next(&c, &r, "c") && strstr(c.why, ": c: ERR no") != NULL,
	    "an error to ASKING is reported");
	respcall_close(&c);
	close(far);
}

/* Another process writes a mebibyte, which is read straight into memory. */
static void
test_long(void)
{
	enum { LONG = 1 << 20 };
	static uint8_t sent[LONG], got[LONG];
	struct respcall c;
	struct respreply r;
	int far, status;
	pid_t pid;

	for (size_t i = 0; i < LONG; i++)
		sent[i] = (uint8_t)(i * i >> 8);
	c = connect_client(&far, 10000000000);
	pid = fork();
	if (pid == 0) {
		dprintf(far, "*2\r\n$%d\r\n", LONG);
		for (size_t i = 0; i < LONG; i += 65536)
			if (write(far, sent + i, 65536) != 65536)
				_exit(1);
		dprintf(far, "\r\n$3\r\nend\r\n");
		_exit(0);
	}
	ok(respcall_want(&c, RESPREPLY_ARRAY, &r, "GET") &&
	    respcall_next(&c, &r, "GET") && r.n == LONG &&
	    respcall_body(&c, got, LONG, "GET") &&
	    memcmp(got, sent, LONG) == 0, "the client receives a long bulk "
	    "completely");
	ok(respcall_next(&c, &r, "GET") && r.n == 3 &&
	    respcall_body(&c, got, 3, "GET") && memcmp(got, "end", 3) == 0,
	    "the client receives the reply after a long bulk");
	waitpid(pid, &status, 0);
	respcall_close(&c);
	close(far);
}

/* Does c->why begin with that, after the name of the server? */
static bool
check_reason(const struct respcall *c, const char *why)
{
	const size_t n = strlen(path);
	const bool good = c->fd == -1 && strncmp(c->why, path, n) == 0 &&
	    strncmp(c->why + n, why, strlen(why)) == 0;

	if (!good)
		note("%s", c->why);
	return good;
}

static void
test_failures(void)
{
	volatile sig_atomic_t stop = 1;
	static char flood[1 << 22];
	struct respcall c;
	struct respreply r;
	int far;

	c = connect_client(&far, 20000000);
	respcall_words(&c, (const char *[]){ "PING", NULL });
	ok(respcall_send(&c, "PING") && !respcall_next(&c, &r, "PING") &&
	    check_reason(&c, ": waiting for PING: no progress for 0.02 s"),
	    "a wait for a silent server ends with a message that names the "
	    "request");
	ok(!respcall_next(&c, &r, "PING"), "after that the client receives "
	    "nothing more");
	respcall_close(&c);
	close(far);

	c = connect_client(&far, 20000000);
	respcall_begin(&c, 1);
	respcall_arg(&c, flood, sizeof(flood));
	ok(!respcall_send(&c, "SET") &&
	    check_reason(&c, ": sending SET: still incomplete after 0.02 s"),
	    "a wait for a server that does not read ends");
	respcall_close(&c);
	close(far);

	c = connect_client(&far, 10000000000);
	send_answer(far, "$10\r\nhalf");
	close(far);
	ok(respcall_next(&c, &r, "GET") && !respcall_body(&c, flood, 10,
	    "GET") && check_reason(&c, ": waiting for GET: the server closed "
	    "the connection"), "a server that closes the connection ends the "
	    "wait");
	ok(respcall_open(&c), "the client can connect again");
	far = accept(door, NULL, NULL);
	send_answer(far, "HTTP/1.1 400\r\n");
	ok(!respcall_next(&c, &r, "GET") &&
		check_reason(&c, ": waiting for GET: "
				 "a reply of an unknown kind"),
	    "an invalid reply ends the wait");
	respcall_close(&c);
	close(far);

	c = connect_client(&far, 10000000000);
	c.stop = &stop;
	ok(!respcall_next(&c, &r, "GET") && check_reason(&c, ": stopped while "
	    "waiting for GET"), "a signal ends the wait");
	respcall_close(&c);
	close(far);

	c = connect_client(&far, 10000000000);
	respcall_abort(&c);
	ok(!respcall_next(&c, &r, "GET"), "another thread can end the wait");
	respcall_close(&c);
	close(far);
}

/*
 * Start a process that writes the same bytes to c, with pauses, until it is
 * killed.
 */
static pid_t
start_writer(const struct respcall *c, int far, const char *bytes, size_t len,
    useconds_t pause)
{
	const pid_t pid = fork();

	if (pid != 0)
		return pid;
	close(c->fd);
	alarm(20);
	while (write(far, bytes, len) > 0)
		usleep(pause);
	_exit(0);
}

/* Read replies until this fails, as slowly as they arrive. */
static void
read_all(struct respcall *c)
{
	static char some[1 << 16];
	struct respreply r;

	for (int n = 1; respcall_next(c, &r, "GET"); n++) {
		while (c->in.body > 0 && respcall_body(c, some, c->in.body <
		    sizeof(some) ? c->in.body : sizeof(some), "GET"))
			usleep(1000);
		if (n % 4096 == 0)
			usleep(1000);
	}
}

/* A reply that never ends fails. */
static bool
test_flood(const char *begin, const char *bytes, useconds_t pause,
    const char *why)
{
	static char much[1 << 16];
	struct respcall c;
	size_t n = 0;
	bool good;
	pid_t pid;
	int far;

	c = connect_client(&far, 20000000);
	if (pause > 0) {
		n = strlen(bytes);
		memcpy(much, bytes, n);
	}
	while (pause == 0 && n + strlen(bytes) <= sizeof(much)) {
		memcpy(much + n, bytes, strlen(bytes));
		n += strlen(bytes);
	}
	/* the reply has begun, even if the other process is slow */
	send_answer(far, *begin != '\0' ? begin : bytes);
	pid = start_writer(&c, far, much, n, pause);
	close(far);
	read_all(&c);
	good = check_reason(&c, why);
	respcall_close(&c);
	waitpid(pid, NULL, 0);
	return good;
}

static void
test_floods(void)
{
	ok(test_flood("*300000000\r\n", ":1\r\n", 0,
	    ": waiting for GET: still incomplete after 0.02 s"),
	    "an array that comes and comes is not waited for");
	ok(test_flood("$500000000\r\n", "x", 0,
	    ": waiting for GET: still incomplete after 0.02 s"), "nor a bulk");
	ok(test_flood("$500000000\r\n", "x", 1000,
	    ": waiting for GET: still incomplete after 0.02 s"),
	    "nor a trickle");
	ok(test_flood("*2147483647\r\n", ":1\r\n", 0, ": waiting for GET: the "
	    "reply has at least 6442450954 bytes, but the limit is "
	    "1073741824"),
	    "one that says it will be too long is not even begun");
	ok(test_flood("", "*2\r\n:1\r\n", 0,
	    ": waiting for GET: still incomplete after 0.02 s"),
	    "arrays in arrays without end");
}

/* The time limit starts when the client begins to wait for a reply. */
static void
test_late(void)
{
	struct respcall c;
	struct respreply r;
	int far;

	c = connect_client(&far, 20000000);
	respcall_words(&c, (const char *[]){ "PING", NULL });
	ok(respcall_send(&c, "PING"), "the client sends a request");
	send_answer(far, "+PONG\r\n");
	usleep(40000);
	ok(respcall_want(&c, RESPREPLY_STATUS, &r, "PING"),
	    "a client that asks late gets an answer that is already there");
	respcall_close(&c);
	close(far);
}

static void
test_nobody(void)
{
	struct respcall c = { .name = "127.0.0.1:1", .timeout_ns = 1000000000 };

	ok(!respcall_open(&c) && strcmp(c.why, "127.0.0.1:1: Connection "
	    "refused") == 0, "without a server the connection is refused");
	c.name = "127.0.0.1:x";
	ok(!respcall_open(&c) && strcmp(c.why, "127.0.0.1:x: not HOST:PORT")
	    == 0, "an invalid address is refused");
	c.name = "./no-such";
	ok(!respcall_open(&c) && strcmp(c.why, "./no-such: No such file or "
	    "directory") == 0, "no such path");
	respcall_close(&c);
}

int
main(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(path, sizeof(path), "/tmp/respcall.%d", (int)getpid());
	memcpy(at.sun_path, path, strlen(path) + 1);
	door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(door, (struct sockaddr *)&at, sizeof(at)) == -1 ||
	    listen(door, 8) == -1)
		abort();
	test_request();
	test_asking();
	test_long();
	test_failures();
	test_floods();
	test_late();
	test_nobody();
	unlink(path);
	return tap_end();
}
