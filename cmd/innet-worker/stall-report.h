/*
 * stall-report.h - report why a job does not continue, and which members are
 * missing
 *
 * The report uses the text of the switch's answer to Members (innet-wire(5)).
 * A report is due after one second without a result, or after four times the
 * usual time if that is longer.  It is repeated every ten seconds.  The caller
 * prints or keeps the text.
 */
#ifndef INNET_WORKER_STALL_REPORT_H
#define INNET_WORKER_STALL_REPORT_H

#include "common/iswitch/sync-worker.h"

enum {
	STALL_REPORT_BYTES = 256,	/* length of the text about members */
	STALL_REPORT_LINE_BYTES = 1024	/* length of a report */
};

/* A wait that may be reported; the caller zeroes it first. */
struct stall_report {
	uint64_t since_ns;		/* start of the wait; 0: there is no
					 * wait */
	uint64_t report_ns;		/* time of the next report */
	bool asked;	/* the members were requested for the next report */
};

/*
 * Write to `text` which members are missing, or "" if none is missing.  The
 * caller appends the text to a message.
 */
void stall_report_members(
    const struct sync_worker *l, char text[STALL_REPORT_BYTES]);

/*
 * If a report is due about a Join without an answer, or about a job that is
 * halted or not open, write it to `text` and return true.
 */
bool stall_report_join(struct stall_report *m, const char *switch_name,
    const struct membership *in, char text[STALL_REPORT_LINE_BYTES],
    uint64_t now_ns);

/*
 * Do the same for the problems of stall_report_join(), and if no result has
 * arrived.  A result usually takes usual_ns.
 */
bool stall_report_result(struct stall_report *m, const char *switch_name,
    struct sync_worker *l, uint64_t usual_ns,
    char text[STALL_REPORT_LINE_BYTES], uint64_t now_ns);

#endif
