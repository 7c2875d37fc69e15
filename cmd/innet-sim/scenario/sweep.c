/* sweep.c - set values of a scenario by path; see sweep.h */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/innet-sim/scenario/sweep.h"
#include "common/base/num.h"

enum { WORD_BYTES = 64 };

/* Does the list item have this name? */
static bool
has_name(const cJSON *item, const char *name)
{
	static const char *const key[] = { "name", "from" };

	for (int i = 0; i < 2; i++) {
		const cJSON *v = cJSON_GetObjectItemCaseSensitive(item,
		    key[i]);

		if (cJSON_IsString(v))
			return strcmp(v->valuestring, name) == 0;
	}
	return false;
}

/*
 * Read the word at *p, and advance *p to the next character that is in `ends`.
 */
static const char *
read_word(const char **p, const char *ends, char to[WORD_BYTES])
{
	size_t len = strcspn(*p, ends);

	if (len == 0)
		return "has an empty name";
	if (len >= WORD_BYTES)
		return "has a name that is too long";
	memcpy(to, *p, len);
	to[len] = '\0';
	*p += len;
	return NULL;
}

static const char *set_key(cJSON *at, const char *p, const cJSON *value);

/* Set a key of a list item; p points just after the closing bracket. */
static const char *
set_item(cJSON *item, const char *p, const cJSON *value)
{
	if (*p != '.')
		return "needs a key after the brackets";
	return set_key(item, p + 1, value);
}

/*
 * Set a key in items of the list `at`; p points just after the opening bracket.
 */
static const char *
set_list(cJSON *at, const char *p, const cJSON *value)
{
	char name[WORD_BYTES];
	const char *why = read_word(&p, "]", name);
	uint64_t i = 0, n = 0;
	bool number;
	cJSON *e;

	if (why != NULL || *p++ != ']')
		return why != NULL ? why : "has no closing ']'";
	if (!cJSON_IsArray(at))
		return "has brackets after a key that is not a list";
	number = num_u64(name, 0, UINT32_MAX, &i) == NULL;
	for (e = at->child; e != NULL && why == NULL; e = e->next) {
		if (number ? i-- == 0 : strcmp(name, "*") == 0 ||
		    has_name(e, name)) {
			why = set_item(e, p, value);
			n++;
		}
	}
	return why != NULL ? why : n == 0 ? "names an item that the list does "
	    "not have" : NULL;
}

static const char *
set_key(cJSON *at, const char *p, const cJSON *value)
{
	char name[WORD_BYTES];
	const char *why = read_word(&p, ".[", name);
	cJSON *copy;

	if (why != NULL)
		return why;
	if (!cJSON_IsObject(at))
		return "has a key below a value that is not an object";
	if (*p == '[')
		return set_list(cJSON_GetObjectItemCaseSensitive(at, name),
		    p + 1, value);
	if (*p == '.')
		return "needs brackets between two keys";
	copy = cJSON_Duplicate(value, true);
	if (copy == NULL)
		return "needs more memory than is available";
	if (cJSON_GetObjectItemCaseSensitive(at, name) != NULL)
		cJSON_ReplaceItemInObjectCaseSensitive(at, name, copy);
	else
		cJSON_AddItemToObject(at, name, copy);
	return NULL;
}

const char *
sweep_set(cJSON *root, const char *path, const cJSON *value)
{
	return set_key(root, path, value);
}

/* Count the marks in the JSON value `at`. */
static size_t
mark_path(const cJSON *at)
{
	const cJSON *e;
	size_t n = cJSON_IsRaw(at);

	cJSON_ArrayForEach(e, at)
		n += mark_path(e);
	return n;
}

enum part { NONE, SOME, ALL };

/*
 * Setting the path `then` after the path `first` can overwrite values that
 * `first` has set.  Return whether it overwrites none, some or all of them.
 */
static enum part
find_undone(const cJSON *root, const char *first, const char *then)
{
	cJSON *copy = cJSON_Duplicate(root, true);
	cJSON *mark = cJSON_CreateRaw(""), *other = cJSON_CreateNull();
	size_t had = 0, left = 0;

	if (sweep_set(copy, first, mark) == NULL) {
		had = mark_path(copy);
		left = sweep_set(copy, then, other) == NULL ? mark_path(copy) :
		    had;
	}
	cJSON_Delete(copy);
	cJSON_Delete(mark);
	cJSON_Delete(other);
	return left == had ? NONE : left > 0 ? SOME : ALL;
}

const char *
sweep_leave(cJSON *root, const char *path)
{
	cJSON *sweep = cJSON_GetObjectItemCaseSensitive(root, "sweep");
	cJSON *e = cJSON_IsObject(sweep) ? sweep->child : NULL, *next;

	for (; e != NULL; e = next) {
		next = e->next;
		if (find_undone(root, path, e->string) == NONE)
			continue;
		if (find_undone(root, e->string, path) != ALL)
			return e->string;
		cJSON_Delete(cJSON_DetachItemViaPointer(sweep, e));
	}
	if (cJSON_IsObject(sweep) && sweep->child == NULL)
		cJSON_DeleteItemFromObjectCaseSensitive(root, "sweep");
	return NULL;
}

size_t
sweep_points(const cJSON *root, const char **why)
{
	const cJSON *sweep = cJSON_GetObjectItemCaseSensitive(root, "sweep");
	const cJSON *e;
	size_t n = 1;

	if (sweep == NULL)
		return 1;
	if (!cJSON_IsObject(sweep)) {
		*why = "sweep: must be an object of paths with lists";
		return 0;
	}
	if (cJSON_GetObjectItemCaseSensitive(sweep, "seed") != NULL ||
	    cJSON_GetObjectItemCaseSensitive(sweep, "runs") != NULL) {
		*why = "sweep: seed and runs cannot be swept";
		return 0;
	}
	cJSON_ArrayForEach(e, sweep) {
		size_t values = (size_t)cJSON_GetArraySize(e);

		if (!cJSON_IsArray(e) || values == 0) {
			*why = "sweep: each path needs a list of values";
			return 0;
		}
		if (n * values > SWEEP_POINTS_MAX) {
			*why = "sweep: there are more than 100000 points";
			return 0;
		}
		n *= values;
	}
	return n;
}

/*
 * Return an object that maps each path to its value at point i, or NULL if out
 * of memory.
 */
static cJSON *
get_values(const cJSON *sweep, size_t i)
{
	cJSON *to = cJSON_CreateObject();
	size_t turns = 1;	/* number of points of all later paths */
	const cJSON *e, *later;

	cJSON_ArrayForEach(e, sweep) {
		turns = 1;
		for (later = e->next; later != NULL; later = later->next)
			turns *= (size_t)cJSON_GetArraySize(later);
		cJSON_AddItemToObject(to, e->string,
		    cJSON_Duplicate(cJSON_GetArrayItem(e,
		    (int)(i / turns % (size_t)cJSON_GetArraySize(e))), true));
	}
	return to;
}

cJSON *
sweep_point(const cJSON *root, size_t i, cJSON **values, const char **why)
{
	cJSON *copy = cJSON_Duplicate(root, true), *sweep;
	const cJSON *e;

	*why = copy == NULL ? "needs more memory than is available" : NULL;
	*values = NULL;
	sweep = cJSON_DetachItemFromObjectCaseSensitive(copy, "sweep");
	if (sweep == NULL)
		return copy;
	*values = get_values(sweep, i);
	cJSON_Delete(sweep);
	cJSON_ArrayForEach(e, *values) {
		if (*why == NULL)
			*why = sweep_set(copy, e->string, e);
	}
	return copy;
}
