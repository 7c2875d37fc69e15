/*
 * Compare the longest prefix in the table of bare packets with a search of all
 * rows.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/rng.h"
#include "common/capture/clusters.h"
#include "tests/unit/tap.h"

enum { ROWS = 200 };

static struct frame_flow
flow_from(const char *addr)
{
	struct frame_flow f = { .v6 = strchr(addr, ':') != NULL };

	if (inet_pton(f.v6 ? AF_INET6 : AF_INET, addr, f.src) != 1)
		abort();
	return f;
}

/* Return the cluster of this source, or -1. */
static int
find_cluster(const struct clusters *c, const char *addr)
{
	const struct frame_flow f = flow_from(addr);
	uint16_t id;

	return clusters_find(c, f.src, f.v6, &id) ? id : -1;
}

static void
test_longest(void)
{
	struct clusters c = { 0 };

	ok(find_cluster(&c, "10.0.0.1") == -1 && find_cluster(&c, "::1") == -1,
	    "an empty table has no address");
	clusters_add(&c, "10.0.1.5/24", "1");
	ok(find_cluster(&c, "10.0.1.0") == 1 &&
		find_cluster(&c, "10.0.1.255") == 1,
	    "a prefix covers its first and last address, whatever address of "
	    "the network was given");
	ok(find_cluster(&c, "10.0.0.255") == -1 &&
		find_cluster(&c, "10.0.2.0") == -1,
	    "a prefix does not cover the addresses next to it");
	clusters_add(&c, "10.0.1.5", "2");
	clusters_add(&c, "10.0.1.4/31", "3");
	ok(find_cluster(&c, "10.0.1.5") == 2 &&
		find_cluster(&c, "10.0.1.4") == 3 &&
		find_cluster(&c, "10.0.1.6") == 1,
	    "the longest prefix wins");
	clusters_add(&c, "0.0.0.0/0", "65535");
	ok(find_cluster(&c, "192.0.2.1") == 65535,
	    "/0 covers all other addresses");
	ok(find_cluster(&c, "c000:201::") == -1,
	    "/0 covers only addresses of its family");
	clusters_add(&c, "2001:db8::/33", "0");
	clusters_add(&c, "2001:db8::1/128", "7");
	ok(find_cluster(&c, "2001:db8:7fff::") == 0 &&
	    find_cluster(&c, "2001:db8:8000::") == -1 &&
	    find_cluster(&c, "2001:db8::1") == 7,
	    "prefixes of IPv6 may end within a byte");
	clusters_free(&c);
}

static void
check_error(struct clusters *c, const char *prefix, const char *id,
    const char *want)
{
	const size_t rows = c->rows;
	const char *why = clusters_add(c, prefix, id);

	if (!ok(why != NULL && strcmp(why, want) == 0 && c->rows == rows,
	    "'%.24s,%s' is refused: %s", prefix, id, want))
		note("%s", why == NULL ? "taken" : why);
}

static void
test_refusals(void)
{
	struct clusters c = { 0 };

	check_error(&c, "", "1", "not an address");
	check_error(&c, "10.0.0", "1", "not an address");
	check_error(&c, "10.0.0.256", "1", "not an address");
	check_error(&c, "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000",
	    "1", "not an address");
	check_error(&c, "10.0.0.0/33", "1", "not a prefix length");
	check_error(&c, "10.0.0.0/", "1", "not a prefix length");
	check_error(&c, "::/129", "1", "not a prefix length");
	check_error(&c, "10.0.0.0/8", "65536", "not a cluster (0 to 65535)");
	check_error(&c, "10.0.0.0/8", "", "not a cluster (0 to 65535)");
	ok(clusters_add(&c, "10.0.0.0/8", "1") == NULL,
	    "a valid prefix is accepted");
	check_error(&c, "10.1.0.0/8", "2", "a prefix that was given before");
	ok(find_cluster(&c, "10.1.0.0") == 1,
	    "of two equal prefixes the first counts");
	clusters_free(&c);
}

/* Look up each address among random prefixes in a small range, both ways. */
static void
test_agrees(void)
{
	struct { uint8_t p[2]; unsigned bits; uint16_t id; } row[ROWS];
	struct rng r = rng_seed(4);
	struct clusters c = { 0 };
	bool same = true;
	int n = 0;

	for (int i = 0; i < ROWS; i++) {
		char prefix[32], id[8];

		row[n].p[0] = (uint8_t)rng_below(&r, 4);
		row[n].p[1] = (uint8_t)rng_u64(&r);
		row[n].bits = 16 + (unsigned)rng_below(&r, 17);
		row[n].id = (uint16_t)i;
		snprintf(prefix, sizeof(prefix), "10.0.%u.%u/%u", row[n].p[0],
		    row[n].p[1], row[n].bits);
		snprintf(id, sizeof(id), "%d", i);
		n += clusters_add(&c, prefix, id) == NULL;
	}
	for (unsigned a = 0; a < 4 * 256; a++) {
		char addr[32];
		int want = -1, bits = -1;

		for (int i = 0; i < n; i++) {
			unsigned p = row[i].p[0] * 256u + row[i].p[1];

			if ((p ^ a) >> (32 - row[i].bits) == 0 &&
			    (int)row[i].bits > bits) {
				bits = (int)row[i].bits;
				want = row[i].id;
			}
		}
		snprintf(addr, sizeof(addr), "10.0.%u.%u", a / 256, a % 256);
		same = same && find_cluster(&c, addr) == want;
	}
	ok(same && c.rows == (size_t)n && n > 100,
	    "1,024 addresses and %d prefixes agree with a search", n);
	clusters_free(&c);
}

static void
test_workers(void)
{
	struct frame_flow f = flow_from("10.0.0.1"), g;
	const uint32_t id = clusters_worker(&f);
	bool differ = true;

	g = f;
	g.src[15] = 1;
	ok(clusters_worker(&g) == id, "a worker's id depends only on its "
	    "five-tuple");
	for (int i = 0; i < 4; i++) {
		g = f;
		if (i < 2)
			(i == 0 ? g.src : g.dst)[3] ^= 1;
		else
			*(i == 2 ? &g.sport : &g.dport) ^= 1;
		differ = differ && clusters_worker(&g) != id;
	}
	g = f;
	g.v6 = true;
	ok(differ && clusters_worker(&g) != id, "a change of any part of the "
	    "five-tuple changes the id");
}

/* Load this text in a child; return its status, with its messages in said[]. */
static int
load_in_child(const char *text, char said[256])
{
	int in = memfd_create("table", 0), out = memfd_create("said", 0);
	int status;
	char path[64];
	ssize_t n;
	pid_t pid;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", in);
	if (write(in, text, strlen(text)) != (ssize_t)strlen(text))
		err(1, "memfd");
	pid = fork();
	if (pid == 0) {
		struct clusters c;

		dup2(out, STDERR_FILENO);
		c = clusters_load_or_exit(path);
		status = (int)c.rows;
		clusters_free(&c);
		_exit(100 + status);
	}
	waitpid(pid, &status, 0);
	n = pread(out, said, 255, 0);
	said[n < 0 ? 0 : n] = '\0';
	close(in);
	close(out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
test_files(void)
{
	char said[256];

	ok(load_in_child(
	       "prefix,cluster\r\n10.0.0.0/8,1\r\n\"::/0\",2", said) == 102,
	    "a file may have a heading, CRLF, quotes and no newline at its "
	    "end");
	ok(load_in_child("10.0.0.0/8, 1\n", said) == 101,
	    "a file may have no heading and a space after the comma");
	ok(load_in_child("", said) == 1 &&
		strstr(said, ": contains no prefix") != NULL,
	    "an empty file ends the program");
	ok(load_in_child("prefix,cluster\n", said) == 1 &&
	    strstr(said, ": contains no prefix") != NULL, "so does a heading "
	    "alone");
	ok(load_in_child("10.0.0.0/8,1\n10.0.0.0/8,2\n", said) == 1 &&
	    strstr(said, ":2: '10.0.0.0/8,2': a prefix that was given "
	    "before") != NULL,
	    "an error in a row names its line");
	ok(load_in_child("10.0.0.0/8\n", said) == 1 &&
	    strstr(said, ":1: the line has 1 fields, but ") != NULL &&
	    load_in_child("10.0.0.0/8,1,2\n", said) == 1 &&
	    strstr(said, ":1: the line has 3 fields, but ") !=
	    NULL,
	    "a row with too few or too many fields is an error");
	ok(load_in_child("prefix,cluster\n\n10.0.0.0/8,1\n\n\nx,2\n", said) ==
		    1 &&
		strstr(said, ":6: 'x,2': not an address") != NULL,
	    "empty lines count as lines");
	ok(load_in_child("prefix,cluster\r\n\r\n10.0.0.0/8,1\r\nx,2", said) ==
		    1 &&
		strstr(said, ":4: 'x,2': not an address") != NULL,
	    "a line that ends in CRLF counts as one line");
}

int
main(void)
{
	test_longest();
	test_refusals();
	test_agrees();
	test_workers();
	test_files();
	return tap_end();
}
