/*
 * job.h - the iterations of one job of program iswitch, or of one session of
 * dlp
 *
 * In each iteration, a member sends the segments of its vector and receives the
 * segments of the result.  A session of DLP is a job whose vectors have one
 * segment and whose iterations are its steps.  The segments of a capture and
 * their timestamps determine the times that innet-iswitch(7) and innet-dlp(7)
 * define.  Times that the capture does not show are unknown.
 *
 * Times are ns since the epoch.  iterations.h handles the iterations of
 * synchronous jobs, and rounds.h handles the rounds of asynchronous jobs.  A
 * closed iteration is passed to report().  After that, only sums and the last
 * SAMPLE_KEPT iteration times are kept.  A job owns its memory: call
 * job_free().  Functions exit if there is no memory.
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
	JOB_BEHIND = 64		/* a segment that is more iterations behind
				 * shows a restart */
};

enum job_mode { JOB_MODE_UNKNOWN, JOB_SYNC, JOB_ASYNC };

/* Numbers of packets, and numbers of bytes in their frames. */
enum job_count {
	JOB_SEGMENTS,		/* number of segments of contributions, each
				 * counted once */
	JOB_RETRANSMITTED,	/* repetitions of contributions */
	JOB_RESULTS, JOB_RESENT,	/* results, and their repetitions */
	JOB_HELPS, JOB_ASKED,	/* number of Help messages from members; number
				 * from the switch */
	JOB_PROBES, JOB_NACKS, JOB_STATES, JOB_NOTICES,
	JOB_HANDOVERS,		/* Fetch and Chunk */
	JOB_POLLS, JOB_WRONG_STEP, JOB_RETRIES,	/* only in DLP */
	JOB_LATE,		/* number of segments of a closed iteration */
	JOB_COPIES,		/* number of segments that were seen before in
				 * another capture */
	JOB_MISMATCHED,		/* number of segments beyond the end of the
				 * vector */
	JOB_BYTES_UP, JOB_BYTES_DOWN,
	JOB_COUNTS
};

/* The segments that a member sent, or received, in an iteration. */
struct job_side {
	/*
	 * Times of the first and the last segment; copies of a segment do not
	 * count.
	 */
	uint64_t first_ns, last_ns;
	unsigned file;		/* index of the capture with the first
				 * segment */
	struct bitmap segments;
};

struct job_part {
	int64_t iteration;
	bool open;
	struct job_side up, down;
	uint32_t next;		/* index + 1 of the next member with a part, or
				 * 0 */
};

/* The phases of a member's iteration. */
enum job_phase { JOB_COMPUTE, JOB_SEND, JOB_WAIT, JOB_RECEIVE, JOB_PHASES };

struct job_member {
	union addr at;
	int64_t worker;		/* the member's number; -1: unknown */
	struct job_part part[2];	/* index: iteration & 1 */
	bool in_group;		/* the member gets results that are sent to the
				 * multicast group */
	bool has_done;
	int64_t done;		/* newest iteration of which the member has the
				 * result */
	uint64_t done_ns;
	uint64_t n[JOB_COUNTS];
	uint64_t iterations;	/* number of iterations in which the member
				 * sent */
	uint64_t slowest;	/* number of iterations in which the member was
				 * the slowest */
	struct stats_sum phase[JOB_PHASES], aggregation, staleness;
	struct rounds *rounds;	/* rounds of an asynchronous job; owned */
};

/* A closed iteration. */
struct job_closed {
	int64_t iteration;
	uint64_t start_ns;	/* time of the first packet of the iteration */
	bool whole;		/* iteration_ns is known */
	uint64_t iteration_ns;
	bool repaired;		/* lost segments were repaired, which took
				 * repair_ns */
	uint64_t repair_ns;
	struct stats_sum time;	/* asynchronous: iteration_ns of members */
	uint32_t members;	/* number of members with a part in the
				 * iteration */
	uint32_t contributors;
	uint32_t vectors;	/* number of vectors in the result; 0:
				 * unknown */
	int32_t slowest;	/* slowest member; -1: unknown */
	uint64_t slowest_by_ns;
	struct stats_sum phase[JOB_PHASES];
	uint64_t n[JOB_COUNTS];
};

struct job_iteration {
	bool open, first;	/* `first`: first iteration in the captures */
	int64_t iteration;
	uint32_t list;		/* index + 1 of the first member with a part */
	uint32_t vectors;
	uint64_t repair_from_ns;	/* time of the first sign of a loss; 0:
					 * none */
	bool lost;		/* the loss is certain */
	uint64_t n[JOB_COUNTS];
};

struct job {
	union addr at;		/* address of the switch */
	int32_t number;		/* job number; -1: unknown */
	uint32_t place;		/* index among the jobs */
	enum job_mode mode;
	bool answers;		/* the job has an asynchronous server, with one
				 * round per push */
	bool asks_rounds;	/* Probes ask for rounds; no Join was seen */
	uint32_t expected;	/* number of vectors per iteration; 0:
				 * unknown */
	uint32_t segs;		/* number of segments per vector; 0: unknown */
	uint32_t most;		/* highest segment index seen, plus 1 */
	struct job_member *member;
	uint32_t members, room;
	struct job_iteration it[2];	/* index: iteration & 1 */
	bool begun;
	bool has_rounds;		/* a member has asynchronous rounds */
	int64_t newest;
	uint64_t n[JOB_COUNTS];
	uint64_t iterations, restarts;
	struct durations iteration;	/* times of complete iterations */
	struct stats_sum slowest_by, phase[JOB_PHASES], aggregation, staleness;
	struct stats_sum repair;	/* durations of repairs */
	uint64_t stale_most;
	/* The number of vectors that an asynchronous server applied. */
	uint64_t applied;
	struct job_closed
	    *closing;		/* rounds not reported yet; owned */
	uint64_t missing;	/* number of vectors missing from results */
	const struct job_context *context;	/* borrowed */
};

/* The state that all jobs share; report may be NULL. */
struct job_context {
	struct bitmap_budget budget;
	uint64_t iterations_mask;	/* mask of the bits of an iteration
					 * number that a packet contains */
	uint64_t no_room;	/* number of segments beyond the budget */
	void (*report)(void *arg, const struct job *j,
	    const struct job_closed *c);
	void *arg;
};

/* A segment in a capture. */
struct job_segment {
	int64_t iteration;
	uint32_t index;
	uint16_t vectors;	/* number of vectors in the sum of the
				 * segment */
	uint64_t stamp_ns;
	unsigned file;
	bool down;		/* the segment belongs to a result */
};

/* Initialise a job at a switch; `number` is -1 if the number is unknown. */
void job_init(struct job *j, struct job_context *context, const union addr *at,
    int32_t number);
/* Free all memory of j. */
void job_free(struct job *j);

/* Add a member.  Return its index, or -1 if there are too many members. */
int32_t job_add_member(struct job *j, const union addr *at);

/* Add the time of a complete iteration. */
void job_add_time(struct job *j, uint64_t ns);

/*
 * job_count() adds `by` to a count of the job and of member m (-1: unknown).
 * job_count_at() adds 1, also to the count of iteration t.
 */
void job_count(struct job *j, int32_t m, enum job_count what, uint64_t by);
void job_count_at(struct job *j, int32_t m, int64_t t, enum job_count what);

/*
 * Record a sign, seen at now_ns, that a segment of iteration t was lost.  Set
 * `sure` if the segment was requested or sent again, but not if a Probe asked
 * about it.
 */
void job_mark_loss(struct job *j, int64_t t, uint64_t now_ns, bool sure);

/*
 * Return whether member m has sent a segment of iteration t, which is still
 * open.
 */
static inline bool job_has_sent(const struct job *j, uint32_t m, int64_t t);

/* Return the number of vectors missing from a result of `vectors` vectors. */
static inline uint32_t job_missing(const struct job *j, uint32_t vectors);

/* Return the number of segments per vector, as announced or as seen so far. */
static inline uint32_t job_segs(const struct job *j);

/* implementation */

static inline bool
job_has_sent(const struct job *j, uint32_t m, int64_t t)
{
	const struct job_part *p = &j->member[m].part[t & 1];

	return p->open && p->iteration == t && p->up.segments.n > 0;
}

/*
 * Return the iteration that has these low 24 bits and is nearest to the newest
 * iteration.
 */
int64_t job_unwrap(const struct job *j, uint32_t iteration);

static inline uint32_t
job_missing(const struct job *j, uint32_t vectors)
{
	return vectors < j->expected ? j->expected - vectors : 0;
}

static inline uint32_t
job_segs(const struct job *j)
{
	return j->segs != 0 ? j->segs : j->most;
}

#endif
