/*
 * job-conf.h - what the jobs of a switch are told, share and count
 */
#ifndef INNET_ISWITCH_JOB_CONF_H
#define INNET_ISWITCH_JOB_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include <nettle/hmac.h>

#include "common/iswitch/reduce.h"

enum {
	JOB_ASK_MS = 10,	/* between rounds of Helps for a segment */
	JOB_AGAIN_EACH = 4,	/* results sent again, for each new one, */
	JOB_AGAIN_MS = 100	/* and for so long a time, to a member */
};

/* What became of a packet, and other things worth counting. */
enum job_count {
	JOB_SEGMENTS,		/* came from members; each is one of: */
	JOB_ADDED, JOB_DUPLICATE, JOB_LATE, JOB_EARLY, JOB_RESENT, JOB_STALE,
	JOB_MISMATCHED, JOB_HALTED,
	JOB_NO_SLOT,		/* its slot is another segment's still */
	JOB_NO_MEMORY,
	JOB_NONFINITE,		/* of those added: with NaN or infinity */
	JOB_RESULTS,		/* slots completed */
	JOB_PARTIAL,		/* of those, before H was reached */
	JOB_TOO_FEW,		/* not completed, for want of contributions */
	JOB_SENT_UP, JOB_FROM_PARENT, JOB_PARENT_OLD,
	JOB_HELP, JOB_HELP_RESENT, JOB_HELP_ASKED, JOB_HELP_UP, JOB_GONE,
	JOB_JOINS, JOB_LEAVES, JOB_EVICTED,
	JOB_INCOMPLETE,		/* server: vectors with a segment lost */
	JOB_PROBES,		/* came from members; and sent to them: */
	JOB_STATES, JOB_NOTICES, JOB_NACKS,
	JOB_FETCHES, JOB_CHUNKS,	/* passed on to senders, and back */
	JOB_WITHHELD,		/* results that are not sent again so often */
	JOB_BAD_PROOF,		/* from a member's address, or the parent's */
	JOB_COUNTS
};

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
		"nacks", "fetches", "chunks", "withheld", "bad_proof"
	};

	return name[what];
}

struct job_conf {
	struct reduce reduce;
	uint16_t h;			/* 0: the members decide */
	bool async;
	bool whole;			/* sum when all of a vector is here */
	/* ordered: as rows came, not by member */
	bool as_came;
	/* async: iswitch/job-async-server.h answers each vector */
	bool server;
	bool child;			/* has a parent */
	uint32_t keep;			/* results kept, synchronous */
	uint64_t keep_bytes;		/* likewise, asynchronous */
	uint64_t straggler_ns;		/* 0: none */
	uint64_t member_timeout_ns;
	uint32_t slots;			/* of all jobs; 0: as they need */
	bool tagged;			/* its data, and judges members' */
	bool accepts_any_tag;		/* in a trace without a secret: all
				   proofs are good */
	/* keyed with the key file, or NULL: proofs are tokens */
	const struct hmac_sha256_ctx *key;
	uint8_t secret[SHA256_DIGEST_SIZE];	/* salts are made of it */
};

/* Memory that all jobs of a switch share. */
struct job_budget {
	uint64_t used_bytes;
	uint64_t limit_bytes;		/* 0: none */
	uint64_t job_bytes;		/* likewise, of one job */
	uint64_t lacked_bytes;		/* more than were left, when last
					   something was refused */
	bool lacked_by_job;		/* its own limit was meant */
	uint32_t slots;			/* taken, where they are counted */
	uint32_t founded;		/* jobs: each has another salt */
};

#endif
