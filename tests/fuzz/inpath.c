/*
 * Fuzz a frame that a switch in the path receives: the ten bytes of its
 * virtio_net header, then the frame.  The two ports are ends of socket pairs.
 */
#include <fcntl.h>

#include "cmd/innet-switch/inpath/inpath.h"
#include "common/olaf/program.h"
#include "tests/fuzz/fuzz.h"

enum { HEAD = sizeof(struct virtio_net_hdr), MOST = 65536 };

static struct inpath ip;
static struct plane pl;
static struct serve_conf sc;
static struct olaf_conf olaf;
static struct inpath_conf bridge;
static struct plane_conf conf = { .program = &olaf_program,
    .settings = &olaf };
static uint8_t came[NETPORT_GAP + MOST], left[HEAD + MOST];
static int other;

/* Make a switch with two ports, as if it had been opened. */
static void
begin(void)
{
	static const uint8_t to[6] = { 2, 0, 10, 255, 255, 1 };
	int pair[2];

	conf.place.live = conf.place.in_path = true;
	conf.ports.all = (struct port_conf){ .queue = PORT_OLAF, .slots = 8,
	    .rate_bps = 1000000000000, .threshold = NAN,
	    .active_window_ns = 1000000000 };
	ip.serve = (struct serve){ .cf = &sc, .clock = clock_start(),
	    .pl = &pl };
	must(plane_init(&pl, &conf, &inpath_driver, &ip), "memory");
	ip.pl = &pl;
	ip.cf = &bridge;
	ip.asked = true;
	for (uint32_t k = 0; k < INPATH_PORTS; k++)
		ip.port[k].fd = -1;
	must(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair) == 0,
	    "sockets");
	other = pair[1];
	for (uint32_t k = 0; k < 2; k++) {
		const uint32_t n = ports_make_port(&pl.ports, &conf.ports.all);

		must(n != PORTS_NONE, "memory");
		ip.port[k].kind = &netport_packet;
		ip.port[k].fd = pair[0];
		ip.port[k].up = ip.port[k].forwards = true;
		ip.port[k].port = pl.ports.port[n];
	}
	ip.other_port = ip.port[0].port;
	stations_set_port(&ip.stations, to, 1);
}

/* Check that frames that left have the headers that they need. */
static void
look(size_t len)
{
	struct virtio_net_hdr v;
	struct frame fr;
	ssize_t n;

	while ((n = recv(other, left, sizeof(left), 0)) > 0) {
		must(n >= HEAD + FRAME_ETH_BYTES, "what leaves is a frame");
		must((size_t)n <= HEAD + len, "and no longer than what came");
		memcpy(&v, left, HEAD);
		if ((v.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) == 0 ||
		    frame_parse(FRAME_ETHERNET, left + HEAD,
		    (size_t)n - HEAD, (size_t)n - HEAD, &fr) != FRAME_UDP)
			continue;
		must(fr.payload_bytes <= len, "its payload is what came");
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct netport_frame f = { .data = came + NETPORT_GAP };

	if (ip.pl == NULL)
		begin();
	if (len < HEAD + FRAME_ETH_BYTES || len > HEAD + MOST)
		return 0;
	memcpy(&f.head, p, HEAD);
	f.len = (uint32_t)(len - HEAD);
	memcpy(f.data, p + HEAD, f.len);
	f.stamp_ns = timer_wall_ns();
	inpath_receive_frame(&ip, &ip.port[0], &f);
	plane_flush(&pl);
	netport_flush(&ip.out, 0);
	serve_advance(&ip.serve, clock_now(&ip.serve.clock) + 1000000);
	look(f.len);
	must(pl.n[PLANE_TAKEN] + pl.n[PLANE_OWN] + pl.n[PLANE_REGULAR] +
	    pl.n[PLANE_PASSED] + pl.n[PLANE_IGNORED] == pl.n[PLANE_PACKETS],
	    "every packet is counted once");
	return 0;
}
