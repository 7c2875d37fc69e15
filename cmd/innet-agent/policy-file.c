/* saved - write and read policies */
#include "config.h"

#include <cjson/cJSON.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/innet-agent/env/kinds.h"
#include "cmd/innet-agent/algo/algorithms.h"
#include "cmd/innet-agent/presets.h"
#include "cmd/innet-agent/policy-file.h"
#include "common/base/atomic-file.h"
#include "common/base/file-open.h"
#include "common/base/vec.h"
#include "common/wire/stream.h"

size_t
saved_hello(char buf[SAVED_HELLO_MAX], const struct learner *l,
    size_t elements)
{
	return (size_t)snprintf(buf, SAVED_HELLO_MAX, "{\"version\":1,"
	    "\"elements\":%zu,\"name\":\"innet-agent\",\"env\":\"%s\","
	    "\"algo\":\"%s\",\"hidden\":%" PRIu64 ",\"dueling\":%" PRIu64
	    "}", elements, l->kind->name, l->algo->name, l->set.hidden,
	    l->set.dueling);
}

size_t
saved_head(uint8_t to[SAVED_HEAD_MAX], const struct learner *l,
    size_t elements, uint64_t iteration)
{
	char *text = (char *)to + STREAM_HEADER_BYTES;
	const size_t len = saved_hello(text, l, elements);

	stream_put(to, &(struct stream_head){ .kind = STREAM_HELLO,
	    .elements = (uint32_t)len });
	stream_put((uint8_t *)text + len, &(struct stream_head){
	    .kind = STREAM_WEIGHTS, .elements = (uint32_t)elements,
	    .iteration = iteration });
	return len + 2 * STREAM_HEADER_BYTES;
}

int
saved_check(const char *path)
{
	if (atomic_file_try(path) == 0)
		return 0;
	warn("%s", path);
	return -1;
}

int
saved_write(const char *path, const struct learner *l)
{
	uint8_t head[SAVED_HEAD_MAX];
	const size_t len = saved_head(head, l, l->params, 0);
	struct atomic_file to;
	bool good;

	if (atomic_file_open(&to, path) == -1) {
		warn("%s", path);
		return -1;
	}
	good = atomic_file_write(&to, head, len) &&
	    atomic_file_write(&to, l->w, l->params * sizeof(*l->w));
	if (atomic_file_close(&to, good) == 0)
		return 0;
	warn("%s", path);
	return -1;
}

/* The member's place in the list of names, ended by NULL; -1 if in none. */
static int
place(const cJSON *hello, const char *member, const char *const *names)
{
	const char *name = cJSON_GetStringValue(
	    cJSON_GetObjectItemCaseSensitive(hello, member));

	for (int i = 0; name != NULL && names[i] != NULL; i++) {
		if (strcmp(names[i], name) == 0)
			return i;
	}
	return -1;
}

/* A whole number of the hello from 0 to hi, or what it is without one. */
static uint64_t
number(const cJSON *hello, const char *member, uint64_t hi, uint64_t without)
{
	const cJSON *n = cJSON_GetObjectItemCaseSensitive(hello, member);

	if (!cJSON_IsNumber(n) || !(n->valuedouble >= 0) ||
	    n->valuedouble > (double)hi)
		return without;
	return (uint64_t)n->valuedouble;
}

struct told {
	const struct env_kind *env;
	const struct algo *algo;
	struct settings set;
};

/* What learner the hello speaks of: NULL, or what is wrong. */
static const char *
understand(const uint8_t *text, size_t len, struct told *told)
{
	cJSON *hello = cJSON_ParseWithLength((const char *)text, len);
	const int env = place(hello, "env", env_names());
	const int algo = place(hello, "algo", algo_names());
	const char *why = env == -1 ? "names no known environment" :
	    algo == -1 ? "names no known algorithm" :
	    algo_unfit(algo_all[algo], env_kinds[env]);

	if (why == NULL) {
		told->env = env_kinds[env];
		told->algo = algo_all[algo];
		told->set = *presets_find(told->algo->name, told->env->name);
		told->set.hidden = number(hello, "hidden", 4096,
		    told->set.hidden);
		told->set.dueling = number(hello, "dueling", 1,
		    told->set.dueling);
		told->set.hidden += told->set.hidden == 0;
	}
	cJSON_Delete(hello);
	return why;
}

const char *
saved_names(const uint8_t *text, size_t len, const struct env_kind **env,
    const struct algo **algo)
{
	struct told told = { 0 };
	const char *why = understand(text, len, &told);

	*env = told.env;
	*algo = told.algo;
	return why;
}

/*
 * A learner as told, with those n weights: NULL, or what is wrong.  Memory is
 * taken only for what the file has weights for: every net has one from each
 * neuron of a layer to each of the next.
 */
static const char *
furnish(struct learner *l, const struct told *told, const uint8_t *weights,
    size_t n, uint64_t seed, struct tally *t)
{
	if (n < told->set.hidden * told->set.hidden)
		return "wrong number of weights";
	if (!vec_finite(weights, n))
		return "a weight is not finite";
	learner_open(l, told->env, told->algo, &told->set, seed, NULL, t);
	if (n != l->params)
		return "wrong number of weights";
	memcpy(l->w, weights, n * sizeof(*l->w));
	return NULL;
}

/* The next message of the file fd is open on: NULL, or what is wrong. */
static const char *
message(struct stream_in *in, int fd, struct stream_head *h,
    const uint8_t **body)
{
	const char *why;
	size_t missing;
	ssize_t n;
	int got;

	while ((got = stream_in_next(in, h, body, &missing, &why)) == 0) {
		n = stream_in_fill(in, fd, missing);
		if (n == 0)
			return "file ends too early";
		if (n == -1 && errno != EINTR)
			return strerror(errno);
	}
	return got == 1 ? NULL : why;
}

/* Fill l from the file: NULL, or what is wrong. */
static const char *
load(struct stream_in *in, int fd, uint64_t seed, struct tally *t,
    struct learner *l)
{
	struct stream_head h;
	struct told told;
	const uint8_t *body;
	const char *why = message(in, fd, &h, &body);

	if (why == NULL && h.kind != STREAM_HELLO)
		return "not a policy";
	if (why == NULL)
		why = understand(body, h.elements, &told);
	if (why == NULL)
		why = message(in, fd, &h, &body);
	if (why == NULL && h.kind != STREAM_WEIGHTS)
		return "not a policy";
	return why != NULL ? why :
	    furnish(l, &told, body, h.elements, seed, t);
}

bool
saved_read(const char *path, uint64_t seed, struct tally *t,
    struct learner *l)
{
	struct stream_in in = { 0 };
	const char *why;
	int fd = file_open_read(path);

	*l = (struct learner){ 0 };
	if (fd == -1) {
		warn("%s", path);
		return false;
	}
	why = load(&in, fd, seed, t, l);
	if (why != NULL)
		warnx("%s: byte %" PRIu64 ": %s", path, in.offset, why);
	if (why != NULL && l->self != NULL)
		learner_close(l);
	close(fd);
	stream_in_free(&in);
	return why == NULL;
}
