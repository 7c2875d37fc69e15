/*
 * verified.c - read the ages of a schedule that innet-verify found
 *
 * An update that opened a slot leaves with all updates that were merged into it
 * while it waited.  The age of the cluster then falls to the age of the newest
 * of these updates.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-plot/plot.h"
#include "common/base/json-reader.h"
#include "common/base/message.h"
#include "common/olaf/aom.h"

enum { IDS = 65536 };

/* A cluster's update that waits in the queue. */
struct waiting {
	bool has;
	uint64_t leaves_ns, made_ns;	/* time when the waiting update departs;
					 * creation time of the newest update
					 * merged into it */
};

struct verified {
	const char *path;
	struct aom *age;	/* by cluster */
	struct waiting *in;
	bool *seen;
	uint64_t end_ns;
};

/*
 * Return the whole number at a key of o; exit with status 1 if the value is not
 * a whole number.
 */
static uint64_t
read_whole(const struct verified *v, const cJSON *o, const char *key)
{
	const cJSON *n = cJSON_GetObjectItemCaseSensitive(o, key);

	if (!cJSON_IsNumber(n) || !(n->valuedouble >= 0) ||
	    n->valuedouble > 9007199254740992.0)
		errx(1, "%s: schedule: '%s' must be a whole number",
		    v->path, key);
	return (uint64_t)n->valuedouble;
}

/* Deliver the waiting update of cluster id if it leaves at by_ns or earlier. */
static void
depart_update(struct verified *v, uint64_t id, uint64_t by_ns)
{
	struct waiting *w = &v->in[id];

	if (!w->has || w->leaves_ns > by_ns)
		return;
	w->has = false;
	if (w->leaves_ns < w->made_ns)
		errx(1, "%s: schedule: an update of cluster %u leaves before "
		    "it arrives", v->path, (unsigned)id);
	if (aom_deliver(&v->age[id], w->leaves_ns, w->made_ns) == AOM_NOMEM)
		err(1, "no memory for ages");
}

static void
read_update(struct verified *v, const cJSON *o)
{
	const uint64_t id = read_whole(v, o, "cluster"), at = read_whole(v, o,
	    "time_ns");
	const cJSON *fate = cJSON_GetObjectItemCaseSensitive(o, "fate");
	struct waiting *w;

	if (id >= IDS || !cJSON_IsString(fate))
		errx(1, "%s: the schedule contains no update", v->path);
	if (!v->seen[id])
		aom_start(&v->age[id], at, at);
	v->seen[id] = true;
	w = &v->in[id];
	depart_update(v, id, at);
	if (strcmp(fate->valuestring, "opened") == 0)
		*w = (struct waiting){true, read_whole(v, o, "departs_ns"), at};
	else if (strcmp(fate->valuestring, "merged") == 0)
		w->made_ns = at;
}

static void
draw_ages(struct figure *fig, struct verified *v, const char *name)
{
	const struct aom **set = calloc(IDS, sizeof(*set));
	char (*text)[8] = calloc(IDS, sizeof(*text));
	char **label = calloc(IDS, sizeof(*label));
	size_t n = 0;

	if (set == NULL || text == NULL || label == NULL)
		err(1, "no memory for ages");
	for (uint64_t id = 0; id < IDS; id++) {
		if (!v->seen[id] || (fig->cluster != -1 && (uint64_t)
		    fig->cluster != id))
			continue;
		depart_update(v, id, v->end_ns);
		if (aom_end(&v->age[id], v->end_ns) == -1)
			err(1, "no memory for ages");
		snprintf(text[n], sizeof(text[n]), "%u", (unsigned)id);
		label[n] = text[n];
		set[n++] = &v->age[id];
	}
	add_ages(fig, name, set, label, n);
	free(set);
	free(label);
	free(text);
}

void
add_verified(struct figure *fig, const char *path, const char *name)
{
	struct json_reader j;
	cJSON *root = json_reader_load(&j, path);
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(root,
	    "schedule"), *o;
	struct verified v = { .path = path,
	    .age = calloc(IDS, sizeof(*v.age)),
	    .in = calloc(IDS, sizeof(*v.in)),
	    .seen = calloc(IDS, sizeof(*v.seen)) };

	if (root == NULL)
		errx(1, "%s", j.why);
	if (!cJSON_IsArray(list))
		errx(1, "%s: the verdict has no schedule; draw the output of "
		    "innet-verify --json for an objective that fails", path);
	if (v.age == NULL || v.in == NULL || v.seen == NULL)
		err(1, "no memory for ages");
	v.end_ns = read_whole(&v, root, "fails_up_to_ns");
	cJSON_ArrayForEach(o, list)
		read_update(&v, o);
	draw_ages(fig, &v, name);
	for (uint64_t id = 0; id < IDS; id++)
		aom_free(&v.age[id]);
	free(v.age);
	free(v.in);
	free(v.seen);
	cJSON_Delete(root);
}
