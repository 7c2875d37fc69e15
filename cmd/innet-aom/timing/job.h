/*
 * job.h - the iterations of one job of program iswitch, or session of dlp
 *
 * A job has members.  In each iteration a member sends the segments of its
 * vector, and gets those of the result; a session of DLP is a job whose vectors
 * have one segment and whose iterations are its steps.  The job is told what a
 * capture shows of that, and when, and makes of it the times that
 * innet-iswitch(7) and innet-dlp(7) define; what it was not shown is unknown.
 *
 * Times are ns since the epoch.  Only the two newest iterations are open:
 * whoever sends t has the result of t - 1, so that all have that of t - 2.  A
 * closed one is given to report() and is gone but for sums, and for its time,
 * of which the last SAMPLE_KEPT are kept.  Owns its memory: job_free().
 * Functions exit when there is none.
 */
#ifndef INNET_AOM_JOB_H
#define INNET_AOM_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-aom/timing/bitmap.h"
#include "common/base/durations.h"
#include "common/wire/addr.h"

enum {
	JOB_MEMBERS_MAX = 4096,
	JOB_BEHIND = 64		/* whose iteration is older begins anew */
};

enum job_mode { JOB_MODE_UNKNOWN, JOB_SYNC, JOB_ASYNC };

/* Packets, and their frames' bytes, by what they are. */
enum job_count {
	JOB_SEGMENTS,		/* of contributions, each once */
	JOB_RETRANSMITTED,	/* and again */
	JOB_RESULTS, JOB_RESENT,	/* the same, of results */
	JOB_HELPS, JOB_ASKED,	/* Help of a member, of the switch */
	JOB_PROBES, JOB_NACKS, JOB_STATES, JOB_NOTICES,
	JOB_HANDOVERS,		/* Fetch and Chunk */
	JOB_POLLS, JOB_WRONG_STEP, JOB_RETRIES,	/* of dlp */
	JOB_LATE,		/* of an iteration that is over */
	JOB_COPIES,		/* of another capture's packets */
	JOB_MISMATCHED,		/* an index that the vector has not */
	JOB_BYTES_UP, JOB_BYTES_DOWN,
	JOB_COUNTS
};

/* What one member sent, or got, of an iteration. */
struct job_side {
	uint64_t first_ns, last_ns;	/* of what was seen first */
	unsigned file;		/* in which the first one was seen */
	struct bitmap segments;
};

struct job_part {
	int64_t iteration;
	bool open;
	struct job_side up, down;
	uint32_t next;		/* member + 1 that has a part, too */
};

/* The parts of an iteration of a member, ns. */
enum job_phase { JOB_COMPUTE, JOB_SEND, JOB_WAIT, JOB_RECEIVE, JOB_PHASES };

struct job_member {
	union addr at;
	int64_t worker;		/* its number; -1: unknown */
	struct job_part part[2];	/* by iteration & 1 */
	bool in_group;		/* a group to which results come */
	bool has_done;
	int64_t done;		/* the newest whose result it has whole */
	uint64_t done_ns;
	uint64_t n[JOB_COUNTS];
	uint64_t iterations;	/* that it sent to */
	uint64_t slowest;	/* of which it was the last */
	struct stats_sum phase[JOB_PHASES], aggregation, staleness;
	struct rounds *rounds;	/* out of step, until job_end(); owned */
};

/* An iteration that is over. */
struct job_closed {
	int64_t iteration;
	uint64_t start_ns;	/* its first packet */
	bool whole;		/* iteration_ns is known */
	uint64_t iteration_ns;
	bool repaired;		/* of a whole one: something was, for: */
	uint64_t repair_ns;
	struct stats_sum time;	/* out of step: of members, iteration_ns */
	uint32_t members;	/* that had a part in it */
	uint32_t contributors;
	uint32_t vectors;	/* in the result, as it says; 0: none seen */
	int32_t slowest;	/* a member; -1: unknown */
	uint64_t slowest_by_ns;
	struct stats_sum phase[JOB_PHASES];
	uint64_t n[JOB_COUNTS];
};

struct job_iteration {
	bool open, first;	/* first: of those that were seen */
	int64_t iteration;
	uint32_t list;		/* of members that have a part, + 1 */
	uint32_t vectors;
	uint64_t repair_from_ns;	/* the first sign of a loss; 0: none */
	bool lost;		/* and it was one */
	uint64_t n[JOB_COUNTS];
};

struct job {
	union addr at;		/* the switch */
	int32_t number;		/* -1: unknown */
	uint32_t place;		/* among the jobs */
	enum job_mode mode;
	bool answers;		/* a server out of step: a round each */
	bool asks_rounds;	/* no Join was seen, but rounds out of step */
	uint32_t expected;	/* vectors of an iteration; 0: unknown */
	uint32_t segs;		/* of a vector; 0: unknown */
	uint32_t most;		/* highest index seen, + 1 */
	struct job_member *member;
	uint32_t members, room;
	struct job_iteration it[2];	/* by iteration & 1 */
	bool begun;
	int64_t newest;
	uint64_t n[JOB_COUNTS];
	uint64_t iterations, restarts;
	struct durations iteration;	/* times of those that are whole */
	struct stats_sum slowest_by, phase[JOB_PHASES], aggregation, staleness;
	struct stats_sum repair;	/* of iterations that had one */
	uint64_t stale_most;
	uint64_t applied;	/* by a server out of step: vectors */
	struct job_closed *closing;	/* out of step, by rounds; owned */
	uint64_t missing;	/* vectors that results are without */
	const struct job_context *context;	/* borrowed */
};

/* What jobs share; report may be NULL. */
struct job_context {
	struct bitmap_budget budget;
	uint64_t iterations_mask;	/* of numbers on the wire */
	uint64_t no_room;	/* segments that no memory was left for */
	void (*report)(void *arg, const struct job *j,
	    const struct job_closed *c);
	void *arg;
};

/* A segment, as one capture shows it. */
struct job_segment {
	int64_t iteration;
	uint32_t index;
	uint16_t vectors;	/* inside */
	uint64_t stamp_ns;
	unsigned file;
	bool down;		/* a result */
};

void job_init(struct job *j, struct job_context *context, const union addr *at,
    int32_t number);
void job_free(struct job *j);

/* A new member, its number; -1: there are too many. */
int32_t job_add_member(struct job *j, const union addr *at);

/* Add the time of a whole iteration; exits 1 without memory. */
void job_add_time(struct job *j, uint64_t ns);

/* Member m, or -1: nobody we know, sent or got so many of what, maybe of t. */
void job_count(struct job *j, int32_t m, enum job_count what, uint64_t by);
void job_count_at(struct job *j, int32_t m, int64_t t, enum job_count what);

/*
 * At now_ns there is a sign that something of iteration t was lost; it is sure
 * where it was asked for or seen again, and not where it was but probed for.
 */
void job_mark_loss(struct job *j, int64_t t, uint64_t now_ns, bool sure);

/* Has member m sent to iteration t, which is not closed, or being closed? */
static inline bool
job_has_sent(const struct job *j, uint32_t m, int64_t t)
{
	const struct job_part *p = &j->member[m].part[t & 1];

	return p->open && p->iteration == t && p->up.segments.n > 0;
}

/* An iteration of 24 bits as one next to the newest. */
int64_t job_unwrap(const struct job *j, uint32_t iteration);

/* Vectors that are not in a result of so many. */
static inline uint32_t
job_missing(const struct job *j, uint32_t vectors)
{
	return vectors < j->expected ? j->expected - vectors : 0;
}

/* Segments of a vector, as they were told or, else, seen. */
static inline uint32_t
job_segs(const struct job *j)
{
	return j->segs != 0 ? j->segs : j->most;
}

#endif
