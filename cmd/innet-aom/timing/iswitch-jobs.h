/*
 * iswitch-jobs.h - the jobs of program iswitch that captures show:
 * innet-wire(5)
 *
 * Who is a switch and who a member is learnt from what they say: Join and its
 * Ack, STATE, Probe and NACK; else from innet's port, and from who has several
 * others opposite.  A result to a group's address is one to each member to whom
 * the switch has named it.  What cannot be told is counted unplaced.  Jobs,
 * members and addresses are limited in number, and what is beyond is counted
 * as well.
 */
#ifndef INNET_AOM_JOBS_H
#define INNET_AOM_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/innet-aom/timing/job.h"
#include "cmd/innet-aom/timing/packets.h"
#include "common/base/hashmap.h"

enum { JOBS_ENDS_MAX = 65536, JOBS_MAX = 4096 };

enum jobs_role { JOBS_UNKNOWN, JOBS_SWITCH, JOBS_MEMBER };

/* An address and port. */
struct jobs_end {
	union addr at;
	enum jobs_role role;
	uint32_t peer;		/* the one opposite, + 1; 0: none yet */
	/* of a member, or a group (job alone); job + 1, 0: none yet */
	uint32_t job, member;
};

struct jobs {
	struct job_context context;
	bool async;		/* jobs whose Joins were not seen are */
	struct jobs_end *end;
	uint32_t ends, ends_room;
	struct hashmap end_at;	/* by address */
	struct job **job;	/* owned, and what they point to */
	uint32_t n, room;
	struct hashmap job_at;	/* by switch and number */
	uint64_t unplaced;	/* segments between unknown ends */
	uint64_t bad_segment, bad_control;
	uint64_t too_many;	/* packets of ends, jobs, members */
};

/* These are a switch's address and port, whatever else is seen. */
void jobs_add_switch(struct jobs *s, const union addr *at);

bool jobs_claim(const void *none, uint8_t tos, uint16_t sport,
    uint16_t dport);

void jobs_receive(struct jobs *s, const struct packet *p);

void jobs_end(struct jobs *s);
void jobs_free(struct jobs *s);

#endif
