/*
 * progress.h - print a progress line, which overwrites the previous progress
 * line on the terminal
 *
 * Standard error is line-buffered (opt.h), so that lines of several tools on
 * one terminal are not mixed.  A progress line does not end with a line feed,
 * so these functions flush standard error themselves.
 */
#ifndef INNET_BASE_PROGRESS_H
#define INNET_BASE_PROGRESS_H

#include <stdarg.h>
#include <stdio.h>

/*
 * End a line that began with \r.  Erase the rest of the previous line, which
 * may have been longer, and flush standard error.
 */
static inline void
progress_end(void)
{
	fputs("\033[K", stderr);
	fflush(stderr);
}

/* Print a progress line over the previous one. */
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

/* Remove the progress line. */
static inline void
progress_clear(void)
{
	fputc('\r', stderr);
	progress_end();
}

#endif
