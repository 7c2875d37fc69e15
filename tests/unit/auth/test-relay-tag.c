/*
 * Test an aggregation switch that requires tagged data. It must drop segments
 * that are forged, changed or swapped, or that come from another run, form,
 * direction, job or time. It counts them as bad_proof, does not answer them and
 * does not take them as a sign of life; the sums stay exact.
 */
#include <math.h>

#include "common/auth/key.h"
#include "tests/unit/iswitch/rig.h"
#include "tests/unit/tap.h"

enum { FLOATS = 4, SEGMENTS = 64, BYTES = 16 + 4 * FLOATS };

static struct key file_key;
static struct segment_tag member[2];
static uint8_t salt[TAG_SALT_BYTES];

/* Let member w join with its own cookie, and take the salt of its Ack. */
static void
join_member(uint32_t w, uint32_t next)
{
	struct control_ack a;

	rig_join_as((uint16_t)(1000 + w), (struct control_join){
	    .type = CONTROL_WORKER, .worker = w, .elements = FLOATS * SEGMENTS,
	    .next = next, .async = rig.cf.job.async }, &a);
	memcpy(salt, a.salt, sizeof(salt));
	segment_tag_set_key(&member[w], rig.cf.job.key, 1, a.salt, a.epoch,
	    a.next, true, rig.cf.job.async);
	memset(member[w].cookie, (int)w + 1, sizeof(member[w].cookie));
	memcpy(rig.job[0]->core.members.m[w].cookie, member[w].cookie,
	    sizeof(member[w].cookie));
}

/* Make a switch for two members, which have joined, with or without a key. */
static void
start_switch(bool keyed, bool async, uint32_t next)
{
	struct iswitch_conf cf = { .job = rig_conf(2), .floats = FLOATS,
	    .floats_max = 364 };

	cf.job.tagged = true;
	cf.job.async = async;
	key_set(&file_key, "a key of sixteen bytes", 22);
	memset(member, 0, sizeof(member));
	rigged_open(&rig_plane, &cf, 1, rig_deliver, NULL);
	rig.cf.job.key = keyed ? &file_key : NULL;
	join_member(0, next);
	join_member(1, next);
}

/* Make segment i of iteration t from member w, all v, with its tag. */
static void
make_segment(uint32_t w, uint32_t t, uint32_t i, float v, uint8_t m[BYTES])
{
	uint8_t *vec = m + 16;

	seg_put(m, t, 1, i);
	for (uint32_t k = 0; k < FLOATS; k++)
		vec_set(vec, k, v);
	segment_tag_put(&member[w], m, vec, 4 * FLOATS);
}

static void
give_segment(uint32_t w, uint8_t tos, const uint8_t *m, size_t len)
{
	const union addr from = rig_addr((uint16_t)(1000 + w));

	rig_n = 0;
	rigged_take(&rig_plane, &from, tos, m, len, rig_now);
	rig_flush();
}

/* Was the segment dropped, counted, and not answered? */
static bool
was_dropped(uint32_t w, uint8_t tos, const uint8_t *m, size_t len)
{
	const uint64_t bad = rig_count(JOB_BAD_TAG),
	    segments = rig_count(JOB_SEGMENTS);

	give_segment(w, tos, m, len);
	return rig_n == 0 && rig_count(JOB_BAD_TAG) == bad + 1 &&
	    rig_count(JOB_SEGMENTS) == segments;
}

/* Return the first float of the result if member w accepts it. */
static float
check_result(uint32_t w)
{
	const struct rig_sent *s = &rig_out[0];
	struct seg g;

	if (rig_n != 1 || !seg_parse_as(s->tos, s->bytes, s->len, &g) ||
	    !segment_tag_check(&member[w], s->tos, s->bytes, s->len))
		return NAN;
	return vec_get(g.vec, 0);
}

static void
test_honest(void)
{
	uint8_t m[BYTES], first[BYTES];

	start_switch(true, false, 5);
	make_segment(0, 5, 3, 1, m);
	give_segment(0, SEG_TAGGED_TOS, m, BYTES);
	ok(rig_n == 0 && rig_count(JOB_ADDED) == 1,
	    "a segment with a valid tag is added");
	make_segment(1, 5, 3, 2, m);
	give_segment(1, SEG_TAGGED_TOS, m, BYTES);
	ok(check_result(0) == 3 && check_result(1) == 3 &&
		rig_out[0].to == POST_GROUP,
	    "the sum has a tag that is valid for all members");
	memcpy(first, rig_out[0].bytes, BYTES);
	give_segment(1, SEG_TAGGED_TOS, m, BYTES);
	ok(rig_n == 1 && memcmp(first, rig_out[0].bytes, BYTES) == 0,
	    "the sum is sent again without a change");
	rigged_close(&rig_plane);
}

/* The tags of a member depend on the cookie with which it joined. */
static void
test_cookies(void)
{
	const union addr from = rig_addr(1000);
	const uint8_t *pass;
	uint8_t m[128], *p;

	start_switch(true, false, 5);
	pass = rig.job[0]->core.members.m[0].cookie;
	p = control_put_join(control_put(m, CONTROL_JOIN, 1, rig_xid++),
	    &(struct control_join){ .type = CONTROL_WORKER, .next = 5,
	    .elements = FLOATS * SEGMENTS });
	m[1] = CONTROL_HAS_COOKIE;
	cookie_make(&rig_plane.pl.rules.secret, &from, (const uint8_t *)
	    "nonce--A", rig_now, p);
	rigged_take(&rig_plane, &from, CONTROL_TOS, m, (size_t)(p - m) +
	    COOKIE_BYTES, rig_now);
	rig_flush();
	ok(memcmp(pass, p, TAG_COOKIE_BYTES) == 0,
	    "a member's tag depends on the cookie with which the member "
	    "joined");
	member[0] = (struct segment_tag){ 0 };
	join_member(0, 5);
	rigged_close(&rig_plane);
}

/*
 * Change each byte of a segment, send that of another member, an old one and so
 * on.
 */
static void
test_forged(void)
{
	uint8_t m[BYTES], other[BYTES], result_up[BYTES];
	struct segment_tag old;
	uint64_t heard_ns;
	size_t through = 0;

	start_switch(true, false, 5);
	make_segment(0, 5, 0, 1, m);
	heard_ns = rig.job[0]->core.members.m[0].last_packet_ns;
	rig_now += 1000000;
	for (size_t i = 0; i < BYTES; i++) {
		m[i] ^= 0x10;
		through += !was_dropped(0, SEG_TAGGED_TOS, m, BYTES);
		m[i] ^= 0x10;
	}
	ok(through == 0, "a segment with any of its %d bytes changed is "
	    "dropped, counted and not answered", BYTES);
	ok(rig.job[0]->core.members.m[0].last_packet_ns == heard_ns,
	    "a changed segment is no sign of life of its member");
	make_segment(1, 5, 0, 1e30f, other);
	ok(was_dropped(0, SEG_TAGGED_TOS, other, BYTES) &&
	    was_dropped(1, SEG_TAGGED_TOS, m, BYTES),
	    "swapped segments of two members are dropped, counted and not "
	    "answered");
	make_segment(0, 5, 0, 1e30f, other);
	ok(was_dropped(0, SEG_TOS, other, BYTES),
	    "a segment whose codepoint says that it has no tag is dropped");
	memmove(other + 8, other + 16, 4 * FLOATS);
	ok(was_dropped(0, SEG_TOS, other, BYTES - 8),
	    "a segment without a tag is dropped");
	old = member[0];
	memset(old.key.salt, 7, sizeof(old.key.salt));
	tag_key_set(&old.key, &file_key, old.key.salt);
	seg_put(other, 5, 1, 0);
	segment_tag_put(&old, other, other + 16, 4 * FLOATS);
	ok(was_dropped(0, SEG_TAGGED_TOS, other, BYTES),
	    "a segment of another run, under another salt, is dropped");
	old = member[0];
	old.job = 2;
	segment_tag_put(&old, other, other + 16, 4 * FLOATS);
	ok(was_dropped(0, SEG_TAGGED_TOS, other, BYTES), "of another job");
	old = member[0];
	old.newest[TAG_UP] += SEG_ITERATIONS;
	segment_tag_put(&old, other, other + 16, 4 * FLOATS);
	ok(was_dropped(0, SEG_TAGGED_TOS, other, BYTES),
	    "a segment of the same number 2^24 iterations later is dropped");
	give_segment(0, SEG_TAGGED_TOS, m, BYTES);
	make_segment(1, 5, 0, 2, other);
	give_segment(1, SEG_TAGGED_TOS, other, BYTES);
	ok(check_result(0) == 3, "the sum of the valid segments is exact");
	memcpy(result_up, rig_out[0].bytes, BYTES);
	ok(was_dropped(1, SEG_TAGGED_TOS, result_up, BYTES),
	    "a result does not count as a contribution");
	ok(!segment_tag_check(&member[1], SEG_TAGGED_TOS, other, BYTES),
	    "a contribution does not count as a result");
	rigged_close(&rig_plane);
}

/* Send a run of 64 segments, one of which is bad. */
static void
test_run(void)
{
	uint8_t m[BYTES];

	start_switch(true, false, 0);
	for (uint32_t i = 0; i < SEGMENTS; i++) {
		make_segment(0, 0, i, 1, m);
		m[20] ^= i == 32;
		give_segment(0, SEG_TAGGED_TOS, m, BYTES);
	}
	ok(rig_count(JOB_ADDED) == SEGMENTS - 1 &&
	    rig_count(JOB_BAD_TAG) == 1,
	    "of a run of 64 segments with one invalid segment, 63 are added "
	    "and 1 is counted");
	rigged_close(&rig_plane);
}

/* After iterations start again from 0, both sides continue to count epochs. */
static void
test_wrapped(void)
{
	const uint32_t last = SEG_ITERATIONS - 1;
	uint8_t m[BYTES];
	bool good = true;

	start_switch(true, false, last);
	for (uint32_t t = last; t != 2; t = seg_step(t, 1)) {
		make_segment(0, t, 0, 1, m);
		give_segment(0, SEG_TAGGED_TOS, m, BYTES);
		make_segment(1, t, 0, 2, m);
		give_segment(1, SEG_TAGGED_TOS, m, BYTES);
		good = good && check_result(0) == 3 && check_result(1) == 3;
	}
	ok(good && rig_count(JOB_BAD_TAG) == 0,
	    "after 2^24 iterations, tags on both sides belong to the next "
	    "epoch");
	rigged_close(&rig_plane);
}

/* Pushes of an asynchronous job have numbers of their own. */
static void
test_pushes(void)
{
	uint8_t m[BYTES];
	bool good = true;

	start_switch(true, true, 7);
	for (uint32_t k = 0; k < 6; k++) {
		make_segment(k % 2, SEG_ITERATIONS - 2 + k / 2, 0, (float)k, m);
		give_segment(k % 2, SEG_TAGGED_TOS, m, BYTES);
		if (k % 2 != 0)
			good = good && check_result(0) == (float)(2 * k - 1);
	}
	ok(good && rig_count(JOB_ADDED) == 6,
	    "the pushes of an asynchronous job have a counter of their own");
	make_segment(0, SEG_ITERATIONS - 2, 0, 1, m);
	give_segment(0, SEG_TAGGED_TOS, m, BYTES);
	ok(rig_count(JOB_ADDED) == 6, "and each once");
	rigged_close(&rig_plane);
}

/* Without a key, a stranger that reads no packets cannot forge a segment. */
static void
test_tokens(void)
{
	uint8_t m[BYTES];

	start_switch(false, false, 0);
	make_segment(0, 0, 0, 1, m);
	memset(m + 8, 0, TAG_BYTES);
	ok(was_dropped(0, SEG_TAGGED_TOS, m, BYTES),
	    "without a key, a segment without the member's nonce is dropped");
	make_segment(0, 0, 0, 1, m);
	give_segment(0, SEG_TAGGED_TOS, m, BYTES);
	make_segment(1, 0, 0, 2, m);
	give_segment(1, SEG_TAGGED_TOS, m, BYTES);
	ok(check_result(1) == 3 && memcmp(rig_out[0].bytes + 8, salt, 8) == 0,
	    "without a key, a segment with the nonce is added, and the sum "
	    "begins with the salt");
	rigged_close(&rig_plane);
}

int
main(void)
{
	test_honest();
	test_cookies();
	test_forged();
	test_run();
	test_wrapped();
	test_pushes();
	test_tokens();
	return tap_end();
}
