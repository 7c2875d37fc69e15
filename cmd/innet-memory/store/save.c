/* save.c - write a checkpoint: a file that is there whole or not at all */
#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/atomic-file.h"

#include "cmd/innet-memory/store/save.h"

/* The sink of a file: w is it. */
static int
to_file(void *arg, const void *p, size_t len)
{
	return atomic_file_write(arg, p, len) ? 0 : errno;
}

void
save_clock(struct saver *s, uint64_t version)
{
	save_bytes(s, "V", 1);
	save_uint(s, version, 8);
}

void
save_expiry(struct saver *s, uint64_t at_ms)
{
	save_bytes(s, "X", 1);
	save_uint(s, at_ms, 8);
}

void
save_string(struct saver *s, const void *key, size_t key_len, uint64_t version,
    const void *value, size_t len)
{
	save_bytes(s, "S", 1);
	save_counted(s, key, key_len);
	save_uint(s, version, 8);
	save_counted(s, value, len);
}

void
save_list(struct saver *s, const void *key, size_t key_len, uint64_t version,
    uint64_t n)
{
	save_bytes(s, "L", 1);
	save_counted(s, key, key_len);
	save_uint(s, version, 8);
	save_uint(s, n, 8);
}

int
save_to(int fd, void (*fill)(struct saver *s, void *arg), void *arg)
{
	struct atomic_file w = { .fd = fd };
	struct saver s;

	save_open(&s, to_file, &w);
	save_bytes(&s, SAVE_MAGIC, SAVE_MAGIC_BYTES);
	save_uint(&s, SAVE_VERSION, 4);
	fill(&s, arg);
	save_bytes(&s, "E", 1);
	save_flush(&s);
	save_uint(&s, s.crc, 4);
	return save_close(&s);
}

int
save_file(const char *path, void (*fill)(struct saver *s, void *arg), void *arg)
{
	struct atomic_file w;
	struct stat st;
	const bool there = lstat(path, &st) == 0 && !S_ISLNK(st.st_mode);

	if (there && !S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
		return ENOTSUP;		/* a pipe would make it wait */
	if (atomic_file_open_here(&w, path) == -1)
		return errno;
	/* of others' experiences only who may already read them may know */
	w.mode = there ? st.st_mode & 0777 : 0600;
	errno = save_to(w.fd, fill, arg);
	if (atomic_file_close(&w, errno == 0) == -1 ||
	    atomic_file_sync_folder(path) == -1)
		return errno;
	return 0;
}
