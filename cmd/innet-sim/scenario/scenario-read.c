/* scenario-read.c - the keys of a scenario; see scenario-read.h */
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
	    .help = "name that links and workers use for the switch" },
	{ "count", JSON_READER_COUNT, AT(switch, count), "1", 1,
	    SCENARIO_NODES_MAX, .help = "number of switches with this name" },
	{ "queue", JSON_READER_WORD, AT(switch, queue), "olaf",
	    .words = queues, .help = "queue of the switch's port" },
	{ "slots", JSON_READER_COUNT, AT(switch, slots), "8", 1, 1 << 24,
	    .help = "frames in the queue, including the one being sent" },
	{ "combine", JSON_READER_WORD, AT(switch, combine), "mean",
	    .words = combines, .help = "way to merge gradients" },
	{ "reward_threshold", JSON_READER_REAL, AT(switch, reward_threshold),
	    "-1",
	    .help =
	    "threshold for comparing rewards; below 0: do not compare" },
	{ "active_window", JSON_READER_TIME, AT(switch, active_window_ns), "1s",
	    1,
	    .help = "time for which a cluster counts as active" },
	{ "merge_time", JSON_READER_TIME, AT(switch, merge_ns), "0",
	    .help = "time by which a merge delays the frame being sent" },
	{ 0 }
};

static const struct json_reader_key link_keys[] = {
	{ "from", JSON_READER_NAME, AT(link, from), .needed = true,
	    .help = "switch with the queue of the link" },
	{ "to", JSON_READER_NAME, AT(link, to), .needed = true,
	    .help = "switch or server at the other end" },
	{ "rate", JSON_READER_RATE, AT(link, rate_bps), "0",
	    .help = "rate in bits per second; 0: no limit" },
	{ "back_rate", JSON_READER_RATE, AT(link, back_bps), "same",
	    .words = same,
	    .help = "rate of models in the other direction; 0: no limit" },
	{ "frame_time", JSON_READER_TIME, AT(link, frame_ns), "0",
	    .help = "extra time for each frame, in each direction" },
	{ "propagation", JSON_READER_TIME, AT(link, propagation_ns), "0",
	    .help = "propagation delay in each direction" },
	{ "loss", JSON_READER_SHARE, AT(link, loss), "0",
	    .help = "share of frames lost in each direction" },
	{ "queue", JSON_READER_COUNT, AT(link, queue), "none", 1, 1 << 24,
	    .words = none, .help = "models that can wait for the link in the "
	        "other direction" },
	{ "capture", JSON_READER_BOOL, AT(link, capture),
	    .help = "with -w, capture the frames at both ends of the link" },
	{ 0 }
};

static const struct json_reader_key server_keys[] = {
	{ "name", JSON_READER_NAME, AT(server, name), .needed = true,
	    .help = "name that links use for the server" },
	{ "reply", JSON_READER_WORD, AT(server, reply), "cluster",
	    .words = replies,
	    .help = "receivers of the model after an update" },
	{ "delay", JSON_READER_TIME, AT(server, delay_ns), "0",
	    .help = "time from an update to its model" },
	{ "frame", JSON_READER_BYTES, AT(server, frame_bytes), "auto", 42,
	    FRAME_MAX, .words = derived,
	    .help = "length of a model's frame; auto: 8 bytes more than the "
	    "update" },
	{ "gate", JSON_READER_WORD, AT(server, gate), "none", .words = gates,
	    .help = "rule by which the server accepts updates, by their "
	        "rewards" },
	{ "gate_ema", JSON_READER_SHARE, AT(server, gate_ema), "0.1",
	    .help = "weight of the newest reward in gate ema" },
	{ 0 }
};

static const struct json_reader_key worker_keys[] = {
	{ "name", JSON_READER_NAME, AT(workers, name),
	    .help = "name of the group in results" },
	{ "at", JSON_READER_NAME, AT(workers, at), .needed = true,
	    .help = "switch that the workers are connected to" },
	{ "clusters", JSON_READER_RANGE, AT(workers, clusters), "1", 1,
	    SCENARIO_CLUSTER_MAX, .help = "clusters: 9 means 1-9; or a range "
	    "such as 6-10" },
	{ "workers", JSON_READER_COUNT, AT(workers, workers), "1", 1,
	    SCENARIO_WORKERS_MAX, .help = "workers in each cluster" },
	{ "first_worker", JSON_READER_COUNT, AT(workers, first), "0", 0,
	    SCENARIO_WORKERS_MAX,
	    .help = "id of the first worker of a cluster" },
	{ "count", JSON_READER_COUNT, AT(workers, count), "none", 1, UINT32_MAX,
	    .words = none, .help = "updates of each worker" },
	{ "goal", JSON_READER_COUNT, AT(workers, goal), "0", 0, UINT32_MAX,
	    .help = "updates of each worker after which the figure goal_ns is "
	    "measured" },
	{ "arrivals", JSON_READER_WORD, AT(workers, arrivals), "periodic",
	    .words = arrivals, .help = "rule for the time of a worker's next "
	    "update" },
	{ "interval", JSON_READER_TIME, AT(workers, interval_ns), "100ms", 1,
	    (uint64_t)1 << 53, .help = "time between two updates of a worker" },
	{ "rate", JSON_READER_RATE, AT(workers, rate_bps), "0",
	    .help = "rate of all frames of the group in bits per second; 0: "
	    "use interval" },
	{ "burst", JSON_READER_COUNT, AT(workers, burst), "8", 1, UINT32_MAX,
	    .help = "updates of a worker in one burst or train" },
	{ "jitter", JSON_READER_TIME, AT(workers, jitter_ns), "0",
	    .help = "maximum random delay of each update" },
	{ "walk", JSON_READER_SHARE, AT(workers, walk), "0",
	    .help =
	    "share by which each interval varies, with variations that add "
	    "up" },
	{ "speeds", JSON_READER_SHARE, AT(workers, speeds), "0",
	    .help = "share by which the speeds of workers differ" },
	{ "phase", JSON_READER_WORD, AT(workers, phase), "random",
	    .words = phases, .help = "rule for the time of the first update" },
	{ "window", JSON_READER_TIME, AT(workers, window_ns), "0",
	    .help = "window for the phases window and order" },
	{ "start", JSON_READER_TIME, AT(workers, start_ns), "0",
	    .help = "time before which nothing is sent" },
	{ "stop", JSON_READER_TIME, AT(workers, stop_ns), "none", .words = none,
	    .help = "time from which nothing is sent" },
	{ "wait", JSON_READER_TIME, AT(workers, wait_ns), "0",
	    .help =
	    "longest wait for a model after an update; 0: do not wait" },
	{ "control", JSON_READER_WORD, AT(workers, control), "none",
	    .words = txctl_words, .help = "transmission control" },
	{ "threshold", JSON_READER_TIME, AT(workers, threshold_ns), "400ms",
	    .help = "threshold of transmission control" },
	{ "rewards", JSON_READER_WORD, AT(workers, rewards), "flat",
	    .words = rewards, .help = "rewards that updates carry" },
	{ "payload", JSON_READER_BYTES, AT(workers, payload_bytes), "256B", 36,
	    65500, .help = "UDP payload of an update's packets" },
	{ "elements", JSON_READER_COUNT, AT(workers, elements), "auto", 1,
	    UINT32_MAX, .words = derived,
	    .help = "floats in a vector; auto: as many as fit one packet" },
	{ "frame", JSON_READER_BYTES, AT(workers, frame_bytes), "auto", 78,
	    FRAME_MAX, .words = derived,
	    .help = "length of a frame; auto: the payload and 42 bytes" },
	{ "schedule", JSON_READER_FILE, AT(workers, schedule),
	    .help =
	    "CSV file of updates to send: cluster,worker,time_ns,reward" },
	{ "access_rate", JSON_READER_RATE, AT(workers, access_bps), "0",
	    .help = "rate of each worker's link to the switch; 0: no limit" },
	{ "access_propagation", JSON_READER_TIME,
	    AT(workers, access_propagation_ns), "0", .help = "propagation "
	        "delay of each worker's link" },
	{ "access_loss", JSON_READER_SHARE, AT(workers, access_loss), "0",
	    .help = "share of frames lost on each worker's link, in each "
	        "direction" },
	{ "access_queue", JSON_READER_COUNT, AT(workers, access_queue), "none",
	    1,
	    1 << 24, .words = none,
	    .help = "frames that can wait for each worker's link" },
	{ "shared", JSON_READER_BOOL, AT(workers, shared),
	    .help = "one access link for the whole group" },
	{ "access_capture", JSON_READER_BOOL, AT(workers, access_capture),
	    .help = "with -w, capture the frames at both ends of the access "
	    "links" },
	{ 0 }
};

static const struct json_reader_key traffic_keys[] = {
	{ "name", JSON_READER_NAME, AT(traffic, name),
	    .help = "name in results" },
	{ "at", JSON_READER_NAME, AT(traffic, at), .needed = true,
	    .help = "switch from which the frames go to the server" },
	{ "rate", JSON_READER_RATE, AT(traffic, rate_bps), .needed = true,
	    .help = "rate in bits per second, from each switch of this name" },
	{ "frame", JSON_READER_BYTES, AT(traffic, frame_bytes), "1000B", 42,
	    FRAME_MAX, .help = "length of each frame" },
	{ "arrivals", JSON_READER_WORD, AT(traffic, arrivals), "poisson",
	    .words = gaps, .help = "rule for the time of the next frame" },
	{ "burst", JSON_READER_COUNT, AT(traffic, burst), "8", 1, UINT32_MAX,
	    .help = "frames in a train of onoff, on average" },
	{ "start", JSON_READER_TIME, AT(traffic, start_ns), "0",
	    .help = "time before which nothing is sent" },
	{ "stop", JSON_READER_TIME, AT(traffic, stop_ns), "none", .words = none,
	    .help = "time from which nothing is sent" },
	{ 0 }
};

static const struct json_reader_key fault_keys[] = {
	{ "link", JSON_READER_NAME, AT(fault, link),
	    .help = "switch whose link is down; with training jobs: worker, "
	    "rack or server" },
	{ "switch", JSON_READER_NAME, AT(fault, node), .help =
	    "switch that is down; with training jobs: switch or rack" },
	{ "worker", JSON_READER_WORD, AT(fault, worker), "none",
	    .words = fates,
	    .help = "worker of a training job that fails at time from and "
	        "restarts at time to" },
	{ "training", JSON_READER_NAME, AT(fault, training),
	    .help = "training job with this fault (without this key: all "
	        "training jobs)" },
	{ "index", JSON_READER_COUNT, AT(fault, index), "all", 0,
	    SCENARIO_NODES_MAX, .words = (const char *const[]){ "all", NULL },
	    .help = "number, from 0, of the link, switch or worker with this "
	        "name, or all" },
	{ "from", JSON_READER_TIME, AT(fault, from_ns), .needed = true,
	    .help = "start of the fault" },
	{ "to", JSON_READER_TIME, AT(fault, to_ns), .needed = true,
	    .help = "end of the fault" },
	{ 0 }
};

static const struct json_reader_key plane_keys[] = {
	{ "name", JSON_READER_NAME, AT(plane, name), .needed = true,
	    .help = "name of the switch in results and captures" },
	{ "options", JSON_READER_FILE, AT(plane, options), .needed = true,
	    .help = "options of innet-switch, except those for files and live "
	    "use" },
	{ "read", JSON_READER_FILE, AT(plane, read),
	    .help = "capture of the packets that hosts send to the switch" },
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
	{ "name", JSON_READER_FILE, TOP(name), .help = "description of the "
	    "scenario" },
	{ "seed", JSON_READER_COUNT, TOP(seed), "1", 0, (uint64_t)1 << 53,
	    .help = "seed of the random numbers in the first run" },
	{ "runs", JSON_READER_COUNT, TOP(runs), "1", 1, 1 << 20,
	    .help = "number of runs, each with the next seed" },
	{ "duration", JSON_READER_TIME, TOP(duration_ns), "10s", 1,
	    .words = none, .help = "simulated time; none: until everything is "
	    "done" },
	{ "drain", JSON_READER_BOOL, TOP(drain),
	    .help = "at the end, deliver the frames that are on their way" },
	{ "start", JSON_READER_TIME, TOP(start_ns), "0", 0,
	    (uint64_t)UINT32_MAX * SECOND_NS,
	    .help = "time of instant 0 in captures, since 1970" },
	{ "ages_from", JSON_READER_TIME, TOP(ages_from), "sent", .words = ages,
	    .help = "start of the ages: the first update sent or received, or "
	    "a time" },
	{ "ages_to", JSON_READER_WORD, TOP(ages_to), "auto", .words = ends,
	    .help = "end of the ages: the last packet of the cluster, or the "
	    "end of the run" },
	{ "wire_overhead", JSON_READER_BYTES, TOP(wire_overhead), "0",
	    .hi = UINT16_MAX, .words = truths,
	    .help = "extra bytes of each frame on links; true: 24 bytes" },
	{ "switches", JSON_READER_LIST, TOP(switches), .list = &switch_section,
	    .help = "list of switches" },
	{ "links", JSON_READER_LIST, TOP(links), .list = &link_section,
	    .help = "list of links, one from each switch" },
	{ "servers", JSON_READER_LIST, TOP(servers), .list = &server_section,
	    .help = "list of parameter servers" },
	{ "workers", JSON_READER_LIST, TOP(workers), .list = &worker_section,
	    .help = "list of groups of workers" },
	{ "traffic", JSON_READER_LIST, TOP(traffic), .list = &traffic_section,
	    .help = "list of flows of other programs" },
	{ "faults", JSON_READER_LIST, TOP(faults), .list = &fault_section,
	    .help = "list of faults and their times" },
	{ "trainings", JSON_READER_LIST, TOP(trainings),
	    .list = &training_section,
	    .help = "list of training jobs, instead of the lists above" },
	{ "planes", JSON_READER_LIST, TOP(planes), .list = &plane_section,
	    .help = "list of switches of any program that read captures, "
	    "instead of the lists above" },
	{ "sweep", JSON_READER_ANY, 0,
	    .help = "object of paths, each with a list of values to try" },
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
