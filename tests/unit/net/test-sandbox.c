/* Test which files can be opened and executed before the sandbox and in it. */
#include <sys/wait.h>

#include "common/net/sandbox.h"
#include "tests/unit/tap.h"

/* Return the errno of opening a file, or 0. */
static int
errno_of_open(const char *path, int flags)
{
	const int fd = open(path, flags | O_CLOEXEC, 0666);

	if (fd == -1)
		return errno;
	close(fd);
	return 0;
}

int
main(void)
{
	char dir[] = "/tmp/innet-sandbox-XXXXXX", in[64], other[64];
	char *const true_[] = { "/bin/true", NULL };
	struct sandbox s = { 0 };
	const long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    LANDLOCK_CREATE_RULESET_VERSION);

	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(in, sizeof(in), "%s/report.json", dir);
	snprintf(other, sizeof(other), "%s/report.json.1", dir);
	sandbox_add_file(&s, NULL);
	sandbox_add_file(&s, "-");
	sandbox_add_file(&s, in);
	sandbox_add_file(&s, "/dev/null");
	ok(s.paths == 2 && errno_of_open("/etc/passwd", O_RDONLY) == 0,
	    "standard streams are not files");
	sandbox_enter(&s);
	ok(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1,
	    "the process gets no new privileges");
	if (abi < 1) {
		ok(true, "no Landlock in this kernel # SKIP");
	} else {
		ok(errno_of_open("/etc/passwd", O_RDONLY) == EACCES,
		    "a file that was not named cannot be opened");
		execv(true_[0], true_);
		ok(errno == EACCES, "no program can be executed");
		ok(errno_of_open("/tmp/innet-sandbox", O_WRONLY | O_CREAT) ==
			EACCES,
		    "no file can be made elsewhere");
	}
	ok(errno_of_open(in, O_WRONLY | O_CREAT) == 0 &&
		rename(in, other) == 0 &&
		errno_of_open(in, O_WRONLY | O_CREAT) == 0 &&
		unlink(other) == 0,
	    "a named file can be written, renamed and made again");
	ok(errno_of_open("/dev/null", O_WRONLY) == 0,
	    "a named device can be opened");
	unlink(in);
	return tap_end();
}
