/*
 * tap.h - let a C test print the Test Anything Protocol
 *
 * ok() prints a line for each test.  tap_end() prints the plan and returns the
 * exit status of main().
 */
#ifndef INNET_TAP_H
#define INNET_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int tap_count, tap_failed;

__attribute__((format(printf, 2, 3))) static inline bool
ok(bool cond, const char *fmt, ...)
{
	va_list ap;

	printf("%sok %d - ", cond ? "" : "not ", ++tap_count);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);		/* so that a crash loses no line */
	tap_failed += !cond;
	return cond;
}

/* Print a comment line, for figures that explain a failure. */
__attribute__((format(printf, 1, 2))) static inline void
note(const char *fmt, ...)
{
	va_list ap;

	fputs("# ", stdout);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

static inline int
tap_end(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed != 0;
}

#endif
