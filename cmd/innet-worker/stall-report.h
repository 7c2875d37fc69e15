/*
 * stall-report.h - whom a job waits for, in words
 *
 * From the text of a switch's answer to Members (innet-wire(5)).  After a
 * second in which nothing has come, or four times as long as it usually takes,
 * and again every ten seconds, a line on standard error says what is waited
 * for.
 */
#ifndef INNET_WORKER_STALL_REPORT_H
#define INNET_WORKER_STALL_REPORT_H

#include "common/iswitch/sync-worker.h"

enum { STALL_REPORT_BYTES = 256 };

/* A wait; all zero at first. */
struct stall_report {
	uint64_t since_ns;		/* 0: none */
	uint64_t report_ns;		/* when to say so */
	bool asked;			/* who is missing, for that */
};

/* Say it, to follow a sentence; "" if there is nothing to say. */
void stall_report_members(
    const struct sync_worker *l, char text[STALL_REPORT_BYTES]);

/* A Join is not answered, or the job is halted or not open: say so in time. */
void stall_report_join(struct stall_report *m, const char *switch_name,
    const struct membership *in, uint64_t now_ns);

/* The same, or no result has come, which usually takes usual_ns. */
void stall_report_result(struct stall_report *m, const char *switch_name,
    struct sync_worker *l, uint64_t usual_ns, uint64_t now_ns);

#endif
