/*
 * named-vectors.h - read tests/data/trust-vectors.txt by name. A line is a name
 * and hexadecimal digits. Call vectors_read() once, then vector_of(); an
 * unknown name ends the test.
 */
#ifndef INNET_NAMED_VECTORS_H
#define INNET_NAMED_VECTORS_H

#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VECTORS_MAX = 64, VECTOR_MAX_BYTES = 2048 };

struct vector {
	char name[64];
	uint8_t b[VECTOR_MAX_BYTES];
	size_t n;
};

static struct vector vectors[VECTORS_MAX];
static size_t vectors_count;

static inline void
vectors_read(const char *file)
{
	static char line[2 * VECTOR_MAX_BYTES + 80], hex[sizeof(line)];
	const char *dir = getenv("srcdir");
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/data/%s", dir == NULL ? "." :
	    dir, file);
	f = fopen(path, "r");
	if (f == NULL)
		err(1, "%s", path);
	while (fgets(line, sizeof(line), f) != NULL &&
	    vectors_count < VECTORS_MAX) {
		struct vector *v = &vectors[vectors_count];

		if (sscanf(line, "%63s %s", v->name, hex) != 2)
			errx(1, "%s:%zu: no vector", path, vectors_count + 1);
		for (; sscanf(hex + 2 * v->n, "%2hhx", &v->b[v->n]) == 1;
		    v->n++)
			;
		vectors_count++;
	}
	fclose(f);
}

static inline const struct vector *
vector_of(const char *name)
{
	for (size_t i = 0; i < vectors_count; i++) {
		if (strcmp(vectors[i].name, name) == 0)
			return &vectors[i];
	}
	errx(1, "no vector %s", name);
}

#endif
