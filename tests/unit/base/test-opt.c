/*
 * Test the option table: parsing in this process, and options that exit in a
 * child.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/opt.h"
#include "tests/unit/tap.h"

enum { LONG_ONLY = OPT_LONG };

static const struct opt table[] = {
	{ 'c', "count", "N", "how many" },
	{ 'q', "quiet", NULL, "say less" },
	{ LONG_ONLY, "seed", "N", "first number of the sequence that chooses "
	    "-c and -q (default 1, any number)" },
	{ LONG_ONLY, "start", "N", NULL },
	OPT_HELP_VERSION,
	{ 0 }
};

static const struct opt_tool tool = { .name = "innet-test",
	.version = "1.2", .usage = "[-q] [-c N]", .about = "Do nothing.",
	.opts = table };

static char out[1024], said[1024];

static void
read_output(int fd, char to[1024])
{
	ssize_t n = pread(fd, to, 1023, 0);

	to[n < 0 ? 0 : n] = '\0';
	close(fd);
}

/* The command line of a child. */
struct words {
	char *v[8];
};

static void
parse_all(struct words *w)
{
	int argc = 0;

	while (w->v[argc] != NULL)
		argc++;
	optind = 1;
	while (opt_next(&tool, argc, w->v) != -1)
		;
	opt_done(&tool, argc, w->v);
}

static void
count_words(struct words *w)
{
	opt_check("count", w->v[0], w->v[1]);
}

static void
take_word(struct words *w)
{
	static const char *const list[] = { "olaf", "fifo", NULL };

	_exit(50 + opt_word("program", w->v[0], list));
}

/* Return the child's status; its output is in out[] and said[]. */
static int
run_child(void (*what)(struct words *), struct words w)
{
	int o = memfd_create("out", 0), e = memfd_create("said", 0), status;
	pid_t pid = fork();

	if (pid == 0) {
		dup2(o, STDOUT_FILENO);
		dup2(e, STDERR_FILENO);
		what(&w);
		_exit(77);
	}
	waitpid(pid, &status, 0);
	read_output(o, out);
	read_output(e, said);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
test_parses(void)
{
	char a[][16] = { "./bin/tool", "-qc5", "--count=6", "--seed", "7", "go",
	    "-q" };
	char *v[] = { a[0], a[1], a[2], a[3], a[4], a[5], a[6], NULL };

	ok(opt_next(&tool, 7, v) == 'q' && opt_next(&tool, 7, v) == 'c' &&
	    strcmp(optarg, "5") == 0, "short options may be combined, and the "
	    "last may have an argument");
	ok(opt_next(&tool, 7, v) == 'c' && strcmp(optarg, "6") == 0,
	    "a long name is the same option as its letter");
	ok(opt_next(&tool, 7, v) == LONG_ONLY && strcmp(optarg, "7") == 0,
	    "an option without a letter has its own code");
	ok(opt_next(&tool, 7, v) == -1 && optind == 5,
	    "the first word that is not an option ends the options, so a "
	    "command keeps its own");
	ok(strcmp(v[0], "tool") == 0, "the program is named without its path");
}

static void
accepts_an_old_name(void)
{
	char a[][8] = { "tool", "--start", "7" };
	char *v[] = { a[0], a[1], a[2], NULL };

	optind = 0;
	ok(opt_next(&tool, 3, v) == LONG_ONLY && strcmp(optarg, "7") == 0,
	    "an old name of an option is accepted");
}

static void
takes_a_word(void)
{
	char a[][8] = { "tool", "-q", "file", "-c5", "more" };
	char *v[] = { a[0], a[1], a[2], a[3], a[4], NULL };
	const char *word = NULL;

	optind = 0;
	ok(opt_next_word(&tool, 5, v, &word) == 'q' && word == NULL &&
	    opt_next_word(&tool, 5, v, &word) == 'c' &&
	    strcmp(optarg, "5") == 0 && strcmp(word, "file") == 0,
	    "options may come after the only word of a tool");
	ok(opt_next_word(&tool, 5, v, &word) == -1 && optind == 4 &&
	    strcmp(word, "file") == 0, "a second word ends the options");
	optind = 0;
	word = NULL;
	ok(opt_next_word(&tool, 1, v, &word) == -1 && word == NULL,
	    "the word may be missing");
}

static void
test_exits(void)
{
	char t[] = "dir/tool", help[] = "--help", version[] = "-V";
	char bad[] = "--nope", missing[] = "-c", extra[] = "more";
	char near[] = "--conut=5", flag[] = "--quiet=3";

	ok(run_child(parse_all, (struct words){ { t, help } }) == 0 &&
	    said[0] == '\0' && strcmp(out,
	    "usage: innet-test [-q] [-c N]\n\nDo nothing.\n\n"
	    "  -c, --count=N                how many\n"
	    "  -q, --quiet                  say less\n"
	    "      --seed=N                 first number of the sequence that "
	    "chooses -c\n"
	    "                               and -q (default 1, any number)\n"
	    "  -h, --help                   show this help and exit\n"
	    "  -V, --version                show the version and exit\n") == 0,
	    "--help lists the options, without old names, on standard output");
	ok(run_child(parse_all, (struct words){ { t, version } }) == 0 &&
	    strcmp(out, "innet-test 1.2\n") == 0,
	    "--version prints the version on standard output");
	ok(run_child(parse_all, (struct words){ { t, bad } }) == 2 &&
	    strstr(said, ": unknown option '--nope'\n"
	    "Try 'innet-test --help'.\n") != NULL && out[0] == '\0',
	    "an unknown option gives status 2 and two lines");
	ok(run_child(parse_all, (struct words){ { t, near } }) == 2 &&
	    strstr(said, ": unknown option '--conut'; the nearest is "
	    "'--count'\n") != NULL, "a mistyped option gives the nearest name");
	ok(run_child(parse_all, (struct words){ { t, flag } }) == 2 &&
	    strstr(said, ": --quiet takes no value\n") != NULL,
	    "a flag takes no value");
	ok(run_child(parse_all, (struct words){ { t, missing } }) == 2 &&
	    strstr(said, ": --count needs a value: --count=N\n") != NULL,
	    "a missing argument gives status 2");
	ok(run_child(parse_all, (struct words){ { t, extra } }) == 2 &&
	    strstr(said, ": unexpected argument 'more'\nTry ") != NULL,
	    "an extra word gives status 2 and a message with the word");
	ok(run_child(parse_all, (struct words){ { t } }) == 77,
	    "a command line without a word is valid");
}

static void
words_of(void)
{
	char a[] = "10x", why[] = "not a number", olaf[] = "olaf";
	char fifo[] = "fifo", ola[] = "ola";

	ok(run_child(count_words, (struct words){ { a, why } }) == 2 &&
	    strstr(said, ": invalid count '10x': not a number\n") != NULL,
	    "a bad argument gives status 2 and a message with the reason");
	ok(run_child(count_words, (struct words){ { a, NULL } }) == 77 &&
	    said[0] == '\0', "a good argument is accepted");
	ok(run_child(take_word, (struct words){ { olaf } }) == 50 &&
	    run_child(take_word, (struct words){ { fifo } }) == 51,
	    "a word of a list gives its place in the list");
	ok(run_child(take_word, (struct words){ { ola } }) == 2 && strstr(said,
	    ": invalid program 'ola': not one of olaf, fifo; the nearest is "
	    "'olaf'\n") != NULL,
	    "part of a word is refused; the message lists all words");
}

int
main(void)
{
	test_parses();
	accepts_an_old_name();
	takes_a_word();
	test_exits();
	words_of();
	return tap_end();
}
