/* olaf-server.c - program olaf of innet-ps: the parameter server */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/num.h"
#include "common/capture/soundness.h"
#include "common/wire/stream.h"

#include "cmd/innet-ps/olaf-server.h"

static const char *const count_name[SERVER_COUNTS] = {
	"updates", "constituents", "applied", "gated", "refused_nonfinite",
	"mismatched", "no_model", "weights", "weights_discarded",
	"models_sent", "updates_repeated", "clusters_forgotten"
};

enum server_option {
	SERVER_RATE = 1, SERVER_GATE, SERVER_AVERAGE, SERVER_OPTIMIZER,
	SERVER_REPLY, SERVER_ELEMENTS
};

static const struct opt options[] = {
	{ SERVER_RATE, "learning-rate", "X",
	    "olaf: learning rate (default 0.001)" },
	{ SERVER_GATE, "gate", "NAME",
	    "olaf: reward that an update must exceed: none (default), ema[:A], "
	    "last or best" },
	{ SERVER_AVERAGE, "average", "NAME",
	    "olaf: running average of the gradients: ema[:A] (default ema:0.5) "
	    "or none" },
	{ SERVER_OPTIMIZER, "optimizer", "NAME",
	    "olaf: optimizer of the weights: sgd (default) or adam" },
	{ SERVER_REPLY, "reply", "WHOM",
	    "olaf: receivers of a model: cluster (default) or worker" },
	{ SERVER_ELEMENTS, "elements", "N",
	    "olaf: number of elements in each vector; vectors of another "
	    "length are ignored" },
	{ 0 }
};

static void
set_defaults(void *conf)
{
	*(struct server_conf *)conf = (struct server_conf){ .rule = {
	    .rate = 0.001, .gate_ema = 0.1, .average_ema = 0.5 } };
}

/*
 * Parse "ema" or "ema:0.1", where the number is the share that is stored in *a.
 * Set *is to true if s has this form.  Return NULL, or the error.
 */
static const char *
parse_ema(const char *s, double *a, bool *is)
{
	*is = strncmp(s, "ema", 3) == 0 && (s[3] == '\0' || s[3] == ':');
	return *is && s[3] == ':' ? num_real(s + 4, 1e-9, 1, a) : NULL;
}

/* Return the index of s in words, or -1. */
static int
find_word(const char *s, const char *const words[])
{
	for (int i = 0; words[i] != NULL; i++) {
		if (strcmp(s, words[i]) == 0)
			return i;
	}
	return -1;
}

static const char *
set_gate(struct server_rule_conf *rule, const char *arg)
{
	static const char *const gates[] = { "none", "ema", "last", "best",
	    NULL };
	bool is;
	const char *why = parse_ema(arg, &rule->gate_ema, &is);
	const int gate = is ? SERVER_RULE_EMA : find_word(arg, gates);

	if (gate < 0)
		return "not one of none, ema, last, best";
	rule->gate = (enum server_rule_gate)gate;
	return why;
}

static const char *
set_average(struct server_rule_conf *rule, const char *arg)
{
	bool is;
	const char *why;

	rule->average_ema = 0.5;
	why = parse_ema(arg, &rule->average_ema, &is);
	if (!is && strcmp(arg, "none") != 0)
		return "not one of none, ema";
	if (!is)
		rule->average_ema = 1;
	return why;
}

static const char *
set_option(void *conf, int option, const char *arg)
{
	static const char *const optimizers[] = { "sgd", "adam", NULL };
	static const char *const replies[] = { "cluster", "worker", NULL };
	struct server_conf *cf = conf;
	int word;

	switch (option) {
	case SERVER_RATE: return num_real(arg, 0, 1e9, &cf->rule.rate);
	case SERVER_GATE: return set_gate(&cf->rule, arg);
	case SERVER_AVERAGE: return set_average(&cf->rule, arg);
	case SERVER_OPTIMIZER:
		word = find_word(arg, optimizers);
		cf->rule.optimizer = word == 1 ? SERVER_RULE_ADAM :
		    SERVER_RULE_SGD;
		return word < 0 ? "not one of sgd, adam" : NULL;
	case SERVER_ELEMENTS:
		return num_u64(arg, 1, STREAM_ELEMENTS_MAX, &cf->elements);
	default:
		word = find_word(arg, replies);
		cf->reply_worker = word == 1;
		return word < 0 ? "not one of cluster, worker" : NULL;
	}
}

static const char *
check_settings(void *conf, struct program_place *place)
{
	(void)conf;
	(void)place;
	return NULL;
}

static bool
init_state(void *state, const void *conf, const struct program_env *env)
{
	struct server *s = state;

	s->cf = conf;
	s->env = env;
	s->cluster = s->cf->loaded;
	if (s->cluster == NULL)
		s->cluster = calloc(SERVER_CLUSTERS, sizeof(*s->cluster));
	for (unsigned c = 0; s->cluster != NULL && c < SERVER_CLUSTERS; c++)
		s->memory_bytes += (uint64_t)s->cluster[c].elements *
		    SERVER_ELEMENT_BYTES;
	s->newest = newest_with_limit(env->place->memory_bytes / 8,
	    &env->place->hash_seed);
	s->quota = quota_of(0, &env->place->hash_seed);
	handshake_server_init(&s->handshakes, env->place, &s->quota);
	if (s->cluster == NULL || !routes_init(&s->routes,
	    env->place->memory_bytes / 8, &env->place->hash_seed))
		return false;
	routes_set_quota(&s->routes, env->place->quotas ? &s->quota : NULL,
	    s->handshakes.on);
	return true;
}

static void
free_state(void *state)
{
	struct server *s = state;

	for (unsigned c = 0; s->cluster != NULL && c < SERVER_CLUSTERS; c++)
		server_rule_free(&s->cluster[c]);
	free(s->cluster);
	routes_free(&s->routes);
	handshake_server_free(&s->handshakes);
	quota_free(&s->quota);
	newest_free(&s->newest);
}

static enum packet_class
classify(void *state, struct packet *p)
{
	(void)state;
	return update_is(p->tos & 0xfc) ? PACKET_FOR_PROGRAM : PACKET_REGULAR;
}

/*
 * Send the model of u's range to the worker that sent u, or to the whole
 * cluster.
 */
static void
send_model(struct server *s, const struct update *u,
    const union addr *from, bool to_all, uint64_t now_ns)
{
	const struct server_rule *c = &s->cluster[u->cluster];
	struct outbox *out = s->env->out;
	const uint8_t tos = handshake_server_tos(&s->handshakes);
	struct update model;
	uint32_t next = 0, bytes;
	uint8_t *p, *vec;

	server_rule_make_model(c, u, to_all ? UPDATE_ALL_WORKERS : u->worker,
	    &model);
	bytes = UPDATE_MODEL_BYTES + 4 * model.n;
	p = outbox_room(out, bytes + update_tail_bytes(tos));
	vec = update_put(p, &model);
	for (uint32_t i = 0; i < model.n; i++)
		vec_set(vec, i, c->w[model.first + i]);
	bytes = handshake_server_tag(&s->handshakes, p, bytes);
	if (to_all) {
		while (routes_next_address(
			   &s->routes, u->cluster, now_ns, &next) != NULL)
			s->n[SERVER_MODELS]++;
		outbox_add(out, POST_GROUP, u->cluster, NULL, tos, p, bytes);
		routes_use_credit(&s->routes, u->cluster);
	} else {
		s->n[SERVER_MODELS]++;
		outbox_add(out, POST_ONE, 0, from, tos, p, bytes);
	}
}

/*
 * Answer a vector that does not have the length or the packet size of its
 * cluster.  The answer is a packet of the model, which has the right length and
 * packet size.
 */
static void
answer_mismatch(struct server *s, const struct update *u,
    const union addr *from, uint64_t now_ns)
{
	const struct server_rule *c = &s->cluster[u->cluster];
	struct update like = *u;
	char name[ADDR_NAME_BYTES];

	if (!s->told_cut)
		snprintf(s->trouble, sizeof(s->trouble), "%s: cluster %u: "
		    "vectors of worker %" PRIu32 " have %" PRIu32 " elements, "
		    "%" PRIu32 " in a packet, but those of the cluster have "
		    "%" PRIu32 ", %" PRIu32 " in a packet",
		    addr_print(from, name), u->cluster, u->worker,
		    u->elements, u->n, c->elements, c->n);
	s->told_cut = true;
	if (c->w == NULL || c->range[0].version == 0)
		return;
	like.elements = c->elements;
	like.first = 0;
	like.n = c->ranges > 1 ? c->n : c->elements;
	like.following = (uint16_t)(c->ranges - 1);
	send_model(s, &like, from, false, now_ns);
}

/* Report the sender of an update that would make a weight infinite or NaN. */
static void
report_nonfinite(struct server *s, const struct update *u,
    const union addr *from)
{
	char name[ADDR_NAME_BYTES];

	snprintf(s->trouble, sizeof(s->trouble), "%s: cluster %u: worker "
	    "%" PRIu32 ": update %" PRIu32 " was refused, because a weight "
	    "would no longer be finite", addr_print(from, name), u->cluster,
	    u->worker,
	    u->sequence);
}

static void
handle_update(struct server *s, const struct update *u,
    const union addr *from, uint64_t now_ns)
{
	static const enum server_count what[] = {
		[SERVER_RULE_APPLIED] = SERVER_APPLIED,
		[SERVER_RULE_GATED] = SERVER_GATED,
		[SERVER_RULE_NONFINITE] = SERVER_NONFINITE,
		[SERVER_RULE_MISMATCHED] = SERVER_MISMATCHED,
		[SERVER_RULE_NO_MODEL] = SERVER_NO_MODEL
	};
	struct server_rule *c = &s->cluster[u->cluster];
	enum server_rule_verdict v;

	s->n[SERVER_UPDATES]++;
	if (server_rule_range(c, u) != UINT32_MAX &&
	    !newest_is_newer(&s->newest, u)) {
		s->n[SERVER_REPEATED]++;
		return;
	}
	v = server_rule_update(&s->cf->rule, c, u);
	if (v == SERVER_RULE_APPLIED || v == SERVER_RULE_GATED ||
	    v == SERVER_RULE_NONFINITE) {
		newest_note(&s->newest, u);
		routes_note(&s->routes, u->cluster, u->worker, from, now_ns);
	}
	s->n[SERVER_CONSTITUENTS] += u->merged;
	s->n[what[v]]++;
	if (v == SERVER_RULE_NONFINITE)
		report_nonfinite(s, u, from);
	if (v == SERVER_RULE_MISMATCHED)
		answer_mismatch(s, u, from, now_ns);
	else if (v != SERVER_RULE_NO_MODEL)
		send_model(s, u, from, !s->cf->reply_worker, now_ns);
}

/* Return true if there is memory for the vectors of a new cluster. */
static bool
has_room(struct server *s, const struct update *u, uint64_t need)
{
	const uint64_t limit = s->env->place->memory_bytes;
	const uint64_t routes = (uint64_t)routes_count(&s->routes) *
	    ROUTES_BYTES;

	if (limit == 0 || s->memory_bytes + routes + need <= limit)
		return true;
	if (!s->told_memory)
		snprintf(s->trouble, sizeof(s->trouble), "cluster %u: a vector "
		    "of %" PRIu32 " elements needs %.1f MB more memory; raise "
		    "--memory",
		    u->cluster, u->elements, (double)need / 1e6);
	s->told_memory = true;
	return false;
}

/*
 * Forget a cluster whose first worker sent weights but no update, and has not
 * been seen for a minute.  This happens only if the new weights `u` differ in
 * length or packet size from the weights of the cluster, or if the initial
 * weights of the cluster are incomplete and `u` is from another worker.
 */
static void
forget_unused_cluster(struct server *s, const struct update *u, uint64_t now_ns)
{
	struct server_rule *c = &s->cluster[u->cluster];

	if (c->w == NULL || c->updated ||
	    c->initial_worker == UPDATE_ALL_WORKERS ||
	    (server_rule_range(c, u) != UINT32_MAX &&
		(c->initial_worker == u->worker || server_rule_is_ready(c))) ||
	    routes_find(&s->routes, u->cluster, c->initial_worker, now_ns) !=
		NULL)
		return;
	s->memory_bytes -= (uint64_t)c->elements * SERVER_ELEMENT_BYTES;
	server_rule_free(c);
	s->n[SERVER_FORGOTTEN]++;
}

/*
 * Handle initial weights.  The server uses the weights of the first worker, and
 * answers all workers.
 */
static void
handle_weights(struct server *s, const struct update *u,
    const union addr *from, uint64_t now_ns)
{
	struct server_rule *c = &s->cluster[u->cluster];
	const uint64_t need = (uint64_t)u->elements * SERVER_ELEMENT_BYTES;
	bool fresh;
	uint32_t r;

	s->n[SERVER_WEIGHTS]++;
	forget_unused_cluster(s, u, now_ns);
	fresh = c->w == NULL;
	if (fresh && !has_room(s, u, need)) {
		s->env->count_ignored(s->env->plane, SOUNDNESS_NO_ROOM);
		return;
	}
	if (!server_rule_take_weights(c, u))
		s->n[SERVER_DISCARDED]++;
	if (fresh && c->w != NULL)
		s->memory_bytes += need;
	r = server_rule_range(c, u);
	if (r != UINT32_MAX) {
		newest_restart(&s->newest, u);
		routes_note(&s->routes, u->cluster, u->worker, from, now_ns);
	}
	if (r != UINT32_MAX && c->range[r].version != 0) {
		send_model(s, u, from, false, now_ns);
	} else if (r == UINT32_MAX && c->w != NULL) {
		s->n[SERVER_MISMATCHED]++;
		answer_mismatch(s, u, from, now_ns);
	}
}

static void
receive(void *state, struct packet *p, uint64_t now_ns)
{
	struct server *s = state;
	struct update u;
	unsigned bad = update_parse_as(p->tos, p->payload, p->bytes, &u);

	if (bad == UPDATE_OK)
		bad = handshake_server_check(
		    &s->handshakes, p->from, p->tos, p->payload, p->bytes);
	if (bad == UPDATE_OK && u.kind == UPDATE_MODEL)
		bad = SOUNDNESS_FOREIGN;
	else if (bad == UPDATE_OK && s->cf->elements > 0 &&
	    u.elements != s->cf->elements)
		bad = SOUNDNESS_MISMATCHED;
	if (bad != UPDATE_OK) {
		s->env->count_ignored(s->env->plane, bad);
		return;
	}
	if (u.kind == UPDATE_UPDATE)
		handle_update(s, &u, p->from, now_ns);
	else
		handle_weights(s, &u, p->from, now_ns);
}

static const union addr *
next_member(const void *state, uint32_t group, uint32_t *next,
    uint64_t now_ns)
{
	const struct server *s = state;

	return routes_next_address(&s->routes, (uint16_t)group, now_ns, next);
}

static enum program_reply
handle_request(void *state, const union addr *from, const struct control *c,
    struct control_ack *a, uint64_t now_ns)
{
	struct server *s = state;

	if (c->action != CONTROL_OPEN || !s->handshakes.on)
		return PROGRAM_UNKNOWN;
	handshake_server_open(&s->handshakes, from, c, a, now_ns);
	return PROGRAM_ANSWERED;
}

static bool
is_member(const void *state, const union addr *at, int32_t job)
{
	const struct server *s = state;

	(void)job;
	return handshake_server_knows(&s->handshakes, at);
}

static uint32_t
member_count(const void *state)
{
	const struct server *s = state;

	return s->handshakes.rows.count;
}

static void
list_jobs(const void *state, struct counters *c, uint64_t now_ns)
{
	const struct server *s = state;

	for (uint32_t k = 0; k < SERVER_CLUSTERS; k++) {
		const struct server_rule *r = &s->cluster[k];

		if (r->w == NULL)
			continue;
		counters_in(c, NULL);
		counters_put(c, "job", k);
		counters_word(c, "kind", "cluster");
		counters_put(c, "elements", r->elements);
		counters_put(c, "version", r->range[0].version);
		counters_put(c, "members", routes_workers(&s->routes,
		    (uint16_t)k, now_ns));
		counters_out(c);
	}
}

static bool
list_members(const void *state, uint16_t job, struct counters *c,
    uint64_t now_ns)
{
	const struct server *s = state;
	const struct route *r;
	uint32_t next = 0, id = 0;

	counters_put(c, "job", job);
	counters_list(c, "members");
	while ((r = routes_next(&s->routes, job, now_ns, &next)) != NULL) {
		counters_in(c, NULL);
		counters_put(c, "id", id++);
		counters_put(c, "worker", r->worker);
		counters_put(c, "cluster", r->cluster);
		routes_put_member(r, c, &s->env->place->address, now_ns);
		counters_out(c);
	}
	counters_list_end(c);
	return s->cluster[job].w != NULL;
}

static bool
put_counters(const void *state, int32_t job, bool gauges, struct counters *c,
    uint64_t now_ns)
{
	const struct server *s = state;

	if (job >= 0) {
		const struct server_rule *r = &s->cluster[job];

		if (gauges && r->w != NULL) {
			counters_put(c, "members", routes_workers(
			    &s->routes, (uint16_t)job, now_ns));
			counters_put(c, "elements", r->elements);
			counters_put(c, "version", r->range[0].version);
		}
		return r->w != NULL;
	}
	if (gauges)
		counters_put(c, "memory_bytes", s->memory_bytes);
	for (int i = 0; i < SERVER_COUNTS && !gauges; i++)
		counters_put(c, count_name[i], s->n[i]);
	return true;
}

static void
put_report(const void *state, struct counters *c)
{
	put_counters(state, -1, false, c, 0);
}

/*
 * Write the summary, which consists of counters and a description of any
 * problem.
 */
static void
put_summary(const void *state, struct counters *c)
{
	const struct server *s = state;

	for (int i = 0; i < SERVER_COUNTS; i++) {
		if (i <= SERVER_APPLIED || s->n[i] > 0)
			counters_put(c, count_name[i], s->n[i]);
	}
}

static void
put_progress(const void *state, struct counters *c)
{
	const struct server *s = state;

	counters_put(c, "updates", s->n[SERVER_UPDATES]);
	counters_put(c, "applied", s->n[SERVER_APPLIED]);
}

static const char *
describe_problem(void *state, char *text, size_t room, uint64_t now_ns)
{
	struct server *s = state;

	(void)now_ns;
	if (s->trouble[0] == '\0')
		return NULL;
	snprintf(text, room, "%s", s->trouble);
	s->trouble[0] = '\0';
	return text;
}

static uint16_t
default_port(const void *conf)
{
	(void)conf;
	return UPDATE_PORT;
}

const struct program server_program = {
    .name = "olaf",
    .about = "keep the weights of clusters",
    .default_port = default_port,
    .tos = UPDATE_TOS,
    .supports_tags = true,
    .conf_bytes = sizeof(struct server_conf),
    .options = options,
    .set_defaults = set_defaults,
    .set_option = set_option,
    .check_settings = check_settings,
    .state_bytes = sizeof(struct server),
    .init_state = init_state,
    .free_state = free_state,
    .classify = classify,
    .receive = receive,
    .each_member = next_member,
    .handle_request = handle_request,
    .is_member = is_member,
    .member_count = member_count,
    .list_jobs = list_jobs,
    .list_members = list_members,
    .put_counters = put_counters,
    .put_report = put_report,
    .put_summary = put_summary,
    .put_progress = put_progress,
    .describe_problem = describe_problem,
};
