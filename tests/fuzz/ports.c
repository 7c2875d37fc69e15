/*
 * Fuzz rules of ports, one a line, and then the rules of their hosts.  Names
 * are not looked up.
 */
#include <netdb.h>

#include <math.h>

static int
numeric(const char *host, const char *port, const struct addrinfo *want,
    struct addrinfo **got)
{
	struct addrinfo w = *want;

	w.ai_flags |= AI_NUMERICHOST;
	return getaddrinfo(host, port, &w, got);
}

#define getaddrinfo numeric

#include "common/switch/ports.h"
#include "tests/fuzz/fuzz.h"

/* Add one rule: it is added completely, or not at all. */
static void
add(struct ports_conf *cf, const char *s)
{
	const uint32_t n = cf->rules;
	const char *why = ports_add_rule(cf, s);
	const struct ports_rule *r = &cf->rule[n];

	must(cf->rules == n + (why == NULL) && cf->rules <= PORTS_RULES_MAX,
	    "a rule more, or why not");
	if (why != NULL)
		return;
	must(r->bits <= (r->at.sa.sa_family == AF_INET6 ? 128 : 32),
	    "a prefix of its family");
	must(r->has_rate == (r->conf.rate_bps > 0) &&
	    r->conf.rate_bps <= PORTS_RATE_MAX, "a rate in bounds");
	must(r->has_slots == (r->conf.slots > 0) &&
	    r->conf.slots <= 1u << 24, "slots in bounds");
	must(r->has_rate || r->has_slots || r->has_queue, "it says something");
}

/*
 * The host of a rule must get the port of a rule with a prefix at least as
 * long.
 */
static void
ask(struct ports *s, const struct ports_rule *r)
{
	const union addr host = ports_host(&r->at);
	const struct ports_rule *best = ports_find_rule(s, &host);
	struct port *p;

	if (addr_port(&r->at) == 0 || addr_is_loopback(&r->at))
		must(best != NULL && best->bits >= r->bits, "a rule fits");
	if ((best == NULL ? s->cf->all.slots : best->conf.slots) > 64)
		return;			/* there is that much memory */
	p = ports_find_port(s, &r->at);
	must(p != NULL && ports_find_port(s, &r->at) == p, "a port, the same");
	must(best == NULL || (p->link.rate_bps == best->conf.rate_bps &&
	    p->cf.queue == best->conf.queue), "as the rule says");
	must(s->port[p->index] == p, "it knows its number");
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static struct ports_conf cf;
	struct ports s;
	char *text = malloc(len + 1), *rest = text, *line;

	if (text == NULL)
		abort();
	memcpy(text, p, len);
	text[len] = '\0';
	cf = (struct ports_conf){ .all = { .rate_bps = 1000, .slots = 2,
	    .threshold = NAN } };
	while ((line = strsep(&rest, "\n")) != NULL) {
		char *copy = strdup(line);	/* a copy of exactly this length
						 */

		if (copy == NULL)
			abort();
		add(&cf, copy);
		free(copy);
	}
	free(text);
	ports_complete_rules(&cf);
	s = ports_of(&cf);
	for (uint32_t i = 0; i < cf.rules; i++)
		ask(&s, &cf.rule[i]);
	must(ports_can_queue(&cf), "there is a rate");
	ports_free(&s);
	return 0;
}
