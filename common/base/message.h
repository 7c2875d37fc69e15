/*
 * message.h - print error messages and warnings to standard error
 *
 * err(), errx(), verrx(), warn(), warnx() and vwarnx() work like the functions
 * of err(3), but make control characters in the text visible.  Messages can
 * contain file names, options and words that come from the user, from a file or
 * from the network.  If control characters are visible, such text cannot change
 * the state of a terminal and cannot look like a second line of a log.  The
 * formats that callers pass must not contain control characters.
 *
 * Code that prints such text in other output uses message_put().
 */
#ifndef INNET_BASE_MESSAGE_H
#define INNET_BASE_MESSAGE_H

#include <err.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define err(...)	message_err(__VA_ARGS__)
#define errx(...)	message_errx(__VA_ARGS__)
#define warn(...)	message_warn(__VA_ARGS__)
#define warnx(...)	message_warnx(__VA_ARGS__)
#define verrx(...)	message_verrx(__VA_ARGS__)
#define vwarnx(...)	message_vwarnx(__VA_ARGS__)

/*
 * Return the number of bytes of the printable UTF-8 character at the beginning
 * of `text`.  Returns 0 if the text is empty, or if it begins with a control
 * character or with bytes that are not valid UTF-8.
 */
static inline int
message_printable(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	const int n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (n == 1)
		return s[0] >= ' ' && s[0] != 0x7f;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	for (int i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	/*
	 * reject U+0080 to U+009F, overlong encodings, surrogates, and code
	 * points above U+10FFFF
	 */
	if ((s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xe0 && s[1] < 0xa0) ||
	    (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/*
 * Write `text` to f.  Control characters and bytes that are not valid UTF-8 are
 * written as escape sequences of C, such as \n, \r, \t or \x1b.
 */
static inline void
message_put(FILE *f, const char *text)
{
	while (*text != '\0') {
		const int n = message_printable(text);

		if (n > 0)
			fwrite(text, 1, (size_t)n, f);
		else if (*text == '\n' || *text == '\r' || *text == '\t')
			fprintf(f, "\\%c", *text == '\n' ? 'n' :
			    *text == '\r' ? 'r' : 't');
		else
			fprintf(f, "\\x%02x", (unsigned char)*text);
		text += n > 0 ? n : 1;
	}
}

/*
 * Print "TOOL: text" to standard error.  If why is not -1, print "TOOL: text: "
 * and the meaning of the error number `why`.  If `fmt` is NULL, the text is
 * omitted.
 */
static inline void __attribute__((format(printf, 2, 0)))
message_print(int why, const char *fmt, va_list ap)
{
	char *text = NULL;

	flockfile(stderr);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	if (fmt != NULL && vasprintf(&text, fmt, ap) != -1) {
		message_put(stderr, text);
		free(text);
	}
	if (fmt != NULL && why != -1)
		fputs(": ", stderr);
	if (why != -1)
		fputs(strerror(why), stderr);
	fputc('\n', stderr);
	funlockfile(stderr);
}

/* Print a message and exit with status `status`. */
static inline void __attribute__((noreturn, format(printf, 2, 0)))
message_verrx(int status, const char *fmt, va_list ap)
{
	message_print(-1, fmt, ap);
	exit(status);
}

/* Print a message. */
static inline void __attribute__((format(printf, 1, 0)))
message_vwarnx(const char *fmt, va_list ap)
{
	message_print(-1, fmt, ap);
}

/* Print a message and the meaning of errno, and exit with a status. */
static inline void __attribute__((noreturn, cold, format(printf, 2, 3)))
message_err(int status, const char *fmt, ...)
{
	const int why = errno;
	va_list ap;

	va_start(ap, fmt);
	message_print(why, fmt, ap);
	va_end(ap);
	exit(status);
}

/* Print a message and exit with status `status`. */
static inline void __attribute__((noreturn, cold, format(printf, 2, 3)))
message_errx(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message_print(-1, fmt, ap);
	va_end(ap);
	exit(status);
}

/* Print a message and the meaning of errno. */
static inline void __attribute__((cold, format(printf, 1, 2)))
message_warn(const char *fmt, ...)
{
	const int why = errno;
	va_list ap;

	va_start(ap, fmt);
	message_print(why, fmt, ap);
	va_end(ap);
}

/* Print a message. */
static inline void __attribute__((cold, format(printf, 1, 2)))
message_warnx(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message_print(-1, fmt, ap);
	va_end(ap);
}

#endif
