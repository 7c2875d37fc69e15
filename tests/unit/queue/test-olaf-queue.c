/*
 * Run the hand-checked vectors of tests/data/olaf-vectors.txt through port.h,
 * line by line. Each line checks the result of an arrival, the queue after it,
 * and when each frame left. The two vectors marked "not the default" are left
 * out.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/queue/port.h"
#include "tests/unit/tap.h"

#define MS 1000000u

enum { FRAME = 78 };		/* bytes of a frame with one element */

struct sw {
	char name[4];
	struct port e;
};

struct flight {
	uint64_t at;		/* ns, arrival at the next switch */
	struct update up;
};

static struct sw sw[4];
static int sws;
static struct flight flight[64];
static int flights;
static uint64_t clock_ns;	/* time of the vector */
static uint32_t sequence;
static double rewards[8];
static int reward_at;

static void
new_switch(const char *name, uint32_t slots, uint64_t ms, double threshold,
    enum port_queue program)
{
	struct port_conf cf = { .queue = program, .slots = slots,
	    .rate_bps = FRAME * 8000u / ms, .threshold = threshold,
	    .active_window_ns = 1000 * (uint64_t)MS };

	snprintf(sw[sws].name, sizeof(sw[sws].name), "%s", name);
	if (!port_init(&sw[sws].e, &cf) || !port_allocate_updates(&sw[sws++].e))
		abort();
}

static struct sw *
find_slot(const char *name)
{
	for (int i = 0; i < sws; i++) {
		if (strcmp(sw[i].name, name) == 0)
			return &sw[i];
	}
	return NULL;
}

/* Print a queue like the vectors do: "['*1.0', '2+1']". */
static void
print_queue(const struct port *e, char *to, size_t room)
{
	size_t n = (size_t)snprintf(to, room, "[");

	for (uint32_t i = 0; i < e->slots.count; i++) {
		const struct update *u = &e->slots.ring[(e->slots.head + i) %
		    e->slots.size].up;

		n += (size_t)snprintf(to + n, room - n, "%s'%s%u%c%u'",
		    i == 0 ? "" : ", ", i == 0 ? "*" : "", u->cluster,
		    u->merged > 1 ? '+' : '.',
		    u->merged > 1 ? u->merged - 1u : u->worker);
	}
	snprintf(to + n, room - n, "]");
}

/* Return what happened to an arrival, from the change of the counters. */
static const char *
verdict(const struct tally_cluster *was, const struct tally_cluster *is)
{
	static const struct { enum tally_event what; const char *name; } t[] = {
		{ TALLY_AGGREGATED, "aggregated" },
		{ TALLY_REPLACED, "replaced" },
		{ TALLY_REPLACED_REWARD, "replaced" },
		{ TALLY_DROPPED_FULL, "dropped_full" },
		{ TALLY_DROPPED_REWARD, "dropped_reward" },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		if (is->of[t[i].what].packets > was->of[t[i].what].packets)
			return t[i].name;
	}
	return "appended";
}

/* Make an arriving update, new from a worker or from an earlier switch. */
static struct update
make_arrival(const char *name, uint64_t t, unsigned cluster, unsigned worker)
{
	struct update u = { .kind = UPDATE_UPDATE, .merged = 1, .n = 1,
	    .cluster = (uint16_t)cluster, .worker = worker, .elements = 1,
	    .sequence = ++sequence, .generated_ns = t };

	if (cluster == 2)
		u.reward = (float)rewards[reward_at++ % 8];
	for (int i = 0; strcmp(name, "SW3") == 0 && i < flights; i++) {
		if (flight[i].at == t && flight[i].up.cluster == cluster) {
			u = flight[i].up;
			flight[i].at = 0;
		}
	}
	return u;
}

static void
offer_arrival(struct sw *s, uint64_t t, unsigned cluster, unsigned worker,
    const char *want, const char *queue)
{
	uint8_t bytes[64];
	struct update u = make_arrival(s->name, t, cluster, worker);
	const struct arrival a = { .bytes = bytes, .have = 36,
	    .wire_bytes = FRAME, .is_update = true, .up = &u };
	struct tally_cluster was = s->e.updates->tally.all;
	const char *what;
	char now[256];

	update_put(bytes, &u);
	vec_set(bytes, 8, 1);
	u.vec = bytes + 32;
	port_offer(&s->e, &a, t);
	what = verdict(&was, &s->e.updates->tally.all);
	print_queue(&s->e, now, sizeof(now));
	if (!ok(strcmp(what, want) == 0 && strcmp(now, queue) == 0,
	    "%llu ms %s: %u.%u %s, then the queue is "
	    "%s", (unsigned long long)t / MS,
	    s->name, cluster, worker, want, queue))
		note("%s, %s", what, now);
}

static void
pop_frame(struct sw *s, uint64_t t, unsigned cluster, unsigned merged,
    const char *queue)
{
	uint64_t due = port_deadline_ns(&s->e);
	const struct slot *head = port_head(&s->e);
	bool same = head != NULL && due == t && head->up.cluster == cluster &&
	    head->up.merged == merged;
	char now[256];

	if (head != NULL) {
		flight[flights % 64] = (struct flight){ t + MS, head->up };
		flights++;
		port_pop(&s->e);
	}
	print_queue(&s->e, now, sizeof(now));
	if (!ok(same && strcmp(now, queue) == 0,
	    "%llu ms %s: %u leaves with %u, then the queue is %s",
	    (unsigned long long)t / MS, s->name, cluster, merged, queue))
		note("due %llu, %s", (unsigned long long)due, now);
}

/* Start a new vector, whose name describes its queues. */
static bool
start_queue(const char *name)
{
	static const double v3[8] = { 1.0, 1.25, 0.5, 1.5, 0.1 };
	bool reward = strncmp(name, "V3 ", 3) == 0;

	while (sws > 0)
		port_free(&sw[--sws].e);
	flights = reward_at = 0;
	clock_ns = 0;
	memset(rewards, 0, sizeof(rewards));
	if (strncmp(name, "V3b", 3) == 0 || strstr(name, "arrival first"))
		return false;
	note("%s", name);
	if (reward)
		memcpy(rewards, v3, sizeof(v3));
	if (strncmp(name, "V7", 2) == 0) {
		new_switch("SW1", 5, 4, NAN, PORT_OLAF);
		new_switch("SW2", 5, 4, NAN, PORT_OLAF);
		new_switch("SW3", 8, 20, NAN, PORT_OLAF);
	} else {
		new_switch("S", strncmp(name, "V2", 2) == 0 ? 2 :
		    strncmp(name, "V5", 2) == 0 ? 1 : 4,
		    strncmp(name, "V6", 2) == 0 ? 2 : 10,
		    reward ? 0.25 : NAN, strcmp(name, "V2 FIFO") == 0 ?
		    PORT_FIFO : PORT_OLAF);
	}
	return true;
}

/*
 * Check "total {'generated': 6, 'arrived': 6, ...", the counters of the last
 * switch.
 */
static void
test_totals(const char *line)
{
	static const struct { const char *key; enum tally_event what; } t[] = {
		{ "aggregated", TALLY_AGGREGATED },
		{ "superseded", TALLY_SUPERSEDED },
		{ "dropped_full", TALLY_DROPPED_FULL },
		{ "dropped_reward", TALLY_DROPPED_REWARD },
	};
	char key[32];

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		const char *p;
		uint64_t want = 0, is = 0;

		snprintf(key, sizeof(key), "'%s': ", t[i].key);
		p = strstr(line, key);
		if (p != NULL)
			want = strtoull(p + strlen(key), NULL, 10);
		for (int k = 0; k < sws; k++)
			is += sw[k].e.updates->tally.all.of[t[i].what]
			    .constituents;
		ok(is == want, "the total %s is %llu", t[i].key,
		    (unsigned long long)want);
	}
	for (int k = 0; k < sws; k++)
		ok(tally_is_conserved(&sw[k].e.updates->tally.all),
		    "%s: constituents are conserved", sw[k].name);
}

int
main(void)
{
	const char *dir = getenv("srcdir");
	char path[4096], line[512], name[8], event[16], what[32];
	unsigned long t;
	unsigned cluster, worker, merged;
	bool on = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/data/olaf-vectors.txt",
	    dir == NULL ? "." : dir);
	f = fopen(path, "r");
	if (!ok(f != NULL, "the file of vectors can be read"))
		return tap_end();
	while (fgets(line, sizeof(line), f) != NULL) {
		char *queue = strstr(line, "['");

		if (queue == NULL)
			queue = strstr(line, "[]");
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "## ", 3) == 0)
			on = start_queue(line + 3);
		else if (strncmp(line, "   total ", 9) == 0 && on)
			test_totals(line);
		else if (on && sscanf(line, " %lu %7s %15s %u %u %31s", &t,
		    name, event, &cluster, &worker, what) == 6 &&
		    find_slot(name) != NULL && queue != NULL) {
			if (strcmp(event, "arrive") == 0)
				offer_arrival(find_slot(name), t * MS, cluster,
				    worker, what, queue);
			else if (sscanf(what, "%u", &merged) == 1)
				pop_frame(find_slot(name), t * MS, cluster,
				    merged, queue);
		}
	}
	fclose(f);
	while (sws > 0)
		port_free(&sw[--sws].e);
	return tap_end();
}
