/*
 * sweep.h - values into a scenario by path, and lists of values: points
 *
 * A path is that of messages: "links[2].rate"; in brackets a number, a name
 * ("links[sw1]": whose name or from is that) or * for all of the list.  The
 * scenario's "sweep" is an object of paths, each with a list of values; each
 * combination is a point, the last path's values changing fastest.
 */
#ifndef INNET_SIM_SWEEP_H
#define INNET_SIM_SWEEP_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

enum { SWEEP_POINTS_MAX = 100000 };

/*
 * Set what path names under root to a copy of value; keys that are not there
 * yet are made.  NULL, or what is wrong with the path.
 */
const char *sweep_set(cJSON *root, const char *path, const cJSON *value);

/*
 * Take `path` out of the sweep, for a caller that sets it to one value at all
 * points.  Return NULL, or the swept path (borrowed) that would undo a part of
 * this setting and also sets something else.
 */
const char *sweep_leave(cJSON *root, const char *path);

/* How many points root's sweep makes: 1 without one.  0: *why says why not. */
size_t sweep_points(const cJSON *root, const char **why);

/*
 * A copy of root, set to its i-th point, without "sweep", and the values that
 * were set, an object of paths, or NULL without any; both the caller's.
 */
cJSON *sweep_point(const cJSON *root, size_t i, cJSON **values,
    const char **why);

#endif
