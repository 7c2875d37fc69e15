/* spec.c - read a specification and an objective; see spec.h */
#include "config.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-verify/spec.h"
#include "common/base/json-reader.h"
#include "common/base/num.h"
#include "common/wire/frame.h"

#define AT(field) offsetof(struct spec, field)
static const struct json_reader_key spec_keys[] = {
	{ .name = "service_time", .type = JSON_READER_TIME,
	    .at = AT(service_ns),
	  .lo = 1, .hi = SPEC_SERVICE_MAX, .needed = true },
	{ .name = "slots", .type = JSON_READER_COUNT, .at = AT(slots),
	  .lo = 1, .hi = UINT16_MAX, .needed = true },
	{ .name = "ack_delay", .type = JSON_READER_TIME, .at = AT(ack_ns),
	  .hi = SPEC_TIME_MAX },
	{ .name = "horizon", .type = JSON_READER_TIME, .at = AT(horizon_ns),
	  .lo = 1, .hi = SPEC_TIME_MAX, .needed = true },
	{ .name = "clusters", .type = JSON_READER_ANY, .needed = true },
	{ 0 }
};
#undef AT

#define AT(field) offsetof(struct spec_cluster, field)
static const struct json_reader_key cluster_keys[] = {
	{ .name = "id", .type = JSON_READER_COUNT, .at = AT(id),
	  .hi = FRAME_CLUSTERS_MAX - 1, .needed = true },
	{ .name = "period", .type = JSON_READER_TIME, .at = AT(period_ns),
	  .lo = 1, .hi = SPEC_TIME_MAX, .needed = true },
	{ .name = "offset", .type = JSON_READER_ANY, .needed = true },
	{ .name = "jitter", .type = JSON_READER_TIME, .at = AT(jitter_ns),
	  .hi = SPEC_TIME_MAX },
	{ .name = "control", .type = JSON_READER_ANY },
	{ 0 }
};
#undef AT

struct control {
	uint64_t v, threshold_ns;
};

static const char *const v_words[] = { "urgent", "fair", NULL };
static const struct json_reader_key control_keys[] = {
	{ .name = "v", .type = JSON_READER_WORD,
	    .at = offsetof(struct control, v),
	  .words = v_words, .needed = true },
	{ .name = "threshold", .type = JSON_READER_TIME,
	  .at = offsetof(struct control, threshold_ns),
	  .lo = 1, .hi = SPEC_TIME_MAX, .needed = true },
	{ 0 }
};

static const struct json_reader_section spec_section = {
	spec_keys, sizeof(struct spec)
}, cluster_section = {
	cluster_keys, sizeof(struct spec_cluster)
}, control_section = {
	control_keys, sizeof(struct control)
};

/* Read an offset: a range [FROM, TO], or a single time for both ends. */
static bool
read_offset(struct json_reader *r, const cJSON *v, struct spec_cluster *c)
{
	static const struct json_reader_key time = {
		.type = JSON_READER_TIME, .hi = SPEC_TIME_MAX
	};
	const cJSON *to = cJSON_IsArray(v) ? cJSON_GetArrayItem(v, 1) : v;
	const cJSON *from = cJSON_IsArray(v) ? cJSON_GetArrayItem(v, 0) : v;

	if (to == NULL || (from != to && cJSON_GetArraySize(v) != 2))
		return json_reader_fail(r, "is not [FROM, TO]");
	if (!json_reader_value(r, &time, from, &c->offset_lo_ns) ||
	    !json_reader_value(r, &time, to, &c->offset_hi_ns))
		return false;
	return c->offset_lo_ns <= c->offset_hi_ns ||
	    json_reader_fail(r, "the first number is greater than the last");
}

static bool
read_control(struct json_reader *r, const cJSON *v, struct txctl *t)
{
	static const enum txctl_kind kinds[] = { TXCTL_URGENT, TXCTL_FAIR };
	struct control c;

	if (v == NULL)
		return true;
	if (!json_reader_object(r, v, &control_section, &c))
		return false;
	*t = (struct txctl){ .kind = kinds[c.v],
	    .threshold_ns = c.threshold_ns };
	return true;
}

/*
 * Read the next cluster from v.  The path in r, which error messages print,
 * already names this cluster.
 */
static bool
read_cluster(struct json_reader *r, const cJSON *v, struct spec *s)
{
	struct spec_cluster *c = &s->cluster[s->n];
	const size_t at = r->at;

	if (!json_reader_object(r, v, &cluster_section, c))
		return false;
	for (size_t k = 0; k < s->n; k++) {
		if (s->cluster[k].id == c->id)
			return json_reader_fail(r, "id %" PRIu64 " is that of "
			    "clusters[%zu]", c->id, k);
	}
	if (c->jitter_ns >= c->period_ns)
		return json_reader_fail(r, "the jitter must be less than the "
		    "period, or updates would overtake each other");
	json_reader_down(r, "offset", 0);
	if (!read_offset(r, cJSON_GetObjectItemCaseSensitive(v, "offset"), c))
		return false;
	json_reader_up(r, at);
	json_reader_down(r, "control", 0);
	if (!read_control(r, cJSON_GetObjectItemCaseSensitive(v, "control"),
	    &c->control))
		return false;
	json_reader_up(r, at);
	s->n++;
	return true;
}

static int
by_id(const void *a, const void *b)
{
	const struct spec_cluster *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static bool
read_clusters(struct json_reader *r, const cJSON *list, struct spec *s)
{
	const size_t at = json_reader_down(r, "clusters", 0);
	const cJSON *v;
	size_t here;

	if (!cJSON_IsArray(list))
		return json_reader_fail(r, "must be a list: [ { ... }, ... ]");
	if (cJSON_GetArraySize(list) < 1 ||
	    cJSON_GetArraySize(list) > SPEC_CLUSTERS_MAX)
		return json_reader_fail(r, "the list has %d entries; it must "
		    "have 1 to %d",
		    cJSON_GetArraySize(list), SPEC_CLUSTERS_MAX);
	cJSON_ArrayForEach(v, list) {
		here = json_reader_down(r, NULL, s->n);
		if (!read_cluster(r, v, s))
			return false;
		json_reader_up(r, here);
	}
	json_reader_up(r, at);
	qsort(s->cluster, s->n, sizeof(s->cluster[0]), by_id);
	return true;
}

bool
spec_read(struct json_reader *r, const cJSON *root, uint64_t horizon_ns,
    struct spec *s)
{
	uint64_t updates;

	if (!json_reader_object(r, root, &spec_section, s) ||
	    !read_clusters(r, cJSON_GetObjectItemCaseSensitive(root,
	    "clusters"), s))
		return false;
	if (horizon_ns != 0)
		s->horizon_ns = horizon_ns;
	updates = spec_updates_all(s, s->horizon_ns);
	json_reader_down(r, "horizon", 0);
	if (updates > SPEC_UPDATES_MAX)
		return json_reader_fail(r,
		    "more than %d updates arrive before this time, which is "
		    "too many to decide about", SPEC_UPDATES_MAX);
	return updates > 0 || json_reader_fail(r,
	    "no update can arrive before this time, so there is no schedule to "
	    "check");
}

uint64_t
spec_updates(const struct spec_cluster *c, uint64_t horizon_ns)
{
	uint64_t n;

	if (c->offset_lo_ns >= horizon_ns)
		return 0;
	n = (horizon_ns - c->offset_lo_ns - 1) / c->period_ns + 1;
	return n < SPEC_UPDATES_MAX ? n : SPEC_UPDATES_MAX + 1;
}

uint64_t
spec_updates_all(const struct spec *s, uint64_t horizon_ns)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += spec_updates(&s->cluster[i], horizon_ns);
	return n;
}

/* Read a bound: "0.1" and "10%" are shares, and "5ms" is a time. */
static const char *
read_eps(const char *text, struct objective *o)
{
	static const struct num_unit shares[] = {
		{ "", SPEC_BILLION }, { "%", SPEC_BILLION / 100 }, { NULL, 0 }
	};

	o->relative = strspn(text, "0123456789.%") == strlen(text);
	if (o->relative)
		return num_scaled(text, shares, NULL, 0, SPEC_BILLION,
		    &o->bound);
	return num_time(text, 0, SPEC_TIME_MAX, &o->bound);
}

const char *
objective_read(const char *text, struct objective *o)
{
	*o = (struct objective){ .text = text };
	if (strcmp(text, "no-loss") == 0) {
		o->kind = OBJECTIVE_NO_LOSS;
		return NULL;
	}
	if (strncmp(text, "fair<=", 6) == 0) {
		o->kind = OBJECTIVE_FAIR;
		return read_eps(text + 6, o);
	}
	if (strncmp(text, "peak<=", 6) != 0)
		return "not fair<=SHARE, fair<=TIME, peak<=TIME or no-loss";
	o->kind = OBJECTIVE_PEAK;
	if (strspn(text + 6, "0123456789.") == strlen(text + 6))
		return "a unit is missing";
	return num_time(text + 6, 0, SPEC_TIME_MAX, &o->bound);
}
