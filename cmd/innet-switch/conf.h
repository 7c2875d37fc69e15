/* conf.h - the settings of innet-switch, from its command line */
#ifndef INNET_SWITCH_CONF_H
#define INNET_SWITCH_CONF_H

#include "cmd/innet-switch/inpath/inpath-ports.h"
#include "common/switch/options.h"
#include "common/switch/trace.h"

enum { CONF_READ_MAX = 64 };

struct conf {
	struct plane_options o;
	struct trace_conf trace;
	const char *in[CONF_READ_MAX];
	size_t ins;
	const char *departures;
	const char *multicast;		/* argument of --multicast, or NULL */
	struct inpath_conf inpath; /* inpath.where is NULL if the switch is not
				    * in the path */
	bool regular;			/* --regular was given */
	bool live;	/* the switch serves on sockets or in the path */
	const char *trace_option; /* name of an option that was given and needs
				   * captures, or NULL */
	char trace_name[32];
};

/*
 * Parse the command line.  Exits with status 0 after --help and with status 2
 * after a usage error.
 */
void conf_parse(struct conf *cf, int argc, char *argv[]);

#endif
