/*
 * Fuzz a specification as innet-verify reads it.  It must be refused in one
 * line, or be valid for a decision.
 */
#include "cmd/innet-verify/spec.h"
#include "tests/fuzz/fuzz.h"

static void
sound(const struct spec *s)
{
	must(s->n >= 1 && s->n <= SPEC_CLUSTERS_MAX, "clusters that fit");
	must(s->service_ns >= 1 && s->service_ns <= SPEC_SERVICE_MAX,
	    "a service time");
	must(s->slots >= 1 && s->slots <= UINT16_MAX, "slots");
	must(s->horizon_ns >= 1 && s->horizon_ns <= SPEC_TIME_MAX,
	    "a horizon");
	must(spec_updates_all(s, s->horizon_ns) <= SPEC_UPDATES_MAX,
	    "no more updates than can be decided about");
	for (size_t i = 0; i < s->n; i++) {
		const struct spec_cluster *c = &s->cluster[i];

		must(i == 0 || s->cluster[i - 1].id < c->id, "ids in order");
		must(c->offset_lo_ns <= c->offset_hi_ns, "an offset");
		must(c->jitter_ns < c->period_ns, "updates in order");
		must(c->control.kind == TXCTL_NONE ||
		    c->control.threshold_ns > 0, "a threshold");
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	uint8_t *copy = fuzz_copy(p, len);
	struct json_reader r;
	cJSON *root = json_reader_parse(&r, (const char *)copy, len);
	struct spec s;

	must((root == NULL) == (r.why[0] != '\0'), "a reason or a value");
	if (root != NULL && spec_read(&r, root, 0, &s))
		sound(&s);
	else
		must(r.why[0] != '\0' && strchr(r.why, '\n') == NULL,
		    "one line that says why not");
	cJSON_Delete(root);
	free(copy);
	return 0;
}
