/* The MAC of control messages: RFC 4231, every bit that flips, key files. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "common/wire/mac.h"
#include "tests/unit/tap.h"

/* HMAC-SHA-256 of RFC 4231, section 4: its first 16 bytes. */
static const struct {
	uint8_t key, key_bytes;		/* one byte, so often */
	const char *key_text;		/* instead of that */
	uint8_t data, data_bytes;
	const char *text;
	uint8_t mac[CONTROL_MAC_BYTES];
} rfc[] = {
	{ 0x0b, 20, NULL, 0, 0, "Hi There",
	    { 0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53, 0x5c, 0xa8,
	    0xaf, 0xce, 0xaf, 0x0b, 0xf1, 0x2b } },
	{ 0, 0, "Jefe", 0, 0, "what do ya want for nothing?",
	    { 0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e, 0x6a, 0x04,
	    0x24, 0x26, 0x08, 0x95, 0x75, 0xc7 } },
	{ 0xaa, 20, NULL, 0xdd, 50, NULL,
	    { 0x77, 0x3e, 0xa9, 0x1e, 0x36, 0x80, 0x0e, 0x46, 0x85, 0x4d,
	    0xb8, 0xeb, 0xd0, 0x91, 0x81, 0xa7 } },
	{ 0, 0, "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e"
	    "\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19", 0xcd, 50, NULL,
	    { 0x82, 0x55, 0x8a, 0x38, 0x9a, 0x44, 0x3c, 0x0e, 0xa4, 0xcc,
	    0x81, 0x98, 0x99, 0xf2, 0x08, 0x3a } },
	{ 0x0c, 20, NULL, 0, 0, "Test With Truncation",
	    { 0xa3, 0xb6, 0x16, 0x74, 0x73, 0x10, 0x0e, 0xe0, 0x6e, 0x0c,
	    0x79, 0x6c, 0x29, 0x55, 0x55, 0x2b } },
	{ 0xaa, 131, NULL, 0, 0,
	    "Test Using Larger Than Block-Size Key - Hash Key First",
	    { 0x60, 0xe4, 0x31, 0x59, 0x1e, 0xe0, 0xb6, 0x7f, 0x0d, 0x8a,
	    0x26, 0xaa, 0xcb, 0xf5, 0xb7, 0x7f } },
	{ 0xaa, 131, NULL, 0, 0, "This is a test using a larger than "
	    "block-size key and a larger than block-size data. The key needs "
	    "to be hashed before being used by the HMAC algorithm.",
	    { 0x9b, 0x09, 0xff, 0xa7, 0x1b, 0x94, 0x2f, 0xcb, 0x27, 0x63,
	    0x5f, 0xbc, 0xd5, 0xb0, 0xe9, 0x44 } }
};

static void
vectors(void)
{
	uint8_t key[131], data[256], mac[CONTROL_MAC_BYTES];
	struct mac_key k;

	for (size_t i = 0; i < sizeof(rfc) / sizeof(*rfc); i++) {
		size_t kn = rfc[i].key_bytes, n = rfc[i].data_bytes;

		memset(key, rfc[i].key, kn);
		memset(data, rfc[i].data, n);
		if (rfc[i].key_text != NULL)
			memcpy(key, rfc[i].key_text,
			    kn = strlen(rfc[i].key_text));
		if (rfc[i].text != NULL)
			memcpy(data, rfc[i].text, n = strlen(rfc[i].text));
		mac_key_set(&k, key, kn);
		mac_of(&k, data, n, mac);
		ok(memcmp(mac, rfc[i].mac, sizeof(mac)) == 0,
		    "RFC 4231, test case %zu", i + 1);
	}
}

/* Is the message of len bytes, in a block of just that size, good? */
static bool
good(const struct mac_key *k, const uint8_t *msg, size_t len)
{
	uint8_t *copy = malloc(len);
	struct control c;
	bool is;

	memcpy(copy, msg, len);
	is = control_parse(copy, len, &c) && mac_good(k, copy, len, &c);
	free(copy);
	return is;
}

static void
messages(void)
{
	struct mac_key none = { 0 }, key = { 0 }, other = { 0 };
	uint8_t msg[64], *end = control_put(msg, CONTROL_SETH, 3, 7);
	size_t len = (size_t)(bytes_put(end, 4, 2) - msg), whole;
	bool refused = true;

	mac_key_set(&key, "key", 3);
	mac_key_set(&other, "Key", 3);
	ok(mac_sign(&none, msg, len) == len && msg[1] == 0,
	    "without a key a message stays as it is");
	ok(good(&none, msg, len), "without a key it is good");
	ok(!good(&key, msg, len), "with one it is not: there is no MAC");
	whole = mac_sign(&key, msg, len);
	ok(whole == len + 16 && msg[1] == 1, "signed: a flag, 16 bytes");
	ok(good(&key, msg, whole), "signed it is good");
	ok(good(&none, msg, whole), "who has no key does not judge a MAC");
	ok(!good(&other, msg, whole), "under another key it is not good");
	for (size_t i = 0; i < 8 * whole; i++) {
		msg[i / 8] ^= (uint8_t)(1 << i % 8);
		refused = refused && !good(&key, msg, whole);
		msg[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	ok(refused, "any one bit that flips shows");
	for (size_t n = 0; n < whole; n++)
		refused = refused && !good(&key, msg, n);
	ok(refused, "so does an end that is cut off");
	msg[whole] = 0;
	ok(!good(&key, msg, whole + 1), "and one that is added");
	ok(mac_sign(&key, msg, CONTROL_HEADER_BYTES) == 24 &&
	    good(&key, msg, 24), "a message without a body");
}

/* Load a key of n bytes in a child: its status; what it said in said[]. */
static int
load(const char *path, size_t n, char said[256])
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	int told = memfd_create("said", 0), status;
	struct mac_key k;
	ssize_t got;
	pid_t pid;

	for (size_t i = 0; i < n; i++)
		if (write(fd, "\n", 1) != 1)
			abort();
	close(fd);
	pid = fork();
	if (pid == 0) {
		dup2(told, STDERR_FILENO);
		mac_load_or_exit(&k, path);
		_exit(k.set ? 0 : 77);
	}
	waitpid(pid, &status, 0);
	got = pread(told, said, 255, 0);
	said[got < 0 ? 0 : got] = '\0';
	close(told);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
files(void)
{
	char path[] = "/tmp/test-mac.XXXXXX", said[256];
	struct mac_key k = { 0 }, want;
	uint8_t a[CONTROL_MAC_BYTES], b[CONTROL_MAC_BYTES];
	int fd = mkstemp(path);

	ok(load(path, 0, said) == 1 && strstr(said, "empty: no key") != NULL,
	    "an empty file is no key");
	ok(load(path, 1, said) == 0, "one byte is");
	ok(load(path, 4096, said) == 0, "4096 are");
	ok(load(path, 4097, said) == 1 && strstr(said, "more than 4096") !=
	    NULL && strstr(said, path) != NULL, "4097 are not: file and limit "
	    "are named");
	ok(load("/", 0, said) == 1 && strstr(said, "/: Is a directory") !=
	    NULL, "nor is a directory");
	ok(ftruncate(fd, 0) == 0 && pwrite(fd, "a\0b\n", 4, 0) == 4,
	    "a key with a zero byte and a newline");
	mac_load_or_exit(&k, path);
	mac_key_set(&want, "a\0b\n", 4);
	mac_of(&k, (const uint8_t *)"x", 1, a);
	mac_of(&want, (const uint8_t *)"x", 1, b);
	ok(memcmp(a, b, sizeof(a)) == 0, "counts to its last byte");
	close(fd);
	unlink(path);
}

int
main(void)
{
	vectors();
	messages();
	files();
	return tap_end();
}
