/* conf.h - the settings of innet-switch, from its command line */
#ifndef INNET_SWITCH_CONF_H
#define INNET_SWITCH_CONF_H

#include "cmd/innet-switch/filter.h"
#include "cmd/innet-switch/live.h"

enum { CONF_READ_MAX = 64 };

struct conf {
	struct egress_conf egress;
	struct filter_conf filter;
	struct live_conf live;
	const char *in[CONF_READ_MAX];
	size_t ins;
	const char *out, *write_out, *report, *departures, *table;
	uint64_t memory_bytes;		/* 0: no limit */
	bool listens, upstream, impaired, filters, bare, json, quiet,
	    dry_run;
};

/* Read the command line, or exit: 0 after help, 2 on misuse. */
struct conf conf_parse(int argc, char *argv[]);

#endif
