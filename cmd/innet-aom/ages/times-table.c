/* times-table.c - read updates from a CSV table of times */
#include "cmd/innet-aom/ages/times-table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <csv.h>

#include "common/base/file-open.h"
#include "common/base/message.h"
#include "common/base/nearest.h"
#include "common/base/num.h"
#include "common/capture/pcapio.h"

enum { COLUMNS_MAX = 256, CELL_MAX = 128 };

enum column {
	CLUSTER, WORKER, SEQUENCE, MERGED, REWARD, GENERATED, RECEIVED, KNOWN,
	UNUSED = KNOWN
};

static const char *const column_name[KNOWN] = {
	"cluster", "worker", "sequence", "merged", "reward", "generated",
	"received"
};

/* The state of the callbacks of libcsv. */
struct reading {
	struct times_table *to;
	struct names *clusters, *workers;
	const char *path;
	uint64_t line;
	size_t cells;		/* number of cells in the line so far */
	size_t columns;		/* number of cells in the first line; 0: not
				 * read yet */
	enum column column[COLUMNS_MAX];
	uint64_t unit_ns[COLUMNS_MAX];
	bool has[KNOWN];
	bool empty;		/* all cells of the line are empty */
	bool failed;		/* `why` is set, and the rest of the table is
				 * skipped */
	bool quiet;
	char *why;
	struct times_row row;
};

/*
 * Set the error message, with the place of the error in the file, unless an
 * earlier error is set.
 */
__attribute__((format(printf, 2, 3))) static void
set_error(struct reading *r, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (r->failed)
		return;
	r->failed = true;
	n = snprintf(r->why, TIMES_TABLE_ERROR_BYTES, "%.256s:%" PRIu64 ": ",
	    r->path, r->line);
	va_start(ap, fmt);
	vsnprintf(r->why + n, (size_t)(TIMES_TABLE_ERROR_BYTES - n), fmt, ap);
	va_end(ap);
	for (char *s = r->why; *s != '\0'; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = '?';
}

/* Write the column name that is nearest to `text`, if any is near, to hint. */
static const char *
hint_column(const char *text, char hint[NEAREST_TEXT])
{
	static const char *const times[] = {
		"generated_ns", "generated_us", "generated_ms", "generated_s",
		"received_ns", "received_us", "received_ms", "received_s"
	};
	struct nearest near = { 0 };

	for (int k = 0; k < GENERATED; k++)
		nearest_offer(&near, text, column_name[k]);
	for (size_t k = 0; k < sizeof(times) / sizeof(*times); k++)
		nearest_offer(&near, text, times[k]);
	return nearest_hint(&near, text, "", hint);
}

/*
 * Find the column that the cell `text` of the first line names, and its unit.
 */
static void
parse_head(struct reading *r, const char *text)
{
	static const struct { const char *end; uint64_t ns; } unit[] = {
		{ "_ns", 1 }, { "_us", 1000 }, { "_ms", 1000000 },
		{ "_s", 1000000000 }
	};
	enum column c = UNUSED;
	uint64_t ns = 0;
	char hint[NEAREST_TEXT];

	if (r->cells == COLUMNS_MAX) {
		set_error(r, "the table has more than %d columns", COLUMNS_MAX);
		return;
	}
	for (int k = 0; k < KNOWN; k++) {
		const size_t n = strlen(column_name[k]);

		if (strncmp(text, column_name[k], n) != 0)
			continue;
		if (k < GENERATED && text[n] == '\0')
			c = (enum column)k;
		for (size_t u = 0; k >= GENERATED && u < 4; u++) {
			if (strcmp(text + n, unit[u].end) == 0) {
				c = (enum column)k;
				ns = unit[u].ns;
			}
		}
	}
	if (c == UNUSED && !r->quiet)
		warnx("%s: column '%.40s' is not used%s", r->path, text,
		    hint_column(text, hint));
	if (c != UNUSED && r->has[c])
		set_error(r, "column '%.40s' is given twice", text);
	if (c != UNUSED)
		r->has[c] = true;
	r->column[r->cells] = c;
	r->unit_ns[r->cells] = ns;
}

/* Read a time exactly, with all decimals.  Return false if it is not valid. */
static bool
parse_time(const char *text, uint64_t unit_ns, uint64_t *ns)
{
	const size_t whole = strspn(text, "0123456789");
	uint64_t fraction_ns = 0, u = unit_ns;
	unsigned __int128 t = 0;
	const char *p = text + whole;

	for (size_t i = 0; i < whole && i < 20; i++)
		t = t * 10 + (unsigned)(text[i] - '0');
	if (whole == 0 || whole > 19 || (*p != '.' && *p != '\0'))
		return false;
	for (p += *p == '.'; *p >= '0' && *p <= '9'; p++) {
		u /= 10;
		fraction_ns += u * (uint64_t)(*p - '0');
	}
	t = t * unit_ns + fraction_ns;
	*ns = (uint64_t)t;
	return *p == '\0' && t <= INT64_MAX;
}

static uint64_t
parse_whole(struct reading *r, const char *text, uint64_t lo, uint64_t hi,
    const char *what)
{
	uint64_t v = 0;

	if (strspn(text, "0123456789") != strlen(text) ||
	    num_u64(text, lo, hi, &v) != NULL)
		set_error(r, "%s '%.40s' is not a number from %" PRIu64 " to %"
		    PRIu64, what,
		    text, lo, hi);
	return v;
}

static uint32_t
parse_name(struct reading *r, struct names *names, const char *text)
{
	struct format_name n;

	if (!format_name_text(text, &n)) {
		set_error(r,
		    "'%.40s' is not a name; use a number, an address, or up to "
		    "36 letters, digits and ._:@/+-",
		    text);
		return 0;
	}
	return names_get_number(names, &n);
}

static void
parse_cell(struct reading *r, const char *text)
{
	const size_t at = r->cells;
	struct times_row *row = &r->row;

	if (at >= r->columns)
		return;			/* the error is reported at the end of
					 * the line */
	switch (r->column[at]) {
	case CLUSTER: row->cluster = parse_name(r, r->clusters, text); break;
	case WORKER: row->worker = parse_name(r, r->workers, text); break;
	case SEQUENCE:
		row->sequence = (uint32_t)parse_whole(r, text, 0, UINT32_MAX,
		    "sequence");
		break;
	case MERGED:
		row->merged = (uint16_t)parse_whole(r, text, 1, UINT16_MAX,
		    "merged");
		break;
	case REWARD:
		if (num_real(text, -1e300, 1e300, &row->reward) != NULL)
			set_error(r, "reward '%.40s' is not a number", text);
		break;
	case GENERATED:
		if (!parse_time(text, r->unit_ns[at], &row->generated_ns))
			set_error(r, "'%.40s' is not a time since 1970", text);
		break;
	case RECEIVED:
		row->came = text[0] != '\0';
		if (row->came && !parse_time(text, r->unit_ns[at],
		    &row->received_ns))
			set_error(r, "'%.40s' is not a time since 1970", text);
		break;
	case UNUSED: break;
	}
}

static void
receive_cell(void *s, size_t len, void *data)
{
	struct reading *r = data;
	char text[CELL_MAX];

	if (r->failed)
		return;
	r->empty &= len == 0;
	if (len >= sizeof(text) && r->columns > 0 && r->cells < r->columns &&
	    r->column[r->cells] == UNUSED) {
		r->cells++;
		return;
	}
	if (len >= sizeof(text) || memchr(s == NULL ? "" : s, '\0',
	    len) != NULL) {
		set_error(r, "cell %zu is longer than %d bytes or contains a "
		    "zero byte",
		    r->cells + 1, CELL_MAX - 1);
		return;
	}
	if (len > 0)
		memcpy(text, s, len);
	text[len] = '\0';
	if (r->columns == 0)
		parse_head(r, text);
	else
		parse_cell(r, text);
	r->cells++;
}

/* Check that the first line has the columns that are required. */
static void
check_heads(struct reading *r)
{
	r->columns = r->cells;
	if (!r->has[GENERATED] || !r->has[RECEIVED])
		set_error(r, "column '%s' is missing; a table has the columns "
		    "cluster,worker,generated_ns,received_ns[,merged"
		    "[,sequence]], and times may also end in _us, _ms or _s",
		    r->has[GENERATED] ? "received_ns" : "generated_ns");
}

static void
add_row(struct reading *r)
{
	struct times_table *t = r->to;

	if (t->n == t->room) {
		t->room = t->room * 2 + 1024;
		t->row = realloc(t->row, t->room * sizeof(*t->row));
		if (t->row == NULL)
			err(1, "no memory for %zu updates", t->room);
	}
	t->row[t->n++] = r->row;
	t->lost |= !r->row.came;
}

static void
receive_row(int end, void *data)
{
	static const struct format_name none;
	struct reading *r = data;
	const bool blank = r->cells == 0 || (r->cells == 1 && r->empty);

	if (r->failed)
		return;
	if (!blank && r->columns == 0) {
		check_heads(r);
	} else if (!blank && r->cells != r->columns) {
		set_error(r, "this line has %zu cells, but the first line "
		    "names %zu columns",
		    r->cells, r->columns);
	} else if (!blank) {
		if (!r->has[CLUSTER])
			r->row.cluster = names_get_number(r->clusters, &none);
		if (!r->has[WORKER])
			r->row.worker = names_get_number(r->workers, &none);
		add_row(r);
	}
	r->row = (struct times_row){ .merged = 1 };
	r->cells = 0;
	r->empty = true;
	if (end == '\n')
		r->line++;
}

int
times_table_parse(struct times_table *t, FILE *f, const char *path,
    struct names *clusters, struct names *workers, bool quiet,
    char why[TIMES_TABLE_ERROR_BYTES])
{
	struct reading *r = calloc(1, sizeof(*r));
	struct csv_parser csv;
	char buf[65536];
	size_t n;
	int rc;

	if (r == NULL || csv_init(&csv, CSV_REPALL_NL) != 0)
		err(1, "%s", path);
	*r = (struct reading){ .to = t, .path = path, .line = 1, .why = why,
	    .clusters = clusters, .workers = workers, .quiet = quiet,
	    .row.merged = 1, .empty = true };
	while (!r->failed && (n = fread(buf, 1, sizeof(buf), f)) > 0) {
		if (csv_parse(&csv, buf, n, receive_cell, receive_row, r) != n)
			set_error(r, "%s", csv_strerror(csv_error(&csv)));
	}
	if (ferror(f))
		set_error(r, "%s", strerror(errno));
	csv_fini(&csv, receive_cell, receive_row, r);
	csv_free(&csv);
	if (r->columns == 0)
		set_error(r, "the table is empty; its first line must name the "
		    "columns");
	rc = r->failed ? -1 : 0;
	free(r);
	return rc;
}

void
times_table_read(struct times_table *t, const char *path,
    struct names *clusters, struct names *workers)
{
	const bool std = strcmp(path, "-") == 0;
	char why[TIMES_TABLE_ERROR_BYTES];
	FILE *f;

	if (std && isatty(STDIN_FILENO))
		errx(2, "standard input is a terminal; give a table with -r "
		    "FILE");
	f = std ? stdin : file_open_stream(path, false);
	if (f == NULL)
		err(1, "%s", path);
	if (times_table_parse(t, f, pcapio_name(path, false), clusters, workers,
	    false, why) == -1)
		errx(1, "%s", why);
	if (!std)
		fclose(f);
}

static int
compare_receipt(const void *a, const void *b)
{
	const struct times_row *x = a, *y = b;

	if (x->came != y->came)
		return x->came ? -1 : 1;
	return (x->received_ns > y->received_ns) -
	    (x->received_ns < y->received_ns);
}

static int
compare_generation(const void *a, const void *b)
{
	const struct times_row *x = a, *y = b;

	return (x->generated_ns > y->generated_ns) -
	    (x->generated_ns < y->generated_ns);
}

void
times_table_sort(struct times_table *t, bool receipt)
{
	if (t->n > 0)
		qsort(t->row, t->n, sizeof(*t->row), receipt ? compare_receipt :
		    compare_generation);
}
