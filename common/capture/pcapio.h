/*
 * pcapio.h - capture files in (and, by pcapio-out.h, out), always at
 * nanosecond precision
 *
 * Classic pcap files, of either byte order and precision, are read by the few
 * lines here, in blocks that stay in the cache; whatever else libpcap reads
 * (pcapng and others) is read by libpcap.  "-" is a standard stream.
 *
 * A file is refused if frame-link.h does not know its link type.  Stamps are
 * from 1970 to 2262, and a record with another, or with a second's fraction of
 * a second and more, is damage.  One that is PCAPIO_LEAP_S and more after its
 * predecessor's is read, and counted (leaps).  Of two copies of a packet on the
 * loopback the first is passed over, and counted (copies).
 *
 * A reader owns its buffer and file until it is closed, and stays where it is
 * in memory meanwhile.  Failures are returned, with a phrase in `why`; only
 * pcapio_open_or_exit(), for tools, ends the program.
 */
#ifndef INNET_CAPTURE_PCAPIO_H
#define INNET_CAPTURE_PCAPIO_H

#include <err.h>
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
#include "common/capture/pcapio-out.h"
#include "common/wire/frame-link.h"

enum {
	READ_AHEAD_BLOCKS = 4,
	READ_AHEAD_BLOCK_BYTES = 1024 * 1024,
	READ_AHEAD_BEFORE_BYTES = 260 * 1024 /* room before each, for a frame */
};

/* Block k of the file is in place k % READ_AHEAD_BLOCKS. */
struct read_ahead {
	int fd;
	off_t base;		/* where block 0 begins */
	pthread_t thread;
	pthread_mutex_t lock;	/* of what follows */
	pthread_cond_t moved;	/* any of it has changed */
	uint64_t claimed;	/* blocks somebody reads or has read */
	uint64_t next;		/* the block the caller takes next */
	bool given, stop;	/* the one before it is the caller's */
	bool ready[READ_AHEAD_BLOCKS];
	ssize_t got[READ_AHEAD_BLOCKS];	/* bytes, 0 at the end, -errno */
	uint8_t *block[READ_AHEAD_BLOCKS]; /* of bytes, behind their room */
	uint8_t *room;
};

/* Is there a place for one more block?  Under the lock. */
static inline bool
read_ahead_free(const struct read_ahead *a)
{
	return a->claimed < a->next - a->given + READ_AHEAD_BLOCKS;
}

/* Claim the next block and read it.  Under the lock, but for the reading. */
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

/* Begin to read fd from where it stands; NULL if there is no more thread. */
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
 * The next block, with the left bytes at rest (of the block before, which is
 * given up) put before it: *at where they begin, and how many bytes there are
 * in all; left at the end of the file; or -1 with errno, and left as it was.
 * left is at most READ_AHEAD_BEFORE_BYTES.  Not to be called again after the
 * end.
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

/* Stop reading, wherever it stands. */
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
	bool plain;		/* one, and nothing is there twice */
	bool interrupted;	/* a signal came while a read waited */
	uint8_t *buf;		/* owned, but for blocks of ahead */
	size_t used, have;
	struct read_ahead
	    *ahead;		/* NULL unless pcapio_read_ahead() was called */
	bool ended;		/* of ahead: no block is left */
	pcap_t *pcap;		/* NULL while the classic reader serves */
	uint64_t packets;	/* read so far, copies among them */
	uint64_t copies;	/* passed over */
	uint64_t last_s;	/* of the last stamp */
	uint64_t leaps;		/* stamps a year after the one before */
	uint64_t leap_at;	/* number of the first such packet */
	char why[PCAP_ERRBUF_SIZE + 64];
};

__attribute__((format(printf, 2, 3))) static inline int
pcapio_fail(struct pcapio_in *in, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(in->why, sizeof(in->why), fmt, ap);
	va_end(ap);
	return -1;
}

static inline uint32_t
pcapio_u32(const struct pcapio_in *in, const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return in->swapped ? __builtin_bswap32(v) : v;
}

/* pcapio_more() from the blocks that a thread reads. */
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

/* pcapio_more() where the buffer has fewer. */
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
 * Have at least need bytes in the buffer, if the file has them.  1 yes, 0 it
 * ended first, -1 it could not be read.  A signal that interrupts ends it too.
 */
static inline int
pcapio_more(struct pcapio_in *in, size_t need)
{
	return in->have - in->used >= need ? 1 : pcapio_refill(in, need);
}

/* fopencookie's read: what the classic reader took first, then the file. */
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

/* A link type of classic files as libpcap has it: most are the same. */
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

/* 0 if link, of this name for people (NULL: none), is known; or -1 and why. */
static inline int
pcapio_check_link(struct pcapio_in *in, int link, const char *name)
{
	char number[16];

	if (frame_link_known(link))
		return 0;
	snprintf(number, sizeof(number), "%d", link);
	return pcapio_fail(in, "link type %s is not understood (known: %s)",
	    name != NULL ? name : number, frame_link_names);
}

/* Not a classic file: let libpcap try.  0, or -1 and why. */
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

/* Give back what in holds; the standard input stays open. */
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

/* Begin to read the open descriptor fd, which in owns from now on. */
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
		return pcapio_fail(in, "empty file, not even a header");
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

/* Begin to read path.  0, or -1 and in->why; then nothing is held. */
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

/*
 * Read the rest in a thread, ahead of pcapio_next(), where that pays: of a
 * regular file in the classic format that is larger than the blocks, on more
 * than one processor.  Before the first pcapio_next() only.
 */
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
	if (n == -1) {		/* a plain read will say why */
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

/* Something is odd about a stamp: it leaps, goes back, or cannot be. */
__attribute__((noinline, unused)) static int
pcapio_odd_stamp(struct pcapio_in *in, uint64_t s, uint64_t frac,
    uint32_t parts)
{
	if (frac >= parts)
		return pcapio_fail(in, "its stamp has %llu %sseconds, a second "
		    "and more", (unsigned long long)frac,
		    parts == 1000000 ? "micro" : "nano");
	if (s > INT64_MAX / 1000000000 - 1)
		return pcapio_fail(in, "its stamp, %lld s since 1970, is not "
		    "from 1970 to 2262", (long long)s);
	if (s > in->last_s && in->packets > 0 && in->leaps++ == 0)
		in->leap_at = in->packets + 1;
	return 0;
}

/*
 * Judge the stamp of a record, of s seconds and frac parts of one, of which
 * there are `parts`.  0, or -1 and why.
 */
__attribute__((always_inline)) static inline int
pcapio_stamp(struct pcapio_in *in, uint64_t s, uint64_t frac, uint32_t parts)
{
	/* what goes back is far ahead, unsigned */
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

/* The next record of a classic file.  Inline where packets are many. */
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

/* pcapio_next() where libpcap reads, or a packet may be there twice. */
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

/*
 * The next packet: 1, 0 at the end (or when a signal came), -1 if the file is
 * damaged: in->why says how, and it is packet in->packets + 1.
 */
static inline int
pcapio_next(struct pcapio_in *in, struct pcapio_packet *p)
{
	return in->plain ? pcapio_read(in, p) : pcapio_next_odd(in, p);
}

/*
 * What follows byte `at` of the record n behind p, which was read last, if all
 * are as long as p is and so many bytes of it have been read; else NULL.  A
 * guess, for what may be wrong: nothing there has been judged.
 */
static inline const uint8_t *
pcapio_peek(const struct pcapio_in *in, const struct pcapio_packet *p,
    size_t n, size_t at, size_t bytes)
{
	const size_t ahead = n * (PCAPIO_RECORD_BYTES + p->caplen) + at;

	if (!in->plain || in->have - in->used + p->caplen < ahead + bytes)
		return NULL;
	return p->data + ahead;
}

/* For tools: pcapio_open(), or say why not and exit 1 (2 for a terminal). */
static inline void
pcapio_open_or_exit(struct pcapio_in *in, const char *path)
{
	if (strcmp(path, "-") == 0 && isatty(STDIN_FILENO))
		errx(2, "standard input is a terminal; use -r FILE");
	if (pcapio_open(in, path) == -1)
		errx(1, "%s: %s", pcapio_name(path, false), in->why);
}

/* For tools: after pcapio_next() gave -1, one line; the status it is worth. */
static inline int
pcapio_warn_damage(const struct pcapio_in *in)
{
	warnx("%s: packet %llu: %s", pcapio_name(in->path, false),
	    (unsigned long long)in->packets + 1, in->why);
	return 1;
}

/* For tools: lines about what was odd, but could be read. */
static inline void
pcapio_warn_odd(const struct pcapio_in *in)
{
	if (in->leaps > 0)
		warnx("%s: packet %llu: its stamp is a year and more after "
		    "its predecessor's (%llu such)",
		    pcapio_name(in->path, false),
		    (unsigned long long)in->leap_at,
		    (unsigned long long)in->leaps);
	if (in->copies > 0)
		warnx("%s: %llu of %llu packets are there twice, as they left "
		    "over the loopback and as they came; one is taken",
		    pcapio_name(in->path, false),
		    (unsigned long long)in->copies,
		    (unsigned long long)in->packets);
}

#endif
