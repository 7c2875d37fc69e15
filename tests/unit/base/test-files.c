/*
 * Test files that cannot be used together: each pair in a child process, in a
 * folder of its own.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "common/base/files.h"
#include "tests/unit/tap.h"

/*
 * Make files in the folder: x is a file, hard another name of it, link leads to
 * x, way to y (which does not exist), far to link, away to way, and round to
 * itself; d is a folder to which dl leads; p is a pipe.
 */
static void
test_folder(void)
{
	char name[] = "/tmp/test-files.XXXXXX";

	if (mkdtemp(name) == NULL || chdir(name) == -1 ||
	    close(open("x", O_CREAT | O_WRONLY, 0666)) == -1 ||
	    link("x", "hard") == -1 || symlink("x", "link") == -1 ||
	    symlink("y", "way") == -1 || symlink("link", "far") == -1 ||
	    symlink("way", "away") == -1 || symlink("round", "round") == -1 ||
	    mkdir("d", 0777) == -1 || symlink("d", "dl") == -1 ||
	    symlink("../y", "d/up") == -1 || mkfifo("p", 0666) == -1)
		err(1, "%s", name);
}

static void
test_clear(void)
{
	static const char *const name[] = { "x", "hard", "link", "way", "far",
		"away", "round", "d/up", "dl", "p" };
	char *path = getcwd(NULL, 0);

	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++)
		unlink(name[i]);
	rmdir("d");
	rmdir(path);
	free(path);
}

/* Return the message about both files without the tool's name; "" if none. */
static const char *
said_of(const char *option, const char *a, bool a_out, const char *b,
    bool b_out)
{
	static char said[256];
	int e = memfd_create("said", 0), status;
	const pid_t pid = fork();
	struct files f = { 0 };
	char *colon;
	ssize_t n;

	if (pid == 0) {
		dup2(e, STDERR_FILENO);
		files_add(&f, "-w", "other", true);
		files_add(&f, option, a, a_out);
		files_add(&f, "-b", b, b_out);
		files_done(&f);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	n = pread(e, said, sizeof(said) - 1, 0);
	close(e);
	said[n < 0 ? 0 : n] = '\0';
	colon = strstr(said, ": ");
	if (!WIFEXITED(status) ||
	    WEXITSTATUS(status) != (colon != NULL ? 2 : 0))
		return "another status";
	return colon != NULL ? colon + 2 : "";
}

static const char *
name_both(const char *a, bool a_out, const char *b, bool b_out)
{
	return said_of("-a", a, a_out, b, b_out);
}

static void
two_out(const char *a, const char *b, const char *where)
{
	char want[128];

	snprintf(want, sizeof(want), "-a and -b both write %s\n", where);
	ok(strcmp(name_both(a, true, b, true), want) == 0 &&
	    name_both(b, true, a, true)[0] != '\0',
	    "%s and %s are the same output file", a, b);
}

static void
check_allowed(
    const char *a, bool a_out, const char *b, bool b_out, const char *why)
{
	ok(name_both(a, a_out, b, b_out)[0] == '\0' &&
	    name_both(b, b_out, a, a_out)[0] == '\0', "%s", why);
}

static void
check_refused(const char *in, const char *out)
{
	char want[128];

	snprintf(want, sizeof(want),
	    "-b %s would overwrite the file that -a reads\n",
	    out);
	ok(strcmp(name_both(in, false, out, true), want) == 0 &&
	    name_both(out, true, in, false)[0] != '\0',
	    "%s is an input, so %s must not overwrite it", in, out);
}

static void
of_names(void)
{
	two_out("x", "./x", "x");
	two_out("x", "d/../x", "x");
	two_out("x", "hard", "x");
	two_out("far", "x", "far");
	two_out("y", "y", "y");
	two_out("./y", "y", "./y");
	two_out("away", "y", "away");
	two_out("d/up", "dl/../way", "d/up");
	two_out("d/z", "dl/z", "d/z");
	two_out("round", "round", "round");
	two_out("p", "./p", "p");
	check_allowed("x", true, "y", true, "two files differ");
	check_allowed("y", true, "z", true, "two files that do not exist yet "
	    "differ");
	check_allowed("d/y", true, "y", true, "files of the same name in two "
	    "folders differ");
	check_allowed("d", true, "d/x", true, "a folder differs from a file in "
	    "it");
	check_allowed(
	    "/dev/null", true, "/dev/null", true, "a device can be used twice");
	check_allowed("no/y", true, "no/y", true,
	    "a file in a missing folder cannot be made");
	check_allowed(
	    NULL, true, NULL, true, "an option that was not given has no file");
}

/*
 * Test names of the greatest length that differ only at their ends, and longer
 * ones.
 */
static void
of_long_names(void)
{
	char a[NAME_MAX + 3], b[NAME_MAX + 3];

	memset(a, 'n', sizeof(a));
	a[NAME_MAX + 2] = '\0';
	memcpy(b, a, sizeof(a));
	b[NAME_MAX + 1] = 'm';
	check_allowed(
	    a, true, b, true, "a name that is too long is not truncated");
	b[NAME_MAX] = a[NAME_MAX] = '\0';
	b[NAME_MAX - 1] = 'm';
	check_allowed(a, true, b, true, "two names of the greatest length "
	    "differ");
	ok(name_both(a, true, a, true)[0] != '\0',
	    "a name of the greatest length equals itself");
}

static void
of_inputs(void)
{
	check_refused("x", "far");
	check_refused("hard", "x");
	check_allowed("x", false, "link", false, "a file may be read twice");
	check_allowed(
	    "y", false, "y", true, "a missing file cannot be overwritten");
	check_allowed("p", false, "p", true, "a pipe cannot be overwritten");
	check_allowed("/dev/null", false, "/dev/null", true,
	    "a device cannot be overwritten");
	ok(strcmp(name_both("p", false, "./p", false),
	    "-a and -b both read p\n") == 0, "a pipe can be read once");
	ok(strcmp(said_of(NULL, "x", false, "link", true),
	    "-b link would overwrite its own input\n") == 0 &&
	    strcmp(said_of(NULL, "p", false, "p", false),
	    "p cannot be read twice\n") == 0,
	    "the message does not name an option for an argument");
}

/* Do the same with the standard stream fd leading to path. */
static const char *
redirected(int fd, const char *path, const char *a, bool a_out,
    const char *b, bool b_out)
{
	const int to = open(path, a_out ? O_WRONLY : O_RDONLY), was = dup(fd);
	const char *said;

	dup2(to, fd);
	said = name_both(a, a_out, b, b_out);
	dup2(was, fd);
	close(was);
	close(to);
	return said;
}

static void
of_streams(void)
{
	ok(strcmp(redirected(0, "/dev/null", "-", false, "-", false),
	    "-a and -b both read standard input\n") == 0,
	    "standard input is one file");
	ok(strcmp(redirected(1, "/dev/null", "-", true, "-", true),
	    "-a and -b both write standard output\n") == 0,
	    "standard output is one file, wherever it leads");
	ok(strcmp(redirected(0, "x", "-", false, "hard", true),
	    "-b hard would overwrite the file that -a reads\n") == 0,
	    "standard input that is redirected from a file is that file");
	ok(strcmp(redirected(1, "x", "-", true, "hard", true),
	    "-a and -b both write hard\n") == 0,
	    "standard output that is redirected to a file is that file");
	ok(strcmp(redirected(1, "/dev/null", "-", true, "/dev/stdout", true),
	    "") == 0 && strcmp(redirected(1, "x", "-", true, "/dev/stdout",
	    true), "-a and -b both write /dev/stdout\n") == 0,
	    "/dev/stdout is the file to which it leads");
}

static void
of_json(void)
{
	struct files f = { 0 };
	FILE *full = fopen("/dev/full", "w"), *null = fopen("/dev/null", "w");

	files_out(&f, "-w", "y");
	ok(files_json(&f) == stdout, "JSON goes to standard output");
	ok(f.n == 2 && files_is_stream(&f.one[1]) &&
	    strcmp(f.one[1].option, "--json") == 0,
	    "JSON makes standard output an output file");
	files_done(&f);
	files_in(&f, "-r", "-");
	ok(files_json(&f) == stdout, "JSON goes to standard output also if "
	    "standard input is read");
	files_done(&f);
	files_out(&f, "-w", "-");
	ok(files_json(&f) == stderr && f.n == 1,
	    "JSON goes to standard error if a capture goes to standard output");
	files_done(&f);
	if (full != NULL)
		fputs("{}", full);
	ok(full == NULL || files_flush(full) == 1,
	    "a flush reports lost output");
	ok(null != NULL && files_flush(null) == 0,
	    "a flush reports no error if nothing is lost");
}

int
main(void)
{
	test_folder();
	of_names();
	of_long_names();
	of_inputs();
	of_streams();
	of_json();
	test_clear();
	return tap_end();
}
