/*
 * arms.c - one colour for each arm, the same in every picture
 *
 * An arm is one of the alternatives that are compared, for example a queue or a
 * program.  The colours are those in the palette of Okabe and Ito that are
 * visible on white.  Colour-blind readers can distinguish them.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "common/base/message.h"

#include "cmd/innet-plot/plot.h"

enum { COLOURS = 7 };

static const char *const colour[COLOURS] = {
	"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
	"#555555"
};

/*
 * Common names of arms.  If `word` is true, the name can also be a word in a
 * longer name.
 */
static const struct known {
	const char *name;
	int colour;
	bool word;
} known[] = {
	{ "olaf", 0, true }, { "fifo", 1, true }, { "isw", 2, false },
	{ "iswitch", 2, false }, { "switch", 2, false }, { "ar", 3, false },
	{ "ring", 3, false }, { "ps", 4, false }, { "server", 4, false },
	{ "dlp", 5, false }, { "memory", 0, false }, { "redis", 1, false },
	{ "paper", 6, false }
};

/* Return the length of the arm's name, without ": cluster 1" or " (paper)". */
static size_t
arm_length(const char *label)
{
	const char *colon = strstr(label, ": "), *bracket = strstr(label,
	    " (");

	if (colon != NULL)
		return (size_t)(colon - label);
	return bracket != NULL ? (size_t)(bracket - label) : strlen(label);
}

/* Does the label contain the known name k as the name of its arm? */
static bool
is_known(const struct known *k, const char *label)
{
	const size_t n = strlen(k->name), arm = arm_length(label);

	if (!k->word)
		return n == arm && strncasecmp(label, k->name, n) == 0;
	for (size_t at = 0; at + n <= arm; at++) {
		if (strncasecmp(label + at, k->name, n) == 0 && (at == 0 ||
		    !isalnum((unsigned char)label[at - 1])) &&
		    !isalnum((unsigned char)label[at + n]))
			return true;
	}
	return false;
}

/* Return the known name of an arm that the label contains, or NULL. */
static const struct known *
find_known(const char *label)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (is_known(&known[i], label))
			return &known[i];
	return NULL;
}

/* Do the curves belong to the same arm? */
static bool
is_same_arm(const struct curve *a, const struct curve *b)
{
	const struct known *k = find_known(a->label), *m = find_known(b->label);
	const size_t n = arm_length(a->label);

	if (k != NULL || m != NULL)
		return k == m;
	return n == arm_length(b->label) && strncmp(a->label, b->label, n) ==
	    0;
}

static bool
has_one_arm(const struct figure *fig)
{
	for (size_t i = 1; i < fig->n; i++)
		if (!is_same_arm(&fig->curve[0], &fig->curve[i]))
			return false;
	return true;
}

/* Return the colour of the arm, which is the same in every picture. */
static int
choose_colour(const char *label)
{
	const struct known *k = find_known(label);
	const size_t n = arm_length(label);
	uint32_t sum = 2166136261u;

	if (k != NULL)
		return k->colour;
	for (size_t i = 0; i < n; i++)
		sum = (sum ^ (unsigned char)label[i]) * 16777619u;
	return (int)(sum % COLOURS);
}

/* Name the curves of one arm only by their clusters, such as "cluster 1". */
static void
name_curves(struct figure *fig)
{
	for (size_t i = 0; fig->n > 1 && i < fig->n; i++) {
		struct curve *c = &fig->curve[i];
		const size_t n = arm_length(c->label);

		if (c->name != NULL || c->label[n] != ':')
			continue;
		c->name = strdup(c->label + n + 2);
		if (c->name == NULL)
			err(1, "no memory for labels");
	}
}

/*
 * If all curves belong to one arm, give each curve its own colour.  Otherwise
 * give the curves of an arm the colour of the arm, and different dashes or
 * shades.
 */
void
figure_colours(struct figure *fig)
{
	const bool one = has_one_arm(fig);
	unsigned taken = 0;

	if (one)
		name_curves(fig);
	for (size_t i = 0; i < fig->n; i++) {
		struct curve *c = &fig->curve[i];
		int k = one && fig->n > 1 ? (int)(i % COLOURS) :
		    choose_colour(c->label);

		c->dash = one ? 1 + (unsigned)i / COLOURS % 4 : 1;
		c->colour = NULL;
		for (size_t b = 0; b < i; b++) {
			struct curve *of = &fig->curve[b];

			if (one ? of->panel == c->panel ||
			    strcmp(of->label, c->label) != 0 :
			    !is_same_arm(of, c))
				continue;
			c->colour = of->colour;
			c->dash += of->panel == c->panel;
		}
		if (c->colour != NULL)
			continue;
		while (taken != (1u << COLOURS) - 1 && (taken >> k & 1) != 0)
			k = (k + 1) % COLOURS;
		taken |= 1u << k;
		c->colour = colour[k];
	}
}
