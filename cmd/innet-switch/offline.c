/* offline.c - run the switch on captures: read captures and write one */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/message.h"
#include "common/net/service.h"

#include "cmd/innet-switch/offline.h"

/*
 * Open the output and the captures to read; return the number of captures to
 * read.
 */
static size_t
open_captures(const struct conf *cf, struct pcapio_in in[CONF_READ_MAX],
    struct pcapio_out *out)
{
	const size_t n = cf->ins == 0 ? 1 : cf->ins;
	const char *to = cf->o.out;

	for (size_t i = 0; i < n; i++)
		pcapio_open_or_exit(&in[i], cf->ins == 0 ? "-" : cf->in[i]);
	pcapio_create_or_exit(out, to == NULL ? "-" : to);
	pcapio_write_behind(out);
	return n;
}

/* Return all counters in the given output format. */
static struct counters
make_report(const struct plane *pl, const struct trace *t,
    enum counters_form form)
{
	struct counters c = counters_begin(form, "innet-switch");

	if (form == COUNTERS_LINE) {
		plane_put_summary(pl, &c);
		trace_put_summary(t, &c);
		return c;
	}
	plane_put_report(pl, &c);
	counters_put(&c, "time_backwards", t->feed.time_backwards);
	counters_put(&c, "departures_differ", t->departures_differ);
	trace_put_report(t, &c);
	return c;
}

/* Print the summary. */
static void
print_summary(
    const struct conf *cf, const struct plane *pl, const struct trace *t)
{
	struct counters c = make_report(pl, t, cf->o.json ? COUNTERS_JSON :
	    COUNTERS_LINE);

	if (counters_text(&c) != NULL)
		fputs(c.text, cf->o.json ? cf->o.json_to : stderr);
	counters_free(&c);
}

int
offline_run(struct conf *cf)
{
	static struct plane pl;
	static struct trace t;
	struct pcapio_in in[CONF_READ_MAX], departures;
	struct pcapio_out out;
	struct counters c;
	size_t n;
	int rc;

	if (cf->departures != NULL) {
		pcapio_open_or_exit(&departures, cf->departures);
		cf->trace.departures = &departures;
		cf->o.plane.recorded = true;
	}
	n = open_captures(cf, in, &out);
	if (!plane_init(&pl, &cf->o.plane, &trace_driver, &t))
		err(1, "%s", cf->o.plane.program->name);
	rc = trace_run(&t, &cf->trace, &pl, in, n, &out);
	rc |= pcapio_close_or_warn(&out);
	for (size_t i = 0; i < n; i++)
		pcapio_close_in(&in[i]);
	if (cf->departures != NULL)
		pcapio_close_in(&departures);
	/*
	 * An error message must be the last output, so no summary follows it.
	 */
	if (cf->o.json || (!cf->o.quiet && rc == 0))
		print_summary(cf, &pl, &t);
	if (cf->o.json)
		rc |= files_flush(cf->o.json_to);
	if (cf->o.report != NULL) {
		c = make_report(&pl, &t, COUNTERS_PAGE);
		rc |= service_write_file(cf->o.report, counters_text(&c),
		    true);
		counters_free(&c);
	}
	plane_free(&pl);
	return rc;
}
