/* Each way in which a captured packet can be other than it should. */
#include <string.h>

#include "common/capture/soundness.h"
#include "tests/unit/tap.h"

enum { N = 2, STAMP = 12345 };

static uint8_t p[256];
static uint32_t len;
static struct frame f;

/* A sound frame with this payload, or an update when it is NULL. */
static void
frame(uint8_t tos, bool v6, const void *payload, size_t bytes)
{
	const struct update u = { .kind = UPDATE_UPDATE, .cluster = 3,
	    .worker = 8, .sequence = 1, .merged = 1, .generated_ns = 99,
	    .reward = 1.5f, .elements = N };
	const struct frame_flow flow = { .src = { 10, 0, 3, 9 },
	    .dst = { 10, 255, 255, 1 }, .sport = 1, .dport = UPDATE_PORT,
	    .v6 = v6 };
	size_t at;

	memset(p, 0, sizeof(p));
	if (payload == NULL)
		bytes = UPDATE_HEADER_BYTES + 4 * N;
	at = frame_put(p, &flow, tos, bytes, &f);
	if (payload != NULL)
		memcpy(p + at, payload, bytes);
	else
		vec_set(update_put(p + at, &u), 0, 2.5f);
	frame_put_checksum(p, &f);
	len = (uint32_t)(at + bytes);
}

/* Change one byte of the payload and seal again. */
static void
poke(size_t at, uint8_t value)
{
	p[f.payload_at + at] = value;
	frame_put_checksum(p, &f);
}

static bool
is(const struct clusters *bare, uint32_t caplen, unsigned want,
    struct update *u)
{
	struct split pieces;
	struct frame g;
	unsigned v = soundness_frame(bare, true, FRAME_ETHERNET, p, caplen, len,
	    STAMP, &g, u, &pieces);

	if (v != want)
		note("%s", soundness_name(v));
	return v == want;
}

static void
verdict(unsigned want, const char *what)
{
	struct update u;

	ok(is(NULL, len, want, &u), "%s: %s", what, soundness_name(want));
}

static void
ours(void)
{
	struct update u;

	frame(UPDATE_TOS, false, NULL, 0);
	ok(is(NULL, len, UPDATE_OK, &u) && u.cluster == 3 && u.worker == 8 &&
	    u.n == N && vec_get(u.vec, 0) == 2.5f && u.reward == 1.5f,
	    "a sound update is read");
	frame(UPDATE_TOS | 3, false, NULL, 0);
	verdict(UPDATE_OK, "whatever its ECN bits");
	frame(UPDATE_TOS, true, NULL, 0);
	verdict(UPDATE_OK, "over IPv6 too");
	frame(0x28, false, NULL, 0);
	verdict(SOUNDNESS_REGULAR, "another codepoint");
	frame(UPDATE_TOS, false, NULL, 0);
	p[12] = 8;
	p[13] = 6;
	verdict(SOUNDNESS_REGULAR, "another ethertype");
	frame(UPDATE_TOS, false, NULL, 0);
	p[f.ip_at + 9] = 6;
	verdict(SOUNDNESS_REGULAR, "another protocol");
}

static void
damaged(void)
{
	struct update u;

	frame(UPDATE_TOS, false, NULL, 0);
	p[f.ip_at + 6] = 0x20;
	verdict(SOUNDNESS_FRAGMENT, "a fragment");
	frame(UPDATE_TOS, false, NULL, 0);
	ok(is(NULL, len - 1, SOUNDNESS_SNAPLEN, &u),
	    "cut by one byte: snaplen");
	p[f.udp_at + 5]++;
	verdict(UPDATE_BAD_LENGTH, "a UDP length past the packet");
	frame(UPDATE_TOS, false, NULL, 0);
	p[len - 1] ^= 1;
	verdict(SOUNDNESS_CHECKSUM, "a bit that flipped in the vector");
	frame(UPDATE_TOS, false, NULL, 0);
	p[f.ip_at + 8] ^= 1;
	verdict(SOUNDNESS_CHECKSUM, "a bit that flipped in the IP header");
	frame(UPDATE_TOS, false, NULL, 0);
	memset(p + f.udp_at + 6, 0, 2);
	p[len - 1] ^= 1;
	verdict(UPDATE_OK, "the same without a checksum");
	frame(UPDATE_TOS, false, NULL, 0);
	poke(0, 2);
	verdict(UPDATE_BAD_VERSION, "version 2");
	frame(UPDATE_TOS, false, NULL, 0);
	poke(1, 4);
	verdict(UPDATE_BAD_KIND, "kind 4");
	frame(UPDATE_TOS, false, NULL, 0);
	poke(13, 0);
	verdict(UPDATE_BAD_MERGED, "merged 0");
	frame(UPDATE_TOS, false, NULL, 0);
	poke(31, 1);
	verdict(UPDATE_BAD_LENGTH, "fewer elements than the packet has");
	frame(UPDATE_TOS, false, NULL, 0);
	poke(24, 0x7f);
	poke(25, 0x80);
	verdict(UPDATE_NONFINITE, "an infinite reward");
	frame(UPDATE_TOS, false, NULL, 0);
	poke(38, 0x80);
	poke(39, 0x7f);
	verdict(UPDATE_NONFINITE, "an infinite element");
	frame(UPDATE_TOS, false, "", 0);
	verdict(UPDATE_SHORT, "an empty payload");
}

static void
bare_packets(void)
{
	const uint8_t payload[] = { 0x3f, 0x80, 0, 0, 0, 0, 0, 0x40, 0, 0, 0x80,
	    0x7f };
	struct clusters c = { 0 };
	struct update u;

	clusters_add(&c, "10.0.3.0/24", "77");
	ok(soundness_bare(payload, 8, 77, 5, STAMP, &u) == UPDATE_OK &&
	    u.cluster == 77 && u.merged == 1 && u.reward == 1 && u.n == 1 &&
	    u.elements == 1 && u.first == 0 && vec_get(u.vec, 0) == 2 &&
	    u.generated_ns == STAMP && u.worker == 5 && u.sequence == 0,
	    "a bare packet has a reward and a gradient, the rest from without");
	ok(soundness_bare(payload, 12, 77, 5, STAMP, &u) == UPDATE_NONFINITE,
	    "its gradient is finite");
	ok(soundness_bare(payload, 7, 77, 5, STAMP, &u) == UPDATE_SHORT,
	    "below 8 bytes it is short");
	ok(soundness_bare(payload, 9, 77, 5, STAMP, &u) == UPDATE_BAD_LENGTH,
	    "with 9, of bad length");
	frame(0, false, payload, 11);
	ok(is(&c, len, UPDATE_OK, &u) && u.cluster == 77 && u.n == 11 &&
	    u.worker == clusters_worker(&f.flow) &&
	    memcmp(u.vec, payload, 11) == 0,
	    "for ages it may hold anything");
	frame(0, false, payload, 0);
	ok(is(&c, len, UPDATE_SHORT, &u), "but not nothing");
	frame(UPDATE_TOS, true, NULL, 0);
	ok(is(&c, len, SOUNDNESS_REGULAR, &u),
	    "who is not in the table sends regular traffic, with our "
	    "codepoint too");
	clusters_free(&c);
}

static void
names(void)
{
	bool differ = true;

	for (unsigned i = 0; i < SOUNDNESS_VERDICTS; i++) {
		for (unsigned k = 0; k < i; k++)
			differ = differ &&
			    strcmp(soundness_name(i), soundness_name(k)) != 0;
	}
	ok(differ && strcmp(soundness_name(SOUNDNESS_FOREIGN), "foreign") == 0,
	    "each verdict has a name of its own");
}

int
main(void)
{
	ours();
	damaged();
	bare_packets();
	names();
	return tap_end();
}
