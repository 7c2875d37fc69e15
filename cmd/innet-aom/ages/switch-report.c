/*
 * switch-report.c - read the numbers of superseded and dropped updates of a
 * switch
 */
#include "cmd/innet-aom/ages/switch-report.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

#include "common/base/json-reader.h"
#include "common/base/message.h"
#include "common/base/num.h"

/* Return one counter of constituents, or 0 if the report does not have it. */
static uint64_t
read_counter(const char *path, const cJSON *o, const char *name)
{
	const cJSON *c = cJSON_GetObjectItemCaseSensitive(o, name);
	const cJSON *n = cJSON_GetObjectItemCaseSensitive(c, "constituents");

	if (c == NULL)
		return 0;
	if (!cJSON_IsNumber(n) || n->valuedouble < 0 ||
	    n->valuedouble > 9007199254740992.0)
		errx(1, "%s: the number of constituents in '%s' is missing or "
		    "not valid", path, name);
	return (uint64_t)n->valuedouble;
}

static struct cluster_losses
read_losses(const char *path, const cJSON *o)
{
	return (struct cluster_losses){
		.arrived = read_counter(path, o, "arrived"),
		.superseded = read_counter(path, o, "superseded"),
		.dropped = read_counter(path, o, "dropped_full") +
		    read_counter(path, o, "dropped_reward") +
		    read_counter(path, o, "dropped_limit"),
	};
}

static int
compare_clusters(const void *a, const void *b)
{
	const struct cluster_losses *x = a, *y = b;

	return (int)x->cluster - (int)y->cluster;
}

void
switch_report_read(struct switch_report *r, const char *path)
{
	struct json_reader j;
	cJSON *root = json_reader_load(&j, path);
	const cJSON *totals, *clusters, *c;
	uint64_t id;

	if (root == NULL)
		errx(1, "%s", j.why);
	totals = cJSON_GetObjectItemCaseSensitive(root, "totals");
	clusters = cJSON_GetObjectItemCaseSensitive(root, "clusters");
	if (!cJSON_IsObject(totals))
		errx(1, "%s: not a report of innet-switch: 'totals' is missing",
		    path);
	if (clusters != NULL && !cJSON_IsObject(clusters))
		errx(1, "%s: 'clusters' is not an object", path);
	r->total = read_losses(path, totals);
	r->cluster = calloc((size_t)cJSON_GetArraySize(clusters) + 1,
	    sizeof(*r->cluster));
	if (r->cluster == NULL)
		err(1, "%s", path);
	cJSON_ArrayForEach(c, clusters) {
		if (num_u64(c->string, 0, UINT16_MAX, &id) != NULL)
			errx(1, "%s: '%s' is not the number of a cluster", path,
			    c->string);
		r->cluster[r->n] = read_losses(path, c);
		r->cluster[r->n++].cluster = (uint16_t)id;
	}
	qsort(r->cluster, r->n, sizeof(*r->cluster), compare_clusters);
	cJSON_Delete(root);
}

void
switch_report_free(struct switch_report *r)
{
	free(r->cluster);
}
