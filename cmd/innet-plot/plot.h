/*
 * plot.h - curves from files, and gnuplot to draw them
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
	char *name;		/* at its end, if that says less; owned */
	double (*at)[2];	/* x and y, owned */
	double (*band)[2];	/* low and high of each; bars: the error and
				   nothing; owned, or NULL */
	size_t n, room;
	int panel;		/* of lines: 0, or 1 */
	double mean;		/* of ages, nanoseconds, */
	bool has_mean;		/* if there are any */
	const char *colour;	/* "#rrggbb", of its arm */
	unsigned dash;		/* 1: none */
};

enum { PANELS = 2 };

/* Of a topology: where a node stands, and a link between two of them. */
struct node {
	char *label;		/* owned */
	double x, y;
};

struct wire {
	size_t from, to;	/* nodes */
	char *label, *of;	/* its rate; the switch before it; owned */
	double busy;		/* percent of the time; NAN: not known */
};

/* Labels of the axes, and how points are joined. */
struct axes {
	const char *x, *y;
	bool steps;
};

struct figure {
	enum what what;
	enum axis axis;		/* of rewards */
	enum spread spread;	/* of a group's rewards */
	uint64_t smooth;	/* episodes in a mean of rewards */
	int64_t cluster;	/* draw this one alone; -1 all */
	const struct clusters *bare;	/* of bare packets, or NULL */
	bool by_run;		/* cdf: one curve a file */
	bool aggregations;	/* cdf: of packets, not ages */
	bool nanoseconds;	/* bars: heights are times */
	struct page *page;	/* whose machines these are, or NULL */
	struct axes axes;
	char *title;		/* what is seen, owned, or NULL */
	char age_unit[32], time_unit[32];	/* "time in ms" */
	struct curve *curve;
	size_t n, room;
	char **tick;		/* bars, lines: labels on x, owned */
	double *tick_at;	/* lines: where they stand, owned */
	size_t ticks;
	char *rows;		/* bars: what the rows are, owned */
	const char *over, *columns;	/* of lines: x; y, or NULL */
	char *panel[PANELS];	/* of lines: what y says, owned */
	int panels;
	struct node *node;	/* of a topology, owned */
	struct wire *wire;
	size_t nodes, wires;
	double wide, deep;	/* places across, and down */
	int rc;			/* 1 if a file was damaged */
};

/* A new, empty curve, the label copied.  It exits without memory. */
struct curve *figure_add(struct figure *fig, const char *label);

void curve_point(struct curve *c, double x, double y);

/* Keep a curve's shape in no more points than can be seen. */
void curve_thin(struct curve *c);

void curve_free(struct curve *c);

void figure_free(struct figure *fig);

/* Add the curves of one file; they exit if it cannot be read. */
void take_capture(struct figure *fig, const char *path, const char *name);
void take_series(struct figure *fig, const char *path, const char *name);
void take_rewards(struct figure *fig, const char *path, const char *name);
void take_bars(struct figure *fig, const char *path);
void take_lines(struct figure *fig, const char *path, const char *name);
void take_verified(struct figure *fig, const char *path, const char *name);
void take_topology(struct figure *fig, const char *path);
void take_busy(struct figure *fig, const char *path);
void take_report(struct figure *fig, const char *path, const char *name);

/*
 * Once all curves are there, whose times are in nanoseconds: the colours; a
 * sentence of what is seen; the units of times.
 */
void figure_colours(struct figure *fig);
void figure_title(struct figure *fig);
void figure_scale(struct figure *fig);

/* "40.3", and "40.3 ms": three digits, or all before the point. */
void put_number(char *to, size_t room, double v);
void put_time(char *to, size_t room, double ns);

/* Read a log of rewards into c, smoothed; with up, its x must not fall. */
void read_rewards(const struct figure *fig, const char *path, struct curve *c,
    bool up);

/* The log at path is one of a group; group_draw() adds its one curve. */
struct group {
	const char *name;
	struct curve *run;	/* owned */
	size_t n;
};

void group_take(const struct figure *fig, struct group *g, const char *path);
void group_draw(struct figure *fig, struct group *g);

/* The curves of one file's machines, each with the name of its cluster. */
void draw_machines(struct figure *fig, const char *name,
    const struct aom *const set[], char *const label[], size_t n);

enum terminal { DUMB, SVG, PNG, SCRIPT, INLINE, HTML };

/*
 * The bytes of the character of UTF-8 at s, or 0: there is none that a label
 * or a page may have.
 */
size_t text_character(const char *s);

/* What gnuplot is given to draw fig; labels are quoted. */
void put_script(FILE *f, const struct figure *fig, enum terminal as);

/*
 * Draw fig into path ("-": standard output), all of it or nothing.  0, or 1
 * and a line that says why not.
 */
int figure_draw(const struct figure *fig, enum terminal as, const char *path);

/*
 * The inside and the end of an svg element that shows fig, for a page; the
 * caller's to free.  NULL and a line if gnuplot is missing, or failed.
 */
char *figure_svg(const struct figure *fig, bool *missing);

#endif
