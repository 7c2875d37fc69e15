/*
 * page-read.c - recognise the format of a file for the page, and read the file
 *
 * The first line of a table and the keys of a JSON file show its contents.  The
 * ages of captures and series are passed to add_ages().
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/innet-plot/page-read.h"
#include "cmd/innet-plot/csv-table.h"
#include "common/base/file-open.h"
#include "common/base/json-reader.h"
#include "common/base/message.h"
#include "common/base/num.h"

enum { COUNTERS = 200, COUNTER_DEEP = 4, COUNTER_BYTES = 128 };

static bool
ends_with(const char *s, const char *with)
{
	const size_t n = strlen(s), k = strlen(with);

	return n >= k && strcmp(s + n - k, with) == 0;
}

/* A table whose columns are recognised by their names. */
struct rows {
	struct page *page;
	const char *name;	/* name of the arm, to which the values of key
				 * columns are appended */
	enum page_column column[TABLE_COLUMNS];
	bool key[TABLE_COLUMNS];	/* the column is to the left of `runs`
					 * and distinguishes arms */
	int cluster;	/* index of the column that names the cluster, or -1 */
	int known;		/* number of columns that are shown */
};

static void
read_heading(const struct table *t, struct rows *r)
{
	int runs = 0;

	r->cluster = -1;
	for (int k = 0; k < t->wide; k++)
		if (strcmp(t->field[k], "runs") == 0)
			runs = k;
	for (int k = 0; k < t->wide; k++) {
		r->column[k] = page_column_named(t->field[k]);
		r->known += r->column[k] != PAGE_COLUMNS;
		if (strcmp(t->field[k], "cluster") == 0 ||
		    strcmp(t->field[k], "group") == 0)
			r->cluster = k;
		r->key[k] = k < runs && k != r->cluster;
	}
	if (r->known == 0)
		errx(1, "%s:1: the first line names no column that a page can "
		    "show",
		    t->path);
}

static void
rows_row(const struct table *t, void *arg)
{
	struct rows *r = arg;
	char name[512];
	size_t n = (size_t)snprintf(name, sizeof(name), "%s", r->name);
	struct page_row *row;

	if (t->line == 1) {
		read_heading(t, r);
		return;
	}
	for (int k = 0; k < t->wide; k++)
		if (r->key[k] && n < sizeof(name))
			n += (size_t)snprintf(name + n, sizeof(name) - n,
			    " %s", t->field[k]);
	row = page_row(r->page, page_arm(r->page, name), r->cluster == -1 ?
	    "all" : t->field[r->cluster]);
	for (int k = 0; k < t->wide; k++)
		if (r->column[k] != PAGE_COLUMNS && t->field[k][0] != '\0')
			row->value[r->column[k]] = table_real(t, k);
}

static void
read_rows(struct page *p, const char *path, const char *name)
{
	struct rows r = { .page = p, .name = name };
	struct table t = { .path = path, .row = rows_row, .arg = &r };

	table_each(&t);
}

/* Return a file's first line without its line end; the caller frees it. */
static char *
read_first_line(const char *path)
{
	FILE *f = file_open_stream(path, false);
	char *s = NULL;
	size_t room = 0;
	ssize_t n;

	if (f == NULL)
		err(1, "%s", path);
	n = getline(&s, &room, f);
	if (n == -1)
		errx(1, "%s: empty file", path);
	fclose(f);
	s[strcspn(s, "\r\n")] = '\0';
	return s;
}

/* Does the first line contain a column with this name? */
static bool
has_column(const char *line, const char *word)
{
	const size_t n = strlen(word);

	for (const char *s = line; *s != '\0'; s += *s == ',') {
		const size_t len = strcspn(s, ",");

		if (len == n && strncmp(s, word, n) == 0)
			return true;
		s += len;
	}
	return false;
}

static void
read_csv(struct page *p, struct figure *fig, const char *path,
    const char *name)
{
	char *line = read_first_line(path);

	if (has_column(line, "age_ns") && has_column(line, "time_ns")) {
		add_series(fig, path, name);
	} else if (has_column(line, "reward")) {
		const size_t arm = page_arm(p, name);

		group_add(&p->rewards, &p->arm[arm].rewards, path);
	} else {
		read_rows(p, path, name);
	}
	free(line);
}

/*
 * Return the counter with this name.  Add the counter if it is new; return NULL
 * if there are too many counters.
 */
static struct page_counter *
find_counter(struct page *p, const char *name)
{
	for (size_t i = 0; i < p->counters; i++)
		if (strcmp(p->counter[i].name, name) == 0)
			return &p->counter[i];
	if (p->counters == COUNTERS) {
		p->more_counters++;
		return NULL;
	}
	p->counter = realloc(p->counter, (p->counters + 1) *
	    sizeof(*p->counter));
	if (p->counter == NULL)
		err(1, "no memory for %zu counters", p->counters);
	p->counter[p->counters] = (struct page_counter){
	    .name = strdup(name) };
	if (p->counter[p->counters].name == NULL)
		err(1, "no memory for %zu counters", p->counters);
	return &p->counter[p->counters++];
}

static void
add_count(struct page *p, size_t arm, const char *name, double v)
{
	struct page_counter *c = v == 0 ? NULL : find_counter(p, name);

	if (c == NULL)
		return;
	if (c->arms <= arm) {
		c->value = realloc(c->value, (arm + 1) * sizeof(*c->value));
		if (c->value == NULL)
			err(1, "no memory for %zu arms", arm);
		while (c->arms <= arm)
			c->value[c->arms++] = NAN;
	}
	c->value[arm] = v;
}

/*
 * Add the numbers in o as counters.  The name of a counter is its path, which
 * begins with `path`.
 */
static void
add_counts(struct page *p, size_t arm, const cJSON *o, const char *path,
    int depth)
{
	const cJSON *c;
	char name[COUNTER_BYTES];

	cJSON_ArrayForEach(c, o) {
		if (c->string == NULL || strcmp(c->string, "clusters") == 0 ||
		    strcmp(c->string, "merged_histogram") == 0)
			continue;
		snprintf(name, sizeof(name), "%s%s%.60s", path, *path == '\0' ?
		    "" : ".", c->string);
		if (cJSON_IsNumber(c))
			add_count(p, arm, name, c->valuedouble);
		else if (cJSON_IsObject(c) && depth < COUNTER_DEEP)
			add_counts(p, arm, c, name, depth + 1);
	}
}

static void
read_counters(struct page *p, size_t arm, const cJSON *root)
{
	add_counts(p, arm, root, "", 1);
}

/*
 * Read a line of innet-aom --json with the figures of a cluster.  Return false
 * if the line has no figures.
 */
static bool
read_figures(struct page *p, const char *name, const cJSON *root)
{
	const cJSON *cluster = cJSON_GetObjectItemCaseSensitive(root,
	    "cluster"), *c;
	char label[32] = "all";
	struct page_row *row;

	if (cluster == NULL || !cJSON_HasObjectItem(root, "mean_age_ns"))
		return false;
	if (cJSON_IsString(cluster))
		snprintf(label, sizeof(label), "%s", cluster->valuestring);
	else if (cJSON_IsNumber(cluster))
		snprintf(label, sizeof(label), "%.0f", cluster->valuedouble);
	row = page_row(p, page_arm(p, name), label);
	cJSON_ArrayForEach(c, root) {
		const enum page_column k = page_column_named(c->string);

		if (k != PAGE_COLUMNS && cJSON_IsNumber(c))
			row->value[k] = c->valuedouble;
	}
	return true;
}

/*
 * Read the figures of a cluster from each line.  Return false if the first line
 * has no figures.
 */
static bool
read_json_lines(struct page *p, const char *path, const char *name)
{
	FILE *f = file_open_stream(path, false);
	struct json_reader j;
	char *s = NULL;
	size_t room = 0, line = 0, figures = 0;
	ssize_t n;

	if (f == NULL)
		err(1, "%s", path);
	while ((n = getline(&s, &room, f)) != -1) {
		cJSON *root;

		line++;
		j = (struct json_reader){ 0 };
		root = json_reader_parse(&j, s, (size_t)n);
		if (root == NULL && line > 1 && figures > 0)
			errx(1, "%s:%zu: not valid JSON", path, line);
		if (root == NULL || !read_figures(p, name, root)) {
			cJSON_Delete(root);
			break;
		}
		figures++;
		cJSON_Delete(root);
	}
	if (figures > 0 && n != -1)
		errx(1, "%s:%zu: the line has no figures for a cluster",
		    path, line);
	free(s);
	fclose(f);
	return figures > 0;
}

static void
read_json(struct page *p, struct figure *fig, const char *path,
    const char *name)
{
	struct json_reader j;
	cJSON *root;

	if (read_json_lines(p, path, name))
		return;
	root = json_reader_load(&j, path);
	if (root == NULL)
		errx(1, "%s", j.why);
	if (!cJSON_IsObject(root))
		errx(1, "%s: this is not a report; a report must be a JSON "
		    "object", path);
	if (cJSON_HasObjectItem(root, "schedule"))
		add_verified(fig, path, name);
	else
		read_counters(p, page_arm(p, name), root);
	if (cJSON_HasObjectItem(root, "merged_histogram"))
		add_report(&p->merged, path, name);
	cJSON_Delete(root);
}

void
page_read(struct page *p, struct figure *fig, const char *path,
    const char *name)
{
	struct stat st;

	if ((ends_with(path, ".csv") || ends_with(path, ".json")) &&
	    stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		errx(1, "%s: must be a regular file, because page reads it "
		    "twice",
		    path);
	if (ends_with(path, ".csv"))
		read_csv(p, fig, path, name);
	else if (ends_with(path, ".json"))
		read_json(p, fig, path, name);
	else
		add_capture(fig, path, name);
}
