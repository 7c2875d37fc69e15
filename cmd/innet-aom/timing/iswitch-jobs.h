/*
 * iswitch-jobs.h - find the jobs of program iswitch in captures (innet-wire(5))
 *
 * Control messages (Join and its Ack, STATE, Probe, NACK) show which address is
 * a switch and which is a member.  Without control messages, an endpoint with
 * innet's port or with several peers is a switch.  A result to a multicast
 * group counts for every member to which the switch has announced the group.
 * Segments whose direction is unknown are counted as unplaced.  The numbers of
 * jobs, members and addresses are limited, and packets beyond the limits are
 * counted.
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

/* A sender or receiver of packets: an address and a port. */
struct jobs_end {
	union addr at;
	enum jobs_role role;
	uint32_t peer;		/* index + 1 of the only peer of this endpoint
				 * so far, or 0 */
	/*
	 * `job` is 1 + the index of the job of a member or a group, or 0 if the
	 * job is not known yet.  Only a member has the index `member`.
	 */
	uint32_t job, member;
};

struct jobs {
	struct job_context context;
	/* Assume that jobs are asynchronous if their Join was not captured. */
	bool async;
	struct jobs_end *end;
	uint32_t ends, ends_room;
	struct hashmap end_at;	/* ends by address */
	struct job **job;	/* array and its elements are owned */
	uint32_t n, room;
	struct hashmap job_at;	/* maps a switch and a job number to the job */
	uint64_t unplaced;	/* number of segments of unknown direction */
	uint64_t bad_segment, bad_control;
	uint64_t too_many;	/* number of packets beyond the limits */
};

/* Treat the endpoint at `at` as a switch, whatever the captures show. */
void jobs_add_switch(struct jobs *s, const union addr *at);

/* Return whether a packet with this codepoint belongs to program iswitch. */
bool jobs_claim(const void *none, uint8_t tos, uint16_t sport,
    uint16_t dport);

/* Receive a packet; call this in order of time. */
void jobs_receive(struct jobs *s, const struct packet *p);

/* Close all iterations at the end of the captures. */
void jobs_end(struct jobs *s);
/* Free all memory of s. */
void jobs_free(struct jobs *s);

#endif
