/* chaos-run.c - run one random training job and check it; see chaos-run.h */
#include "config.h"

#include <inttypes.h>
#include <malloc.h>
#include <string.h>

#include "cmd/innet-sim/chaos/chaos-run.h"
#include "cmd/innet-sim/run/network.h"
#include "cmd/innet-sim/training/send-limit.h"
#include "cmd/innet-sim/training/train-result.h"
#include "common/base/message.h"

enum {
	EVENTS_FACTOR = 400,	/* limit on the number of events per segment */
	SEVERE_FACTOR = 4,	/* factor by which the limits are higher for
				 * severe runs: if half of all packets are lost,
				 * a Fetch and its Chunk cross all six links
				 * only once in 64 attempts */
	RING_FACTOR = 4,	/* factor by which an iteration with a ring may
				 * have more segments */
	SENT = 2000, SENT_FACTOR = 100,	/* limit on the packets that a node
					 * sends in a second without a result,
					 * and the part for each segment */
	BYTES = 6 << 20, PLANE_BYTES = 1 << 20,
	BYTES_FACTOR = 4096 /* limit on the memory of a simulated machine, in
			     * bytes per segment */
};

/* Return the bytes that the process has allocated and not freed. */
static uint64_t
get_held_bytes(void)
{
	const struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* Return a limit for the memory that is in use at the end of a run. */
static uint64_t
get_most_bytes(const struct training *t)
{
	const uint64_t machines = t->cf->workers + t->switches;

	return BYTES + TRAIN_LONGS * sizeof(*t->longs) + machines *
	    (PLANE_BYTES + t->segs * BYTES_FACTOR);
}

/* Check that the rounds of an asynchronous job contain every push once. */
static void
check_ledger(struct sim *s, const struct training *t)
{
	uint32_t pushes[LEDGER_WORKERS_ASYNC] = { 0 }, segment = 0;
	const char *why;

	for (uint32_t i = 0; i < t->cf->workers; i++)
		pushes[i] = t->w[i].a.m.pushes;
	why = ledger_check_rounds(t->ledger, pushes, &segment);
	if (why != NULL)
		sim_report_wrong(s, "sum: %s: segment %" PRIu32, why, segment);
}

/*
 * Report each worker that still waits, although nothing has arrived for longer
 * than any exchange of messages takes.
 */
static void
report_stuck(struct sim *s, const struct training *t)
{
	for (uint32_t i = 0; i < t->cf->workers; i++) {
		if (t->w[i].phase == TRAIN_DONE || t->w[i].a.finished)
			continue;
		if (t->joined < t->cf->workers)
			sim_report_wrong(s, "stuck: only %" PRIu32 " of %"
			    PRIu64 " workers have joined", t->joined,
			    t->cf->workers);
		else
			sim_report_wrong(s,
			    "stuck: worker %" PRIu32 " waits for the "
			    "result of iteration %" PRIu64,
			    i, t->w[i].iterations + 1);
	}
}

static void
count_run(struct chaos_tally *n, const struct sim *s, const struct training *t)
{
	n->runs++;
	n->events += s->handled;
	n->packets += t->n[TRAIN_PUT];
	n->results += t->ledger->results;
	for (int k = 0; k < LINK_FAULTS_COUNTS; k++)
		n->link_faults[k] += s->link_faults->n[k];
	for (uint32_t i = 0; i < s->sc->faults.n; i++) {
		if ((t->struck >> i & 1) != 0)
			n->fault[chaos_kind(s->sc->chaos, i)]++;
	}
}

bool
chaos_run_one(const struct chaos_plan *p, struct chaos_tally *n,
    char wrong[SIM_WRONG_BYTES])
{
	const uint64_t before = get_held_bytes();
	struct sim *s = network_new(&p->sc, p->seed);
	struct training *t = s->training;
	struct send_limit limit;

	wrong[0] = '\0';
	s->wrong = wrong;
	s->most = 200000 + EVENTS_FACTOR * p->t.iterations * t->segs *
	    p->t.workers;
	s->most *= (p->severe ? SEVERE_FACTOR : 1) * (p->ring ? RING_FACTOR :
	    1);
	link_faults_open(s, &p->rates, p->share);
	if (!send_limit_init(&limit, s->nodes, (p->severe ? SEVERE_FACTOR : 1) *
	    (SENT + SENT_FACTOR * t->segs)))
		err(1, "no memory");
	s->send_limit = &limit;
	sim_run(s);
	if (p->memory_bytes > 0 && strstr(wrong,
	    control_status_text(CONTROL_NO_ROOM)) != NULL) {
		n->refused++;	/* this refusal is correct if the plan limits
				 * the memory */
		wrong[0] = '\0';
	} else if (wrong[0] == '\0' && !train_is_over(t)) {
		report_stuck(s, t);
	}
	if (wrong[0] == '\0' && train_is_sound(s, t) && t->ledger->async &&
	    !p->kills_racks)	/* a killed rack loses pushes, so they cannot be
				 * checked */
		check_ledger(s, t);
	count_run(n, s, t);
	if (get_held_bytes() > before + get_most_bytes(t))
		sim_report_wrong(s,
		    "memory: %" PRIu64 " bytes are still allocated at the end",
		    get_held_bytes() - before);
	send_limit_free(&limit);
	link_faults_free(s);
	network_free(s);
	n->findings += wrong[0] != '\0';
	return wrong[0] == '\0';
}
