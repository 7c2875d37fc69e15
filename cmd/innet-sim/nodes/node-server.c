/*
 * node-server.c - a parameter server; see node-server.h
 *
 * The server records the age of each update and answers it with a model.  The
 * gate and versions come from olaf/server-rule.h.  The rest of server-rule.h
 * computes with vectors, and packets in the simulator have none.
 */
#include "config.h"


#include "common/base/message.h"

#include "cmd/innet-sim/nodes/node-server.h"
#include "cmd/innet-sim/nodes/node-traffic.h"

/* Receive an update and answer it. */
static void
receive_update(struct sim *s, struct sim_node *n, const struct sim_packet *p)
{
	const struct scenario_server *cf = n->own;
	const struct server_rule_conf rule = {
		.gate = (enum server_rule_gate)cf->gate,
		.gate_ema = cf->gate_ema };
	struct sim_cluster *c = sim_cluster(s, p->up.cluster);
	struct server_rule_range *at = &c->range[p->up.following];
	const double r = (double)p->up.reward;
	struct sim_packet model = {
		.wire_bytes = cf->frame_bytes == SCENARIO_WORD1 ?
		    p->wire_bytes + UPDATE_STATUS_BYTES :
		    (uint32_t)cf->frame_bytes };

	c->last_ns = s->now_ns;
	c->count[SIM_RECEIVED]++;
	c->count[SIM_MERGED] += p->up.merged;
	if (c->goal_ns == 0 && c->goal > 0 &&
	    c->count[SIM_MERGED] >= c->goal)
		c->goal_ns = s->now_ns;
	c->delay_ns += s->now_ns - p->up.generated_ns;
	if (aom_deliver(&c->age[p->up.following], s->now_ns,
	    p->up.generated_ns) == AOM_NOMEM)
		err(1, "ages");
	c->count[SIM_GATED] += server_rule_finish(&rule, at, r,
	    server_rule_admits(&rule,
	    at, r)) == SERVER_RULE_GATED;
	model.up = server_rule_model_header(at, &p->up,
	    cf->reply == SCENARIO_CLUSTER ? UPDATE_ALL_WORKERS : p->up.worker);
	if (cf->reply != SCENARIO_NOBODY)
		sim_send_model(s, n, &model, s->now_ns + cf->delay_ns);
}

static void
receive_packet(struct sim *s, struct sim_node *n, struct sim_pipe *by,
    const struct sim_packet *p)
{
	(void)by;
	if (p->up.kind == UPDATE_UPDATE)
		receive_update(s, n, p);
	else
		node_traffic_receive(s, p);
}

const struct sim_kind node_server_kind = {
    .name = "server", .arrive = receive_packet, .serves = true };
