/*
 * opt.h - parse the options of a tool and print its help, from one table
 *
 * opt_next() handles --help and --version itself, and exits with status 2 if an
 * option is not in the table.  So the parse function of a tool handles only the
 * tool's own options.  These functions are for tools only, because several of
 * them exit.
 */
#ifndef INNET_BASE_OPT_H
#define INNET_BASE_OPT_H

#include <assert.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/message.h"
#include "common/base/nearest.h"

enum { OPT_LONG = 256, OPT_MAX = 96 };	/* first code of the options without a
					 * letter; maximum number of options */
enum { OPT_INDENT = 31, OPT_WIDTH = 80 };	/* column where the help texts
						 * begin; maximum width of a
						 * line */

struct opt {
	int ch;			/* letter of the short option, or OPT_LONG + n
				 * for an option without a letter */
	const char *name;	/* long name */
	const char *arg;	/* metavariable; NULL for an option without a
				 * value */
	const char *help; /* help text, in lower case and without a full stop;
			   * NULL for an old name that is accepted but not
			   * listed */
};

struct opt_tool {
	const char *name;	/* innet-NAME */
	const char *version;	/* PACKAGE_VERSION */
	const char *usage;	/* synopsis that follows the name */
	const char *about;	/* description in one or more sentences */
	const struct opt *opts;	/* the options; the name of the last row is
				 * NULL */
};

/* The last two rows of every table, before its empty row. */
#define OPT_HELP_VERSION \
	{ 'h', "help",    NULL, "show this help and exit" }, \
	{ 'V', "version", NULL, "show the version and exit" }

/*
 * Return the code of the next option.  The argument of the option is in
 * `optarg`.  Returns -1 at the first word that is not an option.  So if this
 * word is a command to run, the options of the command are not parsed.
 */
static inline int opt_next(const struct opt_tool *tool, int argc,
    char *argv[]);

/*
 * Work like opt_next() for a tool that also accepts one word before, between or
 * after its options.  Stores the word in *word, which the caller must set to
 * NULL before the first call.
 */
static inline int opt_next_word(const struct opt_tool *tool, int argc,
    char *argv[], const char **word);

/*
 * If a word remains after the options, print an error and exit with status 2.
 */
static inline void opt_done(const struct opt_tool *tool, int argc,
    char *argv[]);

/*
 * Unless why is NULL, print an error such as "invalid rate '10x': not a number"
 * and exit with status 2.
 */
static inline void opt_check(const char *what, const char *arg,
    const char *why);

/*
 * Return the position of arg in the NULL-terminated list.  If arg is not in the
 * list, print the list and the nearest word, and exit with status 2.
 */
static inline int opt_word(const char *what, const char *arg,
    const char *const list[]);

/*
 * Print a line that says how to get help, and exit with status 2.  The caller
 * has already printed the error.
 */
static inline void opt_misuse(const struct opt_tool *tool);

/*
 * Print the name and the help text of each row of `tab` that has a help text.
 */
static inline void opt_rows(FILE *f, const struct opt *tab);

/* implementation */

/*
 * May a line of a help text be broken at text[n]?  A line must not begin with a
 * dash, because shell completion and the tests would read the line as an
 * option.
 */
static inline bool
opt_may_break(const char *text, size_t n)
{
	return text[n] == ' ' && text[n + 1] != '-' &&
	    (n < 8 || strncmp(text + n - 8, "(default", 8) != 0);
}

/*
 * Print a help text whose lines begin at column OPT_INDENT.  Break the lines
 * between words so that no line is longer than OPT_WIDTH columns.
 */
static inline void
opt_print_help(FILE *f, const char *text)
{
	const size_t room = OPT_WIDTH - OPT_INDENT;

	while (strlen(text) > room) {
		size_t n = room;

		while (n > 0 && !opt_may_break(text, n))
			n--;
		if (n == 0)
			break;
		fprintf(f, "%.*s\n%*s", (int)n, text, OPT_INDENT, "");
		text += n + 1;
	}
	fprintf(f, "%s\n", text);
}

static inline void
opt_rows(FILE *f, const struct opt *tab)
{
	char left[48];

	for (; tab->name != NULL; tab++) {
		if (tab->help == NULL)
			continue;
		if (tab->arg != NULL)
			snprintf(left, sizeof(left), "--%s=%s", tab->name,
			    tab->arg);
		else
			snprintf(left, sizeof(left), "--%s", tab->name);
		if (tab->ch < OPT_LONG)
			fprintf(f, "  -%c, %-24s ", tab->ch, left);
		else
			fprintf(f, "      %-24s ", left);
		opt_print_help(f, tab->help);
	}
}

/*
 * Print the help (if ch is 'h') or the version to standard output.  Exit with
 * status 0, or 1 if printing fails.
 */
static inline void
opt_answer(const struct opt_tool *tool, int ch)
{
	if (ch == 'h') {
		printf("usage: %s %s\n\n%s\n\n", tool->name, tool->usage,
		    tool->about);
		opt_rows(stdout, tool->opts);
	} else {
		printf("%s %s\n", tool->name, tool->version);
	}
	if (fflush(stdout) == EOF || ferror(stdout))
		err(1, "standard output");
	exit(0);
}

static inline void
opt_misuse(const struct opt_tool *tool)
{
	fprintf(stderr, "Try '%s --help'.\n", tool->name);
	exit(2);
}

/*
 * Print why getopt_long() rejected `word`: the option does not exist, is
 * ambiguous, lacks its value or takes no value.
 */
static inline void
opt_print_refusal(const struct opt_tool *tool, const char *word)
{
	char typed[NEAREST_MAX + 1] = "", hint[NEAREST_TEXT];
	struct nearest near = { 0 };
	const struct opt *o = tool->opts;
	int starts = 0;

	while (optopt != 0 && o->name != NULL && o->ch != optopt)
		o++;
	if (strncmp(word, "--", 2) == 0)
		snprintf(typed, sizeof(typed), "%.*s",
		    (int)strcspn(word + 2, "="), word + 2);
	if (optopt != 0 && o->name == NULL) {
		warnx("unknown option '-%c'", optopt);
	} else if (optopt != 0) {
		if (typed[0] == '\0')
			snprintf(typed, sizeof(typed), "%s", o->name);
		if (o->arg != NULL)
			warnx("--%s needs a value: --%s=%s", typed, typed,
			    o->arg);
		else
			warnx("--%s takes no value", typed);
	} else {
		for (o = tool->opts; o->name != NULL; o++) {
			if (strncmp(o->name, typed, strlen(typed)) == 0)
				starts++;
			if (o->help != NULL)
				nearest_offer(&near, typed, o->name);
		}
		if (starts > 1)
			warnx("--%s is ambiguous: %d options begin with it",
			    typed, starts);
		else
			warnx("unknown option '--%s'%s", typed,
			    nearest_hint(&near, typed, "--", hint));
	}
}

/*
 * Handle SIGXFSZ by doing nothing, so that a write beyond the file size limit
 * fails with EFBIG and the tool can report the error.  Commands that the tool
 * starts do not inherit the handler, so the signal ends them as usual.
 */
static inline void
opt_on_file_limit(int sig)
{
	(void)sig;
}

/*
 * Prepare the process: make standard error line-buffered, and handle SIGXFSZ.
 */
static inline void
opt_prepare(void)
{
	const struct sigaction sa = { .sa_handler = opt_on_file_limit,
	    .sa_flags = SA_RESTART };

	/*
	 * If several tools write to one terminal, each line must be written at
	 * once.
	 */
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
	sigaction(SIGXFSZ, &sa, NULL);
}

static inline int
opt_next(const struct opt_tool *tool, int argc, char *argv[])
{
	struct option lo[OPT_MAX];
	char so[2 * OPT_MAX + 2], *p = so, *slash = strrchr(argv[0], '/');
	size_t n;
	int ch;

	if (optind == 1)
		opt_prepare();
	if (slash != NULL)	/* getopt_long() prints argv[0] and does not
				 * make control characters visible */
		argv[0] = slash + 1;
	*p++ = '+';
	for (n = 0; tool->opts[n].name != NULL; n++) {
		const struct opt *o = &tool->opts[n];

		assert(n < OPT_MAX - 1);
		lo[n] = (struct option){ o->name, o->arg != NULL ?
		    required_argument : no_argument, NULL, o->ch };
		if (o->ch < OPT_LONG) {
			*p++ = (char)o->ch;
			if (o->arg != NULL)
				*p++ = ':';
		}
	}
	lo[n] = (struct option){ 0 };
	*p = '\0';
	opterr = 0;
	ch = getopt_long(argc, argv, so, lo, NULL);
	if (ch == 'h' || ch == 'V')
		opt_answer(tool, ch);
	if (ch == '?') {
		opt_print_refusal(tool, argv[optind - 1]);
		opt_misuse(tool);
	}
	return ch;
}

static inline int
opt_next_word(const struct opt_tool *tool, int argc, char *argv[],
    const char **word)
{
	const int ch = opt_next(tool, argc, argv);

	if (ch != -1 || optind == argc || *word != NULL)
		return ch;
	*word = argv[optind++];
	return opt_next(tool, argc, argv);
}

static inline void
opt_done(const struct opt_tool *tool, int argc, char *argv[])
{
	if (optind == argc)
		return;
	warnx("unexpected argument '%s'", argv[optind]);
	opt_misuse(tool);
}

static inline void
opt_check(const char *what, const char *arg, const char *why)
{
	if (why != NULL)
		errx(2, "invalid %s '%s': %s", what, arg, why);
}

static inline int
opt_word(const char *what, const char *arg, const char *const list[])
{
	size_t n, room = 0;
	char all[256] = "", hint[NEAREST_TEXT];
	struct nearest near = { 0 };

	for (n = 0; list[n] != NULL; n++) {
		if (strcmp(arg, list[n]) == 0)
			return (int)n;
		nearest_offer(&near, arg, list[n]);
		room += (size_t)snprintf(all + room, sizeof(all) - room,
		    "%s%s", n == 0 ? "" : ", ", list[n]);
		assert(room < sizeof(all));
	}
	errx(2, "invalid %s '%s': not one of %s%s", what, arg, all,
	    nearest_hint(&near, arg, "", hint));
}

#endif
