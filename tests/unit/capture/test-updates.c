/*
 * Test the updates in a capture: which are returned, with what time, and what
 * is counted instead.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "common/capture/updates.h"
#include "tests/unit/tap.h"

static char path[64];		/* path of a file in memory */

/*
 * Make a frame with an update of this cluster, or with regular traffic if it is
 * 0.
 */
static void
put_frame(struct pcapio_out *out, uint16_t cluster, uint64_t stamp_ns)
{
	const struct frame_flow flow = { .src = { 10, 0, 0, 1 },
	    .dst = { 10, 0, 0, 2 }, .sport = 1, .dport = 2 };
	const struct update u = { .kind = UPDATE_UPDATE, .cluster = cluster,
	    .merged = 1, .elements = 1 };
	uint8_t *p = pcapio_room(out);
	struct frame f;
	size_t at = frame_put(p, &flow, cluster == 0 ? 0 : UPDATE_TOS,
	    UPDATE_HEADER_BYTES + 4, &f);

	vec_set(update_put(p + at, &u), 0, cluster == 99 ? NAN : 1);
	frame_put_checksum(p, &f);
	if (cluster == 98)
		p[at + 10] ^= 1;
	at += UPDATE_HEADER_BYTES + 4;
	pcapio_commit(out, stamp_ns, (uint32_t)at, (uint32_t)at);
}

/*
 * Write packets from pairs of cluster and timestamp until a timestamp of 0,
 * then open the file.
 */
static struct updates
open_updates(const uint64_t *what)
{
	struct pcapio_out out;
	struct updates it;

	pcapio_create_or_exit(&out, path);
	for (; what[1] != 0; what += 2)
		put_frame(&out, (uint16_t)what[0], what[1]);
	if (pcapio_close(&out) == -1 || updates_open(&it, path) == -1)
		err(1, "%s", path);
	return it;
}

static bool
next_is(struct updates *it, uint16_t cluster, uint64_t stamp_ns)
{
	uint64_t t;
	struct update u;

	return updates_next(it, &t, &u) == 1 && t == stamp_ns &&
	    u.cluster == cluster;
}

static bool
ends_now(struct updates *it)
{
	uint64_t t;
	struct update u;

	return updates_next(it, &t, &u) == 0;
}

static void
sorts_out(void)
{
	static const uint64_t w[] = { 0, 10, 1, 20, 98, 30, 99, 40, 2, 50,
	    0, 60, 0, 0 };
	struct updates it = open_updates(w);

	ok(next_is(&it, 1, 20) && next_is(&it, 2, 50) && ends_now(&it),
	    "valid updates come in order, and nothing else comes");
	ok(it.regular == 2, "regular traffic is counted");
	ok(it.ignored[SOUNDNESS_CHECKSUM] == 1 &&
	    it.ignored[UPDATE_NONFINITE] == 1 && updates_ignored(&it) == 2,
	    "each other packet is counted under its reason");
	ok(it.first_ns == 10 && it.last_ns == 60,
	    "the first and the last timestamp are those of any packet");
	ok(it.backwards == 0, "no timestamp went back");
	updates_close(&it);
}

static void
test_backwards(void)
{
	static const uint64_t w[] = { 1, 100, 2, 99, 3, 50, 4, 100, 5, 101,
	    0, 0 };
	struct updates it = open_updates(w);

	ok(next_is(&it, 1, 100) && next_is(&it, 2, 100) &&
	    next_is(&it, 3, 100) && next_is(&it, 4, 100) &&
	    next_is(&it, 5, 101) && ends_now(&it),
	    "a timestamp that goes back counts as the previous one");
	ok(it.backwards == 2 && it.backwards_at == 2,
	    "timestamps that go back are counted, and the number of the first "
	    "is known");
	updates_close(&it);
}

static void
test_until(void)
{
	static const uint64_t w[] = { 1, 100, 2, 200, 3, 201, 0, 0 };
	static const uint64_t none[] = { 0, 0 };
	struct updates it = open_updates(w);

	it.until_ns = 200;
	ok(next_is(&it, 1, 100) && next_is(&it, 2, 200) && ends_now(&it) &&
	    it.last_ns == 200, "packets with a timestamp after the end are not "
	    "read");
	updates_close(&it);
	it = open_updates(none);
	ok(ends_now(&it) && it.in.packets == 0 && updates_ignored(&it) == 0,
	    "a capture without a packet has no update");
	updates_close(&it);
	ok(updates_open(&it, "/nonexistent/x.pcap") == -1 &&
	    it.in.why[0] != '\0', "a missing file gives an error");
}

static void
cut_file(void)
{
	static const uint64_t w[] = { 1, 100, 2, 200, 0, 0 };
	struct updates it = open_updates(w);
	struct update u;
	uint64_t t;

	updates_close(&it);
	if (truncate(path, 24 + 2 * (16 + FRAME_V4_BYTES + 36) - 1) == -1 ||
	    updates_open(&it, path) == -1)
		err(1, "%s", path);
	ok(next_is(&it, 1, 100) && updates_next(&it, &t, &u) == -1 &&
	    it.in.packets == 1 && it.in.why[0] != '\0',
	    "a file that was cut gives its complete packets and then the "
	    "reason");
	updates_close(&it);
}

static void
far_stamps(void)
{
	struct updates it = { .in.packets = 1 };
	struct pcapio_packet p = { .stamp_ns = UINT64_MAX };

	ok(updates_stamp(&it, &p) == INT64_MAX && it.first_ns == INT64_MAX,
	    "a timestamp past 2^63 counts as the last before it");
	p.stamp_ns = INT64_MAX - 1ull;
	ok(updates_stamp(&it, &p) == INT64_MAX - 1ull,
	    "a timestamp before 2^63 counts as it is");
}

int
main(void)
{
	int fd = memfd_create("capture", 0);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	sorts_out();
	test_backwards();
	test_until();
	cut_file();
	far_stamps();
	return tap_end();
}
