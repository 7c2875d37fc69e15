/*
 * scenario.h - a scenario that was read from JSON; see innet-scenario(5)
 *
 * There is one struct for each section.  Units are those of base/json-reader.h.
 * scenario-read.h fills in the scenario and scenario-check.h checks it.
 */
#ifndef INNET_SIM_SCENARIO_H
#define INNET_SIM_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cmd/innet-sim/scenario/training-keys.h"
#include "common/base/json-reader.h"
#include "common/queue/olaf-queue.h"
#include "common/wire/frame.h"

/*
 * Values of a number if the user gave a word instead: the first or the second
 * word that the key permits.
 */
#define SCENARIO_WORD1 UINT64_MAX
#define SCENARIO_WORD2 (UINT64_MAX - 1)

enum {
	SCENARIO_NODES_MAX = 1 << 20,
	SCENARIO_WORKERS_MAX = 1 << 24,
	SCENARIO_CLUSTER_MAX = 65535,
	PLANES_MAX = 100
};

enum scenario_queue { SCENARIO_OLAF, SCENARIO_FIFO, SCENARIO_PLAIN };
enum scenario_reply { SCENARIO_CLUSTER, SCENARIO_WORKER, SCENARIO_NOBODY };
enum scenario_phase {
	SCENARIO_RANDOM, SCENARIO_ALIGNED, SCENARIO_BY_CLUSTER,
	SCENARIO_WINDOW, SCENARIO_ORDER
};
enum scenario_rewards { SCENARIO_FLAT, SCENARIO_RISING, SCENARIO_NOISY };

struct scenario_switch {
	char name[JSON_READER_NAME_BYTES];
	uint64_t count;
	uint64_t queue;		/* enum scenario_queue */
	uint64_t slots;
	uint64_t combine;		/* enum olaf_queue_combine */
	double reward_threshold;	/* threshold for the reward; values
					 * below 0: no threshold */
	uint64_t active_window_ns;
	uint64_t merge_ns;		/* time that each merge in the queue
					 * takes */
};

struct scenario_link {
	char from[JSON_READER_NAME_BYTES], to[JSON_READER_NAME_BYTES];
	uint64_t rate_bps;		/* 0: no limit */
	uint64_t back_bps;		/* WORD1: same as rate_bps */
	uint64_t frame_ns; /* time that each frame takes in addition to the time
			    * of its bits */
	uint64_t propagation_ns;
	double loss;	/* share of frames lost, in each direction */
	/* maximum queue length in the return direction, in frames; WORD1: no
	 * limit */
	uint64_t queue;
	bool capture;			/* capture the link if -w is given */
};

struct scenario_server {
	char name[JSON_READER_NAME_BYTES];
	uint64_t reply;			/* enum scenario_reply */
	uint64_t delay_ns;
	/*
	 * length of a model's frame; WORD1: 8 bytes more than the update's
	 * frame
	 */
	uint64_t frame_bytes;
	uint64_t gate;			/* enum server_rule_gate */
	double gate_ema;
};

struct scenario_workers {
	char name[JSON_READER_NAME_BYTES]; /* name of the group; empty: the
					    * clusters serve as the name */
	char at[JSON_READER_NAME_BYTES];
	struct json_reader_range clusters;
	uint64_t workers, first; /* number of workers in each cluster; id of the
				  * first worker */
	uint64_t count;	/* number of updates of each worker; WORD1: no limit */
	uint64_t goal;	/* number of updates to receive from each worker; 0: no
			 * goal */
	uint64_t arrivals;		/* enum arrivals_kind */
	uint64_t interval_ns;
	uint64_t rate_bps; /* rate of the whole group; 0: use interval_ns */
	uint64_t burst, jitter_ns;
	double walk, speeds;
	uint64_t phase, window_ns;	/* enum scenario_phase */
	uint64_t start_ns, stop_ns;	/* WORD1: never */
	uint64_t control;		/* enum txctl_kind */
	uint64_t threshold_ns;
	uint64_t rewards;		/* enum scenario_rewards */
	uint64_t payload_bytes;
	uint64_t elements;	/* number of floats; WORD1: as many as fit into
				 * the payload */
	uint64_t frame_bytes; /* length of a frame; WORD1: as long as the
			       * payload and its headers */
	char schedule[JSON_READER_FILE_BYTES];
	uint64_t access_bps, access_propagation_ns, access_queue;
	double access_loss;
	bool shared;			/* all workers share one access link */
	bool access_capture;	/* capture the access links if -w is given */
	uint64_t wait_ns;	/* longest wait for a model; 0: no wait */
};

/* The effect of a fault on a worker. */
enum scenario_worker_fault { SCENARIO_LIVES, SCENARIO_PAUSED, SCENARIO_KILLED };

struct scenario_fault {
	char link[JSON_READER_NAME_BYTES], node[JSON_READER_NAME_BYTES];
	uint64_t worker; /* enum scenario_worker_fault; LIVES: the fault is that
			  * of a link or node */
	uint64_t index;			/* index of the part; WORD1: all parts
					 * with that name */
	uint64_t from_ns, to_ns;
	char training[JSON_READER_NAME_BYTES];	/* empty: all training jobs */
};

struct scenario_traffic {
	char name[JSON_READER_NAME_BYTES]; /* name of the traffic; empty: the
					    * name of the switch is used */
	char at[JSON_READER_NAME_BYTES];
	uint64_t rate_bps, frame_bytes;	/* rate and frame length at each switch
					 * that `at` names */
	uint64_t arrivals;		/* enum arrivals_kind without bursts */
	uint64_t burst;
	uint64_t start_ns, stop_ns;	/* WORD1: never */
};

/* A switch of any program, with a capture as input; see planes.h. */
struct scenario_plane {
	char name[JSON_READER_NAME_BYTES];
	char options[JSON_READER_FILE_BYTES];	/* options of innet-switch, on
						 * one line */
	char read[JSON_READER_FILE_BYTES]; /* capture to read; empty: none */
};

/*
 * The event at which ages end.  AUTO means RUN if there is a duration, and
 * CLUSTER otherwise.
 */
enum scenario_ages_to {
	SCENARIO_AGES_AUTO, SCENARIO_AGES_CLUSTER, SCENARIO_AGES_RUN
};

struct chaos_plan;

struct scenario {
	char name[JSON_READER_FILE_BYTES];
	uint64_t seed, runs;
	uint64_t duration_ns;		/* duration; WORD1: the run lasts until
					 * no event is left */
	bool drain;	/* packets that are on their way at the end still
			 * arrive */
	uint64_t start_ns; /* time at which captures start, since the epoch */
	uint64_t ages_from;	/* time in ns; WORD1: "sent", WORD2: "first" */
	uint64_t ages_to;		/* enum scenario_ages_to */
	uint64_t wire_overhead;		/* overhead in bytes of each frame;
					 * WORD1: true, WORD2: false */
	struct json_reader_list switches, links, servers, workers, faults;
	struct json_reader_list traffic;
	struct json_reader_list trainings; /* training jobs are used instead of
					    * a network */
	struct json_reader_list planes;	/* planes are used instead of a network
					 * and training jobs */
	const struct chaos_plan *chaos;	/* plan of --chaos to which the scenario
					 * belongs, or NULL */
};

/* Return the bytes that a link adds to each frame. */
static inline uint32_t scenario_extra_bytes(const struct scenario *s);

/*
 * Do ages end with the run?  Otherwise they end with the last packet of their
 * cluster.
 */
static inline bool scenario_ages_to_run(const struct scenario *s);

static inline const struct scenario_switch * scenario_switches(const struct
    scenario *s);

static inline const struct scenario_link * scenario_links(const struct scenario
    *s);

static inline const struct scenario_server * scenario_servers(const struct
    scenario *s);

static inline const struct scenario_workers * scenario_workers(const struct
    scenario *s);

static inline const struct scenario_traffic * scenario_traffic(const struct
    scenario *s);

static inline const struct scenario_training * scenario_trainings(const struct
    scenario *s);

static inline const struct scenario_plane * scenario_planes(const struct
    scenario *s);

static inline const struct scenario_fault * scenario_faults(const struct
    scenario *s);

/* Does fault f affect training job t? */
static inline bool scenario_strikes(const struct scenario_fault *f, const struct
    scenario_training *t);

/* Is a worker of training job t killed? */
static inline bool scenario_kills(const struct scenario *s, const struct
    scenario_training *t);

/* implementation */

static inline uint32_t
scenario_extra_bytes(const struct scenario *s)
{
	return s->wire_overhead == SCENARIO_WORD1 ? FRAME_WIRE_EXTRA_BYTES :
	    s->wire_overhead == SCENARIO_WORD2 ? 0 :
	    (uint32_t)s->wire_overhead;
}

static inline bool
scenario_ages_to_run(const struct scenario *s)
{
	return s->ages_to == SCENARIO_AGES_RUN || (s->ages_to ==
	    SCENARIO_AGES_AUTO && s->duration_ns != SCENARIO_WORD1);
}

/* Return the index of the switch (or server) with this name, or -1. */
int64_t scenario_switch(const struct scenario *s, const char *name);
int64_t scenario_server(const struct scenario *s, const char *name);

/* Return the link from the switch with this name toward the server, or NULL. */
const struct scenario_link *scenario_uplink(const struct scenario *s,
    const char *name);

static inline const struct scenario_switch *
scenario_switches(const struct scenario *s)
{
	return s->switches.item;
}

static inline const struct scenario_link *
scenario_links(const struct scenario *s)
{
	return s->links.item;
}

static inline const struct scenario_server *
scenario_servers(const struct scenario *s)
{
	return s->servers.item;
}

static inline const struct scenario_workers *
scenario_workers(const struct scenario *s)
{
	return s->workers.item;
}

static inline const struct scenario_traffic *
scenario_traffic(const struct scenario *s)
{
	return s->traffic.item;
}

static inline const struct scenario_training *
scenario_trainings(const struct scenario *s)
{
	return s->trainings.item;
}

static inline const struct scenario_plane *
scenario_planes(const struct scenario *s)
{
	return s->planes.item;
}

static inline const struct scenario_fault *
scenario_faults(const struct scenario *s)
{
	return s->faults.item;
}

static inline bool
scenario_strikes(const struct scenario_fault *f,
    const struct scenario_training *t)
{
	return f->training[0] == '\0' || strcmp(f->training,
	    training_name(t)) == 0;
}

static inline bool
scenario_kills(const struct scenario *s, const struct scenario_training *t)
{
	bool any = false;

	for (size_t i = 0; i < s->faults.n; i++)
		any |= scenario_faults(s)[i].worker == SCENARIO_KILLED &&
		    scenario_strikes(&scenario_faults(s)[i], t);
	return any;
}

#endif
