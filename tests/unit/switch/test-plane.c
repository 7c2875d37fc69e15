/*
 * Unit tests of plane.h and receive.h, with a program whose behaviour is set by
 * the tests, and a driver that logs each event as "time event".
 */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "common/switch/receive.h"
#include "tests/unit/tap.h"

enum { FAKE_TOS = 0x40, BYTES = 100 };

/*
 * The program: its class of packets, its deadlines, and the address of its
 * posts.
 */
struct fake {
	const struct program_env *env;
	enum packet_class claim;
	uint64_t due[4];		/* deadlines in order, until 0 */
	unsigned fired;
	bool bad;			/* it counts a packet as ignored */
	int repeat;			/* datagrams to send for a packet */
	enum post_to to;
	unsigned asked;			/* control requests */
	uint16_t replies;		/* an enum program_reply */
};

static char happened[4096];

static void __attribute__((format(printf, 1, 2)))
log_event(const char *fmt, ...)
{
	const size_t at = strlen(happened);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(happened + at, sizeof(happened) - at, fmt, ap);
	va_end(ap);
}

/* Did exactly these events happen since the last call? */
static bool
events_were(const char *what)
{
	const bool same = strcmp(happened, what) == 0;

	if (!same)
		note("'%s', not '%s'", happened, what);
	happened[0] = '\0';
	return same;
}

static bool
fake_init_state(void *state, const void *conf, const struct program_env *env)
{
	struct fake *f = state;

	(void)conf;
	*f = (struct fake){ .env = env, .claim = PACKET_FOR_PROGRAM };
	return true;
}

static enum packet_class
fake_classify(void *state, struct packet *p)
{
	(void)p;
	return ((struct fake *)state)->claim;
}

static uint8_t bytes[65536];

static void
fake_receive(void *state, struct packet *p, uint64_t now_ns)
{
	struct fake *f = state;

	log_event("%d take\n", (int)now_ns);
	if (f->bad)
		f->env->count_ignored(f->env->plane, UPDATE_SHORT);
	for (int i = 0; i < f->repeat; i++)
		outbox_add(f->env->out, f->to, 3, p->from, FAKE_TOS,
		    bytes + (size_t)i * p->bytes, p->bytes);
}

static uint64_t
fake_deadline_ns(const void *state)
{
	const struct fake *f = state;

	return f->due[f->fired] == 0 ? PROGRAM_NEVER : f->due[f->fired];
}

static void
fake_on_deadline(void *state, uint64_t now_ns)
{
	struct fake *f = state;

	f->fired++;
	log_event("%d fire\n", (int)now_ns);
}

/* Groups have two members, at ports 1 and 2; the parent is port 9. */
static const union addr *
fake_each_member(
    const void *state, uint32_t group, uint32_t *next, uint64_t now_ns)
{
	static union addr a;

	(void)state;
	(void)now_ns;
	a = (union addr){ .in = { .sin_family = AF_INET,
	    .sin_addr = { htonl(0x0a000000 + ++*next) } } };
	return group != 3 || *next > 2 ? NULL : &a;
}

static const union addr *
fake_parent_address(const void *state, uint32_t group, uint32_t *socket)
{
	static const union addr a = { .in = { .sin_family = AF_INET,
	    .sin_port = 9 } };

	(void)state;
	*socket = group + 1;
	return &a;
}

static enum program_reply
fake_handle_request(void *state, const union addr *from,
    const struct control *c, struct control_ack *a, uint64_t now_ns)
{
	struct fake *f = state;

	(void)from;
	(void)c;
	(void)now_ns;
	f->asked++;
	a->status = f->asked == 2 ? CONTROL_REFUSED : CONTROL_DONE;
	return (enum program_reply)f->replies;
}

static bool
fake_put_counters(const void *state, int32_t job, bool gauges,
    struct counters *c, uint64_t now_ns)
{
	(void)now_ns;
	if (!gauges)
		counters_put(c, "asked", ((const struct fake *)state)->asked);
	return job < 0;
}

static struct program fake = {
	.name = "fake", .state_bytes = sizeof(struct fake),
	.init_state = fake_init_state, .classify = fake_classify,
	.receive = fake_receive, .deadline_ns = fake_deadline_ns,
	.on_deadline = fake_on_deadline, .each_member = fake_each_member,
	.parent_address = fake_parent_address,
	.handle_request = fake_handle_request, .put_counters = fake_put_counters
};

static void
on_send_run(void *ctx, uint32_t socket, const union addr *from,
    const union addr *to, const struct post *p, uint64_t now_ns)
{
	(void)ctx;
	(void)from;
	log_event("%d send %u.%u:%u %u*%u\n", (int)now_ns, socket,
	    ntohl(to->in.sin_addr.s_addr) & 255, to->in.sin_port, p->count,
	    p->bytes);
}

static void
on_send_slot(void *ctx, struct port *port, struct slot *s, uint64_t when_ns)
{
	(void)ctx;
	log_event("%d leave %u %u\n", (int)when_ns, port->index, s->have);
}

static void
on_forward_packet(void *ctx, struct packet *p, uint64_t now_ns)
{
	(void)ctx;
	log_event("%d pass %u\n", (int)now_ns, p->bytes);
}

static uint64_t late_ns;	/* delay of the clock */

static uint64_t
on_clock(void *ctx)
{
	return ((struct plane *)ctx)->port_due_ns + late_ns;
}

static const struct plane_driver driver = { .send_run = on_send_run,
	.send_slot = on_send_slot, .forward_packet = on_forward_packet };
static const struct plane_driver late = {
	.send_run = on_send_run, .send_slot = on_send_slot,
	.forward_packet = on_forward_packet, .clock_ns = on_clock
};

static struct plane_conf
make_conf(uint64_t rate_bps)
{
	return (struct plane_conf){ .program = &fake, .place.live = true,
	    .ports.all = { .rate_bps = rate_bps, .threshold = NAN,
	    .active_window_ns = 1 } };
}

static struct plane pl;

static struct fake *
open_plane(const struct plane_conf *cf, const struct plane_driver *d)
{
	happened[0] = '\0';
	if (!plane_init(&pl, cf, d, &pl))
		abort();
	return pl.state;
}

/* Receive a packet of n bytes at now_ns, from a host. */
static void
receive_packet(uint64_t now_ns, uint32_t n, unsigned host)
{
	const union addr from = { .in = { .sin_family = AF_INET,
	    .sin_addr = { htonl(0x0a000000 + host) } } };
	const union addr to = { .in = { .sin_family = AF_INET,
	    .sin_addr = { htonl(0x0a0000ff) } } };
	struct packet p = { .from = &from, .to = &to, .tos = FAKE_TOS,
	    .payload = bytes, .bytes = n, .wire_bytes = n + FRAME_V4_BYTES };

	plane_advance(&pl, now_ns);
	plane_receive_impaired(&pl, &p);
	plane_flush(&pl);
}

/* Is each packet counted exactly once? */
static bool
counts_add_up(void)
{
	const uint64_t *n = pl.n;

	return n[PLANE_PACKETS] == n[PLANE_TAKEN] + n[PLANE_OWN] +
	    n[PLANE_REGULAR] + n[PLANE_PASSED] + n[PLANE_IGNORED];
}

static void
test_classes(void)
{
	const struct plane_conf cf = make_conf(0);
	struct fake *f = open_plane(&cf, &driver);

	receive_packet(5, BYTES, 1);
	f->claim = PACKET_FROM_PROGRAM;
	receive_packet(6, BYTES, 1);
	f->claim = PACKET_REGULAR;
	receive_packet(7, BYTES, 1);
	f->claim = PACKET_BETWEEN_OTHERS;
	receive_packet(8, BYTES, 1);
	f->claim = PACKET_FOR_PROGRAM;
	f->bad = true;
	receive_packet(9, BYTES, 1);
	ok(events_were("5 take\n7 pass 100\n8 pass 100\n9 take\n"),
	    "the program takes its own packets, and others pass");
	ok(counts_add_up() && pl.n[PLANE_PACKETS] == 5 &&
		pl.n[PLANE_TAKEN] == 1 && pl.n[PLANE_OWN] == 1 &&
		pl.n[PLANE_REGULAR] == 1 && pl.n[PLANE_PASSED] == 1 &&
		pl.n[PLANE_IGNORED] == 1 && pl.ignored[UPDATE_SHORT] == 1,
	    "each packet is counted once");
	plane_free(&pl);
}

static void
test_forwarding(void)
{
	const struct plane_conf cf = make_conf(0);
	struct fake *f = open_plane(&cf, &driver);

	f->repeat = 3;
	receive_packet(1, BYTES, 1);
	f->to = POST_GROUP;
	receive_packet(2, BYTES, 1);
	f->to = POST_PARENT;
	receive_packet(3, BYTES, 1);
	ok(events_were(
	       "1 take\n1 send 0.1:0 3*100\n2 take\n2 send 0.1:0 3*100\n"
	       "2 send 0.2:0 3*100\n3 take\n3 send 4.0:9 3*100\n"),
	    "a run goes to one member, to each member of a group, or to the "
	    "parent");
	f->to = POST_ONE;
	f->repeat = 1;
	receive_packet(4, PLANE_V4_MAX, 1);
	receive_packet(5, PLANE_V4_MAX + 1, 1);
	ok(events_were("4 take\n4 send 0.1:0 1*65507\n5 take\n") &&
	    pl.n[PLANE_TOO_LONG] == 1 && pl.n[PLANE_OUT] == 13,
	    "a packet too long for a datagram is counted and not sent");
	plane_free(&pl);
}

/* 1 Gbit/s: a frame of 100 bytes of payload takes 1136 ns. */
enum { TIME = (BYTES + FRAME_V4_BYTES) * 8 };

static void
test_order(void)
{
	const struct plane_conf cf = make_conf(1000000000);
	struct fake *f = open_plane(&cf, &driver);

	f->repeat = 2;
	f->due[0] = TIME;
	f->due[1] = f->due[2] = TIME + 1;
	receive_packet(0, BYTES, 1);
	f->repeat = 0;
	ok(plane_deadline_ns(&pl) == TIME &&
		plane_port_deadline_ns(&pl) == TIME &&
		plane_program_deadline_ns(&pl) == TIME,
	    "the plane has a deadline");
	receive_packet(2 * TIME, BYTES, 1);
	ok(events_were(
	       "0 take\n1136 leave 0 100\n1136 fire\n1137 fire\n1137 fire\n"
	       "2272 leave 0 100\n2272 take\n"),
	    "at one instant, departures come first, then timeouts, then "
	    "arrivals");
	ok(plane_deadline_ns(&pl) == PLANE_NEVER && pl.n[PLANE_OUT] == 0 &&
	    pl.ports.port[0]->n[PORT_PROGRAM].sent == 2,
	    "in the end nothing is left");
	f->fired = 0;
	f->due[0] = 5;
	f->due[1] = 0;
	plane_advance(&pl, 3 * TIME);
	ok(events_were("2272 fire\n"), "a time-out in the past is now");
	plane_free(&pl);
}

/* A live driver may be late, but the link keeps its schedule. */
static void
test_lateness(void)
{
	const struct plane_conf cf = make_conf(1000000000);
	struct fake *f = open_plane(&cf, &late);

	f->repeat = 3;
	receive_packet(0, BYTES, 1);
	late_ns = 500;
	plane_advance(&pl, TIME);
	late_ns = 7;
	plane_advance(&pl, 3 * TIME);
	late_ns = 0;
	ok(events_were("0 take\n1636 leave 0 100\n2279 leave 0 100\n"
	    "3415 leave 0 100\n") && pl.late_max_ns == 500,
	    "a frame that leaves late does not delay the next one");
	plane_free(&pl);
}

static void
test_regular(void)
{
	struct plane_conf cf = make_conf(1000000000);
	struct fake *f;

	for (int queued = 0; queued < 2; queued++) {
		cf.regular_queued = queued != 0;
		f = open_plane(&cf, &driver);
		f->claim = PACKET_REGULAR;
		receive_packet(0, BYTES, 1);
		plane_advance(&pl, TIME);
		ok(events_were(queued ? "1136 leave 0 0\n" : "0 pass 100\n") &&
		    pl.n[PLANE_REGULAR] == 1, "regular traffic %s",
		    queued ? "waits" : "passes");
		plane_free(&pl);
	}
}

static void
test_slots(void)
{
	struct plane_conf cf = make_conf(1000000000);
	struct fake *f;

	cf.ports.all.slots = 3;
	f = open_plane(&cf, &driver);
	f->repeat = 5;
	receive_packet(0, BYTES, 1);
	plane_advance(&pl, TIME);
	plane_count_queued(&pl);
	ok(pl.ports.port[0]->n[PORT_PROGRAM].dropped == 2 &&
	    pl.ports.port[0]->n[PORT_PROGRAM].sent == 1 &&
	    pl.ports.port[0]->n[PORT_PROGRAM].queued == 2,
	    "frames are sent, dropped or queued in the end");
	plane_free(&pl);
}

static void
test_impaired(void)
{
	struct plane_conf cf = make_conf(0);

	impair_parse("loss=1", &cf.impair);
	cf.impair.rng = rng_seed(1);
	open_plane(&cf, &driver);
	receive_packet(0, BYTES, 1);
	ok(events_were("") && pl.n[PLANE_PACKETS] == 0 &&
		pl.n[PLANE_IN_LOST] == 1,
	    "a packet that was lost on the way in does not count as arrived");
	plane_free(&pl);
	cf.impair = (struct impair){ .rng = rng_seed(1) };
	impair_parse("dup=1", &cf.impair);
	open_plane(&cf, &driver);
	receive_packet(0, BYTES, 1);
	ok(events_were("0 take\n0 take\n") && pl.n[PLANE_PACKETS] == 2 &&
	    pl.n[PLANE_IN_DUPLICATED] == 1, "a packet that was duplicated "
	    "arrives twice");
	plane_free(&pl);
}

/* Receive a request at the switch's own address. */
static void
send_request(const struct plane_conf *cf, enum control_action action,
    uint32_t xid, size_t body, unsigned host)
{
	const union addr from = { .in = { .sin_family = AF_INET,
	    .sin_addr = { htonl(0x0a000000 + host) } } };
	uint8_t msg[64] = { 0 };
	struct packet p = { .from = &from, .to = &cf->place.address,
	    .tos = CONTROL_TOS, .payload = msg };

	p.bytes = (uint32_t)(control_put(msg, action, 1, xid) - msg + body);
	plane_receive(&pl, &p);
	plane_flush(&pl);
}

static void
test_control(void)
{
	struct plane_conf cf = make_conf(0);
	struct fake *f;

	cf.place.address = (union addr){ .in = { .sin_family = AF_INET,
	    .sin_port = htons(9) } };
	f = open_plane(&cf, &driver);
	f->claim = PACKET_REGULAR;
	send_request(&cf, CONTROL_HALT, 7, 0, 1);
	happened[0] = '\0';
	send_request(&cf, CONTROL_HALT, 7, 0, 1);
	send_request(&cf, CONTROL_HALT, 6, 0, 1);
	ok(f->asked == 1 && strchr(happened, '\n') != NULL &&
	    strchr(happened, '\n')[1] == '\0' &&
	    pl.controls[CONTROLS_REPEATED] == 1 &&
	    pl.controls[CONTROLS_OLD_XID] == 1,
	    "a request is executed once: a copy is answered, an older one is "
	    "dropped");
	send_request(&cf, CONTROL_HALT, 7, 0, 2);
	ok(f->asked == 2 && pl.controls[CONTROLS_REFUSED] == 1,
	    "an xid belongs to its sender, and refused requests are counted");
	happened[0] = '\0';
	f->replies = PROGRAM_LATER;
	send_request(&cf, CONTROL_JOIN, 8, 0, 1);
	ok(f->asked == 3 && events_were(""), "a request can be answered later");
	f->replies = PROGRAM_ANSWERED;
	send_request(&cf, CONTROL_JOIN, 8, 0, 1);
	ok(f->asked == 4 && happened[0] != '\0',
	    "a repeated request is executed");
	f->replies = PROGRAM_UNKNOWN;
	send_request(&cf, CONTROL_REGROUP, 9, 0, 1);
	ok(pl.controls[CONTROLS_REFUSED] == 2, "a request for an unknown "
	    "action is refused");
	send_request(&cf, CONTROL_ACK, 10, 0, 1);
	ok(pl.controls[CONTROLS_ACKS] == 1, "an Ack is not a request");
	happened[0] = '\0';
	send_request(&cf, CONTROL_STATS, 11, 0, 1);
	ok(pl.controls[CONTROLS_REFUSED] == 3 && happened[0] != '\0',
	    "Stats without a page is refused");
	happened[0] = '\0';
	send_request(&cf, CONTROL_JOBS, 12, 2, 1);
	ok(pl.controls[CONTROLS_REFUSED] == 3 && happened[0] != '\0',
	    "Jobs is answered although the program reports none");
	send_request(&cf, CONTROL_MEMBERS, 13, 2, 1);
	send_request(&cf, CONTROL_JOBS, 14, 1, 1);
	ok(pl.controls[CONTROLS_REFUSED] == 5,
	    "Members of a missing job, and a truncated number, are refused");
	ok(counts_add_up() && pl.n[PLANE_TAKEN] == pl.n[PLANE_PACKETS] &&
	    pl.controls[CONTROLS_TAKEN] == 12, "all requests are counted");
	plane_free(&pl);
}

int
main(void)
{
	test_classes();
	test_forwarding();
	test_order();
	test_lateness();
	test_regular();
	test_slots();
	test_impaired();
	test_control();
	return tap_end();
}
