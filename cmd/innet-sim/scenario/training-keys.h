/*
 * training-keys.h - the settings of one training job in a scenario, which is
 * synchronous or asynchronous, as in the comparison of the iSwitch paper
 *
 * A training job is a separate network.  Its workers are connected to one
 * switch, or they are in racks below a core switch.  The gradients are summed
 * by the switches themselves, by a parameter server, or by the workers in a
 * ring.
 */
#ifndef INNET_SIM_TRAINING_H
#define INNET_SIM_TRAINING_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/json-reader.h"
#include "common/wire/dlp.h"
#include "common/auth/tag.h"
#include "common/wire/seg.h"

enum {
	TRAININGS_MAX = 100,
	TRAINING_WORKERS_MAX = 4096,	/* largest number of members of a job */
	TRAINING_RACKS_MAX = 4000
};

enum training_approach { TRAINING_SWITCH, TRAINING_PS, TRAINING_RING };
enum training_program { TRAINING_ISWITCH, TRAINING_DLP };
enum training_reduce { TRAINING_MEAN, TRAINING_MEDIAN };
enum training_mode { TRAINING_SYNC, TRAINING_ASYNC };
enum training_shape {
	TRAINING_CONSTANT, TRAINING_UNIFORM, TRAINING_LOGNORMAL,
	TRAINING_EXPONENTIAL
};

struct scenario_training {
	/*
	 * name of the training job; empty: the approach and the mode serve as
	 * the name
	 */
	char name[JSON_READER_NAME_BYTES];
	uint64_t program;		/* enum training_program */
	uint64_t reduce;		/* enum training_reduce; only for dlp */
	uint64_t straggler_ns;	/* time to wait for stragglers, only in dlp; 0:
				 * no limit */
	uint64_t approach;		/* enum training_approach */
	uint64_t mode;			/* enum training_mode */
	uint64_t workers;
	uint64_t rack;	/* number of workers in a rack; 0: no racks */
	uint64_t slots, core_slots; /* number of slots for sums: see
				     * training_slots() */
	uint64_t elements;	/* number of elements of a vector */
	uint64_t ring;	/* number of elements of a ring of segments; UINT64_MAX:
			 * no ring */
	uint64_t payload_bytes;
	uint64_t iterations;		/* UINT64_MAX: no limit */
	uint64_t staleness;
	bool barrier;	/* workers begin each iteration together */
	uint64_t rate_bps;	/* rate of the links of hosts; 0: no limit */
	uint64_t server_bps;		/* UINT64_MAX: same as rate_bps */
	uint64_t core_bps;		/* UINT64_MAX: same as rate_bps */
	uint64_t propagation_ns;
	double loss;
	uint64_t switch_ns;		/* delay of each packet in a switch */
	uint64_t compute_ns;
	uint64_t shape;			/* enum training_shape */
	double spread;			/* spread of compute times */
	double speeds;			/* share by which the speeds of workers
					 * differ */
	uint64_t update_ns;
	uint64_t message_ns, messages;	/* time that a host needs for each
					 * message; number of messages in a
					 * vector */
	uint64_t copy_bps;		/* rate at which a host copies messages;
					 * 0: copies take no time */
	uint64_t packet_ns;		/* time that a host needs for each
					 * packet */
	bool capture;	/* capture the training job's links if -w is given */
	uint64_t auth;	/* packets to authenticate (enum tag_auth); NONE: no key
			 * is used */
	uint64_t give_up_ns; /* time in ns, or one of the words auto and none */
};

extern const struct json_reader_section training_section;

/* Is training job i possible?  If not, r->why gives the reason. */
bool training_check(const struct scenario_training *t, size_t i,
    struct json_reader *r);

/*
 * Return the number of links with this name (worker, rack, server), or of
 * switches with this name (switch, rack).
 */
uint32_t training_parts(const struct scenario_training *t, bool link,
    const char *name);

/*
 * Return the training job's name in tables, at most JSON_READER_NAME_BYTES
 * long.
 */
const char *training_name(const struct scenario_training *t);

enum { TRAINING_PPO = 10005 };	/* number of elements that num_vector() returns
				 * for "ppo" */

/* Return the ToS byte of the training job's segments. */
static inline uint8_t
training_tos(const struct scenario_training *t)
{
	return t->auth == TAG_AUTH_ALL ? SEG_TAGGED_TOS : SEG_TOS;
}

/* Return the number of bytes before the floats of a segment. */
static inline uint32_t
training_head(const struct scenario_training *t)
{
	return seg_head_bytes(training_tos(t));
}

/* Return the number of floats in every segment except the last. */
static inline uint32_t
training_floats(const struct scenario_training *t)
{
	return (uint32_t)(t->payload_bytes - training_head(t)) / 4;
}

/*
 * Return the number of segments that a switch can sum at a time, or 0 if it can
 * sum as many as the vectors need.  `core` is true for the core switch above
 * racks.
 */
static inline uint32_t
training_slots(const struct scenario_training *t, bool core)
{
	const uint64_t n = core && t->core_slots != UINT64_MAX ?
	    t->core_slots : t->slots;

	return n >= UINT64_MAX - 1 ? 0 : (uint32_t)n;
}

/* Do the workers have a ring of segments? */
static inline bool
training_has_ring(const struct scenario_training *t)
{
	return t->ring != UINT64_MAX;
}

/* Return the number of floats in the vector. */
static inline uint32_t
training_elements(const struct scenario_training *t)
{
	return t->elements != UINT64_MAX ? (uint32_t)t->elements :
	    t->program == TRAINING_DLP ? DLP_PARAMS : TRAINING_PPO;
}

#endif
