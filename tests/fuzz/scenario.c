/*
 * Fuzz the scenarios of innet-sim: the tables of the JSON reader, sweeps, and
 * the network of a scenario.  A small network runs for a short time, and every
 * update in it must be accounted for.
 */
#include <unistd.h>

#include "cmd/innet-sim/run/network.h"
#include "cmd/innet-sim/run/result.h"
#include "cmd/innet-sim/scenario/scenario-read.h"
#include "cmd/innet-sim/scenario/sweep.h"
#include "common/wire/seg.h"
#include "tests/fuzz/fuzz.h"

#define MOMENT_NS 100000u

/* Is it small enough to run here? */
static bool
small(struct scenario *sc)
{
	uint64_t nodes = 0, workers = 0;

	for (size_t i = 0; i < sc->trainings.n; i++) {
		struct scenario_training *t = (struct scenario_training *)
		    sc->trainings.item + i;

		workers += t->workers;
		if (seg_count(training_elements(t), training_floats(t)) > 50)
			return false;
		t->iterations = t->iterations > 3 ? 3 : t->iterations;
	}

	for (size_t i = 0; i < sc->switches.n; i++) {
		nodes += scenario_switches(sc)[i].count;
		if (scenario_switches(sc)[i].slots > 100)
			return false;
	}
	for (size_t i = 0; i < sc->workers.n; i++) {
		struct scenario_workers *g = (struct scenario_workers *)
		    sc->workers.item + i;

		workers += (g->clusters.to - g->clusters.from + 1) *
		    g->workers;
		if (g->schedule[0] != '\0' || g->interval_ns < 10000 ||
		    g->rate_bps != 0 || g->burst > 10 ||
		    (g->elements != SCENARIO_WORD1 && g->elements > 1000))
			return false;
	}
	if (sc->trainings.n > 0 && sc->faults.n > 0)
		return false;	/* workers that give up end the program */
	for (size_t i = 0; i < sc->traffic.n; i++) {
		const struct scenario_traffic *t = &scenario_traffic(sc)[i];

		if (t->rate_bps > 8 * t->frame_bytes * 1000000)
			return false;	/* more than one a microsecond */
	}
	nodes += sc->traffic.n;
	sc->drain = false;
	sc->duration_ns = sc->trainings.n > 0 ? 2000 * MOMENT_NS : MOMENT_NS;
	return nodes <= 20 && workers <= 50;
}

static void
run(const struct scenario *sc)
{
	const bool trains = sc->trainings.n > 0;
	const int first = trains ? RESULT_TRAINING : RESULT_GROUP;
	const int last = trains ? RESULT_TRAINING : RESULT_TRAFFIC;

	for (int by = first; by <= last; by++) {
		const size_t rows = result_rows(sc, (enum result_by)by);
		struct result_row *row = calloc(rows, sizeof(*row));
		struct sim *s = network_new(sc, sc->seed);
		char name[64];

		must(row != NULL, "there is memory");
		sim_run(s);
		must(result_make_rows(s, (enum result_by)by, row),
		    "every update is accounted for");
		for (size_t i = 0; i < rows; i++) {
			name[0] = '\0';
			result_name(sc, (enum result_by)by, i, name,
			    sizeof(name));
			must(name[0] != '\0', "every row has a name");
		}
		network_free(s);
		free(row);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	cJSON *root = cJSON_ParseWithLength((const char *)p, len);
	cJSON *point, *values = NULL;
	const char *why = NULL;
	struct scenario sc = { 0 };
	struct json_reader r;
	size_t points;

	if (!cJSON_IsObject(root)) {
		cJSON_Delete(root);
		return 0;
	}
	points = sweep_points(root, &why);
	must((points == 0) == (why != NULL), "a refusal says why");
	for (size_t i = 0; i < points && i < 3; i++) {
		point = sweep_point(root, i, &values, &why);
		if (why == NULL && scenario_read(&sc, point, &r)) {
			if (small(&sc))
				run(&sc);
		} else if (why == NULL) {
			must(r.why[0] != '\0', "a refusal says why");
		}
		scenario_free(&sc);
		cJSON_Delete(point);
		cJSON_Delete(values);
	}
	cJSON_Delete(root);
	return 0;
}
