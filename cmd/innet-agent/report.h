/* report.h - show progress during training and a summary after it */
#ifndef INNET_AGENT_REPORT_H
#define INNET_AGENT_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cmd/innet-agent/stream-child.h"
#include "cmd/innet-agent/tally.h"

struct report {
	const struct tally *tally;
	const struct child *child;	/* the gradient stream; NULL if the
					 * agent trains alone */
	FILE *json;			/* NULL: write no report */
	bool quiet;
	/*
	 * Print more members of the report to fd, and return a result like that
	 * of dprintf().  NULL: there are none.
	 */
	int (*more)(int fd, void *arg);
	void *more_arg;
	bool bad;		/* a write to json has failed */
	uint64_t shown_ns;	/* time when progress was last shown */
};

/*
 * Show progress after a learning phase; arg is a struct report.  Return false
 * after a write to json has failed.
 */
bool report_progress(void *arg);

/* Clear the progress line before a message is printed. */
void report_clear(const struct report *r);

/* Print the summary of the run. */
void report_end(struct report *r);

/*
 * Write the report as JSON to the file at path.  Return 0, or -1 after printing
 * a message.
 */
int report_write(const struct report *r, const char *path,
    const struct learner *l);

#endif
