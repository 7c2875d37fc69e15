/* Test updates without their bytes on a plane with two ports. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/olaf/program.h"
#include "cmd/innet-sim/nodes/payload-free.h"
#include "tests/unit/tap.h"

enum { FRAME = 100, TIME = 100 };	/* bytes, ns a frame */

static unsigned left, lost, busy;	/* updates; times */
static uint16_t merged;			/* constituents of the updates that left
					 */

static void
on_leave(void *ctx, struct port *port, struct slot *s, uint64_t when_ns)
{
	(void)ctx;
	(void)port;
	(void)when_ns;
	left++;
	merged = (uint16_t)(merged + s->up.merged);
}

static void
on_lose(void *ctx, struct port *port, const struct slot *s)
{
	(void)ctx;
	(void)port;
	lost += s->up.merged;
}

static void
on_busy(void *ctx, struct port *port)
{
	(void)ctx;
	(void)port;
	busy++;
}

static const struct plane_driver driver = { .send_slot = on_leave,
    .lose_slot = on_lose, .schedule_port = on_busy };
static const struct olaf_conf olaf;
static const struct plane_conf cf = { .program = &olaf_program,
    .settings = &olaf, .ports.shaped = true };

static struct port *
port(struct plane *pl, bool silent)
{
	const struct port_conf pc = { .queue = PORT_OLAF, .slots = 2,
	    .rate_bps = 8000000000u, .threshold = NAN, .clusters = 4,
	    .active_window_ns = 1000000, .silent = silent };
	const uint32_t at = ports_make_port(&pl->ports, &pc);

	if (at == PORTS_NONE || !port_allocate_updates(pl->ports.port[at]))
		abort();
	return pl->ports.port[at];
}

static void
update(struct plane *pl, struct port *to, uint16_t cluster, uint32_t worker)
{
	static const uint8_t nothing[8];
	const struct update u = { .kind = UPDATE_UPDATE, .cluster = cluster,
	    .worker = worker, .merged = 1, .vec = nothing + 1 };
	const struct arrival a = { .bytes = nothing, .have = 1,
	    .wire_bytes = FRAME, .is_update = true, .up = &u };

	payload_free_update(pl, to, &a);
}

int
main(void)
{
	struct update_status told = { 0 }, quiet = { 0 };
	struct port *a, *b;
	struct plane pl;

	if (!plane_init(&pl, &cf, &driver, NULL))
		abort();
	a = port(&pl, false);
	b = port(&pl, true);
	plane_advance(&pl, 1);
	update(&pl, a, 0, 1);
	update(&pl, a, 1, 1);
	update(&pl, a, 1, 2);
	update(&pl, b, 0, 1);
	ok(a->slots.count == 2 && b->slots.count == 1 && busy == 2,
	    "an update waits at the port of its route and is merged there; an "
	    "idle port becomes busy once");
	ok(pl.n[PLANE_PACKETS] == 4 && pl.n[PLANE_TAKEN] == 4,
	    "each update counts as a packet that was taken");
	payload_free_model(&pl, a, &told);
	payload_free_model(&pl, b, &quiet);
	ok(told.filled && told.active == 2 && told.capacity == 2,
	    "a model gets the state of the queue that it passes");
	ok(!quiet.filled, "a model gets no state from a silent port");
	plane_advance(&pl, 1 + TIME);
	plane_send_head(&pl, a, port_deadline_ns(a));
	ok(left == 1 && merged == 1 && a->slots.count == 1,
	    "the update in transmission leaves");
	payload_free_lose(&pl, a);
	ok(lost == 2 && a->slots.count == 0 &&
		port_deadline_ns(a) == PORT_NEVER &&
		plane_sum_cluster(&pl, PLANE_ALL)
			.of[TALLY_QUEUED]
			.constituents == 2,
	    "updates at a port that goes down are lost and counted");
	told = (struct update_status){ 0 };
	ok(port_forget_clusters(a),
	    "a port forgets which clusters it has seen");
	payload_free_model(&pl, a, &told);
	ok(told.filled && told.active == 0, "then a model gets a state without "
	    "active clusters");
	plane_free(&pl);
	return tap_end();
}
