/* report.h - progress while training and a summary after it */
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
	/* NULL, or: more members of the report, as dprintf() answers. */
	int (*more)(int fd, void *arg);
	void *more_arg;
	bool bad;		/* json cannot be written */
	uint64_t shown_ns;	/* when progress was last drawn */
};

/* After a lesson; arg is a struct report.  False once json is bad. */
bool report_progress(void *arg);

/* Take progress off the terminal, before a message. */
void report_clear(const struct report *r);

/* The summary. */
void report_end(struct report *r);

/* The same and more in a JSON file: 0, or -1 with a message. */
int report_write(const struct report *r, const char *path,
    const struct learner *l);

#endif
