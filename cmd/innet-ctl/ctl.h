/* ctl.h - the options of innet-ctl, which do not change after parsing */
#ifndef INNET_CTL_CTL_H
#define INNET_CTL_CTL_H

#include "cmd/innet-ctl/ask.h"

struct ctl_options {
	struct ask_options ask;
	uint8_t action;			/* enum control_action; 0: watch */
	uint16_t h;			/* for set-h: the new H */
	uint64_t seg;			/* for fbcast and help */
	struct control_join join;
	int64_t expelled;		/* for leave: number of the worker to
					 * remove; -1: the sender itself
					 * leaves */
	bool disbands;			/* for reset: all members are removed,
					 * too */
	struct control_regroup regroup;	/* for regroup: number of the worker and
					 * its new cluster */
	uint16_t regrouped;	/* for regroup: current cluster of the worker */
	bool has_job;			/* --job was given */
	bool json, prometheus;
	bool verbose;			/* counters that are zero are printed,
					 * too */
	uint64_t count; /* for watch: number of blocks; 0: no limit */
	uint64_t interval_ns;
};

/*
 * Run a verb.  Return 0, or 1 after a warning.  Standard output is not flushed.
 *
 * command_run() runs the verbs that a single Ack answers.  report_run() runs
 * jobs, members and stats.  watch_run() runs watch.
 */
int command_run(const struct ctl_options *, struct ask *);
int report_run(const struct ctl_options *, struct ask *);
int watch_run(const struct ctl_options *, struct ask *);

#endif
