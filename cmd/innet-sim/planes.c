/*
 * planes.c - run switches of any program, with links between them; see planes.h
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/innet-sim/planes.h"
#include "common/base/message.h"
#include "common/switch/memory.h"
#include "common/switch/options.h"
#include "common/switch/programs.h"
#include "common/switch/trace.h"

enum { REGULAR = OPT_LONG, WORDS_MAX = 64 };

/* A switch of the network. */
struct one {
	const struct scenario_plane *sc;
	struct network *net;
	/* options of the switch, split into words */
	char text[JSON_READER_FILE_BYTES];
	struct opt table[OPT_MAX];
	struct plane_options o;
	struct trace_conf cf;
	struct plane pl;
	struct trace trace;
	struct pcapio_in read;
	struct pcapio_out *in, *out;
	const struct merged_input *next;	/* next packet of `read`; NULL
						 * at its end */
};

/* A frame that is on its way to a switch. */
struct arrived {
	struct one *at;
	uint32_t have, len;
	uint8_t bytes[];
};

struct network {
	struct one *one;
	size_t n;
	struct files files;	/* names of all files that are read or
				 * written */
	struct timed_queue arrivals;
};

static const struct opt options[] = {
	{ 'p', "program", "NAME", "program of the switch" },
	PLANE_OPTIONS_PORTS,
	PLANE_OPTIONS_MERGE,
	{ REGULAR, "regular", "HOW",
	    "treatment of regular traffic: bypass or queued" },
	{ PLANE_LISTEN, "listen", "ADDR", "address of the switch" },
	{ PLANE_KEY, "key", "FILE",
	    "file with the key that authenticates control messages" },
	{ PLANE_ALLOW, "allow", "LIST",
	    "accept packets from these networks only" },
	{ PLANE_MEMORY, "memory", "SIZE", "limit the memory to SIZE" },
};

/* Parse the options of a switch as innet-switch does; exits 2 on an error. */
static void
parse_options(struct one *w)
{
	static const char *const regulars[] = { "bypass", "queued", NULL };
	const struct opt_tool tool = { .name = "innet-sim", .usage = "",
	    .version = PACKAGE_VERSION, .about = "", .opts = w->table };
	char *word[WORDS_MAX] = { w->text };
	int n = 0, ch;

	memcpy(w->text, w->sc->options, sizeof(w->text));
	memcpy(w->table, options, sizeof(options));
	plane_options_init(&w->o, programs, w->table);
	word[n++] = program_invocation_short_name;
	for (char *s = strtok(w->text, " \t"); s != NULL;
	    s = strtok(NULL, " \t")) {
		if (n == WORDS_MAX - 1)
			errx(2, "the options have more than %d words",
			    WORDS_MAX - 2);
		word[n++] = s;
	}
	optind = 0;
	while ((ch = opt_next(&tool, n, word)) != -1) {
		if (ch == 'p')
			plane_options_set_program(&w->o, optarg);
		else if (ch == REGULAR)
			w->o.plane.regular_queued = opt_word("regular",
			    optarg, regulars) == 1;
		else
			plane_options_parse(&w->o, ch, optarg);
	}
	opt_done(&tool, n, word);
	plane_options_check(&w->o, false);
	plane_check_memory(&w->o);
}

/* Return the switch that has this IP address, whatever its port, or NULL. */
static struct one *
find_switch(const struct network *net, const union addr *at)
{
	for (size_t i = 0; i < net->n; i++) {
		const union addr *own = &net->one[i].o.listen_at;

		if (own->sa.sa_family == at->sa.sa_family &&
		    (at->sa.sa_family == AF_INET6 ?
		    memcmp(&own->in6.sin6_addr, &at->in6.sin6_addr, 16) == 0 :
		    own->in.sin_addr.s_addr == at->in.sin_addr.s_addr))
			return &net->one[i];
	}
	return NULL;
}

/* trace_conf.on_arrival: pass a frame for another switch to that switch. */
static void
carry_frame(void *ctx, uint64_t at_ns, const uint8_t *p, uint32_t have,
    uint32_t len)
{
	struct one *from = ctx, *to;
	struct arrived *a;
	struct frame fr = { 0 };
	union addr at;

	if (frame_parse(FRAME_ETHERNET, p, have, len, &fr) != FRAME_UDP)
		return;
	flow_addr(&at, fr.flow.dst, fr.flow.dport, fr.flow.v6);
	to = find_switch(from->net, &at);
	if (to == NULL || to == from)
		return;
	a = malloc(sizeof(*a) + have);
	if (a == NULL)
		err(1, "frames");
	*a = (struct arrived){ to, have, len };
	memcpy(a->bytes, p, have);
	if (!timed_queue_push(&from->net->arrivals, at_ns, a))
		err(1, "frames");
}

/*
 * Create a capture of a switch in the folder `dir`.  The path of the capture is
 * stored after the struct.
 */
static struct pcapio_out *
create_switch(struct network *net, const char *dir, const char *name,
    const char *way)
{
	const size_t room = strlen(dir) + strlen(name) + strlen(way) +
	    sizeof("/..pcap");
	struct pcapio_out *out = malloc(sizeof(*out) + room);
	char *path = (char *)(out + 1);

	if (out == NULL)
		err(1, "captures");
	snprintf(path, room, "%s/%s.%s.pcap", dir, name, way);
	files_out(&net->files, "-w", path);
	pcapio_create_or_exit(out, path);
	return out;
}

static void
open_switch(struct network *net, struct one *w, const struct planes_options *cf)
{
	static const volatile sig_atomic_t never;
	const bool reads = w->sc->read[0] != '\0';

	w->net = net;
	w->cf = (struct trace_conf){ .impair = w->o.impair,
	    .propagation_ns = w->o.propagation_ns, .on_arrival = carry_frame,
	    .arrival_ctx = w, .feed = { .until_ns = UINT64_MAX,
	    .stop = &never } };
	w->o.plane.place.replayed = net->n == 1;
	if (reads)
		pcapio_open_or_exit(&w->read, w->sc->read);
	if (cf->dir != NULL) {
		w->in = create_switch(net, cf->dir, w->sc->name, "in");
		w->out = create_switch(net, cf->dir, w->sc->name, "out");
		w->cf.ingress = w->in;
	}
	if (!plane_init(&w->pl, &w->o.plane, &trace_driver, &w->trace))
		err(1, "%s", w->sc->name);
	trace_open(&w->trace, &w->cf, &w->pl, &w->read, reads, w->out);
	w->next = reads ? merged_next(&w->trace.feed) : NULL;
}

/* Return the time of the next event that is not a time-out, or PLANE_NEVER. */
static uint64_t
find_next_ns(const struct network *net)
{
	uint64_t at = net->arrivals.count == 0 ? PLANE_NEVER :
	    timed_queue_due(&net->arrivals);

	for (size_t i = 0; i < net->n; i++) {
		const struct one *w = &net->one[i];
		const uint64_t due = trace_deadline_ns(&w->trace);

		if (w->next != NULL && w->next->now_ns < at)
			at = w->next->now_ns;
		if (due < at)
			at = due;
	}
	return at;
}

/* Return the time of the next time-out of a program, or PLANE_NEVER. */
static uint64_t
find_timeout_ns(const struct network *net)
{
	uint64_t at = PLANE_NEVER;

	for (size_t i = 0; i < net->n; i++) {
		const uint64_t due = plane_program_deadline_ns(&net->one[i].pl);

		if (due < at)
			at = due;
	}
	return at;
}

/* Set the time of all switches to the time of the first packet. */
static void
begin_time(struct network *net)
{
	const uint64_t first = find_next_ns(net);

	for (size_t i = 0; i < net->n && first != PLANE_NEVER; i++)
		net->one[i].pl.now_ns = first;
}

/* Handle all events of one instant: departures, time-outs, then arrivals. */
static void
handle_event(struct network *net, uint64_t now_ns)
{
	for (size_t i = 0; i < net->n; i++)
		trace_advance(&net->one[i].trace, now_ns);
	while (net->arrivals.count > 0 &&
	    timed_queue_due(&net->arrivals) <= now_ns) {
		struct arrived *a = timed_queue_pop(&net->arrivals);

		trace_receive_frame(&a->at->trace, now_ns, a->bytes, a->have,
		    a->len);
		free(a);
	}
	for (size_t i = 0; i < net->n; i++) {
		struct one *w = &net->one[i];

		for (; w->next != NULL && w->next->now_ns <= now_ns;
		    w->next = merged_next(&w->trace.feed))
			trace_receive_next(&w->trace, w->next);
	}
}

/* Print the counters of a switch as an object or a line. */
static void
print_switch(const struct one *w, bool json, FILE *f)
{
	struct counters c = counters_begin(json ? COUNTERS_JSON :
	    COUNTERS_LINE, w->sc->name);

	if (json) {
		counters_word(&c, "plane", w->sc->name);
		plane_put_report(&w->pl, &c);
		trace_put_report(&w->trace, &c);
	} else {
		plane_put_summary(&w->pl, &c);
		trace_put_summary(&w->trace, &c);
	}
	if (counters_text(&c) != NULL)
		fputs(c.text, f);
	counters_free(&c);
}

static int
close_switch(struct one *w)
{
	int rc = trace_close(&w->trace);

	if (w->sc->read[0] != '\0')
		pcapio_close_in(&w->read);
	if (w->in != NULL)
		rc |= pcapio_close_or_warn(w->in);
	if (w->out != NULL)
		rc |= pcapio_close_or_warn(w->out);
	free(w->in);
	free(w->out);
	return rc;
}

/* Exit if switch i has the same address as another switch. */
static void
check_end(const struct network *net, size_t i)
{
	const struct one *w = &net->one[i];

	if (w->o.listen_at.sa.sa_family != 0 &&
	    find_switch(net, &w->o.listen_at) != w)
		errx(2, "another switch has the same address; give this switch "
		    "a different --listen");
}

int
planes_run(const struct planes_options *cf, FILE *f)
{
	char *const tool = program_invocation_short_name;
	struct network net = { .n = cf->sc->planes.n };
	uint64_t now, due;
	int rc = 0;

	net.one = calloc(net.n, sizeof(*net.one));
	if (net.one == NULL)
		err(1, "%zu switches", net.n);
	for (size_t i = 0; i < net.n; i++) {
		char where[64];

		net.one[i].sc = &scenario_planes(cf->sc)[i];
		snprintf(where, sizeof(where), "%s: planes[%zu].options", tool,
		    i);
		program_invocation_short_name = where;
		parse_options(&net.one[i]);
		check_end(&net, i);
		program_invocation_short_name = tool;
	}
	files_out(&net.files, "the results", "-");
	files_in(&net.files, NULL, cf->path);
	for (size_t i = 0; i < net.n; i++) {
		files_in(&net.files, NULL, net.one[i].o.key_path);
		if (net.one[i].sc->read[0] != '\0')
			files_in(&net.files, NULL, net.one[i].sc->read);
	}
	if (cf->dir != NULL && mkdir(cf->dir, 0777) == -1 && errno != EEXIST)
		err(1, "%s", cf->dir);
	for (size_t i = 0; i < net.n; i++)
		open_switch(&net, &net.one[i], cf);
	files_done(&net.files);
	begin_time(&net);
	while ((now = find_next_ns(&net)) != PLANE_NEVER && *cf->stopped == 0) {
		due = find_timeout_ns(&net);
		handle_event(&net, due < now ? due : now);
	}
	for (size_t i = 0; i < net.n; i++)
		rc |= close_switch(&net.one[i]);
	for (size_t i = 0; i < net.n; i++) {
		print_switch(&net.one[i], cf->json, f);
		plane_free(&net.one[i].pl);
		plane_options_free(&net.one[i].o);
	}
	timed_queue_free(&net.arrivals);
	free(net.one);
	return rc;
}
