/*
 * pcapio.h - read capture files (and, by pcapio-out.h, write them), always at
 * nanosecond precision
 *
 * Classic pcap files, of either byte order and precision, are read by the code
 * here in blocks that stay in the cache; libpcap reads the other formats that
 * it knows, such as pcapng.  "-" is a standard stream.
 *
 * A file is refused if frame-link.h does not support its link type.  Stamps are
 * from 1970 to 2262; a record with another stamp, or with a fraction of a
 * second and more, is damaged.  A stamp that is PCAPIO_LEAP_S or more after its
 * predecessor is accepted and counted (leaps).  If the loopback has two copies
 * of a packet, the first is skipped and counted (copies).
 *
 * After pcapio_read_ahead() a thread reads blocks ahead of the caller.  When
 * the caller finds its next block still being read, it reads the one after that
 * itself and does not wait, so that on two processors a pass takes half the sum
 * of reading and working.  Each block has room before it for the rest of the
 * block before, so nothing else is copied.
 *
 * A reader owns its buffer and file until it is closed, and must not move in
 * memory meanwhile; one thread makes all calls for it.  Failures are returned
 * with a phrase in `why`; only pcapio_open_or_exit(), for tools, exits.
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
	READ_AHEAD_BEFORE_BYTES = 260 * 1024	/* before each, for a frame */
};

/* Block k of the file is in place k % READ_AHEAD_BLOCKS. */
struct read_ahead {
	int fd;			/* a regular file, of the reader */
	off_t base;		/* offset of block 0 */
	pthread_t thread;
	pthread_mutex_t lock;	/* of the fields below */
	pthread_cond_t moved;	/* a field below has changed */
	uint64_t claimed;	/* blocks read or being read */
	uint64_t next;		/* the block the caller takes next */
	bool given;		/* the caller holds block next - 1 */
	bool stop;		/* the thread must end */
	bool ready[READ_AHEAD_BLOCKS];
	ssize_t got[READ_AHEAD_BLOCKS];	/* bytes, 0 at the end, -errno */
	uint8_t *block[READ_AHEAD_BLOCKS];	/* in room */
	uint8_t *room;		/* owned; 5 MiB */
};

enum { PCAPIO_LEAP_S = 31536000 };	/* a year */

struct pcapio_packet {
	uint64_t stamp_ns;	/* since the epoch */
	uint32_t caplen;	/* bytes at data */
	uint32_t len;		/* bytes on the wire */
	const uint8_t *data;	/* borrowed until the next read */
};

struct pcapio_in {
	const char *path;	/* borrowed, for messages */
	int fd;
	int link;		/* link type, as in the file */
	bool swapped, nano;	/* of a classic file */
	bool plain;		/* classic, and no packet can be there twice */
	bool interrupted;	/* a signal came during a read */
	uint8_t *buf;		/* owned, unless it is a block of ahead */
	size_t used, have;	/* bytes of buf: handed out, read */
	struct read_ahead *ahead;	/* owned; NULL: no thread reads */
	bool ended;		/* ahead has no block left */
	pcap_t *pcap;		/* NULL for a classic file */
	uint64_t packets;	/* read so far, copies among them */
	uint64_t copies;	/* skipped */
	uint64_t last_s;	/* of the last stamp */
	uint64_t leaps;		/* stamps a year after the one before */
	uint64_t leap_at;	/* number of the first such packet */
	char why[PCAP_ERRBUF_SIZE + 64];
};

/* Begin to read path; return 0, or -1 and in->why, and then nothing is held. */
static inline int pcapio_open(struct pcapio_in *in, const char *path);

/*
 * Begin to read the open descriptor fd, which `in` owns from now on; return 0,
 * or -1 and in->why.
 */
static inline int pcapio_open_fd(struct pcapio_in *in, int fd,
    const char *path);

/* For tools: pcapio_open(), or print why not and exit 1 (2 for a terminal). */
static inline void pcapio_open_or_exit(struct pcapio_in *in, const char *path);

/*
 * Read the rest in a thread if that pays: a regular classic file larger than
 * the blocks, on more than one processor.  Call it before the first
 * pcapio_next().
 */
static inline void pcapio_read_ahead(struct pcapio_in *in);

/*
 * Read the next packet: return 1, or 0 at the end (or after a signal), or -1 if
 * the file is damaged at packet in->packets + 1: in->why says how.
 */
static inline int pcapio_next(struct pcapio_in *in, struct pcapio_packet *p);

/*
 * Return a guess of the `bytes` bytes from byte `at` of the record n behind p,
 * which was read last: right if all records are as long as p.  NULL if they are
 * not in the buffer yet.  Nothing there has been checked.
 */
static inline const uint8_t *pcapio_peek(const struct pcapio_in *in,
    const struct pcapio_packet *p, size_t n, size_t at, size_t bytes);

/* Close the file, unless it is the standard input, and free the memory. */
static inline void pcapio_close_in(struct pcapio_in *in);

/*
 * For tools: print a line after pcapio_next() returned -1; return the exit
 * status.
 */
static inline int pcapio_warn_damage(const struct pcapio_in *in);

/* For tools: print lines about leaps and copies. */
static inline void pcapio_warn_odd(const struct pcapio_in *in);

/* implementation */

/* Is there a place for one more block?  Under the lock. */
static inline bool
read_ahead_free(const struct read_ahead *a)
{
	return a->claimed < a->next - a->given + READ_AHEAD_BLOCKS;
}

/* Claim the next block and read it.  Under the lock, except while reading. */
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

/* The thread: read blocks while there are places for them. */
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
 * Start to read fd from its present offset; return NULL without memory or
 * thread.
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
	sigfillset(&all);	/* signals are for the caller's thread */
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
 * Return the next block with the `left` bytes at rest (of the block before,
 * which is given up) copied before it: *at is where they begin, and the result
 * is the number of bytes in all; `left` at the end of the file; or -1 with
 * errno, and the rest stays.  left is at most READ_AHEAD_BEFORE_BYTES.  Must
 * not be called again after the end.
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

/* Write a phrase into in->why; return -1. */
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

/* Do what pcapio_more() does, from the blocks of the thread. */
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

/* Do what pcapio_more() does if the buffer has fewer bytes. */
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
 * Have at least `need` bytes in the buffer.  Return 1, or 0 if the file (or a
 * signal) ended first, or -1 if it cannot be read.
 */
static inline int
pcapio_more(struct pcapio_in *in, size_t need)
{
	return in->have - in->used >= need ? 1 : pcapio_refill(in, need);
}

/*
 * Read for libpcap: first the bytes that the classic reader took, then the
 * file.
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
 * Return libpcap's number for a link type of classic files; most are the same.
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
 * Return 0 if the link type is supported, or -1 and why; name is NULL or its
 * name for messages.
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

/* Let libpcap open a file that is not classic; return 0, or -1 and why. */
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
	if (n == -1) {		/* a plain read will report it */
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
 * Check a stamp that leaps, goes back or is invalid; return 0, or -1 and why.
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
 * Check the stamp of a record: s seconds and frac of `parts` parts of a
 * second.  Return 0, or -1 and why.
 */
__attribute__((always_inline)) static inline int
pcapio_stamp(struct pcapio_in *in, uint64_t s, uint64_t frac, uint32_t parts)
{
	/* unsigned, a stamp that goes back is far ahead */
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
	if (h->caplen > PCAPIO_FRAME_MAX_BYTES)	/* D-Bus, USB: to 128 MB */
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

/* Read the next record of a classic file.  Inline, because packets are many. */
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

/* Do what pcapio_next() does if libpcap reads or packets may be there twice. */
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
		    "that of the packet before it (%llu in total)",
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
