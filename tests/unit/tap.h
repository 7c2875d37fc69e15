/*
 * tap.h - the few words in which a C test speaks the Test Anything Protocol
 *
 * ok() prints a line a test; tap_end() the plan, and is main's return value.
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
	fflush(stdout);		/* a crash must not swallow what was shown */
	tap_failed += !cond;
	return cond;
}

/* A comment line, for figures that explain a failure. */
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
