/*
 * Test keys, cookies and MACs with the test vectors, and with every bit of a
 * message changed.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "common/auth/key-file.h"
#include "common/wire/control.h"
#include "common/auth/mac.h"
#include "tests/unit/innet-agent/named-vectors.h"
#include "tests/unit/tap.h"

static struct key secret, key;
static const uint8_t *nonce;

/* Are the bytes at p those of the vector? */
static bool
is_vector(const char *name, const uint8_t *p, size_t n)
{
	const struct vector *v = vector_of(name);

	return ok(v->n == n && memcmp(v->b, p, n) == 0, "%s", name);
}

static void
test_cookies(void)
{
	union addr v4, v6, other;
	uint8_t p[COOKIE_BYTES], q[COOKIE_BYTES];
	const uint64_t t = 1000000007, life = COOKIE_LIFE_NS;
	bool good = true;

	addr_parse("192.0.2.1:4660", "0", &v4);
	addr_parse("192.0.2.1:4661", "0", &other);
	addr_parse("[2001:db8::1]:46638", "0", &v6);
	cookie_make(&secret, &v4, nonce, t, p);
	is_vector("pass-192.0.2.1-4660", p, sizeof(p));
	cookie_make(&secret, &v6, nonce, t, q);
	is_vector("pass-2001:db8::1-46638", q, sizeof(q));
	ok(cookie_good(&secret, &v4, p, 0, t) &&
	    cookie_good(&secret, &v4, p, t - 1, t + life),
	    "a cookie is valid for its address for 10 s");
	ok(!cookie_good(&secret, &v4, p, 0, t + life + 1), "and no longer");
	ok(!cookie_good(&secret, &v4, p, 0, t - 1),
	    "a cookie is not valid before its time");
	ok(!cookie_good(&secret, &v4, p, t, t), "a cookie is not valid at the "
	    "floor");
	ok(!cookie_good(&secret, &other, p, 0, t) &&
	    !cookie_good(&secret, &v6, p, 0, t), "nor from elsewhere");
	ok(!cookie_good(&key, &v4, p, 0, t), "a cookie is not valid under "
	    "another secret");
	for (int bit = 0; bit < 8 * COOKIE_BYTES; bit++) {
		memcpy(q, p, sizeof(q));
		q[bit / 8] ^= (uint8_t)(1 << bit % 8);
		good = good && !cookie_good(&secret, &v4, q, 0, t + 255);
	}
	ok(good, "a cookie with a changed bit is not valid");
	cookie_init(q, nonce);
	ok(memcmp(q, nonce, 8) == 0 && cookie_time_ns(q) == 0 &&
	    !cookie_good(&secret, &v4, q, 0, t),
	    "a client's first request has no cookie");
}

/* Return the message of the vector with a new MAC. */
static void
test_mac(const struct key *channel, const char *name, enum mac_direction way)
{
	const struct vector *v = vector_of(name);
	uint8_t p[VECTOR_MAX_BYTES];
	struct control c;
	bool good = true;

	memcpy(p, v->b, v->n);
	memset(p + v->n - MAC_BYTES, 0, MAC_BYTES);
	ok(control_parse(v->b, v->n, &c) && c.has_mac && mac_put(channel, way,
	    c.counter, p, v->n - MAC_BYTES) == v->n, "%s is sealed", name);
	is_vector(name, p, v->n);
	ok(mac_good(channel, way, p, v->n) && !mac_good(channel,
	    way == MAC_REQUEST ? MAC_RESPONSE : MAC_REQUEST, p, v->n) &&
	    !mac_good(&key, way, p, v->n),
	    "a MAC is valid only in its direction and under its key");
	for (size_t bit = 0; bit < 8 * v->n; bit++) {
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		good = good && !mac_good(channel, way, p, v->n);
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t n = 0; n < v->n; n++)
		good = good && !mac_good(channel, way, p, n);
	ok(good, "a MAC is not valid after a change of any bit or byte");
}

/* Find the places of cookie and body in a message. */
static void
test_parts(void)
{
	static const char *const name[] = { "join-first", "join-challenge",
	    "join-open", "join-sealed" };
	const struct vector *p = vector_of("pass-192.0.2.1-4660");
	uint8_t first[COOKIE_BYTES];
	struct control c;

	cookie_init(first, nonce);
	for (int i = 0; i < 4; i++) {
		const struct vector *v = vector_of(name[i]);
		const bool ack = i == 1;

		ok(control_parse(v->b, v->n, &c) && c.job == 1 &&
			c.xid == 0x11223344 && c.cookie != NULL &&
			memcmp(c.cookie, i == 0 ? first : p->b, COOKIE_BYTES) ==
			    0 &&
			c.body_bytes == (ack ? 2 : 23) &&
			c.has_mac == (i == 3) &&
			(!ack || (c.body[0] == CONTROL_JOIN &&
				     c.body[1] == CONTROL_CHALLENGE)),
		    "%s read", name[i]);
	}
	ok(vector_of(name[1])->n <= vector_of(name[0])->n,
	    "a challenge is no longer than the request for it");
}

/* Does a file of these bytes end the program with status 1? */
static bool
is_refused(const char *path, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "w");
	int status = -1;
	struct key k;
	pid_t pid;

	fwrite(bytes, 1, n, f);
	fclose(f);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		fclose(stderr);
		key_load_or_exit(&k, path, KEY_LEAST_BYTES);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

static void
test_files(void)
{
	static uint8_t large[KEY_MOST_BYTES + 1];
	static const uint8_t zero[32];
	const struct vector *v = vector_of("key");
	uint8_t a[8], b[8];
	struct key k;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", memfd_create("key",
	    0));
	memset(large, 'k', sizeof(large));
	ok(is_refused(path, "", 0) && is_refused(path, large, 15) &&
	    is_refused(path, large, sizeof(large)),
	    "an empty file and files of 15 and more than 4096 bytes are not "
	    "keys");
	ok(!is_refused(path, large, 16) &&
		!is_refused(path, large, KEY_MOST_BYTES),
	    "files of 16 and 4096 bytes are keys");
	large[15] = 0;
	ok(is_refused(path, zero, sizeof(zero)) &&
	    !is_refused(path, large + 15, 17) &&
	    !is_refused(path, large, 16), "a file of zero bytes is not a key");
	is_refused(path, v->b, v->n);
	key_load_or_exit(&k, path, KEY_LEAST_BYTES);
	key_hash_of(&k, "x", "y", 1, a, sizeof(a));
	key_hash_of(&key, "x", "y", 1, b, sizeof(b));
	ok(memcmp(a, b, sizeof(a)) == 0, "the key is the whole file, including "
	    "its newline");
}

/* The modes of a file with a name, which other users may find. */
static void
test_modes(void)
{
	char path[] = "/tmp/innet-key.XXXXXX";
	const int fd = mkstemp(path);
	const char *text = "a key of 16 bytes";
	const struct { mode_t mode; bool refused; } row[] = {
		{ 0600, false }, { 0400, false }, { 0440, false },
		{ 0660, false }, { 0604, true }, { 0644, true },
		{ 0602, true }, { 0640, false }, { 0666, true },
	};
	int wrong = 0;

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		fchmod(fd, 0600);
		is_refused(path, text, strlen(text));
		fchmod(fd, row[i].mode);
		wrong += key_is_exposed(fd) != row[i].refused;
	}
	ok(wrong == 0, "a key file that other users can read or write is "
	    "exposed, but not one that its group can read");
	unlink(path);
	ok(!key_is_exposed(fd), "a file without a name is not exposed");
	close(fd);
}

int
main(void)
{
	const struct vector *v;
	struct key channel;
	uint8_t hash[KEY_HASH_BYTES];

	vectors_read("trust-vectors.txt");
	ok(vectors_count == 22, "the file has 22 vectors");
	v = vector_of("secret");
	key_set(&secret, v->b, v->n);
	v = vector_of("key");
	key_set(&key, v->b, v->n);
	nonce = vector_of("nonce")->b;
	test_cookies();
	v = vector_of("pass-192.0.2.1-4660");
	key_hash_of(&key, "innet 1 channel", v->b, v->n, hash, sizeof(hash));
	is_vector("channel-key", hash, sizeof(hash));
	mac_channel_key(&key, v->b, &channel);
	test_mac(&channel, "join-sealed", MAC_REQUEST);
	test_mac(&channel, "halt-sealed", MAC_REQUEST);
	test_mac(&channel, "ack-sealed", MAC_RESPONSE);
	test_mac(&channel, "halt-notice", MAC_RESPONSE);
	test_parts();
	test_files();
	test_modes();
	return tap_end();
}
