/* training-keys.c - the keys of a training job; see training-keys.h */
#include "config.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "cmd/innet-sim/scenario/training-keys.h"
#include "common/wire/seg.h"

#define AT(f) offsetof(struct scenario_training, f)

enum { VECTOR_MAX = 1 << 28, HOUR_S = 3600 };

#define HOUR_NS ((uint64_t)HOUR_S * 1000000000)

static const char *const approaches[] = { "switch", "ps", "ring", NULL };
static const char *const names[] = { "iswitch", "dlp", NULL };
static const char *const reductions[] = { "mean", "median", NULL };
static const char *const modes[] = { "sync", "async", NULL };
static const char *const shapes[] = { "constant", "uniform", "lognormal",
	"exponential", NULL };
static const char *const none[] = { "none", NULL };
static const char *const auths[] = { "none", "control", "all", NULL };
static const char *const same[] = { "same", NULL };
static const char *const same_none[] = { "same", "none", NULL };
static const char *const patience[] = { "auto", "none", NULL };
static const char *const sizes[] = { "auto", NULL };

static const struct json_reader_key keys[] = {
	{ "name", JSON_READER_NAME, AT(name), .help = "name in results" },
	{ "program", JSON_READER_WORD, AT(program), "iswitch",
	    .words = names, .help = "program of the switches and workers" },
	{ "reduce", JSON_READER_WORD, AT(reduce), "mean",
	    .words = reductions, .help = "dlp: rule for combining the "
	        "gradients of a step" },
	{ "straggler", JSON_READER_TIME, AT(straggler_ns), "0", 0, HOUR_NS,
	    .help = "dlp: time after which a step is completed without the "
	    "missing gradients; 0: wait for all" },
	{ "approach", JSON_READER_WORD, AT(approach), "switch",
	    .words = approaches, .help = "device that sums the gradients" },
	{ "mode", JSON_READER_WORD, AT(mode), "sync", .words = modes,
	    .help = "kind of training: synchronous or asynchronous" },
	{ "workers", JSON_READER_COUNT, AT(workers), "4", 1,
	    TRAINING_WORKERS_MAX,
	    .help = "number of workers" },
	{ "rack", JSON_READER_COUNT, AT(rack), "0", 0, TRAINING_WORKERS_MAX,
	    .help = "workers at each rack's switch, below a core switch; 0: no "
	    "racks" },
	{ "slots_of_sums", JSON_READER_COUNT, AT(slots), "none", 4,
	    1 << 30, .words = none,
	    .help =
	    "segments that a switch sums at a time; none: whole vectors" },
	{ "core_slots_of_sums", JSON_READER_COUNT, AT(core_slots), "same", 4,
	    1 << 30, .words = same_none, .help = "segments that the core "
	        "switch above the racks sums at a time; same: as "
	        "slots_of_sums" },
	{ "vector", JSON_READER_VECTOR, AT(elements), "auto", 1,
	    VECTOR_MAX, .words = sizes,
	    .help = "size of a gradient; auto: ppo, with dlp 24B" },
	{ "ring_of_segments", JSON_READER_VECTOR, AT(ring), "none", 1,
	    VECTOR_MAX, .words = none,
	    .help = "size of a ring of segments in which the workers sum the "
	    "vectors; none: no ring" },
	{ "payload", JSON_READER_BYTES, AT(payload_bytes), "1472B", 12, 65500,
	    .help = "UDP payload of a segment" },
	{ "iterations", JSON_READER_COUNT, AT(iterations), "none", 1,
	    UINT32_MAX,
	    .words = none,
	    .help = "iterations after which the training job ends" },
	{ "staleness", JSON_READER_COUNT, AT(staleness), "3", 0, UINT32_MAX,
	    .help = "greatest staleness of a gradient (Algorithm 1)" },
	{ "barrier", JSON_READER_BOOL, AT(barrier),
	    .help = "synchronous: continue only when all workers have the "
	    "result" },
	{ "rate", JSON_READER_RATE, AT(rate_bps), "10G",
	    .help =
	    "rate of each host's link in bits per second; 0: no limit" },
	{ "server_rate", JSON_READER_RATE, AT(server_bps), "same",
	    .words = same,
	    .help = "rate of the parameter server's link" },
	{ "core_rate", JSON_READER_RATE, AT(core_bps), "same", .words = same,
	    .help = "rate of the links between racks and core" },
	{ "propagation", JSON_READER_TIME, AT(propagation_ns), "1us", 0,
	    HOUR_NS,
	    .help = "propagation delay of each link" },
	{ "loss", JSON_READER_SHARE, AT(loss), "0",
	    .help = "share of packets lost on each link" },
	{ "switch_delay", JSON_READER_TIME, AT(switch_ns), "1us", 0, HOUR_NS,
	    .help = "time that a switch needs for a packet" },
	{ "compute", JSON_READER_TIME, AT(compute_ns), "10ms", 0, HOUR_NS,
	    .help = "mean time to compute a gradient" },
	{ "compute_shape", JSON_READER_WORD, AT(shape), "constant",
	    .words = shapes, .help = "distribution of the compute time" },
	{ "compute_spread", JSON_READER_SHARE, AT(spread), "10%",
	    .help = "uniform: greatest relative deviation; lognormal: sigma" },
	{ "speeds", JSON_READER_SHARE, AT(speeds), "0",
	    .help = "share by which the speeds of workers differ" },
	{ "update", JSON_READER_TIME, AT(update_ns), "0", 0, HOUR_NS,
	    .help = "time to update the weights: at workers, or with ps at the "
	    "server" },
	{ "message", JSON_READER_TIME, AT(message_ns), "0", 0, HOUR_NS,
	    .help = "time that a host needs to send or receive a message" },
	{ "messages", JSON_READER_COUNT, AT(messages), "1", 1, 65535,
	    .help = "messages in a vector" },
	{ "copy_rate", JSON_READER_RATE, AT(copy_bps), "0",
	    .help = "rate at which a host copies each message, in bits per "
	    "second; 0: no time" },
	{ "packet", JSON_READER_TIME, AT(packet_ns), "0", 0, HOUR_NS,
	    .help = "time that a host needs to send or receive a packet" },
	{ "give_up", JSON_READER_TIME, AT(give_up_ns), "auto", 1,
	    .words = patience,
	    .help = "time without progress after which a worker gives up; "
	    "auto: 30s with faults" },
	{ "auth", JSON_READER_WORD, AT(auth), "none", .words = auths,
	    .help = "packets that a key authenticates: none, control messages, "
	    "or all" },
	{ "capture", JSON_READER_BOOL, AT(capture),
	    .help = "with -w, capture the packets at both ends of the links" },
	{ 0 }
};

const struct json_reader_section training_section = { keys,
	sizeof(struct scenario_training) };

const char *
training_name(const struct scenario_training *t)
{
	static const char *const name[][2] = {
		[TRAINING_SWITCH] = { "switch", "switch-async" },
		[TRAINING_PS] = { "ps", "ps-async" },
		[TRAINING_RING] = { "ring", "ring-async" }
	};

	if (t->name[0] == '\0' && t->program == TRAINING_DLP)
		return "dlp";
	return t->name[0] != '\0' ? t->name : name[t->approach][t->mode];
}

uint32_t
training_parts(const struct scenario_training *t, bool link, const char *name)
{
	const uint64_t racks = t->rack == 0 ? 1 :
	    (t->workers + t->rack - 1) / t->rack;

	if (strcmp(name, "rack") == 0)
		return racks == 1 ? 0 : (uint32_t)racks;
	if (link && strcmp(name, "worker") == 0)
		return (uint32_t)t->workers;
	if (link)
		return strcmp(name, "server") == 0 && t->approach ==
		    TRAINING_PS;
	return strcmp(name, "switch") == 0;
}

/* Return the first key in `name` whose value is not the default, or NULL. */
static const char *
first_set(const struct scenario_training *t, const char *const *name)
{
	struct scenario_training usual = { 0 };

	json_reader_preset(&training_section, &usual);
	for (; *name != NULL; name++) {
		const struct json_reader_key *k = keys;

		while (strcmp(k->name, *name) != 0)
			k++;
		if (memcmp((const char *)t + k->at, (const char *)&usual +
		    k->at, k->type == JSON_READER_BOOL ? sizeof(bool) :
		    sizeof(uint64_t)) != 0)
			break;
	}
	return *name;
}

/* Do all keys that are set belong to the training job's program? */
static bool
check_program(const struct scenario_training *t, size_t i,
    struct json_reader *r)
{
	static const char *const iswitch[] = { "approach", "mode", "rack",
	    "slots_of_sums", "core_slots_of_sums", "ring_of_segments",
	    "payload", "staleness", "barrier", "server_rate", "core_rate",
	    "message", "messages", "copy_rate", "auth", NULL };
	static const char *const dlp[] = { "reduce", "straggler", NULL };
	const bool is_dlp = t->program == TRAINING_DLP;
	const char *other = first_set(t, is_dlp ? iswitch : dlp);

	if (other != NULL)
		return json_reader_fail_at(r, "trainings", i, other,
		    "cannot be used with program %s", names[t->program]);
	if (is_dlp && t->workers > DLP_NODES_MAX)
		return json_reader_fail_at(r, "trainings", i, "workers",
		    "a session of dlp has at most %d", DLP_NODES_MAX);
	if (is_dlp && training_elements(t) > DLP_ELEMENTS_MAX)
		return json_reader_fail_at(r, "trainings", i, "vector",
		    "dlp has at most %d elements", DLP_ELEMENTS_MAX);
	if (is_dlp && t->iterations > INT32_MAX)
		return json_reader_fail_at(r, "trainings", i, "iterations",
		    "a session of dlp needs a number of iterations, at most %d",
		    INT32_MAX);
	return true;
}

/* Refuse a ring unless a switch computes sums in a synchronous training job. */
static bool
check_ring(const struct scenario_training *t, size_t i, struct json_reader *r)
{
	static const char list[] = "trainings", key[] = "ring_of_segments";

	if (!training_has_ring(t))
		return true;
	if (t->mode == TRAINING_ASYNC || t->approach != TRAINING_SWITCH)
		return json_reader_fail_at(r, list, i, key,
		    "needs a switch and mode sync");
	if (seg_count((uint32_t)t->ring, training_floats(t)) >
	    SEG_INDEX_MAX / 2)
		return json_reader_fail_at(r, list, i, key,
		    "has more than %d segments", SEG_INDEX_MAX / 2);
	return true;
}

/*
 * Refuse `slots` unless a switch computes sums in a synchronous training job.
 */
static bool
check_slots(const struct scenario_training *t, size_t i,
    struct json_reader *r)
{
	static const char *const keys_of[] = { "slots_of_sums",
	    "core_slots_of_sums", NULL };
	const char *set = first_set(t, keys_of);

	if (set != NULL && (t->mode == TRAINING_ASYNC ||
	    t->approach != TRAINING_SWITCH))
		return json_reader_fail_at(r, "trainings", i, set,
		    "needs a switch and mode sync");
	return true;
}

bool
training_check(const struct scenario_training *t, size_t i,
    struct json_reader *r)
{
	static const char list[] = "trainings";
	const uint64_t racks = t->rack == 0 ? 1 :
	    (t->workers + t->rack - 1) / t->rack;

	if (!check_program(t, i, r))
		return false;
	if (t->payload_bytes % 4 != 0)
		return json_reader_fail_at(r, list, i, "payload",
		    "the payload must be 8 bytes plus a multiple of 4");
	if (t->approach == TRAINING_RING && t->mode == TRAINING_ASYNC)
		return json_reader_fail_at(r, list, i, "mode",
		    "a ring is always synchronous; use mode sync");
	if (!check_slots(t, i, r) || !check_ring(t, i, r))
		return false;
	if (t->approach == TRAINING_RING && t->auth != TAG_AUTH_NONE)
		return json_reader_fail_at(r, list, i, "auth",
		    "needs a switch or a server");
	if (t->payload_bytes < training_head(t) + 4)
		return json_reader_fail_at(r, list, i, "payload",
		    "must be at least the %u bytes of the header with its tag, "
		    "plus 4 for a float",
		    training_head(t));
	if (t->barrier && t->mode == TRAINING_ASYNC)
		return json_reader_fail_at(r, list, i, "barrier",
		    "needs mode sync");
	if (t->approach == TRAINING_RING && t->workers < 2)
		return json_reader_fail_at(r, list, i, "workers",
		    "a ring has at least two");
	if (t->approach == TRAINING_RING && t->loss > 0)
		return json_reader_fail_at(r, list, i, "loss",
		    "a ring does not retransmit and cannot have losses");
	if (t->loss > 0.5)
		return json_reader_fail_at(r, list, i, "loss",
		    "must be at most half, or the training job would not end");
	if (t->compute_ns == 0 && (t->mode == TRAINING_ASYNC ||
	    t->iterations == UINT64_MAX))
		return json_reader_fail_at(r, list, i, "compute",
		    "must be more than 0, or the training job would not end");
	if (t->program != TRAINING_DLP && training_elements(t) < t->workers)
		return json_reader_fail_at(r, list, i, "vector",
		    "must have at least one float for each worker");
	if (seg_count(training_elements(t), training_floats(t)) >
	    SEG_INDEX_MAX / 2)
		return json_reader_fail_at(r, list, i, "payload",
		    "is so small that there are more than %d segments",
		    SEG_INDEX_MAX / 2);
	if (racks > TRAINING_RACKS_MAX)
		return json_reader_fail_at(r, list, i, "rack",
		    "is so small that there are more than %d racks",
		    TRAINING_RACKS_MAX);
	return true;
}
