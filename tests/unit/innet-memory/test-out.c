/* Unit tests of out.h: all data is sent, in order and in turns. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/innet-memory/server/out.h"
#include "common/base/rng.h"
#include "tests/unit/tap.h"

enum { TURN = 64 << 10, ALL = 8 << 20, BLOB_MOST = 20000, TEXT_MOST = 60 };

static struct account account = { .limit = SIZE_MAX };

/* Open two sockets; the first one accepts more than one turn. */
static void
open_sockets(int fd[2])
{
	const int room = 1 << 20;

	ok(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0 && setsockopt(fd[0],
	    SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)) == 0,
	    "a pair of sockets is made");
}

static void
test_turn(void)
{
	struct out o = { 0 };
	struct blob *b = blob_new(&account, 2 * TURN);
	int fd[2];

	memset(b->bytes, 1, b->len);
	open_sockets(fd);
	out_add_text(&o, "text", 4);
	out_add_blob(&o, &account, b, 0);
	ok(out_send(&o, &account, fd[0], TURN) && o.sent == TURN &&
	    o.pending == TURN + 4, "a turn sends its number of bytes");
	ok(out_send(&o, &account, fd[0], 2 * TURN) && o.pending == 0 &&
	    account.used == 0, "the next turn sends as many bytes as the "
	    "caller allows");
	out_free(&o, &account);
	close(fd[0]);
	close(fd[1]);
}

/* Add random bytes to want[] and to o, as text or as a blob. */
static void
add_random(struct out *o, struct rng *rng, uint8_t *want, size_t *n)
{
	const bool text = rng_below(rng, 3) > 0;
	const size_t len = 1 + rng_below(rng, text ? TEXT_MOST : BLOB_MOST);
	struct blob *b;

	for (size_t i = 0; i < len; i++)
		want[*n + i] = (uint8_t)rng_u64(rng);
	if (text) {
		out_add_text(o, want + *n, len);
	} else {
		b = blob_copy(&account, want + *n, len);
		out_add_blob(o, &account, b, 0);
	}
	*n += len;
}

/* The other side reads at random; it receives what was sent. */
static void
test_order(uint64_t seed)
{
	struct rng rng = rng_seed(seed);
	struct out o = { 0 };
	uint8_t *want = malloc(ALL + BLOB_MOST), *got = malloc(BLOB_MOST);
	size_t n = 0, read_n = 0;
	bool good = true;
	int fd[2];

	open_sockets(fd);
	while (read_n < ALL && good) {
		const size_t ask = 1 + rng_below(&rng, BLOB_MOST);
		ssize_t have;

		for (uint64_t k = rng_below(&rng, 9); k > 0 && n < ALL; k--)
			add_random(&o, &rng, want, &n);
		good = out_send(&o, &account, fd[0], TURN) && !o.bad;
		have = recv(fd[1], got, ask, MSG_DONTWAIT);
		if (have <= 0)
			continue;
		good = good && memcmp(got, want + read_n, (size_t)have) == 0;
		read_n += (size_t)have;
	}
	ok(good, "seed %zu: every byte arrives in order", (size_t)seed);
	out_free(&o, &account);
	close(fd[0]);
	close(fd[1]);
	free(want);
	free(got);
}

int
main(void)
{
	test_turn();
	for (uint64_t seed = 1; seed <= 5; seed++)
		test_order(seed);
	ok(account.used == 0, "the account is 0 in the end");
	return tap_end();
}
