/*
 * Test schedules: the meaning of rows, their order, and the errors that end the
 * program.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "common/traffic/schedule.h"
#include "tests/unit/tap.h"

static char path[] = "/tmp/innet-schedule-XXXXXX";

static void
write_input(const char *text)
{
	FILE *f = fopen(path, "we");

	if (f == NULL || fputs(text, f) == EOF || fclose(f) == EOF)
		err(1, "%s", path);
}

/* Does this end the program with status 1? */
static bool
is_refused(const char *text)
{
	int status = 0;
	pid_t pid;

	write_input(text);
	pid = fork();
	if (pid == 0) {
		if (freopen("/dev/null", "w", stderr) == NULL)
			_exit(2);
		schedule_read_or_exit(path, 10, 5);
		_exit(0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid &&
	    WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

int
main(void)
{
	static const uint32_t cluster[] = { 2, 1, 1, 3, 3 };
	static const uint32_t worker[] = { 0, 0, 4, 1, 1 };
	static const uint32_t line[] = { 5, 3, 4, 2, 6 };
	struct schedule s;
	bool same = true;
	int fd = mkstemp(path);

	if (fd == -1)
		err(1, "%s", path);
	close(fd);
	write_input("cluster,worker,time_ns,reward\n3,1,1ms,0.5\r\n1,0,1us,1\n"
	    "1,4,1us,-2\n2,0,7,1\n3,1,1000000,1\n");
	s = schedule_read_or_exit(path, 10, 5);
	for (size_t i = 0; i < s.n && i < 5; i++)
		same = same && s.row[i].cluster == cluster[i] &&
		    s.row[i].worker == worker[i] && s.row[i].line == line[i];
	ok(s.n == 5 && same, "rows are sorted by time, then cluster, worker "
	    "and line");
	ok(s.row[0].at_ns == 7 && s.row[4].at_ns == 1000000 &&
	    s.row[2].reward == -2, "times have units, and rewards have signs");
	schedule_free(&s);
	ok(s.n == 0 && s.row == NULL, "a freed schedule is empty");
	ok(is_refused("10,0,1,1\n") && is_refused("1,5,1,1\n"),
	    "ids above the limit are refused");
	ok(is_refused("1,1,1\n") && is_refused("1,1,1,1,1\n") &&
		is_refused("1,1,x,1\n") && is_refused("1,1,1,nan\n") &&
		is_refused(""),
	    "an invalid row and an empty file are refused");
	unlink(path);
	return tap_end();
}
