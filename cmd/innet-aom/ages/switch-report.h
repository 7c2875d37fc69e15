/*
 * switch-report.h - read how many updates a switch superseded and dropped
 */
#ifndef INNET_AOM_SWITCH_REPORT_H
#define INNET_AOM_SWITCH_REPORT_H

#include <stddef.h>
#include <stdint.h>

/* The constituents of a cluster's updates in the switch. */
struct cluster_losses {
	uint16_t cluster;
	uint64_t arrived, superseded, dropped;	/* constituents */
};

struct switch_report {
	struct cluster_losses *cluster;	/* n of them, by rising number; owned */
	size_t n;
	struct cluster_losses total;	/* of all clusters */
};

/* Read the JSON report at path into r; exit if it is none. */
void switch_report_read(struct switch_report *r, const char *path);

/* Give back the memory of r. */
void switch_report_free(struct switch_report *r);

#endif
