/*
 * job.h - one training job of an aggregation switch
 *
 * This file contains the settings, counters and memory of a job.  It determines
 * when the job opens, what its threshold H is, when a slot is complete and
 * which iterations are complete (iSwitch, sections 3.2 to 3.4).  job-segments.h
 * processes the segments, results and Helps of a job; switch.h finds the job of
 * a packet.
 *
 * The functions read no clock: time is an argument, in ns.  Packets to be sent
 * are put into the outbox of the job.  `t` is an iteration of a synchronous job
 * or a round of an asynchronous job, as an unwrapped number (sums_unwrap()).
 * `i` is the index of a segment, and `at` is the number of a slot.  A job is
 * asynchronous if cf->async is set.
 */
#ifndef INNET_ISWITCH_JOB_H
#define INNET_ISWITCH_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <nettle/hmac.h>

#include "common/arq/retransmit.h"
#include "common/auth/segment-tag.h"
#include "common/iswitch/job-async-server.h"
#include "common/iswitch/members.h"
#include "common/iswitch/job-rule.h"
#include "common/iswitch/sums.h"
#include "common/switch/outbox.h"
#include "common/wire/control.h"

enum {
	JOB_ASK_MS = 10,	/* shortest time between Helps for one
				 * segment */
	JOB_RESENDS_EACH = 4,	/* number of repeated results that a member may
				 * get for each new result */
	JOB_RESEND_MS = 100	/* shortest time between repeated results to a
				 * member that has used up its allowance */
};

/*
 * The counters of a job: the reasons under which segments are counted, and
 * other events.
 */
enum job_count {
	JOB_SEGMENTS,		/* segments from members; each segment is also
				 * counted under one of the reasons below */
	JOB_ADDED, JOB_DUPLICATE, JOB_LATE, JOB_EARLY, JOB_RESENT, JOB_STALE,
	JOB_MISMATCHED, JOB_HALTED,
	JOB_NO_SLOT,		/* segments that were not added because another
				 * segment uses the slot */
	JOB_NO_MEMORY,
	JOB_NONFINITE,		/* segments that were added and contain NaN or
				 * infinity */
	JOB_RESULTS,		/* slots completed */
	JOB_PARTIAL,		/* slots completed before H was reached */
	JOB_TOO_FEW,		/* slots that were not completed because they
				 * had too few contributions */
	JOB_SENT_UP, JOB_FROM_PARENT, JOB_PARENT_OLD,
	JOB_HELP, JOB_HELP_RESENT, JOB_HELP_ASKED, JOB_HELP_UP, JOB_GONE,
	JOB_JOINS, JOB_LEAVES, JOB_EVICTED,
	JOB_INCOMPLETE,		/* server: vectors that were discarded because a
				 * segment was lost */
	JOB_PROBES,		/* Probes from members; the next three counters
				 * count messages sent to members */
	JOB_STATES, JOB_NOTICES, JOB_NACKS,
	JOB_FETCHES, JOB_CHUNKS,	/* Fetches that were relayed to senders;
					 * Chunks that were relayed to
					 * receivers */
	JOB_HOLDS_ENDED,		/* halts of the job that ended because
					 * the receiver of a state took too
					 * long */
	JOB_WITHHELD,		/* repeated results that were not sent because
				 * the member had used up its allowance */
	JOB_BAD_TAG,		/* packets that came from the address of a
				 * member or of the parent and had a wrong
				 * tag */
	JOB_COUNTS
};

/* The settings of all jobs of a switch. */
struct job_conf {
	struct job_rule rule;		/* unless a Join names another one */
	uint16_t h;			/* threshold H; 0: H is the number of
					 * members */
	bool async;
	bool whole;			/* act as a server: add only whole
					 * vectors */
	bool as_came;			/* reduction `ordered`: add the rows in
					 * order of arrival and not in order of
					 * member numbers */
	bool server;			/* act as an asynchronous server: answer
					 * each vector (job-async-server.h) */
	bool child;			/* the switch has a parent */
	uint32_t keep;			/* synchronous: for each segment, number
					 * of old results to keep */
	uint64_t keep_bytes;		/* asynchronous: memory for kept
					 * results, in bytes */
	uint64_t member_timeout_ns;
	uint32_t slots;			/* limit on the slots of all jobs; 0: no
					 * limit */
	bool tagged;			/* data has authentication tags, and the
					 * tags of members are checked */
	bool accepts_any_tag;		/* accept every tag, because a trace is
					 * replayed and its secret is not
					 * known */
	const struct key *key;		/* borrowed; NULL: no key */
	uint8_t secret[SHA256_DIGEST_SIZE];	/* secret from which salts are
						 * derived */
};

/* The memory that all jobs of a switch share. */
struct job_budget {
	uint64_t used_bytes;
	uint64_t limit_bytes;		/* 0: no limit */
	uint64_t job_bytes;		/* memory limit of one job; 0: no
					 * limit */
	uint64_t lacked_bytes;		/* number of bytes by which the last
					 * refused request exceeded the limit */
	bool lacked_by_job;		/* the limit that was exceeded is
					 * job_bytes */
	uint32_t slots;			/* number of slots in use; counted only
					 * if slots are limited */
	uint32_t founded;		/* number of jobs started so far; each
					 * job has its own salt and instance
					 * number */
};

enum {
	JOB_SOCKET_OVERHEAD_BYTES = 1024,	/* overhead of a packet in the
						 * buffer of a socket */
	JOB_SOCKET_MIN_BYTES = 128 << 10,	/* smallest buffer of a
						 * socket */
	JOB_SOCKET_MAX_BYTES = 8 << 20		/* largest buffer of a socket */
};

enum { JOB_DONE = 16 };	/* number of iterations or rounds whose complete
			 * segments are counted */

/* One job of a switch. */
struct job {
	const struct job_conf *cf;	/* owned by the switch */
	struct outbox *out;		/* borrowed */
	struct job_budget *budget;	/* owned by the switch */
	uint64_t used_bytes;		/* number of bytes that this job uses of
					 * the budget */
	uint32_t slots;			/* number of slots that this job uses of
					 * the budget */
	uint32_t index;			/* index of the job in the switch, which
					 * the job's posts contain */
	uint16_t id;
	uint32_t instance;		/* instance number, not 0; it changes
					 * each time the job starts */
	uint16_t h;			/* H as set by -H, a SetH message or a
					 * Join; 0: the number of members */
	struct job_rule rule;
	bool open, halted;
	bool parent_closed;		/* switch with a parent: the job of the
					 * parent is not open yet */
	bool grows;			/* --members was given: the number of
					 * elements is learned from the
					 * segments */
	bool ahead;			/* a member has the result of iteration
					 * `start` */
	int64_t start;			/* first iteration */
	int64_t done_before;		/* all iterations before this one count
					 * as complete */
	int64_t newest;			/* latest iteration that a slot has */
	uint32_t crc[2];		/* checksums of the weights before
					 * iterations start and start + 1; 0:
					 * unknown */
	uint64_t last_join_ns;
	uint64_t timeout_check_ns;	/* no member can time out before this
					 * time */
	struct members members;
	struct sums sums;		/* has no memory while the job has no
					 * member */
	struct job_async_server server;	/* used if cf->server */
	uint32_t serial;		/* serial number of the last completed
					 * segment */
	/*
	 * For the last JOB_DONE iterations or rounds t: n is the number of
	 * complete segments of t.  Entry t is at index t % JOB_DONE.
	 */
	struct { int64_t t; uint32_t n; } done[JOB_DONE];
	bool notify;			/* an iteration is complete, so notices
					 * must be sent */
	bool owes_part;			/* a member expects a notice about a
					 * part of an iteration */
	struct retransmit *retransmit;	/* owned; retransmission to the parent;
					 * NULL: the parent does not repair
					 * losses */
	int64_t sending;		/* iteration or push that is being sent
					 * to the parent */
	int64_t missing_round;		/* asynchronous: first round of which
					 * some results have not arrived from
					 * the parent */
	int64_t wanted_round;		/* latest round that a member has
					 * requested */
	bool has_backlog;		/* there are answers that have not been
					 * posted */
	uint32_t backlog_turn;		/* id of the member to which answers
					 * were posted last */
	uint64_t ask_ns;		/* no member needs to be asked for
					 * segments before this time */
	uint32_t *order;		/* owned; rows of one slot, in the order
					 * in which they will be added */
	struct tag_key *tag_key;	/* key of the authentication tags of the
					 * job's data; NULL: no tags */
	struct segment_tag *up_tags;	/* tags of data sent to the parent;
					 * owned by the membership; NULL: no
					 * tags */
	uint64_t n[JOB_COUNTS];
};

enum {
	JOB_OPEN_NS = 1000000000,	/* if H is 0: time from the last Join
					 * until the job opens */
	JOB_GROWS = 4	/* a push that waits for the parent accepts up to
			 * JOB_GROWS * H contributions */
};

/* Return the name that counter `what` has in reports. */
static inline const char *job_count_name(unsigned what);

/*
 * Return the shape of the memory that a job with settings cf and this rule
 * needs for vectors of `elements` elements, with `floats` floats in a segment.
 */
static inline struct sums_shape job_shape(const struct job_conf *cf,
    const struct job_rule *rule, uint32_t elements, uint32_t floats);

/*
 * Limit the slots of shape s to half of the free slots, because other jobs need
 * slots too.  `taken` slots are in use.  Returns false if no slot is free.
 */
static inline bool job_fit_slots(const struct job_conf *cf, uint32_t taken,
    struct sums_shape *s);

/*
 * Allocate memory of shape s and begin with the iteration whose number on the
 * wire is `next`.  Returns false if there is no memory.
 */
static inline bool job_start(struct job *j, const struct sums_shape *s,
    uint32_t next);

/* Free the memory of a job that has no members left. */
static inline void job_release(struct job *j);

/* Free everything that j owns. */
static inline void job_free(struct job *j);

/* Does the job have memory?  It has memory if a member has joined. */
static inline bool job_has_memory(const struct job *j);

/*
 * Return the size, in bytes, of each buffer of the socket through which a job
 * of shape s talks to its parent.  A buffer of this size has room for the
 * packets of two iterations and for their overhead.
 */
static inline uint64_t job_socket_bytes(const struct sums_shape *s);

/*
 * Charge the memory of shape s to the budget, before this memory is allocated.
 * Also enlarge j->order.  Returns false if there is no memory.
 */
static inline bool job_reserve(struct job *j, const struct sums_shape *s);

/*
 * Enlarge the memory to shape s and keep all sums.  Returns false if there is
 * no memory.
 */
static inline bool job_reshape(struct job *j, const struct sums_shape *s);

/*
 * Keep results from now on.  If there is no memory for them, the job continues
 * without keeping results.
 */
static inline void job_keep_results(struct job *j);

/* Free the state of the retransmission to the parent. */
static inline void job_stop_retransmit(struct job *j);

/* Return the epoch that the authentication tags of iteration t cover. */
static inline uint32_t job_epoch(int64_t t);

/* Return the ToS byte of the job's segments. */
static inline uint8_t job_tos(const struct job *j);

/*
 * Write the authentication tag of the result at p, which belongs to iteration t
 * and has n floats.
 */
static inline void job_put_tag(const struct job *j, uint8_t *p, int64_t t,
    uint32_t n);

/* Return H, the number of contributions that complete a slot of iteration t. */
static inline uint32_t job_threshold(const struct job *j, int64_t t);

/* May a result lack the contributions of some members? */
static inline bool job_may_be_partial(const struct job *j);

/*
 * Open the job if H members have joined.  If H is 0, open it when no member has
 * joined for JOB_OPEN_NS.
 */
static inline void job_try_open(struct job *j, uint64_t now_ns);

/*
 * Let members that joined later contribute to the newest iteration, if every
 * member that could contribute to it has left.  Otherwise the iteration would
 * never be complete.
 */
static inline void job_admit_later_members(struct job *j);

/*
 * Begin iteration t in slot `at` with segment g.  First flush the packets that
 * the slot still has to send.
 */
static inline void job_restart_slot(struct job *j, uint32_t at, int64_t t,
    const struct seg *g, uint64_t now_ns);

/* Complete slot `at` if all contributions that it needs have arrived. */
static inline void job_test_slot(struct job *j, uint32_t at);

/*
 * Check whether each slot that is filling is complete now, because H has
 * changed.
 */
static inline void job_test_slots(struct job *j);

/*
 * Combine the contributions in slot `at`, and send the result to the members or
 * to the parent.
 */
static inline void job_complete_slot(struct job *j, uint32_t at);

/* Does slot `at` have too few contributions to make a result? */
static inline bool job_has_too_few(const struct job *j, uint32_t at);

/*
 * Asynchronous job: must slot `at` reject further contributions until the
 * parent has the previous push?
 */
static inline bool job_slot_is_full(const struct job *j, uint32_t at);

/* Send the sum of slot `at` to the parent. */
static inline void job_send_up(struct job *j, uint32_t at);

/*
 * Send the result of segment i of iteration t, which has n floats, to all
 * members.  If the job acts as a server, queue the result for each member
 * instead.
 */
static inline void job_send_result(struct job *j, int64_t t, uint32_t i,
    uint32_t n);

/*
 * Are all segments of iteration t complete?  The function knows this only of
 * the last JOB_DONE iterations.
 */
static inline bool job_is_whole(const struct job *j, int64_t t);

/*
 * Return the next time at which the job must be checked for stragglers, for
 * silent members or for its opening, or UINT64_MAX.
 */
static inline uint64_t job_deadline_ns(const struct job *j);

/*
 * Does every segment of iteration t have a result?  This function checks each
 * slot.
 */
static inline bool job_is_complete(const struct job *j, int64_t t);

/*
 * Return the first incomplete iteration.  The search begins one iteration
 * before the newest iteration, because an iteration may be repeated.
 */
static inline int64_t job_next_iteration(const struct job *j);

/*
 * Are all results from iteration n on still kept?  Results that an asynchronous
 * rack has lacked since it was restarted count as kept, because the rack gets
 * them from its parent.  This does not hold for rounds before the first one,
 * although the rack may have some of their results.  A worker that lacks such a
 * round also needs the result before it as a proof, and the rack does not
 * accept this result.
 */
static inline bool job_keeps_results_from(const struct job *j, int64_t n);

/*
 * In a job with fewer slots than segments: have some results of iteration n
 * been dropped although n is incomplete?  If so, a member that lacks all
 * results of n cannot get all of them.
 */
static inline bool job_has_dropped_results(const struct job *j, int64_t n);

/* Can all members contribute again to the iteration before `next`? */
static inline bool job_can_repeat(const struct job *j, int64_t next);

/*
 * Let the job begin one iteration earlier.  crc is the checksum of the weights
 * before that iteration.
 */
static inline void job_step_back(struct job *j, uint32_t crc);

/*
 * Discard all sums from iteration t on, because the parent was restarted and
 * has lost its sums.  The members must contribute again.
 */
static inline void job_repeat_from(struct job *j, int64_t t, uint64_t now_ns);

/*
 * Discard the parent's result in slot `at`, because the result belongs to an
 * earlier instance of the job.  The members must send the segment again.
 */
static inline void job_discard_result(struct job *j, uint32_t at,
    uint64_t now_ns);

/*
 * Repeat an iteration if the Join of a rack says that the rack begins one
 * iteration earlier, because one of its members was late.
 */
static inline void job_follow_rack(struct job *j,
    const struct control_join *join, uint64_t now_ns);

/* implementation */

static inline const char *
job_count_name(unsigned what)
{
	static const char *const name[JOB_COUNTS] = {
		"segments", "added", "duplicate", "late", "early", "resent",
		"stale", "mismatched", "halted", "no_slot", "no_memory",
		    "nonfinite",
		"results", "partial", "too_few", "sent_up", "from_parent",
		"parent_old",
		"help", "help_resent", "help_asked", "help_up", "gone", "joins",
		    "leaves",
		"evicted", "incomplete", "probes", "states", "notices",
		"nacks", "fetches", "chunks", "holds_ended", "withheld",
		"bad_proof"
	};

	return name[what];
}

static inline struct sums_shape
job_shape(const struct job_conf *cf, const struct job_rule *rule,
    uint32_t elements, uint32_t floats)
{
	struct sums_shape s = { .elements = elements, .floats = floats,
	    .segs = seg_count(elements, floats), .words = 1,
	    .ways = cf->async && !cf->child ? 1 : 2, .depth = 2,
	    .apart = cf->async && cf->child ? 2 : 0, .rows = 1 };
	const uint64_t vector = (uint64_t)s.segs * (SEG_HEADER_BYTES +
	    (cf->tagged ? SEG_TAG_BYTES : 0) + 4 * (uint64_t)floats);

	if (cf->server) {	/* the server keeps the answers of each member
				 * separately */
		s.words = 0;
		s.depth = 1;
	} else if (cf->async) {
		s.words = 0;
		s.depth = (uint32_t)(cf->keep_bytes / vector > 4096 ? 4096 :
		    cf->keep_bytes / vector);
		if (s.depth < 17)
			s.depth = 17;
	} else if (rule->straggler_ns > 0) {
		s.depth = 2 + cf->keep;
	}
	s.rows = cf->h > 4 ? cf->h : 4;
	s.tag_bytes = cf->tagged ? SEG_TAG_BYTES : 0;
	return s;
}

static inline bool
job_fit_slots(const struct job_conf *cf, uint32_t taken, struct sums_shape *s)
{
	const uint32_t left = cf->slots > taken ? cf->slots - taken : 0;
	const uint32_t most = (left + 1) / 2;

	if (cf->slots == 0 || sums_slots(s) <= most)
		return true;
	s->span = most / s->ways;
	return s->span > 0;
}

/*
 * Change the number of bytes that the budget counts for this job to `bytes`.
 * Returns false if this would exceed a limit.
 */
static inline bool
job_charge_budget(struct job *j, uint64_t bytes)
{
	struct job_budget *b = j->budget;
	const uint64_t others = b->used_bytes - j->used_bytes;
	const bool own = b->job_bytes > 0 && bytes > b->job_bytes;

	if (bytes > j->used_bytes && (own || (b->limit_bytes > 0 &&
	    others + bytes > b->limit_bytes))) {
		b->lacked_bytes = own ? bytes - b->job_bytes : others + bytes -
		    b->limit_bytes;
		b->lacked_by_job = own;
		return false;
	}
	b->used_bytes = others + bytes;
	j->used_bytes = bytes;
	return true;
}

/*
 * Return the number of bytes of memory for the records of the segments that
 * `members` members send, in vectors of `segs` segments.
 */
static inline uint64_t
job_member_bytes(const struct job *j, uint32_t members, uint32_t segs)
{
	return members * loss_detect_bytes(segs) +
	       (j->cf->server	  ? job_async_server_bytes(j->sums.s.elements,
					j->sums.s.floats, members)
		   : j->cf->async ? members * segs * sizeof(uint32_t)
				  : 0) +
	       (j->retransmit != NULL ? retransmit_bytes(segs) : 0);
}

static inline uint64_t
job_socket_bytes(const struct sums_shape *s)
{
	const uint64_t bytes = 2 * (uint64_t)s->segs *
	    (4 * (uint64_t)s->floats + JOB_SOCKET_OVERHEAD_BYTES);

	return bytes < JOB_SOCKET_MIN_BYTES ? JOB_SOCKET_MIN_BYTES :
	    bytes > JOB_SOCKET_MAX_BYTES ? JOB_SOCKET_MAX_BYTES : bytes;
}

/*
 * Return the number of bytes that the kernel may use for the socket of a job of
 * shape s.  The socket has two buffers, and the kernel doubles the size of
 * each.
 */
static inline uint64_t
job_charged_socket_bytes(const struct job_conf *cf, const struct sums_shape *s)
{
	return cf->child ? 4 * job_socket_bytes(s) : 0;
}

static inline void
job_stop_retransmit(struct job *j)
{
	if (j->retransmit != NULL)
		retransmit_free(j->retransmit);
	free(j->retransmit);
	j->retransmit = NULL;
}

static inline void
job_free(struct job *j)
{
	members_free(&j->members);
	sums_free(&j->sums);
	job_async_server_free(&j->server);
	free(j->order);
	j->order = NULL;
	free(j->tag_key);
	j->tag_key = NULL;
	job_stop_retransmit(j);
	job_charge_budget(j, 0);
	j->budget->slots -= j->slots;
	j->slots = 0;
}

static inline void
job_release(struct job *j)
{
	outbox_flush(j->out);
	job_free(j);
	j->open = false;
}

static inline bool
job_reserve(struct job *j, const struct sums_shape *s)
{
	const uint64_t had = j->used_bytes;
	uint32_t *order;

	if (!job_charge_budget(
		j, sums_bytes(&j->rule.reduce, s) +
		       job_charged_socket_bytes(j->cf, s) +
		       job_member_bytes(j, j->members.count, s->segs)))
		return false;
	order = realloc(j->order, s->rows * sizeof(*order));
	if (order != NULL)
		j->order = order;
	else
		job_charge_budget(j, had);
	return order != NULL;
}

static inline bool
job_reshape(struct job *j, const struct sums_shape *s)
{
	const uint64_t had = j->used_bytes;

	outbox_flush(j->out);
	if (!job_reserve(j, s))
		return false;
	if (sums_reshape(&j->sums, s))
		return true;
	job_charge_budget(j, had);
	return false;
}

/*
 * Derive n bytes from the secret, the instance number of the job, and the
 * label.
 */
static inline void
job_derive(const struct job *j, const uint8_t label[16], size_t n,
    uint8_t *bytes)
{
	uint8_t what[6];
	struct hmac_sha256_ctx h;

	bytes_put(bytes_put(what, j->id, 2), j->budget->founded, 4);
	hmac_sha256_set_key(&h, sizeof(j->cf->secret), j->cf->secret);
	hmac_sha256_update(&h, 16, label);
	hmac_sha256_update(&h, sizeof(what), what);
	hmac_sha256_digest(&h, n, bytes);
}

/*
 * Assign an instance number to the job.  If data is tagged, also make a tag
 * key, with a salt that only this job has.  Returns false if there is no
 * memory.
 */
static inline bool
job_make_identity(struct job *j)
{
	static const uint8_t salt_label[16] = "innet 1 salt",
	    instance_label[16] = "innet 1 instance";
	uint8_t salt[TAG_SALT_BYTES], number[4];

	j->budget->founded++;
	job_derive(j, instance_label, sizeof(number), number);
	j->instance = (uint32_t)bytes_get(number, sizeof(number));
	j->instance += j->instance == 0;
	if (!j->cf->tagged)
		return true;
	j->tag_key = malloc(sizeof(*j->tag_key));
	if (j->tag_key == NULL)
		return false;
	job_derive(j, salt_label, sizeof(salt), salt);
	tag_key_set(j->tag_key, j->cf->key, salt);
	return true;
}

static inline uint32_t
job_epoch(int64_t t)
{
	return (uint32_t)((t - SUMS_EPOCH) >> 24);
}

static inline uint8_t
job_tos(const struct job *j)
{
	return j->cf->tagged ? SEG_TAGGED_TOS : SEG_TOS;
}

static inline void
job_put_tag(const struct job *j, uint8_t *p, int64_t t, uint32_t n)
{
	if (j->tag_key != NULL)
		tag_segment_put(j->tag_key, tag_head(TAG_DOWN, j->id,
		    job_epoch(t), NULL), p, p + sums_head_bytes(&j->sums.s),
		    4 * (size_t)n);
}

static inline bool
job_start(struct job *j, const struct sums_shape *s, uint32_t next)
{
	job_release(j);
	if (!job_reserve(j, s) || !sums_init(&j->sums, &j->rule.reduce, s) ||
	    !job_make_identity(j) ||
	    (j->cf->server && !job_async_server_init(&j->server, s->elements,
	    s->floats, sums_head_bytes(s)))) {
		job_free(j);
		return false;
	}
	if (j->cf->slots != 0) {
		j->slots = (uint32_t)sums_slots(s);
		j->budget->slots += j->slots;
	}
	j->start = SUMS_EPOCH + (next & (SEG_ITERATIONS - 1));
	j->done_before = j->start;
	j->newest = j->start - 1;
	j->missing_round = j->start;
	j->crc[0] = j->crc[1] = 0;
	j->ahead = j->has_backlog = j->notify = false;
	j->wanted_round = SUMS_NEVER;
	j->serial = 0;
	for (int k = 0; k < JOB_DONE; k++)
		j->done[k].t = SUMS_NEVER;
	j->ask_ns = UINT64_MAX;
	j->h = j->h != 0 ? j->h : j->cf->h;
	return true;
}

static inline bool
job_has_memory(const struct job *j)
{
	return j->sums.slot != NULL;
}

static inline uint32_t
job_threshold(const struct job *j, int64_t t)
{
	if (j->h != 0)
		return j->h;
	return j->cf->async ? j->members.present :
	    members_count_at(&j->members, t);
}

static inline bool
job_may_be_partial(const struct job *j)
{
	return j->rule.straggler_ns > 0 ||
	    (j->h != 0 && j->h < j->members.present);
}

static inline void
job_keep_results(struct job *j)
{
	struct sums_shape s = j->sums.s;

	if (j->cf->async || j->cf->slots != 0 || !job_has_memory(j) ||
	    s.depth >= 2 + j->cf->keep)
		return;
	s.depth = 2 + j->cf->keep;
	job_reshape(j, &s);
}

/*
 * Assign the next serial number to the completed segment i of t.  Probes refer
 * to these numbers.
 */
static inline void
job_count_completion(struct job *j, int64_t t, uint32_t i)
{
	const uint32_t k = (uint32_t)(t % JOB_DONE);

	sums_kept(&j->sums, t, i)->done = ++j->serial;
	if (j->done[k].t > t || (j->done[k].t == t &&
	    j->done[k].n == j->sums.s.segs))
		return;			/* a straggler contributed long after
					 * the other members, or a late copy of
					 * a result of the parent arrived */
	if (j->done[k].t != t) {
		j->done[k].t = t;
		j->done[k].n = 0;
	}
	j->notify |= ++j->done[k].n == j->sums.s.segs || j->owes_part;
}

static inline bool
job_is_whole(const struct job *j, int64_t t)
{
	const uint32_t k = (uint32_t)(t % JOB_DONE);

	return j->done[k].t > t ||
	    (j->done[k].t == t && j->done[k].n == j->sums.s.segs);
}

static inline void
job_send_result(struct job *j, int64_t t, uint32_t i, uint32_t n)
{
	struct sums *a = &j->sums;
	uint64_t round;

	job_put_tag(j, sums_ring_packet(a, t, i), t, n);
	round = j->has_backlog ? 0
			       : outbox_add(j->out, POST_GROUP, j->index, NULL,
				     job_tos(j), sums_ring_packet(a, t, i),
				     sums_head_bytes(&a->s) + 4 * n);
	sums_record_result(a, t, i, n, round);
	j->n[JOB_RESULTS]++;
	job_count_completion(j, t, i);
}

static inline void
job_restart_slot(struct job *j, uint32_t at, int64_t t, const struct seg *g,
    uint64_t now_ns)
{
	outbox_settle(j->out, j->sums.slot[at].posted);
	if (!j->sums.s.apart)
		outbox_settle(j->out, sums_kept(&j->sums, t, g->index)->posted);
	j->sums.slot[at].index = g->index;
	sums_restart_slot(&j->sums, at, t, g->n, now_ns);
	if (t > j->newest && !j->sums.s.apart)
		j->newest = t;
}

/*
 * Combine the rows of slot `at` in the order that the kind of reduction
 * requires.
 */
static inline void
job_reduce_slot(struct job *j, uint32_t at)
{
	for (uint32_t k = 0; j->cf->as_came && k < j->sums.slot[at].rows; k++)
		j->order[k] = k;
	if (sums_keeps_rows(&j->sums.reduce) && !j->cf->as_came)
		sums_order_rows(&j->sums, at, j->members.rank, j->order);
	sums_finish_slot(&j->sums, at, j->order);
}

static inline void
job_send_up(struct job *j, uint32_t at)
{
	const uint32_t head = sums_head_bytes(&j->sums.s);
	struct sums_slot *s = &j->sums.slot[at];
	uint8_t *p = sums_slot_packet(&j->sums, at);

	if (j->tag_key != NULL && j->up_tags != NULL) {
		outbox_settle(j->out, s->posted);
		segment_tag_put(j->up_tags, p, p + head, 4 * (size_t)s->n);
	}
	s->posted = outbox_add(j->out, POST_PARENT, j->index, NULL, job_tos(j),
	    p, head + 4 * s->n);
	j->n[JOB_SENT_UP]++;
}

static inline void
job_complete_slot(struct job *j, uint32_t at)
{
	struct sums *a = &j->sums;
	struct sums_slot *s = &a->slot[at];
	const int64_t t = s->iteration;

	if (s->accepted < job_threshold(j, t))
		j->n[JOB_PARTIAL]++;
	job_reduce_slot(j, at);
	if (j->cf->child) {
		if (j->retransmit == NULL)
			job_send_up(j, at);
		else if (t == j->sending)
			retransmit_ready_segment(
			    j->retransmit, sums_slot_index(a, at));
		sums_set_state(a, at, SUMS_SENT_UP);
	} else {
		sums_set_state(a, at, SUMS_COMPLETE);
		job_send_result(j, t, sums_slot_index(a, at), s->n);
	}
}

/*
 * A way is the set of slots of one iteration.  If all slots of `way` have their
 * contributions, complete all of them and queue the result for each member.
 * job_send_backlog() sends the queued results.
 */
static inline void
job_complete_vector(struct job *j, uint32_t way)
{
	const int64_t t = j->sums.slot[way * j->sums.s.segs].iteration;

	if (j->sums.ready[way] < j->sums.s.segs)
		return;
	j->has_backlog = true;
	for (uint32_t i = 0; i < j->sums.s.segs; i++)
		job_complete_slot(j, way * j->sums.s.segs + i);
	for (uint32_t i = 0; i < j->members.count; i++) {
		struct member_flow *f = &j->members.m[i].flow;

		f->has_answer = true;
		f->answer = t;
		f->answered = 0;
	}
}

static inline bool
job_has_too_few(const struct job *j, uint32_t at)
{
	const struct sums_slot *s = &j->sums.slot[at];

	return s->rows < reduce_needs(&j->rule.reduce,
	    job_threshold(j, s->iteration));
}

/*
 * Asynchronous job: does slot `at` wait until the parent has an earlier push?
 * While it waits, the slot accepts up to JOB_GROWS * H contributions.
 */
static inline bool
job_awaits_push(const struct job *j, uint32_t at)
{
	return j->cf->async && j->retransmit != NULL &&
	    j->sums.slot[at].iteration > j->sending;
}

static inline bool
job_slot_is_full(const struct job *j, uint32_t at)
{
	const struct sums_slot *s = &j->sums.slot[at];

	return s->state == SUMS_FILLING && job_awaits_push(j, at) &&
	    s->accepted >= JOB_GROWS * job_threshold(j, s->iteration);
}

static inline void
job_test_slot(struct job *j, uint32_t at)
{
	struct sums_slot *s = &j->sums.slot[at];
	const uint32_t h = job_threshold(j, s->iteration);

	if (s->state != SUMS_FILLING || !j->open || h == 0 ||
	    s->accepted < h || job_has_too_few(j, at) || job_awaits_push(j, at))
		return;
	if (!j->cf->whole) {
		job_complete_slot(j, at);
		return;
	}
	sums_set_state(&j->sums, at, SUMS_READY);
	job_complete_vector(j, at / j->sums.s.segs);
}

static inline void
job_test_slots(struct job *j)
{
	uint32_t at, after;

	if (!job_has_memory(j))
		return;
	for (at = j->sums.oldest; at != SUMS_NONE; at = after) {
		after = j->sums.slot[at].after;
		job_test_slot(j, at);
	}
}

static inline void
job_admit_later_members(struct job *j)
{
	if (j->h != 0 || j->cf->async || !j->open || j->newest < j->start ||
	    members_count_at(&j->members, j->newest) > 0)
		return;
	for (uint32_t i = 0; i < j->members.count; i++) {
		if (!j->members.m[i].present ||
		    j->members.m[i].from <= j->newest)
			continue;
		j->members.m[i].from = j->newest;
		/* the member has returned */
		sums_recount_member(&j->sums, i, j->newest, 1);
	}
	members_update_from_max(&j->members);
}

/* Is the job waiting to open until no member has joined for a while? */
static inline bool
job_is_assembling(const struct job *j)
{
	const uint32_t n = j->members.present;

	return !j->open && !j->parent_closed && j->h == 0 && n > 0 &&
	    n >= reduce_needs(&j->rule.reduce, n);
}

static inline void
job_try_open(struct job *j, uint64_t now_ns)
{
	if (j->open)
		return;
	if (job_is_assembling(j) ? now_ns >= j->last_join_ns + JOB_OPEN_NS :
	    !j->parent_closed && j->h != 0 && j->members.present >= j->h)
		j->open = j->notify = true;
}

static inline uint64_t
job_deadline_ns(const struct job *j)
{
	uint64_t due = UINT64_MAX, at;

	if (j->members.present == 0)
		return due;
	if (job_is_assembling(j))
		due = j->last_join_ns + JOB_OPEN_NS;
	if (j->timeout_check_ns < due)
		due = j->timeout_check_ns;
	if (j->ask_ns < due)
		due = j->ask_ns;
	if (j->rule.straggler_ns > 0 && j->sums.oldest != SUMS_NONE) {
		at = j->sums.slot[j->sums.oldest].began_ns +
		    j->rule.straggler_ns;
		due = at < due ? at : due;
	}
	return due;
}

static inline bool
job_is_complete(const struct job *j, int64_t t)
{
	for (uint32_t i = 0; i < j->sums.s.segs; i++) {
		if (j->cf->async ? sums_find_result(&j->sums, t, i) == NULL :
		    !sums_is_complete(&j->sums, t, i))
			return false;
	}
	return true;
}

static inline int64_t
job_next_iteration(const struct job *j)
{
	int64_t t = j->newest > j->start ? j->newest - 1 : j->start;

	t = t > j->done_before ? t : j->done_before;
	while (t <= j->newest && job_is_complete(j, t))
		t++;
	return t;
}

/*
 * Asynchronous job: return the first round of segment i whose result can still
 * arrive from the parent.
 */
static inline int64_t
job_next_round(const struct job *j, uint32_t i)
{
	const struct sums_slot *s = &j->sums.slot[i];

	if (j->retransmit != NULL)	/* a rack requests all rounds from this
					 * one on from its parent */
		return j->missing_round;

	if (j->sums.s.apart) {	/* the newest round may be incomplete */
		int64_t t = j->newest;

		while (t >= j->start &&
		       j->newest - t < (int64_t)j->sums.s.depth &&
		       sums_find_result(&j->sums, t, i) == NULL)
			t--;
		return t + 1;
	}
	return s->state == SUMS_EMPTY ? j->start :
	    s->iteration + (s->state == SUMS_COMPLETE);
}

static inline bool
job_keeps_results_from(const struct job *j, int64_t n)
{
	const int64_t next = j->cf->async ? 0 : job_next_iteration(j);

	if (n > j->newest + 1 || j->newest - n > (int64_t)j->sums.s.depth ||
	    (j->cf->async && n < j->start))
		return false;
	for (uint32_t i = 0; i < j->sums.s.segs; i++) {
		const int64_t undone = j->cf->async ? job_next_round(j, i) :
		    next;

		for (int64_t t = n; t < undone; t++) {
			if (sums_find_result(&j->sums, t, i) == NULL)
				return false;
		}
	}
	return true;
}

static inline bool
job_has_dropped_results(const struct job *j, int64_t n)
{
	for (uint32_t i = 0; j->sums.s.span != 0 && i < j->sums.s.segs; i++) {
		if (sums_compare(&j->sums, sums_at(&j->sums, n, i), n, i) > 0)
			return true;
	}
	return false;
}

static inline bool
job_can_repeat(const struct job *j, int64_t next)
{
	for (uint32_t i = 0; i < j->members.count; i++) {
		if (j->members.m[i].present &&
		    j->members.m[i].can_give_from >= next)
			return false;
	}
	return next == j->start ? !j->ahead : j->members.from_max < next &&
	    !job_may_be_partial(j);
}

static inline void
job_step_back(struct job *j, uint32_t crc)
{
	j->start--;
	j->done_before = j->start;
	j->newest--;
	j->sending--;
	if (j->retransmit != NULL)	/* the job has sent nothing to the
					 * parent yet */
		j->retransmit->iteration =
		    seg_step(j->retransmit->iteration, -1);
	j->ahead = true;
	j->crc[1] = j->crc[0];
	j->crc[0] = crc;
	for (uint32_t i = 0; i < j->members.count; i++)
		j->members.m[i].from = j->start;
	members_update_from_max(&j->members);
}

/*
 * Prepare slot `at`, which has iteration t or a later one, for repeated
 * contributions.
 */
static inline void
job_reset_slot(struct job *j, uint32_t at, int64_t t, uint64_t now_ns)
{
	struct sums_slot *s = &j->sums.slot[at];

	if (s->iteration > t) {		/* the iteration that the slot had
					 * before was complete */
		*sums_kept(&j->sums, s->iteration,
		    sums_slot_index(&j->sums, at)) = (struct sums_kept){0};
		s->iteration -= j->sums.s.ways;
		sums_set_state(&j->sums, at, SUMS_COMPLETE);
	} else if (s->iteration == t && s->state == SUMS_COMPLETE) {
		sums_restart_slot(&j->sums, at, t, s->n, now_ns);
	}
}

/*
 * Do the work of job_reset_slot() in a job with fewer slots than segments.  In
 * such a job it is unknown which segment used the slot before.
 */
static inline void
job_empty_slot(struct job *j, uint32_t at)
{
	struct sums_slot *s = &j->sums.slot[at];

	*sums_kept(&j->sums, s->iteration, s->index) = (struct sums_kept){ 0 };
	s->iteration = SUMS_NEVER;
	s->posted = 0;
	sums_set_state(&j->sums, at, SUMS_EMPTY);
}

static inline void
job_discard_result(struct job *j, uint32_t at, uint64_t now_ns)
{
	const int64_t t = j->sums.slot[at].iteration;

	outbox_flush(j->out);
	if (j->done[t % JOB_DONE].t == t)
		j->done[t % JOB_DONE].n--;
	if (j->sums.s.span == 0)
		sums_restart_slot(&j->sums, at, t, j->sums.slot[at].n, now_ns);
	else
		job_empty_slot(j, at);
}

static inline void
job_repeat_from(struct job *j, int64_t t, uint64_t now_ns)
{
	outbox_flush(j->out);
	if (t < j->start)
		job_step_back(j, 0);
	for (uint32_t at = 0; at < sums_slots(&j->sums.s); at++) {
		if (j->sums.s.span == 0)
			job_reset_slot(j, at, t, now_ns);
		else if (j->sums.slot[at].iteration >= t)
			job_empty_slot(j, at);
	}
	if (j->sums.s.span != 0)
		j->done_before = t;
	j->newest = j->newest > t ? t : j->newest;
	for (int k = 0; k < JOB_DONE; k++) {
		if (j->done[k].t >= t)
			j->done[k].t = SUMS_NEVER;
	}
	for (uint32_t i = 0; i < j->members.count; i++) {
		if (j->members.m[i].loss_detect != NULL)
			j->members.m[i].loss_detect->t = LOSS_DETECT_NOTHING;
	}
}

static inline void
job_follow_rack(struct job *j, const struct control_join *join,
    uint64_t now_ns)
{
	const int64_t t = j->start - 1;

	if (join->type == CONTROL_SWITCH && !j->cf->async &&
	    sums_unwrap(join->next, j->newest) == t &&
	    j->done[j->start % JOB_DONE].t != j->start &&
	    job_can_repeat(j, j->start))
		job_repeat_from(j, t, now_ns);
}

#endif
