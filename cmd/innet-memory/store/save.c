/*
 * save.c - write a checkpoint file, which is either complete or does not exist
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/atomic-file.h"

#include "cmd/innet-memory/store/save.h"

/*
 * Write to a file; this is a writer_sink whose arg is the struct atomic_file.
 */
static int
write_file(void *arg, const void *p, size_t len)
{
	return atomic_file_write(arg, p, len) ? 0 : errno;
}

void
save_clock(struct writer *w, uint64_t version)
{
	writer_put_bytes(w, "V", 1);
	writer_put_uint(w, version, 8);
}

void
save_expiry(struct writer *w, uint64_t at_ms)
{
	writer_put_bytes(w, "X", 1);
	writer_put_uint(w, at_ms, 8);
}

void
save_string(struct writer *w, const void *key, size_t key_len, uint64_t version,
    const void *value, size_t len)
{
	writer_put_bytes(w, "S", 1);
	writer_put_counted(w, key, key_len);
	writer_put_uint(w, version, 8);
	writer_put_counted(w, value, len);
}

void
save_list(struct writer *w, const void *key, size_t key_len, uint64_t version,
    uint64_t n)
{
	writer_put_bytes(w, "L", 1);
	writer_put_counted(w, key, key_len);
	writer_put_uint(w, version, 8);
	writer_put_uint(w, n, 8);
}

int
save_to(int fd, void (*fill)(struct writer *w, void *arg), void *arg)
{
	struct atomic_file file = { .fd = fd };
	struct writer w;

	writer_open(&w, write_file, &file);
	writer_put_bytes(&w, SAVE_MAGIC, SAVE_MAGIC_BYTES);
	writer_put_uint(&w, SAVE_VERSION, 4);
	fill(&w, arg);
	writer_put_bytes(&w, "E", 1);
	writer_flush(&w);
	writer_put_uint(&w, w.crc, 4);
	return writer_close(&w);
}

int
save_file(const char *path, void (*fill)(struct writer *w, void *arg),
    void *arg)
{
	struct atomic_file file;
	struct stat st;
	const bool there = lstat(path, &st) == 0 && !S_ISLNK(st.st_mode);

	if (there && !S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
		return ENOTSUP;		/* opening a pipe would block until
					 * there is a reader */
	if (atomic_file_open_here(&file, path) == -1)
		return errno;
	/* keep the access rights of the old file */
	file.mode = there ? st.st_mode & 0777 : 0600;
	errno = save_to(file.fd, fill, arg);
	if (atomic_file_close(&file, errno == 0) == -1 ||
	    atomic_file_sync_folder(path) == -1)
		return errno;
	return 0;
}
