/*
 * replay.c - give a fuzz target every file of its corpus, without libFuzzer
 *
 * usage: replay-TARGET [DIR]; DIR is tests/fuzz/corpus/TARGET by default.
 * The program prints one TAP line for each file after the target has returned.
 */
#include <dirent.h>
#include <err.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"
#include "tests/unit/tap.h"

/* Skip . and .. and other hidden files. */
static int
shown(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* Read a whole file into a block of exactly its size. */
static uint8_t *
slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	uint8_t *p;

	if (f == NULL || fstat(fileno(f), &st) == -1)
		err(1, "%s", path);
	*len = (size_t)st.st_size;
	p = malloc(*len == 0 ? 1 : *len);
	if (p == NULL || fread(p, 1, *len, f) != *len)
		err(1, "%s", path);
	fclose(f);
	return p;
}

int
main(int argc, char *argv[])
{
	const char *top = getenv("srcdir"), *name = strrchr(argv[0], '-');
	char dir[4096], path[8192];
	struct dirent **list;
	int n;

	if (argc > 1)
		snprintf(dir, sizeof(dir), "%s", argv[1]);
	else
		snprintf(dir, sizeof(dir), "%s/tests/fuzz/corpus/%s",
		    top == NULL ? "." : top, name == NULL ? "" : name + 1);
	n = scandir(dir, &list, shown, alphasort);
	if (n == -1)
		err(1, "%s", dir);
	for (int i = 0; i < n; i++) {
		uint8_t *p;
		size_t len;

		snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
		p = slurp(path, &len);
		/* printed first, in case the target does not return */
		note("%s", path);
		ok(LLVMFuzzerTestOneInput(p, len) == 0, "%s",
		    list[i]->d_name);
		free(p);
		free(list[i]);
	}
	free(list);
	ok(n > 0, "the corpus is not empty");
	return tap_end();
}
