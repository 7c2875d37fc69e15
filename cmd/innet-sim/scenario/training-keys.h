/*
 * training-keys.h - synchronous and asynchronous training as iSwitch compares
 * it: the settings of one entry of a scenario's trainings
 *
 * A training is a network of its own: workers at a switch, or in racks under
 * a core switch, and what sums their gradients: the switches themselves, a
 * parameter server, or the workers in a ring.
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
	TRAINING_WORKERS_MAX = 4096,	/* members of a job */
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
	/* empty: its approach and mode */
	char name[JSON_READER_NAME_BYTES];
	uint64_t program;		/* enum training_program */
	uint64_t reduce;		/* of dlp: enum training_reduce */
	uint64_t straggler_ns;		/* of dlp; 0: none is left out */
	uint64_t approach;		/* enum training_approach */
	uint64_t mode;			/* enum training_mode */
	uint64_t workers;
	uint64_t rack;			/* workers in one; 0: no racks */
	uint64_t slots, core_slots;	/* of sums: training_slots() */
	uint64_t elements;	/* of a vector */
	uint64_t payload_bytes;
	uint64_t iterations;		/* UINT64_MAX: no limit */
	uint64_t staleness;
	bool barrier;			/* all begin an iteration at once */
	uint64_t rate_bps;		/* of hosts' links; 0: no limit */
	uint64_t server_bps;		/* UINT64_MAX: as rate */
	uint64_t core_bps;		/* UINT64_MAX: as rate */
	uint64_t propagation_ns;
	double loss;
	uint64_t switch_ns;		/* in a switch, each packet */
	uint64_t compute_ns;
	uint64_t shape;			/* enum training_shape */
	double spread;			/* of compute times */
	double speeds;			/* of workers */
	uint64_t update_ns;
	uint64_t message_ns, messages;	/* a host's time for one; a vector */
	uint64_t copy_bps;		/* 0: copies take no time */
	uint64_t packet_ns;		/* a host's, each packet */
	bool capture;			/* its links, with -w */
	uint64_t auth;			/* enum tag_auth: with a key */
	uint64_t give_up_ns;		/* words: auto, none */
};

extern const struct json_reader_section training_section;

/* Is the i-th possible?  Else r->why says what is not. */
bool training_check(const struct scenario_training *t, size_t i,
    struct json_reader *r);

/*
 * How many links of that name (worker, rack, server), or switches (switch,
 * rack), it has.
 */
uint32_t training_parts(const struct scenario_training *t, bool link,
    const char *name);

/* Return its name in tables, at most JSON_READER_NAME_BYTES long. */
const char *training_name(const struct scenario_training *t);

enum { TRAINING_PPO = 10005 };	/* elements, as num_vector() has them */

/* The ToS of its segments, and what they have before their floats, in bytes. */
static inline uint8_t
training_tos(const struct scenario_training *t)
{
	return t->auth == TAG_AUTH_ALL ? SEG_TAGGED_TOS : SEG_TOS;
}

static inline uint32_t
training_head(const struct scenario_training *t)
{
	return seg_head_bytes(training_tos(t));
}

/* Floats in a segment, but for the last, and in the vector. */
static inline uint32_t
training_floats(const struct scenario_training *t)
{
	return (uint32_t)(t->payload_bytes - training_head(t)) / 4;
}

/*
 * Segments at a time in the core above racks, or in any other switch; 0: as
 * vectors need.
 */
static inline uint32_t
training_slots(const struct scenario_training *t, bool core)
{
	const uint64_t n = core && t->core_slots != UINT64_MAX ?
	    t->core_slots : t->slots;

	return n >= UINT64_MAX - 1 ? 0 : (uint32_t)n;
}

static inline uint32_t
training_elements(const struct scenario_training *t)
{
	return t->elements != UINT64_MAX ? (uint32_t)t->elements :
	    t->program == TRAINING_DLP ? DLP_PARAMS : TRAINING_PPO;
}

#endif
