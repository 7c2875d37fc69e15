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
	const struct child *child;	/* NULL when alone */
	FILE *json;			/* NULL: none */
	bool quiet;
	/*
	 * NULL, or: prints more members of the report, and returns as
	 * dprintf().
	 */
	int (*more)(int fd, void *arg);
	void *more_arg;
	bool bad;		/* writing to json has failed */
	uint64_t shown_ns;	/* when progress was last drawn */
};

/*
 * Show progress after a lesson; arg is a struct report.  Return false once
 * writing to json has failed.
 */
bool report_progress(void *arg);

/* Clear the line of progress, before a message. */
void report_clear(const struct report *r);

/* Print the summary. */
void report_end(struct report *r);

/* Write the report as a JSON file: 0, or -1 with a message. */
int report_write(const struct report *r, const char *path,
    const struct learner *l);

#endif
