/* Unit tests of ports.h: parsing of rules, choice of rules, and memory. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/switch/ports.h"
#include "tests/unit/tap.h"

static union addr
make_host(const char *s)
{
	union addr a = { 0 };

	if (addr_parse(s, "0", &a) != NULL)
		abort();
	return a;
}

/* Is the rule s refused with this error, and not added? */
static bool
is_refused(const char *s, const char *why)
{
	static struct ports_conf cf;
	const char *got = ports_add_rule(&cf, s);

	if (got == NULL || strcmp(got, why) != 0)
		note("%s: %s", s, got == NULL ? "taken" : got);
	return got != NULL && strcmp(got, why) == 0 && cf.rules == 0;
}

static bool
add_rule(struct ports_conf *cf, const char *s)
{
	const char *got = ports_add_rule(cf, s);

	if (got != NULL)
		note("%s: %s", s, got);
	return got == NULL;
}

static void
test_parser(void)
{
	static struct ports_conf cf;
	const struct ports_rule *r = cf.rule;

	ok(add_rule(&cf, "10.0.0.7:rate=20Mbit,slots=5,queue=olaf") &&
	    r->bits == 32 && !r->shares && addr_port(&r->at) == 0 &&
	    r->conf.rate_bps == 20000000 && r->conf.slots == 5 &&
	    r->conf.queue == PORT_OLAF, "a rule for a host can have all "
	    "settings");
	ok(add_rule(&cf, "127.0.0.7:9:rate=1") && addr_port(&r[1].at) == 9 &&
	    r[1].conf.rate_bps == 1 && !r[1].has_slots && !r[1].has_queue,
	    "a rule for a host can have a port");
	ok(add_rule(&cf, "10.0.1.0/24:rate=1G") && r[2].bits == 24 &&
	    r[2].shares, "a rule can be for a prefix");
	ok(add_rule(&cf, "0.0.0.0/0:slots=1") && r[3].bits == 0,
	    "a prefix can have no bits");
	ok(add_rule(&cf, "fd00::1:rate=3") && r[4].bits == 128 &&
	    r[4].at.sa.sa_family == AF_INET6 &&
	    add_rule(&cf, "[fd00::1]:rate=3") && r[5].bits == 128 &&
	    add_rule(&cf, "[::1]:7:rate=3") && addr_port(&r[6].at) == 7 &&
	    add_rule(&cf, "fd00::/16:rate=3") && r[7].bits == 16 && r[7].shares,
	    "an IPv6 host can have brackets or not");
	for (int i = 8; i < PORTS_RULES_MAX; i++)
		add_rule(&cf, "10.0.0.7:rate=1");
	ok(cf.rules == PORTS_RULES_MAX && ports_add_rule(&cf,
	    "10.0.0.7:rate=1") != NULL && cf.rules == PORTS_RULES_MAX,
	    "there are at most 64 rules");
}

static void
test_nonsense(void)
{
	const char *form = "not HOST:rate=RATE,slots=N,queue=NAME";
	const char *word = "not rate=, slots= or queue=";
	char s[400];

	ok(is_refused("", form) && is_refused("10.0.0.7", form) &&
	    is_refused(":rate=1", form) && is_refused("rate=1", form) &&
	    is_refused("10.0.0.7:rate", form), "a rule without the right form "
	    "is refused");
	memset(s, '1', sizeof(s));
	snprintf(s + 128, sizeof(s) - 128, ":rate=1");
	ok(is_refused(s, form), "a host that is too long is refused");
	snprintf(s, sizeof(s), "10.0.0.7:rate=%0200d", 1);
	ok(is_refused(s, "item too long"), "a value too long");
	ok(is_refused("10.0.0.7:rats=1", word) &&
	    is_refused("10.0.0.7:rate=1,", word) &&
	    is_refused("10.0.0.7:rate=1,,slots=1", word) &&
	    is_refused("10.0.0.7:rate=1,olaf", word),
	    "an unknown setting is refused");
	ok(is_refused("10.0.0.7:9:rate=1",
	    "only hosts on loopback can have a UDP port") &&
	    is_refused("10.0.0.7:queue=lifo", "queue= must be olaf or fifo") &&
	    is_refused("10.0.0.0/33:rate=1", "not a prefix length") &&
	    is_refused("10.0.0.0/:rate=1", "not a prefix length") &&
	    is_refused("fd00::/129:rate=1", "not a prefix length"),
	    "values that are none");
	ok(ports_add_rule(&(struct ports_conf){ 0 }, "10.0.0.7:rate=0") !=
	    NULL && ports_add_rule(&(struct ports_conf){ 0 },
	    "10.0.0.7:slots=0") != NULL && ports_add_rule(
	    &(struct ports_conf){ 0 }, "10.0.0.7:slots=16777217") != NULL &&
	    ports_add_rule(&(struct ports_conf){ 0 },
	    "10.0.0.7:99999:rate=1") != NULL, "a number out of range is "
	    "refused");
}

static uint64_t
port_rate(struct ports *s, const char *to)
{
	const union addr a = make_host(to);
	struct port *p = ports_find_port(s, &a);

	return p == NULL ? 0 : p->link.rate_bps;
}

static struct port *
find_port(struct ports *s, const char *to)
{
	const union addr a = make_host(to);

	return ports_find_port(s, &a);
}

/* The longest matching prefix wins, in any order of the rules. */
static void
test_rules(void)
{
	static struct ports_conf cf = { .all = { .rate_bps = 1,
	    .slots = 3, .threshold = NAN } };
	struct ports s;
	const char *const rule[] = { "10.0.0.0/8:rate=8", "10.1.1.1:rate=32",
	    "10.1.0.0/16:rate=16,queue=olaf", "10.1.1.0/25:rate=25",
	    "fd00::/15:rate=6", "127.0.0.1:9:rate=9", "10.2.0.1:slots=7" };

	for (size_t i = 0; i < sizeof(rule) / sizeof(*rule); i++)
		add_rule(&cf, rule[i]);
	ports_complete_rules(&cf);
	s = ports_of(&cf);
	ok(port_rate(&s, "11.0.0.1:1") == 1 &&
		port_rate(&s, "10.9.0.1:1") == 8 &&
		port_rate(&s, "10.1.9.9:1") == 16 &&
		port_rate(&s, "10.1.1.127:1") == 25 &&
		port_rate(&s, "10.1.1.128:1") == 16 &&
		port_rate(&s, "10.1.1.1:1") == 32,
	    "the longest prefix that matches is used");
	ok(port_rate(&s, "[fd01::5]:1") == 6 &&
		port_rate(&s, "[fe00::5]:1") == 1,
	    "the longest prefix is used also for IPv6, at a bit within a byte");
	ok(port_rate(&s, "127.0.0.1:9") == 9 &&
		port_rate(&s, "127.0.0.1:8") == 1,
	    "on loopback an address with a port is a host");
	ok(find_port(&s, "10.1.9.9:1") == find_port(&s, "10.1.8.8:2") &&
	    find_port(&s, "10.1.9.9:1") != find_port(&s, "10.1.1.1:1") &&
	    find_port(&s, "10.1.1.1:1") == find_port(&s, "10.1.1.1:2") &&
	    find_port(&s, "11.0.0.1:1") != find_port(&s, "11.0.0.2:1"),
	    "a prefix has one port, and other hosts have one each");
	ok(find_port(&s, "10.1.9.9:1")->cf.queue == PORT_OLAF &&
	    find_port(&s, "10.1.9.9:1")->cf.slots == 3 &&
	    find_port(&s, "10.2.0.1:1")->cf.slots == 7 &&
	    find_port(&s, "10.2.0.1:1")->link.rate_bps == 1,
	    "a rule without a setting uses the default of the switch");
	ports_free(&s);
}

/* All of many hosts are found again. */
static void
test_many_hosts(void)
{
	static struct ports_conf cf = { .all = { .rate_bps = 1,
	    .threshold = NAN } };
	struct ports s = ports_of(&cf);
	struct port *p[500];
	bool good = true;

	for (uint32_t k = 0; k < 1500; k++) {
		union addr a = { .in = { .sin_family = AF_INET,
		    .sin_port = (in_port_t)k, .sin_addr = {
		    htonl(0x0a000000 + k * 7 % 500) } } };
		const struct port *q = ports_find_port(&s, &a);

		if (k < 500)
			p[k * 7 % 500] = ports_find_port(&s, &a);
		good = good && q == p[k * 7 % 500];
	}
	ok(good && s.n == 500 && s.places == 500, "500 hosts have 500 ports");
	for (uint32_t k = 0; k < s.n; k++)
		good = good && s.port[k]->index == k;
	ok(good, "each port knows its number");
	ports_free(&s);
}

/* Queue a frame at a port (waits), or let the first one leave. */
static bool
queue_frame(struct port *p, bool waits)
{
	static const uint8_t bytes[1400];
	const struct arrival a = { .bytes = bytes, .have = sizeof(bytes),
	    .wire_bytes = sizeof(bytes), .framed = true };

	if (waits)
		return p != NULL && port_offer_plain(p, &a, 0);
	port_pop(p);
	return true;
}

enum { ROOM = 40, STRANGERS = 5000 };

/* Return ports with memory for forty hosts, with a rule, or NULL. */
static struct ports
make_forty_ports(const char *rule)
{
	static struct ports_conf cf;

	cf = (struct ports_conf){ .all = { .rate_bps = 1, .threshold = NAN } };
	cf.memory_bytes = ROOM * (ports_host_bytes(&cf.all) + 1400);
	if (rule != NULL)
		add_rule(&cf, rule);
	ports_complete_rules(&cf);
	return ports_of(&cf);
}

static struct port *
find_new_host(struct ports *s, uint32_t k)
{
	const union addr a = { .in = { .sin_family = AF_INET,
	    .sin_addr = { htonl(0x0a000000 + k) } } };

	return ports_find_port(s, &a);
}

/* Many more hosts than that send frames, one after another. */
static void
test_hosts_in_turn(const char *rule, const char *name)
{
	struct ports s = make_forty_ports(rule);
	bool good = true;

	for (uint32_t k = 0; k < STRANGERS && good; k++) {
		struct port *q = find_new_host(&s, k);

		good = queue_frame(q, true) && find_new_host(&s, k) == q &&
		    s.budget.used_bytes <= s.budget.limit_bytes;
		if (good)
			queue_frame(q, false);
	}
	ok(good && s.n <= ROOM && s.by_host.count <= s.places &&
		ports_host_bytes(NULL) * s.places <= s.budget.limit_bytes,
	    "%s", name);
	ports_free(&s);
}

/* All hosts send at the same time. */
static void
test_hosts_at_once(void)
{
	struct ports s = make_forty_ports(NULL);
	struct port *p[ROOM + 1] = { NULL };
	uint32_t n = 0;

	for (uint32_t k = 0; k < STRANGERS && n <= ROOM; k++) {
		struct port *q = find_new_host(&s, k);

		if (queue_frame(q, true))
			p[n++] = q;
	}
	ok(n == ROOM && ports_memory_is_low(&s) &&
		find_port(&s, "12.0.0.1:1") == NULL,
	    "if a frame waits for each host, another host is refused");
	queue_frame(p[7], false);
	ok(find_port(&s, "12.0.0.1:1") == p[7], "another host is accepted when "
	    "a frame has left");
	ports_free(&s);
}

/* Idle ports free the memory of long queues. */
static void
test_idle_memory(void)
{
	static struct ports_conf cf = { .all = { .rate_bps = 1,
	    .threshold = NAN }, .memory_bytes = 1000000 };
	struct ports s = ports_of(&cf);
	struct port *one = find_port(&s, "10.0.0.1:1");
	struct port *two = find_port(&s, "10.0.0.2:1");
	uint32_t n = 0, m = 0;

	while (queue_frame(one, true))
		n++;
	ok(n > 300 && s.budget.used_bytes <= cf.memory_bytes &&
	    one->n[PORT_REGULAR].dropped == 1, "%u frames wait for a host", n);
	for (uint32_t i = 0; i < n; i++)
		queue_frame(one, false);
	ok(!queue_frame(two, true) && ports_memory_is_low(&s),
	    "the frames leave, and their memory is kept");
	ports_trim_idle(&s);
	while (queue_frame(two, true))
		m++;
	ok(n == m && one->n[PORT_REGULAR].sent == n &&
	    one->n[PORT_REGULAR].dropped == 1,
	    "the memory goes to another host, and the counters stay");
	ports_free(&s);
}

static void
test_shapes(void)
{
	struct ports_conf cf = { .all = { .threshold = NAN } };

	ok(!ports_can_queue(&cf) && !ports_use_olaf(&cf),
	    "without rates nothing is queued");
	add_rule(&cf, "10.0.0.1:queue=olaf");
	ports_complete_rules(&cf);
	ok(!ports_can_queue(&cf) && ports_use_olaf(&cf) &&
	    cf.rule[0].conf.slots == 8, "an Olaf queue needs slots");
	add_rule(&cf, "10.0.0.2:rate=1");
	ports_complete_rules(&cf);
	ok(ports_can_queue(&cf), "one link is enough to queue");
}

int
main(void)
{
	test_parser();
	test_nonsense();
	test_rules();
	test_many_hosts();
	test_hosts_in_turn(
	    NULL, "unknown hosts get the ports of hosts for which no frame "
	    "waits");
	test_hosts_in_turn(
	    "10.0.0.0/8:rate=8", "unknown hosts get places if they share a "
	    "port");
	test_hosts_at_once();
	test_idle_memory();
	test_shapes();
	return tap_end();
}
