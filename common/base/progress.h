/*
 * progress.h - a line on a terminal that is written over and over
 *
 * Standard error is sent line by line (opt.h), so that those of several tools
 * on one terminal stand whole; a line that is not to end is sent by these.
 */
#ifndef INNET_BASE_PROGRESS_H
#define INNET_BASE_PROGRESS_H

#include <stdarg.h>
#include <stdio.h>

/* Send a line that begins with \r, and clear what a longer one left. */
static inline void
progress_end(void)
{
	fputs("\033[K", stderr);
	fflush(stderr);
}

/* Send a whole one. */
__attribute__((format(printf, 1, 2))) static inline void
progress_say(const char *fmt, ...)
{
	va_list ap;

	fputc('\r', stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	progress_end();
}

/* Take it away. */
static inline void
progress_clear(void)
{
	fputc('\r', stderr);
	progress_end();
}

#endif
