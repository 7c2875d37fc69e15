/*
 * switch-report.h - read the numbers of superseded and dropped updates of a
 * switch
 */
#ifndef INNET_AOM_SWITCH_REPORT_H
#define INNET_AOM_SWITCH_REPORT_H

#include <stddef.h>
#include <stdint.h>

/* The constituents of a cluster's updates that the switch counted. */
struct cluster_losses {
	uint16_t cluster;
	uint64_t arrived, superseded, dropped;	/* numbers of constituents */
};

struct switch_report {
	struct cluster_losses *cluster;	/* losses of n clusters, sorted by
					 * cluster number; owned */
	size_t n;
	struct cluster_losses total;	/* sum over all clusters */
};

/* Read the JSON report at path into r.  Exit if the file is not a report. */
void switch_report_read(struct switch_report *r, const char *path);

/* Free the memory of r. */
void switch_report_free(struct switch_report *r);

#endif
