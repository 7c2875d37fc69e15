/* ctl.h - what innet-ctl was asked for: const once the words are parsed */
#ifndef INNET_CTL_CTL_H
#define INNET_CTL_CTL_H

#include "cmd/innet-ctl/ask.h"

struct ctl_conf {
	struct ask_conf ask;
	uint8_t action;			/* enum control_action; 0: watch */
	uint16_t h;			/* of SetH */
	uint64_t seg;			/* of FBcast and Help */
	struct control_join join;
	int64_t expelled;		/* leave: this worker; -1: we */
	bool disbands;			/* reset: put all members out */
	struct control_regroup regroup;	/* of the worker... */
	uint16_t regrouped;		/* ... in this cluster */
	bool has_job;			/* --job was given */
	bool json, prometheus;
	bool verbose;			/* counters at zero, too */
	uint64_t count;			/* of watch: blocks, 0 for ever */
	uint64_t interval_ns;
};

/* Each: 0, or 1 after a line that says why.  Standard output is not flushed. */
int command_run(const struct ctl_conf *, struct ask *);	/* one Ack */
/* jobs, members, stats */
int report_run(const struct ctl_conf *, struct ask *);
int watch_run(const struct ctl_conf *, struct ask *);

#endif
