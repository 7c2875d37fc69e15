/*
 * fuzz.h - functions that the fuzz targets share
 *
 * A target is one file with LLVMFuzzerTestOneInput() for one parser.  It
 * crashes if the parser crashes, or if the condition of must() is false.
 * libFuzzer calls it in a build with --enable-fuzz; replay.c gives it the
 * files of its corpus in every build.
 */
#ifndef INNET_FUZZ_H
#define INNET_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Always 0. */
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

/* Abort unless the condition holds. */
static inline void
must(bool kept, const char *promise)
{
	if (kept)
		return;
	fprintf(stderr, "broken: %s\n", promise);
	abort();
}

/* Return a file in memory with these bytes, open at its start. */
static inline int
fuzz_file(const uint8_t *p, size_t len)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd == -1 || (len > 0 && write(fd, p, len) != (ssize_t)len) ||
	    lseek(fd, 0, SEEK_SET) != 0)
		abort();
	return fd;
}

/*
 * Return a copy of len bytes in a block of exactly that size, so that ASan
 * detects a read past the end.
 */
static inline uint8_t *
fuzz_copy(const uint8_t *p, size_t len)
{
	uint8_t *copy = malloc(len == 0 ? 1 : len);

	if (copy == NULL)
		abort();
	if (len > 0)
		memcpy(copy, p, len);
	return copy;
}

#endif
