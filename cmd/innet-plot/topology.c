/*
 * topology.c - the nodes and links of a scenario, and how busy the links are
 *
 * Servers are at the top, and workers are at the bottom.  Each node is centred
 * above the nodes that send to it.  The share of time in which a link is busy
 * comes from innet-sim --by switch.  This share is the mean over all rows of
 * the switch that sends over the link.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "cmd/innet-plot/plot.h"
#include "cmd/innet-plot/csv-table.h"
#include "common/base/json-reader.h"
#include "common/base/message.h"

enum { DEPTH_MAX = 64 };

struct scenery {
	struct figure *fig;
	const char *path;
	const cJSON *switches, *links, *workers;
	double next_x;		/* x position of the next leaf */
	double lowest;
};

static const char *
read_word(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	return cJSON_IsString(v) ? v->valuestring : "";
}

/* Return the value of `key` in o as text, for example "40G" or "3". */
static char *
read_value(const cJSON *o, const char *key, const char *otherwise)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	char *text = cJSON_IsString(v) ? strdup(v->valuestring) : v == NULL ?
	    strdup(otherwise) : cJSON_PrintUnformatted(v);

	if (text == NULL)
		err(1, "no memory for labels");
	return text;
}

static size_t
add_node(struct figure *fig, char *label, double x, double y)
{
	fig->node = realloc(fig->node, (fig->nodes + 1) * sizeof(*fig->node));
	if (fig->node == NULL)
		err(1, "no memory for %zu nodes", fig->nodes);
	fig->node[fig->nodes] = (struct node){ .label = label, .x = x,
	    .y = y };
	return fig->nodes++;
}

static void
add_wire(struct figure *fig, size_t from, size_t to, char *label,
    const char *of)
{
	fig->wire = realloc(fig->wire, (fig->wires + 1) * sizeof(*fig->wire));
	if (fig->wire == NULL)
		err(1, "no memory for %zu links", fig->wires);
	fig->wire[fig->wires++] = (struct wire){ .from = from, .to = to,
	    .label = label, .of = strdup(of), .busy = NAN };
	if (fig->wire[fig->wires - 1].of == NULL)
		err(1, "no memory for labels");
}

/*
 * Return a label such as "S1: clusters 1-5, workers 10"; here, each cluster has
 * 10 workers.
 */
static char *
workers_label(const cJSON *g)
{
	char *name = read_value(g, "name", ""), *label = NULL;
	char *clusters = read_value(g, "clusters", "1");
	char *each = read_value(g, "workers", "1");

	if (asprintf(&label, "%s%sclusters %s, workers %s", name,
	    *name == '\0' ? "" : ": ", clusters, each) == -1)
		err(1, "no memory for labels");
	free(name);
	free(clusters);
	free(each);
	return label;
}

/* Add a leaf for a group of workers below node `to`, beside the last leaf. */
static void
add_workers(struct scenery *s, const cJSON *g, size_t to, double y)
{
	const size_t at = add_node(s->fig, workers_label(g), s->next_x, y);

	s->next_x++;
	s->lowest = fmin(s->lowest, y);
	add_wire(s->fig, at, to, strdup(""), "");
}

/* Add the node `name` and all nodes that send to it; return its index. */
static size_t
add_tree(struct scenery *s, const char *name, int depth)
{
	const double left = s->next_x, y = -depth;
	const cJSON *o, *sw;
	const size_t at = add_node(s->fig, NULL, 0, y);
	char *count = NULL, *label = NULL;

	if (depth == DEPTH_MAX)
		errx(1, "%s: the links form a loop, or a path through more "
		    "than %d switches", s->path, DEPTH_MAX);
	cJSON_ArrayForEach(sw, s->switches) {
		if (strcmp(read_word(sw, "name"), name) == 0)
			count = read_value(sw, "count", "1");
	}
	if (asprintf(&label, count == NULL || strcmp(count, "1") == 0 ? "%s" :
	    "%s x %s", name, count) == -1)
		err(1, "no memory for labels");
	free(count);
	s->fig->node[at].label = label;
	cJSON_ArrayForEach(o, s->links) {
		if (strcmp(read_word(o, "to"), name) == 0) {
			const size_t from = add_tree(s, read_word(o, "from"),
			    depth + 1);

			add_wire(s->fig, from, at, read_value(o, "rate", ""),
			    read_word(o, "from"));
		}
	}
	cJSON_ArrayForEach(o, s->workers) {
		if (strcmp(read_word(o, "at"), name) == 0)
			add_workers(s, o, at, y - 1);
	}
	if (s->next_x == left)
		s->next_x++;
	s->fig->node[at].x = (left + s->next_x - 1) / 2;
	s->lowest = fmin(s->lowest, y);
	return at;
}

/*
 * The figure to whose links busy times are added, and the number of rows that
 * were read for each link.
 */
struct busy {
	struct figure *fig;
	size_t *rows;
};

static void
busy_row(const struct table *t, void *arg)
{
	const struct busy *b = arg;

	for (size_t i = 0; i < b->fig->wires; i++) {
		struct wire *w = &b->fig->wire[i];
		const size_t n = strlen(w->of);
		const double v = table_real(t, 1);

		if (n == 0 || strncmp(t->field[0], w->of, n) != 0 ||
		    (t->field[0][n] != '\0' && t->field[0][n] != '.'))
			continue;
		b->rows[i]++;
		w->busy = b->rows[i] == 1 ? v : w->busy + (v - w->busy) /
		    (double)b->rows[i];
	}
}

void
add_busy(struct figure *fig, const char *path)
{
	static const char *const names[] = { "switch", "busy_percent", NULL };
	struct busy b = { .fig = fig, .rows = calloc(fig->wires + 1,
	    sizeof(*b.rows)) };
	struct table t = { .path = path, .names = names, .row = busy_row,
	    .arg = &b };

	if (b.rows == NULL)
		err(1, "no memory for %zu links", fig->wires);
	table_each(&t);
	free(b.rows);
}

void
add_topology(struct figure *fig, const char *path)
{
	struct json_reader j;
	cJSON *root = json_reader_load(&j, path);
	struct scenery s = { .fig = fig, .path = path };
	const cJSON *server;

	if (root == NULL)
		errx(1, "%s", j.why);
	s.switches = cJSON_GetObjectItemCaseSensitive(root, "switches");
	s.links = cJSON_GetObjectItemCaseSensitive(root, "links");
	s.workers = cJSON_GetObjectItemCaseSensitive(root, "workers");
	cJSON_ArrayForEach(server, cJSON_GetObjectItemCaseSensitive(root,
	    "servers"))
		add_tree(&s, read_word(server, "name"), 0);
	if (fig->nodes == 0)
		errx(1, "%s: the scenario has no servers; topology cannot draw "
		    "training jobs or planes",
		    path);
	fig->wide = s.next_x;
	fig->deep = 1 - s.lowest;
	cJSON_Delete(root);
}
