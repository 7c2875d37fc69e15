/* conf.h - the settings of innet-switch, from its command line */
#ifndef INNET_SWITCH_CONF_H
#define INNET_SWITCH_CONF_H

#include "cmd/innet-switch/aggr-conf.h"
#include "cmd/innet-switch/dlp.h"
#include "cmd/innet-switch/filter.h"
#include "cmd/innet-switch/live.h"

enum { CONF_READ_MAX = 64 };

enum program { PROGRAM_OLAF, PROGRAM_FIFO, PROGRAM_ISWITCH, PROGRAM_DLP };

struct conf {
	enum program program;
	struct aggr_conf aggr;
	struct egress_conf egress;
	struct filter_conf filter;
	struct live_conf live;
	struct dlp_conf dlp;
	const char *in[CONF_READ_MAX];
	size_t ins;
	const char *listen;		/* as given, or NULL */
	const char *out, *write_out, *report, *departures, *table;
	uint64_t memory_bytes;		/* 0: no limit */
	bool serves;			/* live, not a filter */
	bool listens, upstream, impaired, filters, bare, json, quiet,
	    verbose, dry_run;
};

/* Read the command line, or exit: 0 after help, 2 on misuse. */
struct conf conf_parse(int argc, char *argv[]);

#endif
