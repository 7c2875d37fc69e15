/*
 * plot.h - figures: read curves from files and draw them with gnuplot
 *
 * If a function cannot read its file, it prints a message and exits.
 */
#ifndef INNET_PLOT_H
#define INNET_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct aom;
struct clusters;
struct page;

enum what { AGE, CDF, REWARDS, BARS, LINES, TOPOLOGY, PAGE };
enum axis { AXIS_STEP, AXIS_EPISODE, AXIS_SECONDS };
enum spread { SPREAD_SD, SPREAD_RANGE };

struct curve {
	char *label;		/* owned */
	char *name; /* short label at the end of the curve; owned, or NULL */
	double (*at)[2];	/* x and y of each point; owned */
	double (*band)[2];	/* lower and upper end of the band at each
				 * point; bars: the error and 0; owned, or
				 * NULL */
	size_t n, room;
	int panel;		/* lines: index of the panel, 0 or 1 */
	double mean;		/* mean age in nanoseconds */
	bool has_mean;		/* the mean age is known */
	const char *colour;	/* "#rrggbb", the colour of the arm */
	unsigned dash;		/* dash style; 1 is a solid line */
};

enum { PANELS = 2 };

/* A node of a topology, and its position in the picture. */
struct node {
	char *label;		/* owned */
	double x, y;
};

/* A link between two nodes of a topology. */
struct wire {
	size_t from, to;	/* indices of the nodes */
	char *label, *of;	/* rate of the link; name of the switch that
				 * sends over the link; both owned */
	double busy;		/* busy time in percent; NAN: unknown */
};

/* Labels of the axes; if `steps` is true, steps join the points. */
struct axes {
	const char *x, *y;
	bool steps;
};

struct figure {
	enum what what;
	enum axis axis;		/* rewards: the horizontal axis */
	enum spread spread;	/* rewards: what the band of a group shows */
	uint64_t smooth;	/* rewards: number of episodes in a mean */
	int64_t cluster;	/* the only cluster to draw; -1: all */
	const struct clusters *bare;	/* cluster table for bare packets, or
					 * NULL */
	bool by_run;		/* age, cdf: draw one curve for each file */
	bool aggregations;	/* cdf: draw the distribution of merged updates
				 * per packet, not of ages */
	bool nanoseconds;	/* bars: the heights of the bars are times in
				 * ns */
	/*
	 * If the output is a page, the ages of each file are passed to this
	 * function; otherwise it is NULL.
	 */
	void (*take_ages)(struct page *page, const char *name,
	    const struct aom *const set[], char *const label[], size_t n);
	struct page *page;	/* the page, or NULL */
	struct axes axes;
	char *title;		/* a sentence about the data; owned, or NULL */
	char age_unit[32], time_unit[32];	/* "time in ms" */
	struct curve *curve;
	size_t n, room;
	char **tick;		/* bars, lines: labels on the x axis; owned */
	double *tick_at;	/* lines: x of each label; owned */
	size_t ticks;
	char *rows;		/* bars: name of the first column; owned */
	const char *over, *columns;	/* lines: names of the columns for x and
					 * for y (or NULL) */
	char *panel[PANELS];	/* lines: labels of the y axes; owned */
	int panels;
	struct node *node;	/* of a topology, owned */
	struct wire *wire;
	size_t nodes, wires;
	double wide, deep;	/* topology: number of places across and down */
	int rc;			/* exit status; 1 if a file was damaged */
};

/* Add an empty curve with a copy of the label; exit if memory runs out. */
struct curve *figure_add(struct figure *fig, const char *label);

/* Append a point. */
void curve_point(struct curve *c, double x, double y);

/* Drop points that a screen cannot show, but keep the shape of the curve. */
void curve_thin(struct curve *c);

void curve_free(struct curve *c);

void figure_free(struct figure *fig);

/* Add the curves of one file. */
void add_capture(struct figure *fig, const char *path, const char *name);
void add_series(struct figure *fig, const char *path, const char *name);
void add_rewards(struct figure *fig, const char *path, const char *name);
void add_bars(struct figure *fig, const char *path);
void add_lines(struct figure *fig, const char *path, const char *name);
void add_verified(struct figure *fig, const char *path, const char *name);
void add_topology(struct figure *fig, const char *path);
void add_busy(struct figure *fig, const char *path);
void add_report(struct figure *fig, const char *path, const char *name);

/*
 * Choose the colours, write the title, and convert times to a suitable unit.
 * Call these functions in this order after the last curve is added, while times
 * are in nanoseconds.
 */
void figure_colours(struct figure *fig);
void figure_title(struct figure *fig);
void figure_scale(struct figure *fig);

/*
 * Format a number or a time with three significant digits.  If a number has
 * more than three digits before the decimal point, keep all of these digits.
 */
void put_number(char *to, size_t room, double v);
void put_time(char *to, size_t room, double ns);

/*
 * Read a log of rewards into c and smooth it.  If `up` is set, exit if x
 * decreases.
 */
void read_rewards(const struct figure *fig, const char *path, struct curve *c,
    bool up);

/*
 * A group of runs that are drawn as one curve.  group_add() adds the log at
 * path to the group, and group_draw() adds the curve of the group to fig.
 */
struct group {
	const char *name;
	struct curve *run;	/* owned */
	size_t n;
};

void group_add(const struct figure *fig, struct group *g, const char *path);
void group_draw(struct figure *fig, struct group *g);

/*
 * Add the ages of one file: one curve for each of its n clusters, with the
 * label of the cluster.  If fig->by_run is set, add one curve for all clusters.
 */
void add_ages(struct figure *fig, const char *name,
    const struct aom *const set[], char *const label[], size_t n);

enum terminal { DUMB, SVG, PNG, SCRIPT, INLINE, HTML };

/*
 * Return the length in bytes of the UTF-8 character at s, or 0 if labels and
 * pages cannot contain this character.
 */
size_t text_character(const char *s);

/* Write the commands with which gnuplot draws fig; labels are quoted. */
void put_script(FILE *f, const struct figure *fig, enum terminal as);

/*
 * Draw `fig` to the file `path` ("-": standard output), completely or not at
 * all.  Return 0, or print a message and return 1.
 */
int figure_draw(const struct figure *fig, enum terminal as, const char *path);

/*
 * Return the contents and the end tag of an svg element that shows fig; the
 * caller frees the text.  If gnuplot is missing or fails, print a message and
 * return NULL.  Set *missing to true if gnuplot is not installed, otherwise to
 * false.
 */
char *figure_svg(const struct figure *fig, bool *missing);

#endif
