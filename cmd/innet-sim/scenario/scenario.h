/*
 * scenario.h - a scenario that was read from JSON: innet-scenario(5)
 *
 * There is one struct for each section, with the units of base/json-reader.h.
 * scenario-read.h fills it in and scenario-check.h checks it.
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

/* A number for which a word was given, the first or the second of its key. */
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
	double reward_threshold;	/* below 0: off */
	uint64_t active_window_ns;
	uint64_t merge_ns;		/* of each merge in its queue */
};

struct scenario_link {
	char from[JSON_READER_NAME_BYTES], to[JSON_READER_NAME_BYTES];
	uint64_t rate_bps;		/* 0: no limit */
	uint64_t back_bps;		/* WORD1: as rate */
	uint64_t frame_ns;		/* of each frame, beyond its bits */
	uint64_t propagation_ns;
	double loss;			/* of frames, each way */
	/* frames, on the way back; WORD1: any */
	uint64_t queue;
	bool capture;			/* with -w */
};

struct scenario_server {
	char name[JSON_READER_NAME_BYTES];
	uint64_t reply;			/* enum scenario_reply */
	uint64_t delay_ns;
	/* of a model; WORD1: the update's + 8 */
	uint64_t frame_bytes;
	uint64_t gate;			/* enum server_rule_gate */
	double gate_ema;
};

struct scenario_workers {
	char name[JSON_READER_NAME_BYTES];	/* empty: as its clusters */
	char at[JSON_READER_NAME_BYTES];
	struct json_reader_range clusters;
	uint64_t workers, first;	/* of each cluster; id of the first */
	uint64_t count;			/* updates each; WORD1: no limit */
	uint64_t goal;			/* received of each; 0: none */
	uint64_t arrivals;		/* enum arrivals_kind */
	uint64_t interval_ns;
	uint64_t rate_bps;		/* of all in the group; 0: interval */
	uint64_t burst, jitter_ns;
	double walk, speeds;
	uint64_t phase, window_ns;	/* enum scenario_phase */
	uint64_t start_ns, stop_ns;	/* WORD1: never */
	uint64_t control;		/* enum txctl_kind */
	uint64_t threshold_ns;
	uint64_t rewards;		/* enum scenario_rewards */
	uint64_t payload_bytes;
	uint64_t elements;		/* WORD1: what the payload holds */
	uint64_t frame_bytes;		/* WORD1: payload and headers */
	char schedule[JSON_READER_FILE_BYTES];
	uint64_t access_bps, access_propagation_ns, access_queue;
	double access_loss;
	bool shared;			/* one access link for all */
	bool access_capture;		/* with -w */
	uint64_t wait_ns;		/* for a model; 0: they do not */
};

/* The effect of a fault on a worker. */
enum scenario_worker_fault { SCENARIO_LIVES, SCENARIO_PAUSED, SCENARIO_KILLED };

struct scenario_fault {
	char link[JSON_READER_NAME_BYTES], node[JSON_READER_NAME_BYTES];
	uint64_t worker; /* enum scenario_worker_fault; or these */
	uint64_t index;			/* WORD1: all of that name */
	uint64_t from_ns, to_ns;
	char training[JSON_READER_NAME_BYTES];	/* empty: all */
};

struct scenario_traffic {
	char name[JSON_READER_NAME_BYTES];	/* empty: as the switch */
	char at[JSON_READER_NAME_BYTES];
	uint64_t rate_bps, frame_bytes;	/* of each switch of the name */
	uint64_t arrivals;		/* enum arrivals_kind, no bursts */
	uint64_t burst;
	uint64_t start_ns, stop_ns;	/* WORD1: never */
};

/* A switch of any program, fed by a capture: planes.h. */
struct scenario_plane {
	char name[JSON_READER_NAME_BYTES];
	char options[JSON_READER_FILE_BYTES];	/* innet-switch's, in a line */
	char read[JSON_READER_FILE_BYTES];	/* empty: nothing */
};

/* Where ages end; AUTO: RUN where there is a duration, else CLUSTER. */
enum scenario_ages_to {
	SCENARIO_AGES_AUTO, SCENARIO_AGES_CLUSTER, SCENARIO_AGES_RUN
};

struct chaos_plan;

struct scenario {
	char name[JSON_READER_FILE_BYTES];
	uint64_t seed, runs;
	uint64_t duration_ns;		/* WORD1: until all is done */
	bool drain;			/* what is on its way comes in */
	uint64_t start_ns;		/* of captures, since the epoch */
	uint64_t ages_from;		/* WORD1: sent, WORD2: first, or ns */
	uint64_t ages_to;		/* enum scenario_ages_to */
	uint64_t wire_overhead;		/* bytes; WORD1: true, WORD2: false */
	struct json_reader_list switches, links, servers, workers, faults;
	struct json_reader_list traffic;
	struct json_reader_list trainings;	/* or these, alone */
	struct json_reader_list planes;	/* or these */
	const struct chaos_plan *chaos;	/* what was drawn beside it, or NULL */
};

/* Return the bytes that a link adds to each frame. */
static inline uint32_t scenario_extra_bytes(const struct scenario *s);

/* Do ages end with the run, and not with their cluster's last packet? */
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

/* Does fault f affect training t? */
static inline bool scenario_strikes(const struct scenario_fault *f, const struct
    scenario_training *t);

/* Is a worker of training t killed? */
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

/* Return the index of the switch, or server, of that name, or -1. */
int64_t scenario_switch(const struct scenario *s, const char *name);
int64_t scenario_server(const struct scenario *s, const char *name);

/* Return the link from the switch of that name, or NULL. */
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
