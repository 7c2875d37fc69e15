/* Test each way in which a captured packet can be malformed. */
#include <string.h>

#include "common/capture/soundness.h"
#include "tests/unit/tap.h"

enum { N = 2, STAMP = 12345 };

static uint8_t p[256];
static uint32_t len;
static struct frame f;

/* Make a valid frame with this payload, or with an update if it is NULL. */
static void
make_frame(uint8_t tos, bool v6, const void *payload, size_t bytes)
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

/* Change one byte of the payload and write the checksum again. */
static void
change_byte(size_t at, uint8_t value)
{
	p[f.payload_at + at] = value;
	frame_put_checksum(p, &f);
}

static bool
verdict_is(const struct clusters *bare, uint32_t caplen, unsigned want,
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
check_verdict(unsigned want, const char *what)
{
	struct update u;

	ok(verdict_is(NULL, len, want, &u), "%s: %s", what,
	    soundness_name(want));
}

static void
test_ours(void)
{
	struct update u;

	make_frame(UPDATE_TOS, false, NULL, 0);
	ok(verdict_is(NULL, len, UPDATE_OK, &u) && u.cluster == 3 &&
		u.worker == 8 && u.n == N && vec_get(u.vec, 0) == 2.5f &&
		u.reward == 1.5f,
	    "a valid update is accepted");
	make_frame(UPDATE_TOS | 3, false, NULL, 0);
	check_verdict(UPDATE_OK, "an update is accepted with any ECN bits");
	make_frame(UPDATE_TOS, true, NULL, 0);
	check_verdict(UPDATE_OK, "an update over IPv6 is accepted");
	make_frame(0x28, false, NULL, 0);
	check_verdict(SOUNDNESS_REGULAR, "another codepoint");
	make_frame(UPDATE_TOS, false, NULL, 0);
	p[12] = 8;
	p[13] = 6;
	check_verdict(SOUNDNESS_REGULAR, "another ethertype");
	make_frame(UPDATE_TOS, false, NULL, 0);
	p[f.ip_at + 9] = 6;
	check_verdict(SOUNDNESS_REGULAR, "another protocol");
}

static void
test_damaged(void)
{
	struct update u;

	make_frame(UPDATE_TOS, false, NULL, 0);
	p[f.ip_at + 6] = 0x20;
	check_verdict(SOUNDNESS_FRAGMENT, "a fragment");
	make_frame(UPDATE_TOS, false, NULL, 0);
	ok(verdict_is(NULL, len - 1, SOUNDNESS_SNAPLEN, &u),
	    "an update without its last byte has the verdict snaplen");
	p[f.udp_at + 5]++;
	check_verdict(UPDATE_BAD_LENGTH, "a UDP length beyond the packet is "
	    "refused");
	make_frame(UPDATE_TOS, false, NULL, 0);
	p[len - 1] ^= 1;
	check_verdict(SOUNDNESS_CHECKSUM, "a flipped bit in the vector is "
	    "refused");
	make_frame(UPDATE_TOS, false, NULL, 0);
	p[f.ip_at + 8] ^= 1;
	check_verdict(
	    SOUNDNESS_CHECKSUM, "a flipped bit in the IP header is refused");
	make_frame(UPDATE_TOS, false, NULL, 0);
	memset(p + f.udp_at + 6, 0, 2);
	p[len - 1] ^= 1;
	check_verdict(UPDATE_OK, "a flipped bit in the IP header without a UDP "
	    "checksum is refused");
	make_frame(UPDATE_TOS, false, NULL, 0);
	change_byte(0, 2);
	check_verdict(UPDATE_BAD_VERSION, "version 2");
	make_frame(UPDATE_TOS, false, NULL, 0);
	change_byte(1, 4);
	check_verdict(UPDATE_BAD_KIND, "kind 4");
	make_frame(UPDATE_TOS, false, NULL, 0);
	change_byte(13, 0);
	check_verdict(UPDATE_BAD_MERGED, "merged 0");
	make_frame(UPDATE_TOS, false, NULL, 0);
	change_byte(31, 1);
	check_verdict(UPDATE_BAD_LENGTH, "an element count below that of the "
	    "packet is refused");
	make_frame(UPDATE_TOS, false, NULL, 0);
	change_byte(24, 0x7f);
	change_byte(25, 0x80);
	check_verdict(UPDATE_NONFINITE, "an infinite reward is refused");
	make_frame(UPDATE_TOS, false, NULL, 0);
	change_byte(38, 0x80);
	change_byte(39, 0x7f);
	check_verdict(UPDATE_NONFINITE, "an infinite element is refused");
	make_frame(UPDATE_TOS, false, "", 0);
	check_verdict(UPDATE_SHORT, "an empty payload is refused");
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
	    "a bare packet has a reward and a gradient; the caller gives the "
	    "other fields");
	ok(soundness_bare(payload, 12, 77, 5, STAMP, &u) == UPDATE_NONFINITE,
	    "a bare packet must have finite elements");
	ok(soundness_bare(payload, 7, 77, 5, STAMP, &u) == UPDATE_SHORT,
	    "a bare packet below 8 bytes is too short");
	ok(soundness_bare(payload, 9, 77, 5, STAMP, &u) == UPDATE_BAD_LENGTH,
	    "a bare packet of 9 bytes has a bad length");
	make_frame(0, false, payload, 11);
	ok(verdict_is(&c, len, UPDATE_OK, &u) && u.cluster == 77 && u.n == 11 &&
	    u.worker == clusters_worker(&f.flow) &&
	    memcmp(u.vec, payload, 11) == 0,
	    "for ages, a bare packet may have any content");
	make_frame(0, false, payload, 0);
	ok(verdict_is(&c, len, UPDATE_SHORT, &u),
	    "for ages, a bare packet may not be empty");
	make_frame(UPDATE_TOS, true, NULL, 0);
	ok(verdict_is(&c, len, SOUNDNESS_REGULAR, &u),
	    "a sender that is not in the table sends regular traffic, also "
	    "with our codepoint");
	clusters_free(&c);
}

static void
test_names(void)
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
	test_ours();
	test_damaged();
	bare_packets();
	test_names();
	return tap_end();
}
