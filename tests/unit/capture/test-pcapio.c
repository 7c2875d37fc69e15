/*
 * Test captures: reading returns the packets that were written, in every
 * dialect, and errors name the damage.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "common/base/rng.h"
#include "common/capture/pcapio.h"
#include "tests/unit/tap.h"

enum { LINK_DBUS = 231 };

/* Return a file in memory with these bytes, open at its start. */
static int
make_file(const void *p, size_t n)
{
	int fd = memfd_create("capture", 0);

	if (fd == -1 || write(fd, p, n) != (ssize_t)n ||
	    lseek(fd, 0, SEEK_SET) != 0)
		err(1, "memfd");
	return fd;
}

/*
 * Read fd to its end; return the number of packets, or less than 0 with the
 * reason in *why.
 */
static int
read_all(int fd, char why[400], struct pcapio_packet *last)
{
	struct pcapio_packet p;
	struct pcapio_in in;
	int got = pcapio_open_fd(&in, fd, "mem"), n = 0;

	while (got != -1 && (got = pcapio_next(&in, &p)) == 1) {
		n++;
		if (last != NULL)
			*last = p;
	}
	snprintf(why, 400, "%s", got == -1 ? in.why : "");
	pcapio_close_in(&in);
	return got == -1 ? -1 - n : n;
}

static uint8_t *
put_u32(uint8_t *p, uint32_t v, bool swap)
{
	if (swap)
		v = __builtin_bswap32(v);
	memcpy(p, &v, 4);
	return p + 4;
}

/*
 * Make a classic file of packets of 5, 0 and 60 bytes, at seconds s, s + 1 and
 * s + 2.
 */
static size_t
make_classic(uint8_t *p, uint32_t magic, bool swap, uint32_t frac)
{
	static const uint32_t caplen[] = { 5, 0, 60 };
	uint8_t *start = p;
	uint32_t head[] = { magic, 2 | 4 << 16, 0, 0, 65535, 1 };

	if (swap)
		head[1] = 2 << 16 | 4;
	for (int i = 0; i < 6; i++)
		p = put_u32(p, head[i], swap);
	for (uint32_t i = 0; i < 3; i++) {
		p = put_u32(p, 1700000000 + i, swap);
		p = put_u32(p, frac, swap);
		p = put_u32(p, caplen[i], swap);
		p = put_u32(p, caplen[i] + 10, swap);
		memset(p, (int)i + 1, caplen[i]);
		p += caplen[i];
	}
	return (size_t)(p - start);
}

static void
test_dialects(void)
{
	static const struct {
		uint32_t magic, frac;
		bool swap;
		uint64_t ns;
		const char *name;
	} d[] = {
		{ 0xa1b23c4d, 999999999, false, 999999999, "nanoseconds" },
		{ 0xa1b23c4d, 999999999, true, 999999999, "ns, swapped" },
		{ 0xa1b2c3d4, 999999, false, 999999000, "microseconds" },
		{ 0xa1b2c3d4, 999999, true, 999999000, "us, swapped" },
	};
	struct pcapio_packet p = { 0 };
	uint8_t f[256];
	char why[400];

	for (size_t i = 0; i < sizeof(d) / sizeof(*d); i++) {
		size_t n = make_classic(f, d[i].magic, d[i].swap, d[i].frac);
		int got = read_all(make_file(f, n), why, &p);

		ok(got == 3 && p.stamp_ns == 1700000002000000000 + d[i].ns &&
		    p.caplen == 60 && p.len == 70, "%s", d[i].name);
	}
}

static void
test_cuts(void)
{
	static const size_t ends[] = { 24, 24 + 21, 24 + 21 + 16, 137 };
	uint8_t f[256];
	char why[400];
	size_t n = make_classic(f, 0xa1b23c4d, false, 7);
	bool good = true;

	for (size_t cut = 24; cut <= n; cut++) {
		int whole = 0, got = read_all(make_file(f, cut), why, NULL);
		bool clean = cut == 24;

		for (int i = 1; i < 4; i++) {
			whole += cut >= ends[i];
			clean |= cut == ends[i];
		}
		good = good && got == (clean ? whole : -1 - whole);
		good = good && clean == (strstr(why, "truncated dump") == NULL);
	}
	ok(n == 137 && good, "the complete packets of a file that was cut "
	    "anywhere are read");
	good = true;
	for (size_t cut = 1; cut < 24; cut++)
		good = good && read_all(make_file(f, cut), why, NULL) == -1 &&
		    strstr(why, "file header") != NULL;
	ok(good, "a file that was cut within its header gives no packet but an "
	    "error");
	ok(read_all(make_file(f, 0), why, NULL) == -1 &&
		strstr(why, "empty") != NULL,
	    "an empty file is not a capture");
	ok(read_all(make_file(f, 24), why, NULL) == 0,
	    "a file with only a header is a capture");
	ok(read_all(make_file("not a capture, but long enough for one", 38),
	       why, NULL) == -1 &&
		why[0] != '\0',
	    "text is none");
}

static void
test_bogus(void)
{
	static const uint32_t caplen[] = { 262145, 0x7fffffff, 0xffffffff,
	    0xfffffff0 };
	uint8_t *f = calloc(1, 300000);
	struct pcapio_packet p;
	char why[400];
	bool good = true;

	for (size_t i = 0; i < 4; i++) {
		make_classic(f, 0xa1b23c4d, false, 7);
		put_u32(f + 24 + 21 + 8, caplen[i], false);
		good = good &&
		       read_all(make_file(f, 300000), why, NULL) == -2 &&
		       strstr(why, "bigger than maximum of 262144") != NULL;
	}
	ok(good, "captured lengths beyond the limit are refused");
	make_classic(f, 0xa1b23c4d, false, 7);
	put_u32(f + 24 + 21 + 8, 262144, false);
	ok(read_all(make_file(f, 61 + 262144), why, &p) == 2 &&
		p.caplen == 262144,
	    "a captured length of 262,144 bytes is accepted");
	ok(p.len == 262144, "a packet length below the captured length is "
	    "raised to it");
	free(f);
}

static uint8_t *
put_block(uint8_t *p, uint32_t type, const void *body, size_t n)
{
	const uint32_t len = (uint32_t)(12 + ((n + 3) & ~(size_t)3));

	put_u32(p, type, false);
	put_u32(p + 4, len, false);
	memset(p + 8, 0, len - 8);
	memcpy(p + 8, body, n);
	put_u32(p + len - 4, len, false);
	return p + len;
}

/*
 * Make a pcapng file with one packet, with a timestamp in ns, caplen bytes
 * captured of len.
 */
static size_t
make_pcapng(uint8_t *p, uint16_t link, uint32_t caplen, uint32_t len)
{
	const uint32_t section[] = { 0x1a2b3c4d, 1, 0xffffffff, 0xffffffff };
	const uint8_t face[] = { (uint8_t)link, (uint8_t)(link >> 8), 0, 0,
	    0, 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0 };
	const uint64_t ns = 1700000000123456789;
	const uint32_t head[] = { 0, (uint32_t)(ns >> 32), (uint32_t)ns,
	    caplen, len };
	uint8_t *start = p, *body = calloc(1, 20 + (size_t)caplen);

	memcpy(body, head, 20);
	p = put_block(p, 0x0a0d0d0a, section, sizeof(section));
	p = put_block(p, 1, face, sizeof(face));
	p = put_block(p, 6, body, 20 + (size_t)caplen);
	free(body);
	return (size_t)(p - start);
}

static void
test_others(void)
{
	uint8_t *f = malloc(400000);
	struct pcapio_packet p = { 0 };
	size_t n = make_pcapng(f, 1, 60, 1500);
	char why[400];
	int fd[2];

	ok(read_all(make_file(f, n), why, &p) == 1 && p.len == 1500 &&
	    p.stamp_ns == 1700000000123456789, "pcapng timestamps are exact to "
	    "the nanosecond");
	if (pipe(fd) == -1 || write(fd[1], f, n) != (ssize_t)n)
		err(1, "pipe");
	close(fd[1]);
	ok(read_all(fd[0], why, &p) == 1 && p.caplen == 60,
	    "a pcapng file can come from a pipe");
	for (size_t cut = 24; cut < n; cut++)
		read_all(make_file(f, cut), why, NULL);	/* ASan detects a read
							 * past the end */
	ok(read_all(make_file(f, n - 1), why, NULL) == -1 && why[0] != '\0',
	    "a pcapng file that was cut gives an error for the last packet");
	n = make_pcapng(f, 1, 60, 20);
	ok(read_all(make_file(f, n), why, &p) == 1 && p.len == 60,
	    "a pcapng packet length below the captured length is raised to it");
	n = make_pcapng(f, 1, 262144, 262144);
	ok(read_all(make_file(f, n), why, NULL) == 1,
	    "pcapng: a captured length of 262,144 bytes is accepted");
	n = make_pcapng(f, 1, 262145, 262145);
	ok(read_all(make_file(f, n), why, NULL) == -1 && why[0] != '\0',
	    "pcapng: a captured length of one byte more is refused");
	free(f);
}

/* Unsupported link types are refused with their names. */
static void
test_links(void)
{
	static const struct {
		uint16_t link;
		const char *name;
	} s[] = { { 195, "IEEE802_15_4" }, { 231, "DBUS" }, { 8, "SLIP" },
		{ 100, "ATM_RFC1483" }, { 60001, "60001" } };
	static const int known[] = { 0, 1, 9, 12, 50, 51, 101, 105, 108, 113,
	    127, 228, 229, 276 };
	uint8_t f[512];
	char why[400], want[64];
	bool good = true;
	size_t n;

	for (size_t i = 0; i < sizeof(s) / sizeof(*s); i++) {
		snprintf(want, sizeof(want), "link type %s is not supported; "
		    "supported are Ethernet,", s[i].name);
		n = make_classic(f, 0xa1b23c4d, false, 7);
		put_u32(f + 20, s[i].link, false);
		ok(read_all(make_file(f, n), why, NULL) == -1 &&
		    strncmp(why, want, strlen(want)) == 0, "%u: %s", s[i].link,
		    why);
	}
	n = make_pcapng(f, LINK_DBUS, 60, 60);
	ok(read_all(make_file(f, n), why, NULL) == -1 &&
		strstr(why, "link type DBUS ") != NULL,
	    "pcapng: %s", why);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		n = make_classic(f, 0xa1b23c4d, false, 7);
		put_u32(f + 20, 0x14000000 | (uint32_t)known[i], false);
		good = good && read_all(make_file(f, n), why, NULL) == 3;
	}
	ok(good, "supported link types are read, also with a flag for the FCS");
}

/* Impossible timestamps are damage; timestamps that leap are counted. */
static void
test_stamps(void)
{
	uint8_t f[512];
	uint64_t far = 1ull << 63;
	struct pcapio_in in;
	struct pcapio_packet p;
	struct pcapio_out out;
	char why[400];
	size_t n = make_classic(f, 0xa1b23c4d, false, 7);

	put_u32(f + 24 + 21 + 4, 1000000000, false);
	ok(read_all(make_file(f, n), why, NULL) == -2 &&
		strcmp(why, "its timestamp has "
			    "1000000000 nanoseconds, which is a second "
			    "or more") == 0,
	    "%s", why);
	n = make_classic(f, 0xa1b2c3d4, true, 7);
	put_u32(f + 24 + 21 + 4, 1000000, true);
	ok(read_all(make_file(f, n), why, NULL) == -2 &&
		strcmp(why, "its timestamp has "
			    "1000000 microseconds, which is a second or "
			    "more") == 0,
	    "%s", why);
	n = make_pcapng(f, 1, 60, 60);
	memcpy(f + 28 + 32 + 12, (uint8_t *)&far + 4, 4);
	memcpy(f + 28 + 32 + 16, &far, 4);
	ok(read_all(make_file(f, n), why, NULL) == -1 && strstr(why,
	    "is not between 1970 and 2262") != NULL, "pcapng: %s", why);
	n = make_classic(f, 0xa1b23c4d, false, 7);
	put_u32(f + 24 + 21, 0xffffffff, false);
	pcapio_open_fd(&in, make_file(f, n), "mem");
	while (pcapio_next(&in, &p) == 1)
		;
	ok(in.packets == 3 && in.leaps == 1 && in.leap_at == 2,
	    "a timestamp that leaps is counted with the number of its packet");
	pcapio_close_in(&in);
	pcapio_create_or_exit(&out, "/dev/null");
	pcapio_write(&out, 4294967295999999999u, f, 9, 9);
	ok(out.failed == 0, "a timestamp of the last second of 2106 is "
	    "written");
	pcapio_write(&out, 4294967296000000000u, f, 9, 9);
	ok(pcapio_close(&out) == -1 && errno == EOVERFLOW && out.packets == 1,
	    "a later timestamp gives an error and is not written");
}

/* Read only one of a packet's two copies on loopback, as libpcap does. */
static void
test_copies(void)
{
	static const uint8_t sll[16] = { 0, 4, 3, 4 };
	static const uint8_t sll2[20] = { [8] = 3, 4, 4 };
	struct pcapio_packet p;
	struct pcapio_out out;
	struct pcapio_in in;
	char path[64];
	bool good = true;

	for (int i = 0; i < 4; i++) {
		const uint32_t link = i < 2 ? 113 : 276;
		const uint32_t bytes = i < 2 ? 16 : 20;
		uint8_t q[20];
		int fd = memfd_create("capture", 0);

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		pcapio_create_or_exit(&out, path);
		memcpy(out.buf + 20, &link, 4);
		memcpy(q, i < 2 ? sll : sll2, bytes);
		pcapio_write(&out, 1, q, bytes, bytes);
		q[i < 2 ? 1 : 10] = 0;	/* it came */
		pcapio_write(&out, 2, q, bytes, bytes);
		q[i < 2 ? 1 : 10] = 4;	/* the packet left over Ethernet */
		q[i < 2 ? 2 : 8] = 0;
		q[i < 2 ? 3 : 9] = 1;
		pcapio_write(&out, 3, q, bytes, bytes);
		pcapio_close(&out);
		pcapio_open_fd(&in, fd, "mem");
		good = good && pcapio_next(&in, &p) == 1 && p.stamp_ns == 2 &&
		    in.copies == 1 && pcapio_next(&in, &p) == 1 &&
		    pcapio_next(&in, &p) == 0 && in.packets == 3;
		pcapio_close_in(&in);
	}
	ok(good, "one of two copies of a loopback packet is skipped and "
	    "counted");
}

static void
test_samples(void)
{
	static const struct {
		const char *name;
		int packets;
	} s[] = {
		{ "dlp-avg_agg_udp_bcast-5w.pcapng", 1033 },
		{ "dlp-med_agg_udp_tmout-5w.pcapng", 1847 },
	};
	const char *dir = getenv("srcdir");
	char path[4096];

	for (size_t i = 0; i < 2; i++) {
		struct pcapio_packet p;
		struct pcapio_in in;
		int n = 0;

		snprintf(path, sizeof(path), "%s/tests/data/%s",
		    dir == NULL ? "." : dir, s[i].name);
		if (pcapio_open(&in, path) == 0) {
			while (pcapio_next(&in, &p) == 1)
				n++;
			pcapio_close_in(&in);
		}
		ok(n == s[i].packets, "%s: %d packets", s[i].name, n);
	}
}

/*
 * Write random packets, some with the greatest length, to a file and read them
 * again.
 */
static void
round_trip(void)
{
	char path[] = "/tmp/test-pcapio.XXXXXX";
	uint8_t *frame = malloc(PCAPIO_FRAME_MAX_BYTES);
	struct rng r = rng_seed(7), again = r;
	struct pcapio_packet p;
	struct pcapio_out out;
	struct pcapio_in in;
	bool good = true;

	close(mkstemp(path));
	pcapio_create_or_exit(&out, path);
	for (int i = 0; i < 300; i++) {
		uint32_t n = (uint32_t)rng_below(&r, i % 9 ? 2000 : 262145);

		uint64_t stamp_ns = rng_u64(&r) >> 3;	/* before 2106 */

		memset(frame, i, n);
		if (i % 2) {
			pcapio_write(&out, stamp_ns, frame, n, n + 1);
			continue;
		}
		memset(pcapio_room(&out), i, n);
		pcapio_commit(&out, stamp_ns, n, n + 1);
	}
	ok(out.packets == 300 && pcapio_close_or_warn(&out) == 0,
	    "300 packets are written");
	pcapio_open_or_exit(&in, path);
	for (int i = 0; i < 300; i++) {
		uint32_t n = (uint32_t)rng_below(&again,
		    i % 9 ? 2000 : 262145);

		good = good && pcapio_next(&in, &p) == 1 && p.caplen == n &&
		    p.len == n + 1 && p.stamp_ns == rng_u64(&again) >> 3;
		memset(frame, i, n);
		good = good && memcmp(p.data, frame, n) == 0;
	}
	ok(good && pcapio_next(&in, &p) == 0, "300 packets are read again, "
	    "byte for byte");
	ok(in.link == 1 && in.nano && !in.swapped && in.packets == 300,
	    "the file has Ethernet, nanoseconds and the byte order of this "
	    "host");
	pcapio_close_in(&in);
	unlink(path);
	free(frame);
}

static void
test_full(void)
{
	struct pcapio_out out;
	struct pcapio_in in;

	if (access("/dev/full", W_OK) == -1) {
		ok(true, "a full disk # SKIP no /dev/full");
		return;
	}
	pcapio_create_or_exit(&out, "/dev/full");
	ok(pcapio_close(&out) == -1 && errno == ENOSPC,
	    "a full disk gives an error at the end");
	pcapio_create_or_exit(&out, "/dev/full");
	for (int i = 0; i < 2000; i++)
		pcapio_write(&out, 0, &out, sizeof(out), sizeof(out));
	for (int i = 0; i < 100; i++)
		pcapio_write(&out, 0, out.buf, 1000, 1000);
	ok(pcapio_close(&out) == -1 && errno == ENOSPC,
	    "a full disk gives an error also if it was full long before");
	ok(pcapio_create(&out, "/no/such/place") == -1 && errno == ENOENT,
	    "a file that cannot be made gives an error");
	ok(pcapio_open(&in, "/no/such/file") == -1 && strcmp(in.why,
	    "No such file or directory") == 0, "one that cannot be read");
	ok(pcapio_open(&in, "/") == -1 && strcmp(in.why, "Is a directory") == 0,
	    "a folder cannot be read as a capture");
}

static void
on_alarm(int sig)
{
	(void)sig;
}

/* A signal in the middle of a record is not damage, for either reader. */
static void
test_signals(void)
{
	const struct itimerval often = { { 0, 20000 }, { 0, 20000 } };
	const struct itimerval never = { { 0, 0 }, { 0, 0 } };
	struct sigaction sa = { .sa_handler = on_alarm };
	uint8_t f[512];
	char why[400];

	sigaction(SIGALRM, &sa, NULL);
	for (int i = 0; i < 2; i++) {
		size_t n = i == 0 ? make_classic(f, 0xa1b23c4d, false, 7) :
		    make_pcapng(f, 1, 60, 60);
		int fd[2], got;

		if (pipe(fd) == -1 || write(fd[1], f, n - 9) != (ssize_t)n - 9)
			err(1, "pipe");
		setitimer(ITIMER_REAL, &often, NULL);
		got = read_all(fd[0], why, NULL);
		setitimer(ITIMER_REAL, &never, NULL);
		ok(got == (i == 0 ? 2 : 0), "%s: a signal ends the reading",
		    i == 0 ? "classic" : "pcapng");
		close(fd[1]);
	}
}

int
main(void)
{
	test_dialects();
	test_cuts();
	test_bogus();
	test_others();
	test_links();
	test_stamps();
	test_copies();
	test_samples();
	round_trip();
	test_full();
	test_signals();
	return tap_end();
}
