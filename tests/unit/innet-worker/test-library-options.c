/*
 * Test how libinnet.so checks the options of a member, and which errors a
 * member without a switch gets.
 */
#include "cmd/innet-worker/library/innet_worker.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "tests/unit/tap.h"

static char why[INNET_WORKER_TEXT_BYTES];

/* Does a join with these options fail with a text that begins like this? */
static bool
is_refused(const struct innet_worker_options *o, const char *text)
{
	struct innet_worker *w = innet_worker_join(o, why);

	if (w == NULL && strncmp(why, text, strlen(text)) == 0)
		return true;
	printf("# %s\n", w == NULL ? why : "joined");
	innet_worker_leave(w);
	return false;
}

/* Check options whose values are wrong. */
static void
test_values(void)
{
	const struct innet_worker_options good = { .size = sizeof(good),
	    .address = "127.0.0.1:9" };
	struct innet_worker_options o = good;

	o.address = NULL;
	ok(is_refused(&o, "address: the option is missing"),
	    "the address is required");
	o.address = "127.0.0.1:0";
	ok(is_refused(&o, "address: '127.0.0.1:0': port 0 is not valid"),
	    "port 0 is refused");
	o.address = "127.0.0.1:http s";
	ok(is_refused(&o, "address: '127.0.0.1:http s': "),
	    "an address that has no port is refused");
	o = good;
	o.job = 65536;
	ok(is_refused(&o, "job: 65536 is not between 0 and 65535"),
	    "the number of the job is limited");
	o = good;
	o.ranks = 4097;
	ok(is_refused(&o, "ranks: 4097 is not between 0 and 4096"),
	    "the number of members is limited");
	o = good;
	o.rank = UINT32_MAX;
	ok(is_refused(&o, "rank: 4294967295 is not"),
	    "the number of a member is limited");
	o = good;
	o.mtu = 100;
	ok(is_refused(&o, "mtu: 100 is not between 128 and"),
	    "the MTU is limited");
	o = good;
	o.spin_ns = UINT64_MAX;
	ok(is_refused(&o, "spin_ns: "), "the time to poll is limited");
	o = good;
	o.auth = "most";
	ok(is_refused(&o, "auth: 'most': "),
	    "an unknown kind of authentication is refused");
	o.auth = "control";
	ok(is_refused(&o, "auth: 'control': "),
	    "authentication needs a key");
	o = good;
	o.impair = "los=1%";
	ok(is_refused(&o, "impair: 'los=1%': "), "an unknown fault is refused");
}

/* Check key files that are missing, too short, or readable by others. */
static void
test_keys(void)
{
	struct innet_worker_options o = { .size = sizeof(o),
	    .address = "127.0.0.1:9", .key = "none" };
	char name[] = "/tmp/test-library-XXXXXX";
	const int fd = mkstemp(name);

	ok(is_refused(&o, "key: none: No such file or directory"),
	    "a missing key file is refused");
	o.key = name;
	ok(fd != -1 && is_refused(&o, "key: /tmp/test-library-"),
	    "an empty key file is refused");
	ok(fchmod(fd, 0644) == 0 && is_refused(&o, "key: ") &&
	    strstr(why, "other users") != NULL,
	    "a key that other users can read is refused");
	close(fd);
	unlink(name);
}

/* Check that older and newer programs can use the library. */
static void
test_sizes(void)
{
	struct {
		struct innet_worker_options o;
		char more[8];
	} newer = { .o = { .size = sizeof(newer), .address = "127.0.0.1:9",
	    .give_up_ns = 100000000 } };
	struct innet_worker_options o = newer.o;

	ok(is_refused(&newer.o, "127.0.0.1:9: job 0: no answer to a Join after "
	    "0.1 s; is a switch running there?"),
	    "options that are longer and 0 are accepted");
	o.size = sizeof(o);
	o.give_up_ns = 0;
	o.join_timeout_ns = 100000000;
	ok(is_refused(&o, "127.0.0.1:9: job 0: the switch has not accepted "
	    "this member in 0.1 s"), "the time to join is limited");
	o.join_timeout_ns = 0;
	o.give_up_ns = newer.o.give_up_ns;
	newer.more[7] = 1;
	ok(is_refused(&newer.o, "options: this program needs a newer "
	    "libinnet.so than " PACKAGE_VERSION),
	    "an unknown option is refused");
	o.size = offsetof(struct innet_worker_options, impair);
	o.impair = "wrong";
	ok(is_refused(&o, "127.0.0.1:9: job 0: no answer"),
	    "the library does not read options after the end");
	o.size = 0;
	ok(is_refused(&o, "options: the size is 0"), "the size is required");
	ok(innet_worker_join(&o, NULL) == NULL, "the text is not required");
}

int
main(void)
{
	test_values();
	test_keys();
	test_sizes();
	innet_worker_leave(NULL);
	ok(strcmp(innet_worker_version(), PACKAGE_VERSION) == 0,
	    "the version is that of the package");
	return tap_end();
}
