/*
 * sweep.h - set values of a scenario by path, and expand a sweep into points
 *
 * A path has the form that error messages use: "links[2].rate".  Brackets
 * contain an index, a name, or * for all items of the list.  A name selects the
 * items whose `name` or `from` is that name: "links[sw1]".  The scenario's
 * "sweep" is an object of paths, each with a list of values.  Each combination
 * of values is a point; the values of the last path change fastest.
 */
#ifndef INNET_SIM_SWEEP_H
#define INNET_SIM_SWEEP_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

enum { SWEEP_POINTS_MAX = 100000 };

/*
 * Set the value at `path` under root to a copy of value, and create missing
 * keys.  Returns NULL, or an error message about the path.
 */
const char *sweep_set(cJSON *root, const char *path, const cJSON *value);

/*
 * Remove `path` from the sweep, because the caller sets it to one value at all
 * points.  If a swept path would overwrite part of this setting and also sets
 * something else, returns that swept path (borrowed).  Otherwise returns NULL.
 */
const char *sweep_leave(cJSON *root, const char *path);

/*
 * Return the number of points in the sweep of root; 1 if it has no sweep.
 * Returns 0 after an error, with the reason in *why.
 */
size_t sweep_points(const cJSON *root, const char **why);

/*
 * Return a copy of root that is set to point i and has no "sweep".  *values
 * becomes an object of the paths and values that were set, or NULL if there is
 * no sweep.  The caller frees both.
 */
cJSON *sweep_point(const cJSON *root, size_t i, cJSON **values,
    const char **why);

#endif
