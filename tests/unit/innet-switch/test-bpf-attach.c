/*
 * Test that the programs at hooks load on this kernel, through tcx, clsact and
 * XDP. They take marked packets while a process sends heartbeats, and let them
 * pass otherwise.
 */
#include "config.h"

#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "cmd/innet-switch/inpath/egress-tap.h"
#include "cmd/innet-switch/inpath/bpf-attach.h"
#include "cmd/innet-switch/inpath/netport-tap.h"
#include "cmd/innet-switch/inpath/netport-xdp.h"
#include "cmd/innet-switch/inpath/bpf-classifier.h"
#include "tests/unit/tap.h"

enum { PORT = 46638, LOOPBACK = 1 };

static bool
bring_loopback_up(void)
{
	struct ifreq r = { .ifr_flags = IFF_UP | IFF_RUNNING,
	    .ifr_name = "lo" };
	const int s = socket(AF_INET, SOCK_DGRAM, 0);
	const bool good = ioctl(s, SIOCSIFFLAGS, &r) == 0;

	close(s);
	return good;
}

/* Does a datagram to this process with that ToS arrive? */
static bool
datagram_arrives(int tos)
{
	const struct sockaddr_in at = { .sin_family = AF_INET,
	    .sin_port = htons(PORT),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const int to = socket(AF_INET, SOCK_DGRAM, 0),
	    from = socket(AF_INET, SOCK_DGRAM, 0);
	struct pollfd p = { .fd = to, .events = POLLIN };
	bool got;

	if (bind(to, (const struct sockaddr *)&at, sizeof(at)) != 0)
		return false;
	setsockopt(from, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
	sendto(from, "12345678", 8, 0, (const struct sockaddr *)&at,
	    sizeof(at));
	got = poll(&p, 1, 0) == 1;	/* the loopback has no queue, so the
					 * datagram is there at once */
	close(to);
	close(from);
	return got;
}

/*
 * Was this process so slow after the heartbeat that the programs let packets
 * pass?
 */
static bool
was_delayed(uint64_t beat_ns)
{
	return timer_mono_ns() - beat_ns >= BPF_CLASSIFIER_OPEN_NS;
}

/* After a heartbeat, does the program select marked frames and no others? */
static bool
selects_marked(struct bpf_classifier *s)
{
	uint64_t beat_ns;
	bool good;

	do {
		beat_ns = timer_mono_ns();
		bpf_classifier_beat(s);
		good = !datagram_arrives(SEG_TOS) && datagram_arrives(0);
	} while (!good && was_delayed(beat_ns));
	return good;
}

/* Test a program at the hook of the loopback, by tcx or as a filter. */
static void
test_hook(struct bpf_classifier *s, bool filter)
{
	static const uint8_t own[6] = { 0 };
	const char *how = filter ? "clsact" : "tcx";
	struct bpf_attach h = bpf_attach_none;

	ok((filter ? bpf_attach_as_filter(&h, s->of_hook, LOOPBACK, false) :
	    bpf_attach_program(&h, s->of_hook, LOOPBACK, false)) == 0,
	    "a program can be attached by %s", how);
	bpf_classifier_set_own(s, own, PORT);
	ok(datagram_arrives(SEG_TOS), "without heartbeats the program lets all "
	    "packets pass");
	ok(selects_marked(s), "the program takes marked packets and no others");
	bpf_classifier_release_all(s);
	ok(datagram_arrives(SEG_TOS), "after the program is detached all "
	    "packets pass");
	if (filter) {		/* a killed process has left its filter */
		ok(bpf_attach_as_filter(&h, s->of_hook, LOOPBACK, false) ==
			0,
		    "the next process replaces the filter of a killed process");
	}
	bpf_attach_detach(&h);
	bpf_classifier_beat(s);
	ok(datagram_arrives(SEG_TOS) && !bpf_attach_is_attached(&h),
	    "a closed program is gone");
	bpf_classifier_release_all(s);
}

/* Is a run of two datagrams segmented by the loopback? */
static bool
segments_run(struct netport *p, struct netport_in *in)
{
	static const struct frame_flow flow = { .src = { 127, 0, 0, 1 },
	    .dst = { 127, 0, 0, 1 }, .sport = 9, .dport = PORT };
	static const char bytes[] = "abcdefghijk";
	static struct netport_out o;
	uint8_t own[FRAME_V4_BYTES];
	struct iovec piece[2] = { { own, sizeof(own) },
	    { (char *)(uintptr_t)bytes, 12 } };
	struct virtio_net_hdr v;
	struct frame fr, one;
	bool good;

	frame_put(own, &flow, SEG_TOS, 12, &fr);
	memset(own, 0, 12);		/* the loopback's addresses */
	netport_write_headers(own, own, &fr, 0, 12, 8, &one, &v);
	netport_queue_frame(&o, p, &v, piece, 2);
	netport_flush(&o, 1);
	good = p->failed == 0 && netport_xdp_receive(p, in) == 2;
	for (int k = 0; k < 2 && good; k++) {
		const struct netport_frame *f = &in->got[k];
		const uint32_t n = k == 0 ? 8 : 4;

		good = frame_parse(FRAME_ETHERNET, f->data, f->len, f->len,
		    &fr) == FRAME_UDP && fr.payload_bytes == n &&
		    memcmp(f->data + fr.payload_at, bytes + k * 8, n) == 0 &&
		    frame_sums(f->data, &fr) == FRAME_SUMS_RIGHT &&
		    f->head.flags == 0;
	}
	return good;
}

/* Does a marked datagram arrive by XDP, with a checksum to complete? */
static bool
completes_checksum(struct netport *p, struct netport_in *in)
{
	return !datagram_arrives(SEG_TOS) && netport_xdp_receive(p, in) == 1 &&
	    !in->more && in->got[0].len == FRAME_V4_BYTES + 8 &&
	    memcmp(in->got[0].data + FRAME_V4_BYTES, "12345678", 8) == 0 &&
	    in->got[0].head.csum_start == 34;
}

/* Run a test n times, each after a heartbeat, and repeat it after a delay. */
static bool
repeat(int n, struct bpf_classifier *s, bool (*what)(struct netport *,
    struct netport_in *), struct netport *p, struct netport_in *in)
{
	while (n > 0) {
		const uint64_t beat_ns = timer_mono_ns();

		bpf_classifier_beat(s);
		if (what(p, in))
			n--;
		else if (!was_delayed(beat_ns))
			return false;
	}
	return true;
}

/* Test a port by XDP; the loopback supports only generic mode. */
static void
test_xdp(struct bpf_classifier *s)
{
	struct netport p = { .kind = &netport_xdp, .index = LOOPBACK, .fd = -1,
	    .hook = { .link = -1 }, .back = { .link = -1 } };
	struct netport_in in;

	if (netport_xdp_open(&p, s) != 0 && errno == EAFNOSUPPORT) {
		ok(true, "a port opens by XDP # SKIP no AF_XDP");
		return;
	}
	ok(bpf_attach_is_attached(&p.hook) && netport_in_init(&in),
	    "a port opens by XDP: "
	    "%s",
	    netport_describe(&p));
	ok(datagram_arrives(SEG_TOS), "without heartbeats the port lets all "
	    "packets pass");
	/* more often than there is room for frames */
	ok(repeat(NETPORT_XDP_COME + 100, s, completes_checksum, &p, &in),
	    "a run leaves as datagrams, each with its headers completed");
	ok(datagram_arrives(0), "no frame was lost");
	ok(repeat(NETPORT_XDP_LEAVE, s, segments_run, &p, &in),
	    "a run leaves in datagrams, each finished");
	bpf_classifier_release_all(s);
	ok(netport_xdp_count_drops(&p) == 0, "a closed port is gone");
	netport_close(&p);
	bpf_classifier_beat(s);
	ok(datagram_arrives(SEG_TOS) && p.fd == -1 && p.xdp == NULL,
	    "it is gone when closed");
	bpf_classifier_release_all(s);
	ok(netport_xdp_open(&p, s) == 0, "the port can be opened again");
	netport_close(&p);
	free(in.bytes);
}

int
main(void)
{
	static const struct bpf_classifier_rules what[] = { { .all = true },
	    { .passing = true, .marked = true, .tagged = true },
	    { .passing = true, .marked = true }, { .marked = true } };
	struct egress_tap d;
	struct netport p = { .index = LOOPBACK, .fd = -1,
	    .hook = { .link = -1 }, .back = { .link = -1 } };
	struct bpf_classifier s;

	if (unshare(CLONE_NEWNET) != 0 || !bring_loopback_up()) {
		printf("1..0 # SKIP no network namespace\n");
		return 0;
	}
	for (size_t i = 0; i < 4; i++) {
		if (bpf_classifier_open(&s, &what[i]) != 0) {
			printf("1..0 # SKIP no programs here\n");
			return 0;
		}
		if (i < 3)
			bpf_classifier_close(&s);
	}
	test_hook(&s, false);
	test_hook(&s, true);
	ok(egress_tap_open(&d, &s, LOOPBACK, -1) == 0,
	    "a tap at the egress can be opened");
	egress_tap_close(&d);
	ok(netport_tap_open(&p, &s) == 0 && bpf_attach_is_attached(&p.hook) &&
	    bpf_attach_is_attached(&p.back), "a port can be opened with a tap "
	    "device");
	netport_close(&p);
	test_xdp(&s);
	bpf_classifier_close(&s);
	return tap_end();
}
