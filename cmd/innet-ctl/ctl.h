/* ctl.h - the options of innet-ctl, constant once they are parsed */
#ifndef INNET_CTL_CTL_H
#define INNET_CTL_CTL_H

#include "cmd/innet-ctl/ask.h"

struct ctl_options {
	struct ask_options ask;
	uint8_t action;			/* enum control_action; 0: watch */
	uint16_t h;			/* of SetH */
	uint64_t seg;			/* of FBcast and Help */
	struct control_join join;
	int64_t expelled;		/* leave: this worker; -1: ourselves */
	bool disbands;			/* reset: also remove all members */
	struct control_regroup regroup;	/* of the worker... */
	uint16_t regrouped;		/* ... in this cluster */
	bool has_job;			/* --job was given */
	bool json, prometheus;
	bool verbose;			/* print counters at zero, too */
	uint64_t count; /* of watch: blocks to print; 0: no limit */
	uint64_t interval_ns;
};

/*
 * Run a verb.  Return 0, or 1 after a warning.  Standard output is not flushed.
 *
 * command_run() runs the verbs that one Ack answers; report_run() runs jobs,
 * members and stats; watch_run() runs watch.
 */
int command_run(const struct ctl_options *, struct ask *);
int report_run(const struct ctl_options *, struct ask *);
int watch_run(const struct ctl_options *, struct ask *);

#endif
