/* iswitch-live.c - the aggregation switch on UDP sockets */
#include <stdlib.h>

#include "cmd/innet-switch/iswitch-live.h"
#include "cmd/innet-switch/iswitch-report.h"

static void
say(struct aggport *a, bool json)
{
	const struct iswitch_passed p = { .port = aggport_account(a) };

	iswitch_report_summary(&a->s, &p, true, json);
}

static void
tell(struct aggport *a)
{
	say(a, false);
}

static void
tell_json(struct aggport *a)
{
	say(a, true);
}

int
iswitch_live_run(const struct aggport_conf *cf, const char *report, bool json)
{
	struct aggport *a = malloc(sizeof(*a));
	struct iswitch_passed p = { 0 };
	int rc = 0;

	if (a == NULL)
		err(1, "switch");
	aggport_open_or_exit(a, cf);
	aggport_serve(a, json ? tell_json : tell);
	if (!cf->quiet)
		say(a, json);
	p.port = aggport_account(a);
	if (report != NULL)
		rc = iswitch_report_write(report, &a->s, &p);
	aggport_close(a);
	free(a);
	return rc;
}
