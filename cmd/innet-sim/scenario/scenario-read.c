/* scenario-read.c - the keys of a scenario: scenario-read.h */
#include "config.h"

#include <string.h>

#include "cmd/innet-sim/scenario/scenario-check.h"
#include "cmd/innet-sim/scenario/scenario-read.h"
#include "common/queue/txctl.h"
#include "common/traffic/arrivals.h"
#include "common/wire/frame.h"
#include "common/wire/update.h"

#define AT(s, f) offsetof(struct scenario_##s, f)
#define TOP(f) offsetof(struct scenario, f)
#define SECOND_NS 1000000000u
#define FRAME_MAX (FRAME_V4_BYTES + 65507)

static const char *const queues[] = { "olaf", "fifo", "regular", NULL };
static const char *const combines[] = { "mean", "sum", NULL };
static const char *const replies[] = { "cluster", "worker", "none", NULL };
static const char *const gates[] = { "none", "ema", "last", "best", NULL };
static const char *const arrivals[] = { "periodic", "poisson", "onoff",
	"lognormal", "bursts", NULL };
static const char *const gaps[] = { "periodic", "poisson", "onoff",
	"lognormal", NULL };
static const char *const phases[] = { "random", "aligned", "cluster",
	"window", "order", NULL };
static const char *const rewards[] = { "flat", "rising", "noisy", NULL };
static const char *const none[] = { "none", NULL };
static const char *const same[] = { "same", NULL };
static const char *const derived[] = { "auto", NULL };
static const char *const truths[] = { "true", "false", NULL };
static const char *const ages[] = { "sent", "first", NULL };
static const char *const ends[] = { "auto", "cluster", "run", NULL };
static const char *const fates[] = { "none", "paused", "killed", NULL };

static const struct json_reader_key switch_keys[] = {
	{ "name", JSON_READER_NAME, AT(switch, name), .needed = true,
	    .help = "what links and workers call it" },
	{ "count", JSON_READER_COUNT, AT(switch, count), "1", 1,
	    SCENARIO_NODES_MAX, .help = "how many such switches" },
	{ "queue", JSON_READER_WORD, AT(switch, queue), "olaf",
	    .words = queues, .help = "of its port" },
	{ "slots", JSON_READER_COUNT, AT(switch, slots), "8", 1, 1 << 24,
	    .help = "frames in the queue, the one being sent too" },
	{ "combine", JSON_READER_WORD, AT(switch, combine), "mean",
	    .words = combines, .help = "how gradients are merged" },
	{ "reward_threshold", JSON_READER_REAL, AT(switch, reward_threshold),
	    "-1",
	    .help = "replace or drop by reward; below 0: off" },
	{ "active_window", JSON_READER_TIME, AT(switch, active_window_ns), "1s",
	    1,
	    .help = "how long a cluster counts as active" },
	{ "merge_time", JSON_READER_TIME, AT(switch, merge_ns), "0",
	    .help = "by which a merge puts off the frame being sent" },
	{ 0 }
};

static const struct json_reader_key link_keys[] = {
	{ "from", JSON_READER_NAME, AT(link, from), .needed = true,
	    .help = "a switch; the queue is there" },
	{ "to", JSON_READER_NAME, AT(link, to), .needed = true,
	    .help = "a switch or a server" },
	{ "rate", JSON_READER_RATE, AT(link, rate_bps), "0",
	    .help = "bits a second; 0: no limit" },
	{ "back_rate", JSON_READER_RATE, AT(link, back_bps), "same",
	    .words = same,
	    .help = "of models, the other way; 0: no limit" },
	{ "frame_time", JSON_READER_TIME, AT(link, frame_ns), "0",
	    .help = "of each frame beyond its bits, each way" },
	{ "propagation", JSON_READER_TIME, AT(link, propagation_ns), "0",
	    .help = "each way" },
	{ "loss", JSON_READER_SHARE, AT(link, loss), "0",
	    .help = "share of frames lost, each way" },
	{ "queue", JSON_READER_COUNT, AT(link, queue), "none", 1, 1 << 24,
	    .words = none, .help = "models that wait for the way back" },
	{ "capture", JSON_READER_BOOL, AT(link, capture),
	    .help = "with -w, what passes its ends" },
	{ 0 }
};

static const struct json_reader_key server_keys[] = {
	{ "name", JSON_READER_NAME, AT(server, name), .needed = true,
	    .help = "what links call it" },
	{ "reply", JSON_READER_WORD, AT(server, reply), "cluster",
	    .words = replies, .help = "who gets the model of an update" },
	{ "delay", JSON_READER_TIME, AT(server, delay_ns), "0",
	    .help = "from an update to its model" },
	{ "frame", JSON_READER_BYTES, AT(server, frame_bytes), "auto", 42,
	    FRAME_MAX, .words = derived,
	    .help = "of a model; auto: 8 bytes more than the update" },
	{ "gate", JSON_READER_WORD, AT(server, gate), "none", .words = gates,
	    .help = "which updates the model takes, by reward" },
	{ "gate_ema", JSON_READER_SHARE, AT(server, gate_ema), "0.1",
	    .help = "weight of the newest reward in gate ema" },
	{ 0 }
};

static const struct json_reader_key worker_keys[] = {
	{ "name", JSON_READER_NAME, AT(workers, name),
	    .help = "of the group, in results" },
	{ "at", JSON_READER_NAME, AT(workers, at), .needed = true,
	    .help = "the switch they are connected to" },
	{ "clusters", JSON_READER_RANGE, AT(workers, clusters), "1", 1,
	    SCENARIO_CLUSTER_MAX, .help = "9 is 1-9; or a range 6-10" },
	{ "workers", JSON_READER_COUNT, AT(workers, workers), "1", 1,
	    SCENARIO_WORKERS_MAX, .help = "in each cluster" },
	{ "first_worker", JSON_READER_COUNT, AT(workers, first), "0", 0,
	    SCENARIO_WORKERS_MAX, .help = "id of the first of a cluster" },
	{ "count", JSON_READER_COUNT, AT(workers, count), "none", 1, UINT32_MAX,
	    .words = none, .help = "updates a worker" },
	{ "goal", JSON_READER_COUNT, AT(workers, goal), "0", 0, UINT32_MAX,
	    .help = "goal_ns is when so many a worker had come" },
	{ "arrivals", JSON_READER_WORD, AT(workers, arrivals), "periodic",
	    .words = arrivals, .help = "when a worker has its next update" },
	{ "interval", JSON_READER_TIME, AT(workers, interval_ns), "100ms", 1,
	    (uint64_t)1 << 53, .help = "between a worker's updates" },
	{ "rate", JSON_READER_RATE, AT(workers, rate_bps), "0",
	    .help = "bits a second of the group's frames; 0: by interval" },
	{ "burst", JSON_READER_COUNT, AT(workers, burst), "8", 1, UINT32_MAX,
	    .help = "updates of a worker in a burst or train" },
	{ "jitter", JSON_READER_TIME, AT(workers, jitter_ns), "0",
	    .help = "each update is late by less than that" },
	{ "walk", JSON_READER_SHARE, AT(workers, walk), "0",
	    .help = "an interval varies by that share, and adds up" },
	{ "speeds", JSON_READER_SHARE, AT(workers, speeds), "0",
	    .help = "workers' speeds spread by that share" },
	{ "phase", JSON_READER_WORD, AT(workers, phase), "random",
	    .words = phases, .help = "when the first update is ready" },
	{ "window", JSON_READER_TIME, AT(workers, window_ns), "0",
	    .help = "of phase window and order" },
	{ "start", JSON_READER_TIME, AT(workers, start_ns), "0",
	    .help = "nothing before" },
	{ "stop", JSON_READER_TIME, AT(workers, stop_ns), "none", .words = none,
	    .help = "nothing from then on" },
	{ "wait", JSON_READER_TIME, AT(workers, wait_ns), "0",
	    .help = "for a model after an update, at most; 0: not at all" },
	{ "control", JSON_READER_WORD, AT(workers, control), "none",
	    .words = txctl_words, .help = "transmission control" },
	{ "threshold", JSON_READER_TIME, AT(workers, threshold_ns), "400ms",
	    .help = "of transmission control" },
	{ "rewards", JSON_READER_WORD, AT(workers, rewards), "flat",
	    .words = rewards, .help = "what rewards updates carry" },
	{ "payload", JSON_READER_BYTES, AT(workers, payload_bytes), "256B", 36,
	    65500, .help = "UDP payload of an update's packets" },
	{ "elements", JSON_READER_COUNT, AT(workers, elements), "auto", 1,
	    UINT32_MAX, .words = derived,
	    .help = "floats in a vector; auto: one packet of them" },
	{ "frame", JSON_READER_BYTES, AT(workers, frame_bytes), "auto", 78,
	    FRAME_MAX, .words = derived,
	    .help = "length of a frame; auto: 42 bytes and the payload" },
	{ "schedule", JSON_READER_FILE, AT(workers, schedule),
	    .help = "CSV of cluster,worker,time_ns,reward to play" },
	{ "access_rate", JSON_READER_RATE, AT(workers, access_bps), "0",
	    .help = "of each worker's link to the switch; 0: no limit" },
	{ "access_propagation", JSON_READER_TIME,
	    AT(workers, access_propagation_ns), "0", .help = "of it" },
	{ "access_loss", JSON_READER_SHARE, AT(workers, access_loss), "0",
	    .help = "share of frames lost on it, each way" },
	{ "access_queue", JSON_READER_COUNT, AT(workers, access_queue), "none",
	    1,
	    1 << 24, .words = none, .help = "frames that wait for it" },
	{ "shared", JSON_READER_BOOL, AT(workers, shared),
	    .help = "one access link for the whole group" },
	{ "access_capture", JSON_READER_BOOL, AT(workers, access_capture),
	    .help = "with -w, what passes the access links' ends" },
	{ 0 }
};

static const struct json_reader_key traffic_keys[] = {
	{ "name", JSON_READER_NAME, AT(traffic, name), .help = "in results" },
	{ "at", JSON_READER_NAME, AT(traffic, at), .needed = true,
	    .help = "the switch from which it goes to the server" },
	{ "rate", JSON_READER_RATE, AT(traffic, rate_bps), .needed = true,
	    .help = "bits a second of frames, from each switch of the name" },
	{ "frame", JSON_READER_BYTES, AT(traffic, frame_bytes), "1000B", 42,
	    FRAME_MAX, .help = "length of each" },
	{ "arrivals", JSON_READER_WORD, AT(traffic, arrivals), "poisson",
	    .words = gaps, .help = "when the next one comes" },
	{ "burst", JSON_READER_COUNT, AT(traffic, burst), "8", 1, UINT32_MAX,
	    .help = "frames in a train of onoff, on average" },
	{ "start", JSON_READER_TIME, AT(traffic, start_ns), "0",
	    .help = "nothing before" },
	{ "stop", JSON_READER_TIME, AT(traffic, stop_ns), "none", .words = none,
	    .help = "nothing from then on" },
	{ 0 }
};

static const struct json_reader_key fault_keys[] = {
	{ "link", JSON_READER_NAME, AT(fault, link),
	    .help = "the link from this "
	    "switch is down; of trainings: worker, rack or server" },
	{ "switch", JSON_READER_NAME, AT(fault, node), .help = "this switch is "
	    "down; of trainings: switch or rack" },
	{ "worker", JSON_READER_WORD, AT(fault, worker), "none",
	    .words = fates,
	    .help = "of a training: what is done to it; started again at to" },
	{ "training", JSON_READER_NAME, AT(fault, training),
	    .help = "of this training; without it, of all" },
	{ "index", JSON_READER_COUNT, AT(fault, index), "all", 0,
	    SCENARIO_NODES_MAX, .words = (const char *const[]){ "all", NULL },
	    .help = "which of those of that name" },
	{ "from", JSON_READER_TIME, AT(fault, from_ns), .needed = true,
	    .help = "from then on" },
	{ "to", JSON_READER_TIME, AT(fault, to_ns), .needed = true,
	    .help = "until then" },
	{ 0 }
};

static const struct json_reader_key plane_keys[] = {
	{ "name", JSON_READER_NAME, AT(plane, name), .needed = true,
	    .help = "in results and captures" },
	{ "options", JSON_READER_FILE, AT(plane, options), .needed = true,
	    .help = "of innet-switch, but for files and live ones" },
	{ "read", JSON_READER_FILE, AT(plane, read),
	    .help = "a capture of what hosts send to it" },
	{ 0 }
};

static const struct json_reader_section plane_section = { plane_keys,
	sizeof(struct scenario_plane) };
static const struct json_reader_section switch_section = { switch_keys,
	sizeof(struct scenario_switch) };
static const struct json_reader_section link_section = { link_keys,
	sizeof(struct scenario_link) };
static const struct json_reader_section server_section = { server_keys,
	sizeof(struct scenario_server) };
static const struct json_reader_section worker_section = { worker_keys,
	sizeof(struct scenario_workers) };
static const struct json_reader_section traffic_section = { traffic_keys,
	sizeof(struct scenario_traffic) };
static const struct json_reader_section fault_section = { fault_keys,
	sizeof(struct scenario_fault) };

static const struct json_reader_key top_keys[] = {
	{ "name", JSON_READER_FILE, TOP(name), .help = "what it is" },
	{ "seed", JSON_READER_COUNT, TOP(seed), "1", 0, (uint64_t)1 << 53,
	    .help = "of all chance in the first run" },
	{ "runs", JSON_READER_COUNT, TOP(runs), "1", 1, 1 << 20,
	    .help = "with the seeds that follow" },
	{ "duration", JSON_READER_TIME, TOP(duration_ns), "10s", 1,
	    .words = none, .help = "of model time; none: till all is done" },
	{ "drain", JSON_READER_BOOL, TOP(drain),
	    .help = "at the end, let in what is on its way" },
	{ "start", JSON_READER_TIME, TOP(start_ns), "0", 0,
	    (uint64_t)UINT32_MAX * SECOND_NS,
	    .help = "instant 0 in captures, since the epoch" },
	{ "ages_from", JSON_READER_TIME, TOP(ages_from), "sent", .words = ages,
	    .help = "ages count from the first sent, received, or a time" },
	{ "ages_to", JSON_READER_WORD, TOP(ages_to), "auto", .words = ends,
	    .help = "ages end with their cluster's last packet, or the run" },
	{ "wire_overhead", JSON_READER_BYTES, TOP(wire_overhead), "0",
	    .hi = UINT16_MAX, .words = truths,
	    .help = "of each frame on links; true: 24 bytes" },
	{ "switches", JSON_READER_LIST, TOP(switches), .list = &switch_section,
	    .help = "the switches" },
	{ "links", JSON_READER_LIST, TOP(links), .list = &link_section,
	    .help = "one from each switch" },
	{ "servers", JSON_READER_LIST, TOP(servers), .list = &server_section,
	    .help = "the parameter servers" },
	{ "workers", JSON_READER_LIST, TOP(workers), .list = &worker_section,
	    .help = "groups of workers" },
	{ "traffic", JSON_READER_LIST, TOP(traffic), .list = &traffic_section,
	    .help = "frames of other programs" },
	{ "faults", JSON_READER_LIST, TOP(faults), .list = &fault_section,
	    .help = "what fails, and when" },
	{ "trainings", JSON_READER_LIST, TOP(trainings),
	    .list = &training_section,
	    .help = "or these, in place of all the lists before" },
	{ "planes", JSON_READER_LIST, TOP(planes), .list = &plane_section,
	    .help = "or these: switches of any program, fed by captures" },
	{ "sweep", JSON_READER_ANY, 0,
	    .help = "paths, each with a list of values to try" },
	{ 0 }
};

const struct json_reader_section scenario_keys = { top_keys,
	sizeof(struct scenario) };

bool
scenario_read(struct scenario *s, const cJSON *root, struct json_reader *r)
{
	*r = (struct json_reader){ 0 };
	return json_reader_object(r, root, &scenario_keys, s) &&
	    scenario_check(s, root, r);
}

void
scenario_free(struct scenario *s)
{
	json_reader_free(&scenario_keys, s);
}
