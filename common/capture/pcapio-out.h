/*
 * pcapio-out.h - write captures of Ethernet frames, as classic pcap files with
 * timestamps in nanoseconds
 *
 * Files are in the byte order of the host; "-" is the standard output.  A
 * writer owns its buffer and its file until it is closed, and must not be moved
 * in memory before that.  After pcapio_write_behind() a thread writes full
 * blocks while the caller fills the next block.  So on two processors the total
 * time is that of the slower thread.  A timestamp after the year 2106 does not
 * fit into the format, so a packet with such a timestamp counts as a failure to
 * write.
 *
 * All calls for a writer must come from one thread.  On failure the functions
 * return an error and set errno.  Only pcapio_create_or_exit() exits.
 */
#ifndef INNET_CAPTURE_PCAPIO_OUT_H
#define INNET_CAPTURE_PCAPIO_OUT_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/file-open.h"
#include "common/base/message.h"

/*
 * A thread that writes one block while the caller fills another.  Blocks are
 * allocated with malloc() and have the same size.  SIGPIPE in this thread ends
 * the process as usual.  The caller's thread handles all other signals.
 */
struct write_behind {
	int fd;			/* owned by the writer */
	pthread_t thread;
	pthread_mutex_t lock;	/* protects the fields below */
	pthread_cond_t moved;	/* signalled when a field below has changed */
	uint8_t *full;		/* the block that the thread writes, or NULL */
	size_t have;		/* number of bytes in the block `full` */
	uint8_t *spare;		/* an empty block for the caller, or NULL */
	uint64_t bytes;		/* number of bytes written so far */
	int failed;		/* errno of the write that failed, or 0 */
	bool stop;
};

enum {
	PCAPIO_BLOCK_BYTES = 256 * 1024,
	PCAPIO_FRAME_MAX_BYTES = 262144,	/* the limit of libpcap */
	PCAPIO_HEADER_BYTES = 24, PCAPIO_RECORD_BYTES = 16,
	PCAPIO_BUFFER_BYTES = PCAPIO_BLOCK_BYTES + PCAPIO_RECORD_BYTES +
	    PCAPIO_FRAME_MAX_BYTES
};

struct pcapio_out {
	const char *path;	/* borrowed, used in messages */
	int fd;
	int failed;		/* errno of the write that failed, or 0 */
	bool warned;		/* the failure was printed */
	uint8_t *buf;
	size_t have;		/* number of bytes in `buf` */
	uint64_t packets;	/* number of packets written so far */
	uint64_t bytes;		/* number of bytes written to the file */
	struct write_behind *behind;	/* owned; NULL: there is no thread, so
					 * the caller writes */
};

/*
 * Begin to write a capture to the file at path.  Returns 0, or -1 with errno.
 */
static inline int pcapio_create(struct pcapio_out *out, const char *path);

/*
 * Call pcapio_create().  On failure print an error and exit with status 1, or 2
 * if the output is a terminal.
 */
static inline void pcapio_create_or_exit(struct pcapio_out *out,
    const char *path);

/* If there is more than one processor, start a thread that writes the file. */
static inline void pcapio_write_behind(struct pcapio_out *out);

/*
 * Add a packet with the caplen bytes at `data`, truncated to
 * PCAPIO_FRAME_MAX_BYTES.  The frame had `len` bytes on the wire.  Failures are
 * reported later, at the latest by pcapio_close().
 */
static inline void pcapio_write(struct pcapio_out *out, uint64_t stamp_ns,
    const void *data, uint32_t caplen, uint32_t len);

/*
 * Return a pointer to room for a frame of up to PCAPIO_FRAME_MAX_BYTES bytes.
 * The caller writes the frame there and calls pcapio_commit(), which adds the
 * packet.  If the caller calls pcapio_room() again instead, the frame is
 * discarded.
 */
static inline uint8_t *pcapio_room(struct pcapio_out *out);

/*
 * Add a packet with the caplen bytes that the caller has written to the room
 * from pcapio_room().  The frame had `len` bytes on the wire.
 */
static inline void pcapio_commit(struct pcapio_out *out, uint64_t stamp_ns,
    uint32_t caplen, uint32_t len);

/*
 * Write the buffer to the file.  Returns 0, or -1 with out->failed.  After a
 * failure all later calls return -1.
 */
static inline int pcapio_flush(struct pcapio_out *out);

/*
 * Call pcapio_flush(), and print an error after the first failure.  After a
 * failure no further packets are captured.  Returns true if the output is a
 * pipe without a reader, which means that the tool should end.
 */
static inline bool pcapio_flush_or_warn(struct pcapio_out *out);

/*
 * Write the buffer to the file and close the file.  Returns 0, or -1 with errno
 * if a packet may be missing from the file.
 */
static inline int pcapio_close(struct pcapio_out *out);

/*
 * Call pcapio_close(), and print an error if it fails.  Returns the exit
 * status.
 */
static inline int pcapio_close_or_warn(struct pcapio_out *out);

/* Write the header of a new file to the empty buffer. */
static inline void pcapio_put_header(struct pcapio_out *out);

/*
 * Return the name of a path for messages.  For the path "-" this is "standard
 * output" if `writes` is true and "standard input" if it is false.
 */
static inline const char *pcapio_name(const char *path, bool writes);

/* implementation */

/*
 * Write len bytes, and add the number of bytes written to *bytes.  Returns 0,
 * or an errno value on failure.
 */
static inline int
write_behind_write(int fd, const uint8_t *p, size_t len, uint64_t *bytes)
{
	ssize_t n;

	for (size_t done = 0; done < len;) {
		n = write(fd, p + done, len - done);
		if (n == -1 && errno != EINTR)
			return errno;
		if (n > 0) {
			done += (size_t)n;
			*bytes += (uint64_t)n;
		}
	}
	return 0;
}

/* Run the thread: write each block that the caller passes to it. */
static inline void *
write_behind_run(void *arg)
{
	struct write_behind *b = arg;
	uint64_t bytes;
	int failed;

	pthread_mutex_lock(&b->lock);
	for (;;) {
		while (b->full == NULL && !b->stop)
			pthread_cond_wait(&b->moved, &b->lock);
		if (b->full == NULL)
			break;
		failed = b->failed;
		bytes = b->bytes;
		pthread_mutex_unlock(&b->lock);
		if (failed == 0)
			failed =
			    write_behind_write(b->fd, b->full, b->have, &bytes);
		pthread_mutex_lock(&b->lock);
		b->failed = failed;
		b->bytes = bytes;
		b->spare = b->full;
		b->full = NULL;
		pthread_cond_signal(&b->moved);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

/* Is there more than one processor? */
static inline bool
write_behind_pays(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 &&
	    CPU_COUNT(&set) > 1;
}

/*
 * Start a thread that writes blocks of `size` bytes to fd, to which `bytes`
 * bytes have already been written.  Returns NULL if there is no memory or no
 * thread can be created.
 */
static inline struct write_behind *
write_behind_start(int fd, uint64_t bytes, size_t size)
{
	struct write_behind *b = calloc(1, sizeof(*b));
	sigset_t most, before;
	int rc;

	if (b == NULL)
		return NULL;
	b->fd = fd;
	b->bytes = bytes;
	b->spare = malloc(size);
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->moved, NULL);
	sigfillset(&most);
	sigdelset(&most, SIGPIPE);
	pthread_sigmask(SIG_SETMASK, &most, &before);
	rc = b->spare == NULL ? ENOMEM :
	    pthread_create(&b->thread, NULL, write_behind_run, b);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0)
		return b;
	free(b->spare);
	free(b);
	return NULL;
}

/* Wait until the thread has no block to write any longer. */
static inline void
write_behind_wait(struct write_behind *b)
{
	pthread_mutex_lock(&b->lock);
	while (b->full != NULL)
		pthread_cond_wait(&b->moved, &b->lock);
	pthread_mutex_unlock(&b->lock);
}

/*
 * Pass a block with `have` bytes to the thread.  Returns an empty block for the
 * caller.
 */
static inline uint8_t *
write_behind_give(struct write_behind *b, uint8_t *block, size_t have)
{
	uint8_t *other;

	pthread_mutex_lock(&b->lock);
	while (b->full != NULL)
		pthread_cond_wait(&b->moved, &b->lock);
	other = b->spare;
	b->spare = NULL;
	b->full = block;
	b->have = have;
	pthread_cond_signal(&b->moved);
	pthread_mutex_unlock(&b->lock);
	return other;
}

/* Let the thread write its last block, and end it. */
static inline void
write_behind_stop(struct write_behind *b)
{
	pthread_mutex_lock(&b->lock);
	b->stop = true;
	pthread_cond_signal(&b->moved);
	pthread_mutex_unlock(&b->lock);
	pthread_join(b->thread, NULL);
	pthread_cond_destroy(&b->moved);
	pthread_mutex_destroy(&b->lock);
	free(b->spare);
	free(b);
}

static inline const char *
pcapio_name(const char *path, bool writes)
{
	if (strcmp(path, "-") != 0)
		return path;
	return writes ? "standard output" : "standard input";
}

static inline int
pcapio_flush(struct pcapio_out *out)
{
	struct write_behind *b = out->behind;

	if (b != NULL) {
		write_behind_wait(b);
		out->bytes = b->bytes;
		out->failed = out->failed != 0 ? out->failed : b->failed;
	}
	if (out->failed == 0)
		out->failed = write_behind_write(out->fd, out->buf, out->have,
		    &out->bytes);
	if (b != NULL)
		b->bytes = out->bytes;
	out->have = 0;
	return out->failed == 0 ? 0 : -1;
}

/* Pass the full block to the thread and get an empty block. */
static inline void
pcapio_next_block(struct pcapio_out *out)
{
	struct write_behind *b = out->behind;

	if (b == NULL || out->failed != 0) {
		pcapio_flush(out);
		return;
	}
	write_behind_wait(b);
	out->bytes = b->bytes;
	out->failed = b->failed;
	if (out->failed == 0)
		out->buf = write_behind_give(b, out->buf, out->have);
	out->have = 0;
}

static inline bool
pcapio_flush_or_warn(struct pcapio_out *out)
{
	if (pcapio_flush(out) == 0)
		return false;
	errno = out->failed;
	if (!out->warned && errno != EPIPE)
		warn("%s: the capture ends here", pcapio_name(out->path, true));
	out->warned = true;
	return out->failed == EPIPE;
}

static inline void
pcapio_put_header(struct pcapio_out *out)
{
	const uint32_t head[6] = { 0xa1b23c4d, 2 | 4 << 16, 0, 0,
	    PCAPIO_FRAME_MAX_BYTES, 1 };
	const uint16_t version[2] = { 2, 4 };

	memcpy(out->buf, head, sizeof(head));
	memcpy(out->buf + 4, version, sizeof(version));
	out->have = sizeof(head);
	out->bytes = 0;
}

static inline int
pcapio_create(struct pcapio_out *out, const char *path)
{
	*out = (struct pcapio_out){ .path = path, .fd = STDOUT_FILENO };
	if (strcmp(path, "-") != 0)
		out->fd = file_open_write(path, O_CREAT | O_TRUNC, true);
	if (out->fd == -1)
		return -1;
	out->buf = malloc(PCAPIO_BUFFER_BYTES);
	if (out->buf == NULL)
		return -1;
	pcapio_put_header(out);
	return 0;
}

static inline void
pcapio_write_behind(struct pcapio_out *out)
{
	if (out->behind == NULL && write_behind_pays())
		out->behind = write_behind_start(out->fd, out->bytes,
		    PCAPIO_BUFFER_BYTES);
}

static inline uint8_t *
pcapio_room(struct pcapio_out *out)
{
	if (out->have >= PCAPIO_BLOCK_BYTES)
		pcapio_next_block(out);
	return out->buf + out->have + PCAPIO_RECORD_BYTES;
}

static inline void
pcapio_commit(struct pcapio_out *out, uint64_t stamp_ns, uint32_t caplen,
    uint32_t len)
{
	const uint64_t s = stamp_ns / 1000000000u;
	const uint32_t h[4] = { (uint32_t)s,
	    (uint32_t)(stamp_ns % 1000000000u), caplen, len };

	if (out->failed != 0)
		return;
	if (s > UINT32_MAX) {		/* after 2106 */
		if (pcapio_flush(out) == 0)
			out->failed = EOVERFLOW;
		return;
	}

	memcpy(out->buf + out->have, h, sizeof(h));
	out->have += sizeof(h) + caplen;
	out->packets++;
}

static inline void
pcapio_write(struct pcapio_out *out, uint64_t stamp_ns, const void *data,
    uint32_t caplen, uint32_t len)
{
	uint8_t *to = pcapio_room(out);

	if (caplen > PCAPIO_FRAME_MAX_BYTES)
		caplen = PCAPIO_FRAME_MAX_BYTES;
	if (caplen > 0)		/* memcpy() must not get NULL, but `data` may be
				 * NULL if caplen is 0 */
		memcpy(to, data, caplen);
	pcapio_commit(out, stamp_ns, caplen, len);
}

static inline int
pcapio_close(struct pcapio_out *out)
{
	pcapio_flush(out);
	if (out->behind != NULL)
		write_behind_stop(out->behind);
	out->behind = NULL;
	/*
	 * Some file systems report an error of a write only when the file is
	 * closed.  Standard output stays open.
	 */
	if (out->failed == 0 && close(out->fd == STDOUT_FILENO ?
	    dup(out->fd) : out->fd) == -1)
		out->failed = errno;
	free(out->buf);
	out->buf = NULL;
	out->fd = -1;
	errno = out->failed;
	return out->failed == 0 ? 0 : -1;
}

static inline void
pcapio_create_or_exit(struct pcapio_out *out, const char *path)
{
	if (strcmp(path, "-") == 0 && isatty(STDOUT_FILENO))
		errx(2, "standard output is a terminal; use -w FILE");
	if (pcapio_create(out, path) == -1)
		err(1, "%s", pcapio_name(path, true));
}

static inline int
pcapio_close_or_warn(struct pcapio_out *out)
{
	if (pcapio_close(out) == 0)
		return 0;
	warnx("%s: the output is incomplete: %s", pcapio_name(out->path, true),
	    errno == EOVERFLOW ? "a pcap file cannot hold times after the "
	    "year 2106" : strerror(errno));
	return 1;
}

#endif
