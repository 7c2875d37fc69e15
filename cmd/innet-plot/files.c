/* files.c - read curves from the output of the other tools */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/innet-plot/plot.h"
#include "cmd/innet-plot/csv-table.h"
#include "common/base/json-reader.h"
#include "common/base/message.h"
#include "common/base/num.h"
#include "common/olaf/aom.h"

/*
 * The clusters of a time series of ages. innet-aom --series writes one cluster
 * after another.
 */
struct series {
	struct figure *fig;
	struct aom *of;
	char **label;
	size_t n, room;
	uint64_t last_ns, last_age;
};

static void
new_cluster(struct series *s, const char *label, uint64_t t, uint64_t age)
{
	if (s->n == s->room) {
		s->room = s->room * 2 + 8;
		s->of = realloc(s->of, s->room * sizeof(*s->of));
		s->label = realloc(s->label, s->room * sizeof(*s->label));
		if (s->of == NULL || s->label == NULL)
			err(1, "no memory for %zu clusters", s->room);
	}
	s->of[s->n] = (struct aom){ 0 };
	aom_start(&s->of[s->n], t, t - age);
	s->label[s->n] = strdup(label);
	if (s->label[s->n++] == NULL)
		err(1, "no memory for a label");
}

static void
end_cluster(struct series *s)
{
	if (s->n > 0 && aom_end(&s->of[s->n - 1], s->last_ns) == -1)
		err(1, "no memory for ages");
}

static void
series_row(const struct table *t, void *arg)
{
	struct series *s = arg;
	const char *label = t->field[0];
	const uint64_t at = table_u64(t, 1), age = table_u64(t, 2);
	uint64_t wanted = 0;

	if (age > at)
		errx(1, "%s:%lu: the age, %s ns, is greater than the time, %s "
		    "ns", t->path, t->line,
		    t->field[2], t->field[1]);
	if (s->fig->cluster != -1 && (num_u64(label, 0, UINT16_MAX,
	    &wanted) != NULL || wanted != (uint64_t)s->fig->cluster))
		return;
	if (s->n == 0 || strcmp(s->label[s->n - 1], label) != 0) {
		end_cluster(s);
		new_cluster(s, label, at, age);
	} else if (at < s->last_ns) {
		errx(1, "%s:%lu: the time, %s ns, is earlier than that of the "
		    "row before",
		    t->path, t->line,
		    t->field[1]);
	} else if (at - s->last_ns + s->last_age < age) {
		errx(1, "%s:%lu: the age, %s ns, grows faster than the time",
		    t->path,
		    t->line, t->field[2]);
	} else if (aom_deliver(&s->of[s->n - 1], at, at - age) == AOM_NOMEM) {
		err(1, "no memory for ages");
	}
	s->last_ns = at;
	s->last_age = age;
}

void
add_series(struct figure *fig, const char *path, const char *name)
{
	static const char *const names[] = { "cluster", "time_ns", "age_ns",
	    NULL };
	struct series s = { .fig = fig };
	struct table t = { .path = path, .names = names, .row = series_row,
	    .arg = &s };
	const struct aom **set;

	table_each(&t);
	end_cluster(&s);
	set = calloc(s.n + 1, sizeof(*set));
	if (set == NULL)
		err(1, "no memory for %zu clusters", s.n);
	for (size_t i = 0; i < s.n; i++)
		set[i] = &s.of[i];
	if (s.n == 0)
		warnx("%s: there are no ages%s", path,
		    fig->cluster == -1 ? "" : " of this cluster");
	add_ages(fig, name, set, s.label, s.n);
	for (size_t i = 0; i < s.n; i++) {
		aom_free(&s.of[i]);
		free(s.label[i]);
	}
	free(set);
	free(s.of);
	free(s.label);
}

static void
reward_row(const struct table *t, void *arg)
{
	curve_point(arg, table_real(t, 0), table_real(t, 1));
}

static void
rising_row(const struct table *t, void *arg)
{
	const struct curve *c = arg;

	if (c->n > 0 && table_real(t, 0) < c->at[c->n - 1][0])
		errx(1, "%s:%lu: %s %s is less than the value in "
		    "the row before",
		    t->path, t->line,
		    t->names[0], t->field[0]);
	reward_row(t, arg);
}

/*
 * Replace each y with the mean of the last `over` values up to and including
 * this y.
 */
static void
smooth_rewards(struct curve *c, size_t over)
{
	double *y = malloc((c->n + 1) * sizeof(*y)), sum = 0;

	if (y == NULL)
		err(1, "no memory for %zu episodes", c->n);
	for (size_t i = 0; i < c->n; i++)
		y[i] = c->at[i][1];
	for (size_t i = 0; i < c->n; i++) {
		sum += y[i] - (i >= over ? y[i - over] : 0);
		c->at[i][1] = sum / (double)(i < over ? i + 1 : over);
	}
	free(y);
}

void
read_rewards(const struct figure *fig, const char *path, struct curve *c,
    bool up)
{
	static const char *const axis[] = { "step", "episode", "seconds" };
	const char *const names[] = { axis[fig->axis], "reward", NULL };
	struct table t = { .path = path, .names = names,
	    .row = up ? rising_row : reward_row, .arg = c };

	table_each(&t);
	smooth_rewards(c, (size_t)fig->smooth);
}

void
add_rewards(struct figure *fig, const char *path, const char *name)
{
	struct curve *c = figure_add(fig, name);

	read_rewards(fig, path, c, false);
	curve_thin(c);
}

/* A bar of a histogram: `packets` packets contain `merged` updates each. */
struct bar {
	uint64_t merged, packets;
};

static int
by_merged(const void *a, const void *b)
{
	const struct bar *x = a, *y = b;

	return (x->merged > y->merged) - (x->merged < y->merged);
}

/*
 * Read the bars of histogram h into `bar`, and return the number of packets in
 * all bars.
 */
static uint64_t
read_bars(const char *path, const cJSON *h, struct bar *bar)
{
	const cJSON *c;
	uint64_t all = 0;

	cJSON_ArrayForEach(c, h) {
		if (num_u64(c->string, 1, UINT16_MAX, &bar->merged) != NULL ||
		    !cJSON_IsNumber(c) || !(c->valuedouble >= 0) ||
		    c->valuedouble > 9007199254740992.0)
			errx(1, "%s: '%s' is not a count of merged packets",
			    path, c->string);
		bar->packets = (uint64_t)c->valuedouble;
		all += bar++->packets;
	}
	return all;
}

void
add_report(struct figure *fig, const char *path, const char *name)
{
	struct json_reader j;
	cJSON *root = json_reader_load(&j, path);
	const cJSON *h = cJSON_GetObjectItemCaseSensitive(root,
	    "merged_histogram");
	size_t n = (size_t)cJSON_GetArraySize(h);
	struct curve *c = figure_add(fig, name);
	struct bar *bar = calloc(n + 1, sizeof(*bar));
	uint64_t all, below = 0;

	if (root == NULL)
		errx(1, "%s", j.why);
	if (!cJSON_IsObject(h))
		errx(1, "%s: not a report of innet-switch, because it has no "
		    "'merged_histogram'", path);
	if (bar == NULL)
		err(1, "%s", path);
	all = read_bars(path, h, bar);
	qsort(bar, n, sizeof(*bar), by_merged);
	for (size_t i = 0; i < n && all > 0; i++) {
		if (i == 0)
			curve_point(c, (double)(bar[i].merged - 1), 0);
		below += bar[i].packets;
		curve_point(c, (double)(bar[i].merged - 1),
		    (double)below / (double)all);
	}
	free(bar);
	cJSON_Delete(root);
}
