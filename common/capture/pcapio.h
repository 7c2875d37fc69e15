/*
 * pcapio.h - read capture files at nanosecond precision (pcapio-out.h writes
 *   them)
 *
 * This file reads classic pcap files of both byte orders and precisions, in
 * blocks that stay in the cache.  libpcap reads the other formats that it
 * supports, such as pcapng.  The path "-" is the standard input.
 *
 * A file is rejected if frame-link.h does not support its link type.
 * Timestamps must be in the years 1970 to 2262.  A record counts as damaged if
 * its timestamp is not in this range, or if the fraction in the timestamp is
 * one second or more.  A timestamp that is PCAPIO_LEAP_S seconds or more after
 * the previous one is accepted and counted in `leaps`.  If a capture of the
 * loopback interface contains two copies of a packet, the first copy is skipped
 * and counted in `copies`.
 *
 * After pcapio_read_ahead() a thread reads blocks ahead of the caller.  If the
 * thread is still reading the next block, the caller does not wait but reads
 * the block after the next.  So on two processors, reading and processing a
 * file takes half of the time that it takes on one.  Before each block there is
 * room for the rest of the previous block, so only this rest has to be copied.
 *
 * A reader owns its buffer and its file until it is closed, and must not be
 * moved in memory before that.  All calls for a reader must come from one
 * thread.  On failure the functions return an error and write a message to
 * `why`.  Only pcapio_open_or_exit() exits.
 */
#ifndef INNET_CAPTURE_PCAPIO_H
#define INNET_CAPTURE_PCAPIO_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pcap/pcap.h>

#include "common/base/file-open.h"
#include "common/base/message.h"
#include "common/capture/pcapio-out.h"
#include "common/wire/frame-link.h"

enum {
	READ_AHEAD_BLOCKS = 4,
	READ_AHEAD_BLOCK_BYTES = 1024 * 1024,
	READ_AHEAD_BEFORE_BYTES = 260 * 1024	/* size of the room before each
						 * block, enough for one
						 * frame */
};

/*
 * Blocks that a thread reads ahead.  Block k of the file is at index k %
 * READ_AHEAD_BLOCKS.
 */
struct read_ahead {
	int fd;			/* a regular file, owned by the reader */
	off_t base;		/* offset of block 0 */
	pthread_t thread;
	pthread_mutex_t lock;	/* protects the fields below */
	pthread_cond_t moved;	/* signalled when a field below has changed */
	uint64_t claimed;	/* number of blocks that have been read or are
				 * being read */
	uint64_t next;		/* number of the block that the caller gets
				 * next */
	bool given;		/* the caller still uses block next - 1 */
	bool stop;		/* the thread must end */
	bool ready[READ_AHEAD_BLOCKS];
	ssize_t got[READ_AHEAD_BLOCKS];	/* number of bytes in each block; 0 at
					 * the end of the file; -errno after an
					 * error */
	uint8_t *block[READ_AHEAD_BLOCKS];	/* pointers into `room` */
	uint8_t *room;		/* owned; memory for all blocks, 5 MiB */
};

enum { PCAPIO_LEAP_S = 31536000 };	/* one year */

struct pcapio_packet {
	uint64_t stamp_ns;	/* time of capture, in ns since the epoch */
	uint32_t caplen;	/* number of bytes at `data` */
	uint32_t len;		/* length of the frame on the wire */
	const uint8_t *data;	/* borrowed until the next read */
};

struct pcapio_in {
	const char *path;	/* borrowed, used in messages */
	int fd;
	int link;		/* link type, as the number that the file
				 * contains */
	bool swapped, nano;	/* of a classic file: the byte order differs
				 * from that of the host; timestamps are in
				 * nanoseconds */
	bool plain;		/* the file is a classic file that contains no
				 * copies of packets */
	bool interrupted;	/* a signal arrived during a read */
	uint8_t *buf;		/* owned, unless it points to a block of
				 * `ahead` */
	size_t used, have;	/* number of bytes of `buf` that were returned
				 * to the caller; number of bytes that were read
				 * into `buf` */
	struct read_ahead *ahead;	/* owned; NULL: no thread reads ahead */
	bool ended;		/* `ahead` has no further blocks */
	pcap_t *pcap;		/* handle of libpcap; NULL for a classic file */
	uint64_t packets;	/* number of packets read so far, including
				 * copies */
	uint64_t copies;	/* number of copies that were skipped */
	uint64_t last_s;	/* the last timestamp, in whole seconds since
				 * the epoch */
	uint64_t leaps;		/* number of timestamps that are a year or more
				 * after the previous one */
	uint64_t leap_at;	/* number of the packet that has the first of
				 * these timestamps */
	char why[PCAP_ERRBUF_SIZE + 64];
};

/*
 * Begin to read the capture at path.  Returns 0, or -1 with in->why.  On
 * failure `in` owns nothing.
 */
static inline int pcapio_open(struct pcapio_in *in, const char *path);

/*
 * Begin to read the capture from the open descriptor fd, which `in` owns from
 * now on.  Returns 0, or -1 with in->why.
 */
static inline int pcapio_open_fd(struct pcapio_in *in, int fd,
    const char *path);

/*
 * Call pcapio_open().  On failure print an error and exit with status 1, or 2
 * if the input is a terminal.
 */
static inline void pcapio_open_or_exit(struct pcapio_in *in, const char *path);

/*
 * Start a thread that reads the rest of the file, if there is more than one
 * processor and the file is a regular file in the classic format that is larger
 * than all blocks together.  For other files a thread would not be faster.
 * Call this function before the first pcapio_next().
 */
static inline void pcapio_read_ahead(struct pcapio_in *in);

/*
 * Read the next packet.  Returns 1, or 0 at the end of the file or after a
 * signal.  Returns -1, with a message in in->why, if the file is damaged at
 * packet in->packets + 1.
 */
static inline int pcapio_next(struct pcapio_in *in, struct pcapio_packet *p);

/*
 * Guess where a later packet is in the buffer.  p is the last packet that was
 * read, and the later packet is the n-th packet after p.  Return a pointer to
 * the `bytes` bytes at offset `at` in the later packet, on the assumption that
 * all packets between are as long as p.  Returns NULL if the bytes are not in
 * the buffer yet.  The bytes have not been checked.
 */
static inline const uint8_t *pcapio_peek(const struct pcapio_in *in,
    const struct pcapio_packet *p, size_t n, size_t at, size_t bytes);

/* Close the file, unless it is the standard input, and free the memory. */
static inline void pcapio_close_in(struct pcapio_in *in);

/*
 * Print the error in in->why, after pcapio_next() has returned -1.  Returns the
 * exit status.
 */
static inline int pcapio_warn_damage(const struct pcapio_in *in);

/* Print warnings if there were leaps or copies. */
static inline void pcapio_warn_odd(const struct pcapio_in *in);

/* implementation */

/* Is there room for another block?  The caller must hold the lock. */
static inline bool
read_ahead_free(const struct read_ahead *a)
{
	return a->claimed < a->next - a->given + READ_AHEAD_BLOCKS;
}

/*
 * Claim the next block that no thread has claimed, and read it.  The caller
 * must hold the lock, which is released during the read.  Returns the number of
 * bytes, 0 at the end of the file, or -errno.
 */
static inline ssize_t
read_ahead_read(struct read_ahead *a)
{
	const uint64_t k = a->claimed++;
	const size_t i = k % READ_AHEAD_BLOCKS;
	ssize_t n;

	a->ready[i] = false;
	pthread_mutex_unlock(&a->lock);
	do
		n = pread(a->fd, a->block[i], READ_AHEAD_BLOCK_BYTES,
		    a->base + (off_t)k * READ_AHEAD_BLOCK_BYTES);
	while (n == -1 && errno == EINTR);
	if (n == -1)
		n = -errno;
	pthread_mutex_lock(&a->lock);
	a->got[i] = n;
	a->ready[i] = true;
	pthread_cond_broadcast(&a->moved);
	return n;
}

/* Run the thread: read blocks whenever there is room for one. */
static inline void *
read_ahead_run(void *arg)
{
	struct read_ahead *a = arg;

	pthread_mutex_lock(&a->lock);
	while (!a->stop) {
		if (!read_ahead_free(a))
			pthread_cond_wait(&a->moved, &a->lock);
		else if (read_ahead_read(a) <= 0)
			break;
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/*
 * Start a thread that reads fd from its current offset.  Returns NULL if there
 * is no memory or no thread can be created.
 */
static inline struct read_ahead *
read_ahead_start(int fd)
{
	const size_t each = READ_AHEAD_BEFORE_BYTES + READ_AHEAD_BLOCK_BYTES;
	struct read_ahead *a = calloc(1, sizeof(*a));
	sigset_t all, before;
	int rc;

	if (a == NULL)
		return NULL;
	a->fd = fd;
	a->base = lseek(fd, 0, SEEK_CUR);
	a->room = aligned_alloc(4096, READ_AHEAD_BLOCKS * each);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->moved, NULL);
	for (size_t i = 0; i < READ_AHEAD_BLOCKS && a->room != NULL; i++)
		a->block[i] = a->room + i * each + READ_AHEAD_BEFORE_BYTES;
	sigfillset(&all);	/* signals are handled by the caller's thread,
				 * so block them here */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = a->room == NULL || a->base == -1 ? ENOMEM :
	    pthread_create(&a->thread, NULL, read_ahead_run, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0)
		return a;
	free(a->room);
	free(a);
	return NULL;
}

/*
 * Get the next block.  The `left` bytes at `rest` are the rest of the previous
 * block.  The function copies them to the room before the next block, sets *at
 * to the start of the copy, and releases the previous block.  Returns the
 * number of bytes at *at, which is `left` at the end of the file.  On failure
 * nothing changes, and the result is -1 with errno.  `left` must be at most
 * READ_AHEAD_BEFORE_BYTES.  This function must not be called again after the
 * end of the file.
 */
static inline ssize_t
read_ahead_next(
    struct read_ahead *a, const uint8_t *rest, size_t left, uint8_t **at)
{
	const size_t i = a->next % READ_AHEAD_BLOCKS;
	ssize_t n;

	pthread_mutex_lock(&a->lock);
	while (a->claimed <= a->next || !a->ready[i]) {
		if (read_ahead_free(a))
			read_ahead_read(a);
		else
			pthread_cond_wait(&a->moved, &a->lock);
	}
	n = a->got[i];
	if (n < 0) {
		pthread_mutex_unlock(&a->lock);
		errno = (int)-n;
		return -1;
	}
	*at = a->block[i] - left;
	memcpy(*at, rest, left);
	a->given = true;
	a->next++;
	pthread_cond_broadcast(&a->moved);
	pthread_mutex_unlock(&a->lock);
	return (ssize_t)left + n;
}

/* End the thread and free the blocks. */
static inline void
read_ahead_stop(struct read_ahead *a)
{
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_broadcast(&a->moved);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	pthread_cond_destroy(&a->moved);
	pthread_mutex_destroy(&a->lock);
	free(a->room);
	free(a);
}

/* Write a message to in->why.  Returns -1. */
__attribute__((format(printf, 2, 3))) static inline int
pcapio_fail(struct pcapio_in *in, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(in->why, sizeof(in->why), fmt, ap);
	va_end(ap);
	return -1;
}

/* Return the number at p, in the byte order of the file. */
static inline uint32_t
pcapio_u32(const struct pcapio_in *in, const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return in->swapped ? __builtin_bswap32(v) : v;
}

/* Do the work of pcapio_more() if a thread reads blocks. */
static inline int
pcapio_more_ahead(struct pcapio_in *in, size_t need)
{
	uint8_t *at;
	ssize_t n;

	while (in->have - in->used < need && !in->ended) {
		n = read_ahead_next(in->ahead, in->buf + in->used,
		    in->have - in->used, &at);
		if (n == -1) {
			in->ended = true;
			return pcapio_fail(in, "%s", strerror(errno));
		}
		in->ended = (size_t)n == in->have - in->used;
		in->buf = at;
		in->used = 0;
		in->have = (size_t)n;
	}
	return in->have - in->used >= need;
}

/* Do the work of pcapio_more() if the buffer has too few bytes. */
static inline int
pcapio_refill(struct pcapio_in *in, size_t need)
{
	const size_t left = in->have - in->used;
	ssize_t n;

	if (in->ahead != NULL)
		return pcapio_more_ahead(in, need);
	memmove(in->buf, in->buf + in->used, left);
	in->used = 0;
	in->have = left;
	while (in->have < need) {
		n = read(in->fd, in->buf + in->have, PCAPIO_BLOCK_BYTES);
		if (n == -1 && errno != EINTR)
			return pcapio_fail(in, "%s", strerror(errno));
		if (n == -1)
			in->interrupted = true;
		if (n <= 0)
			return 0;
		in->have += (size_t)n;
	}
	return 1;
}

/*
 * Make sure that at least `need` unread bytes are in the buffer.  Returns 1 on
 * success, 0 if the file has fewer bytes or a signal arrives, and -1 with
 * in->why if the file cannot be read.
 */
static inline int
pcapio_more(struct pcapio_in *in, size_t need)
{
	return in->have - in->used >= need ? 1 : pcapio_refill(in, need);
}

/*
 * Read bytes for libpcap.  First return the bytes that the reader of classic
 * files has already read, then read the file.
 */
static inline ssize_t
pcapio_cookie_read(void *cookie, char *to, size_t n)
{
	struct pcapio_in *in = cookie;
	size_t left = in->have - in->used;
	ssize_t got;

	if (left == 0) {
		got = read(in->fd, to, n);
		in->interrupted |= got == -1 && errno == EINTR;
		return got;
	}
	if (n > left)
		n = left;
	memcpy(to, in->buf + in->used, n);
	in->used += n;
	return (ssize_t)n;
}

/*
 * Return the number that libpcap uses for a link type in classic files.  Most
 * link types have the same number in both.
 */
static inline int
pcapio_dlt(int link)
{
	switch (link) {
	case 100: return DLT_ATM_RFC1483;
	case 102: return DLT_SLIP_BSDOS;
	case 103: return DLT_PPP_BSDOS;
	case 106: return DLT_ATM_CLIP;
	default: return link;
	}
}

/*
 * Return 0 if the link type is supported, or -1 with in->why.  `name` is the
 * name of the link type for messages, or NULL.
 */
static inline int
pcapio_check_link(struct pcapio_in *in, int link, const char *name)
{
	char number[16];

	if (frame_link_known(link))
		return 0;
	snprintf(number, sizeof(number), "%d", link);
	return pcapio_fail(in, "link type %s is not supported; supported are "
	    "%s",
	    name != NULL ? name : number, frame_link_names);
}

/*
 * Let libpcap open a file that is not in the classic format.  Returns 0, or -1
 * with in->why.
 */
static inline int
pcapio_open_other(struct pcapio_in *in)
{
	const cookie_io_functions_t io = { .read = pcapio_cookie_read };
	char text[PCAP_ERRBUF_SIZE] = "";
	FILE *f = fopencookie(in, "r", io);

	if (f == NULL)
		return pcapio_fail(in, "%s", strerror(errno));
	in->pcap = pcap_fopen_offline_with_tstamp_precision(f,
	    PCAP_TSTAMP_PRECISION_NANO, text);
	if (in->pcap == NULL) {
		fclose(f);
		return pcapio_fail(in, "%s", text);
	}
	in->link = pcap_datalink(in->pcap);
	return pcapio_check_link(in, in->link,
	    pcap_datalink_val_to_name(in->link));
}

static inline void
pcapio_close_in(struct pcapio_in *in)
{
	if (in->pcap != NULL)
		pcap_close(in->pcap);
	if (in->ahead != NULL) {
		read_ahead_stop(in->ahead);
		in->buf = NULL;
	}
	if (in->fd > STDIN_FILENO)
		close(in->fd);
	free(in->buf);
	in->pcap = NULL;
	in->ahead = NULL;
	in->buf = NULL;
	in->fd = -1;
}

static inline int
pcapio_open_fd(struct pcapio_in *in, int fd, const char *path)
{
	int got;

	*in = (struct pcapio_in){ .path = path, .fd = fd };
	in->buf = malloc(2 * PCAPIO_BLOCK_BYTES + PCAPIO_FRAME_MAX_BYTES);
	if (in->buf == NULL)
		return pcapio_fail(in, "%s", strerror(errno));
	got = pcapio_more(in, PCAPIO_HEADER_BYTES);
	if (got == -1)
		return -1;
	if (got == 0 && in->interrupted)
		return pcapio_fail(in, "%s", strerror(EINTR));
	if (in->have == 0)
		return pcapio_fail(in, "the file is empty; it has not even a "
		    "header");
	if (got == 0)
		return pcapio_fail(in, "truncated dump file; tried to read %d "
		    "file header bytes, only got %zu", PCAPIO_HEADER_BYTES,
		    in->have);
	switch (pcapio_u32(in, in->buf)) {
	case 0xd4c3b2a1:
		in->swapped = true;
		break;
	case 0x4d3cb2a1:
		in->swapped = true;
		/* fall through */
	case 0xa1b23c4d:
		in->nano = true;
		break;
	case 0xa1b2c3d4:
		break;
	default:
		return pcapio_open_other(in);
	}
	in->link = (int)(pcapio_u32(in, in->buf + 20) & 0xffff);
	in->plain = in->link != FRAME_SLL && in->link != FRAME_SLL2;
	in->used = PCAPIO_HEADER_BYTES;
	return pcapio_check_link(in, in->link,
	    pcap_datalink_val_to_name(pcapio_dlt(in->link)));
}

static inline int
pcapio_open(struct pcapio_in *in, const char *path)
{
	int fd = STDIN_FILENO;

	if (strcmp(path, "-") != 0)
		fd = file_open_read(path);
	if (fd == -1) {
		*in = (struct pcapio_in){ .path = path, .fd = -1 };
		return pcapio_fail(in, "%s", strerror(errno));
	}
	if (pcapio_open_fd(in, fd, path) == 0)
		return 0;
	pcapio_close_in(in);
	return -1;
}

static inline void
pcapio_read_ahead(struct pcapio_in *in)
{
	struct read_ahead *a;
	struct stat st;
	uint8_t *at;
	ssize_t n;

	if (in->pcap != NULL || fstat(in->fd, &st) == -1 ||
	    !S_ISREG(st.st_mode) ||
	    st.st_size < READ_AHEAD_BLOCKS * READ_AHEAD_BLOCK_BYTES ||
	    sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return;
	a = read_ahead_start(in->fd);
	if (a == NULL)
		return;
	n = read_ahead_next(a, in->buf + in->used, in->have - in->used, &at);
	if (n == -1) {		/* do not report the error here; the next normal
				 * read reports it */
		read_ahead_stop(a);
		return;
	}
	in->ended = (size_t)n == in->have - in->used;
	free(in->buf);
	in->ahead = a;
	in->buf = at;
	in->used = 0;
	in->have = (size_t)n;
}

static inline int
pcapio_too_long(struct pcapio_in *in, uint32_t caplen)
{
	return pcapio_fail(in, "invalid packet capture length %u, "
	    "bigger than maximum of %u", caplen, PCAPIO_FRAME_MAX_BYTES);
}

/*
 * Check a timestamp that is far after or before the previous one, or invalid.
 * Count leaps.  Returns 0, or -1 with in->why if the timestamp is invalid.
 */
__attribute__((noinline, unused)) static int
pcapio_odd_stamp(struct pcapio_in *in, uint64_t s, uint64_t frac,
    uint32_t parts)
{
	if (frac >= parts)
		return pcapio_fail(in, "its timestamp has %llu %sseconds, "
		    "which is a second or more", (unsigned long long)frac,
		    parts == 1000000 ? "micro" : "nano");
	if (s > INT64_MAX / 1000000000 - 1)
		return pcapio_fail(in, "its timestamp, %lld s since 1970, is "
		    "not between 1970 and 2262", (long long)s);
	if (s > in->last_s && in->packets > 0 && in->leaps++ == 0)
		in->leap_at = in->packets + 1;
	return 0;
}

/*
 * Check the timestamp of a record: s seconds and the fraction frac / parts of a
 * second.  Returns 0, or -1 with in->why.
 */
__attribute__((always_inline)) static inline int
pcapio_stamp(struct pcapio_in *in, uint64_t s, uint64_t frac, uint32_t parts)
{
	/* If a timestamp decreases, the unsigned difference is very large. */
	if (((frac >= parts) | (s - in->last_s >= PCAPIO_LEAP_S)) &&
	    pcapio_odd_stamp(in, s, frac, parts) == -1)
		return -1;
	in->last_s = s;
	return 0;
}

static inline int
pcapio_read_other(struct pcapio_in *in, struct pcapio_packet *p)
{
	struct pcap_pkthdr *h;
	const u_char *data;
	int got = pcap_next_ex(in->pcap, &h, &data);

	if (got == PCAP_ERROR && !in->interrupted)
		return pcapio_fail(in, "%s", pcap_geterr(in->pcap));
	if (got != 1)
		return 0;
	if (h->caplen > PCAPIO_FRAME_MAX_BYTES)	/* allow 128 MB, because frames
						 * of D-Bus and USB can be that
						 * long */
		return pcapio_too_long(in, h->caplen);
	if (pcapio_stamp(in, (uint64_t)h->ts.tv_sec, (uint64_t)h->ts.tv_usec,
	    1000000000) == -1)
		return -1;
	in->packets++;
	*p = (struct pcapio_packet){ (uint64_t)h->ts.tv_sec * 1000000000u +
	    (uint64_t)h->ts.tv_usec, h->caplen,
	    h->len < h->caplen ? h->caplen : h->len, data };
	return 1;
}

/*
 * Read the next record of a classic file.  The function is always inlined,
 * because there are many packets.
 */
__attribute__((always_inline)) static inline int
pcapio_read(struct pcapio_in *in, struct pcapio_packet *p)
{
	const uint8_t *h;
	uint32_t frac, caplen;
	uint64_t s;
	int got;

	got = pcapio_more(in, PCAPIO_RECORD_BYTES);
	if (got == -1)
		return -1;
	if (got == 0 && (in->have == in->used || in->interrupted))
		return 0;
	if (got == 0)
		return pcapio_fail(in, "truncated dump file; tried to read %d "
		    "header bytes, only got %zu", PCAPIO_RECORD_BYTES,
		    in->have - in->used);
	caplen = pcapio_u32(in, in->buf + in->used + 8);
	if (caplen > PCAPIO_FRAME_MAX_BYTES)
		return pcapio_too_long(in, caplen);
	got = pcapio_more(in, PCAPIO_RECORD_BYTES + caplen);
	if (got == -1)
		return -1;
	if (got == 0 && in->interrupted)
		return 0;
	if (got == 0)
		return pcapio_fail(in, "truncated dump file; tried to read %u "
		    "captured bytes, only got %zu", caplen,
		    in->have - in->used - PCAPIO_RECORD_BYTES);
	h = in->buf + in->used;
	s = pcapio_u32(in, h);
	frac = pcapio_u32(in, h + 4);
	if (pcapio_stamp(in, s, frac, in->nano ? 1000000000 : 1000000) == -1)
		return -1;
	p->stamp_ns = s * 1000000000u +
	    (in->nano ? frac : (uint64_t)frac * 1000u);
	p->caplen = caplen;
	p->len = pcapio_u32(in, h + 12);
	if (p->len < caplen)
		p->len = caplen;
	p->data = h + PCAPIO_RECORD_BYTES;
	in->used += PCAPIO_RECORD_BYTES + caplen;
	in->packets++;
	return 1;
}

/*
 * Do the work of pcapio_next() if libpcap reads the file or if the file may
 * contain copies of packets.
 */
__attribute__((noinline, unused)) static int
pcapio_next_odd(struct pcapio_in *in, struct pcapio_packet *p)
{
	int got;

	for (;;) {
		got = in->pcap != NULL ? pcapio_read_other(in, p) :
		    pcapio_read(in, p);
		if (got != 1 || !frame_link_is_copy(in->link, p->data,
		    p->caplen))
			return got;
		in->copies++;
	}
}

static inline int
pcapio_next(struct pcapio_in *in, struct pcapio_packet *p)
{
	return in->plain ? pcapio_read(in, p) : pcapio_next_odd(in, p);
}

static inline const uint8_t *
pcapio_peek(const struct pcapio_in *in, const struct pcapio_packet *p,
    size_t n, size_t at, size_t bytes)
{
	const size_t ahead = n * (PCAPIO_RECORD_BYTES + p->caplen) + at;

	if (!in->plain || in->have - in->used + p->caplen < ahead + bytes)
		return NULL;
	return p->data + ahead;
}

static inline void
pcapio_open_or_exit(struct pcapio_in *in, const char *path)
{
	if (strcmp(path, "-") == 0 && isatty(STDIN_FILENO))
		errx(2, "standard input is a terminal; use -r FILE");
	if (pcapio_open(in, path) == -1)
		errx(1, "%s: %s", pcapio_name(path, false), in->why);
}

static inline int
pcapio_warn_damage(const struct pcapio_in *in)
{
	warnx("%s: packet %llu: %s", pcapio_name(in->path, false),
	    (unsigned long long)in->packets + 1, in->why);
	return 1;
}

static inline void
pcapio_warn_odd(const struct pcapio_in *in)
{
	if (in->leaps > 0)
		warnx("%s: packet %llu: its timestamp is a year or more after "
		    "that of the previous packet (number of such packets: "
		    "%llu)",
		    pcapio_name(in->path, false),
		    (unsigned long long)in->leap_at,
		    (unsigned long long)in->leaps);
	if (in->copies > 0)
		warnx("%s: %llu of %llu packets were captured twice, when they "
		    "were sent over the loopback and when they were received; "
		    "each counts once",
		    pcapio_name(in->path, false),
		    (unsigned long long)in->copies,
		    (unsigned long long)in->packets);
}

#endif
