/* policy-file.c - write and read policies */
#include "config.h"

#include <cjson/cJSON.h>
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
#include "common/base/message.h"
#include "common/base/vec.h"
#include "common/wire/stream.h"

size_t
policy_file_hello(char buf[POLICY_FILE_HELLO_MAX], const struct learner *l,
    size_t elements)
{
	return (size_t)snprintf(buf, POLICY_FILE_HELLO_MAX, "{\"version\":1,"
	    "\"elements\":%zu,\"name\":\"innet-agent\",\"env\":\"%s\","
	    "\"algo\":\"%s\",\"hidden\":%" PRIu64 ",\"dueling\":%" PRIu64
	    "}", elements, l->kind->name, l->algo->name, l->hyper.hidden,
	    l->hyper.dueling);
}

size_t
policy_file_head(uint8_t to[POLICY_FILE_HEAD_MAX], const struct learner *l,
    size_t elements, uint64_t iteration)
{
	char *text = (char *)to + STREAM_HEADER_BYTES;
	const size_t len = policy_file_hello(text, l, elements);

	stream_put(to, &(struct stream_head){ .kind = STREAM_HELLO,
	    .elements = (uint32_t)len });
	stream_put((uint8_t *)text + len, &(struct stream_head){
	    .kind = STREAM_WEIGHTS, .elements = (uint32_t)elements,
	    .iteration = iteration });
	return len + 2 * STREAM_HEADER_BYTES;
}

int
policy_file_check(const char *path)
{
	if (atomic_file_try(path) == 0)
		return 0;
	warn("%s", path);
	return -1;
}

int
policy_file_write(const char *path, const struct learner *l)
{
	uint8_t head[POLICY_FILE_HEAD_MAX];
	const size_t len = policy_file_head(head, l, l->params, 0);
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

/*
 * Return the index in `names` of the value of a member of the hello.  Return -1
 * if the hello has no such member, or if `names` lacks the value.
 */
static int
find_name(const cJSON *hello, const char *member, const char *const *names)
{
	const char *name =
	    cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(hello,
	    member));

	for (int i = 0; name != NULL && names[i] != NULL; i++) {
		if (strcmp(names[i], name) == 0)
			return i;
	}
	return -1;
}

/*
 * Return a member of the hello that is a whole number from 0 to hi.  If there
 * is no such member, return `without`.
 */
static uint64_t
find_number(const cJSON *hello, const char *member, uint64_t hi,
    uint64_t without)
{
	const cJSON *n = cJSON_GetObjectItemCaseSensitive(hello, member);

	if (!cJSON_IsNumber(n) || !(n->valuedouble >= 0) ||
	    n->valuedouble > (double)hi)
		return without;
	return (uint64_t)n->valuedouble;
}

struct policy_head {
	const struct env_kind *env;
	const struct algo *algo;
	struct hyperparameters hyper;
};

/* Read the hello.  Return NULL, or a description of the error. */
static const char *
parse_hello(const uint8_t *text, size_t len, struct policy_head *head)
{
	cJSON *hello = cJSON_ParseWithLength((const char *)text, len);
	const int env = find_name(hello, "env", env_names());
	const int algo = find_name(hello, "algo", algo_names());
	const char *why = env == -1 ? "the file names an unknown environment" :
	    algo == -1 ? "the file names an unknown algorithm" :
	    algo_unfit(algo_all[algo], env_kinds[env]);

	if (why == NULL) {
		head->env = env_kinds[env];
		head->algo = algo_all[algo];
		head->hyper = *presets_find(head->algo->name, head->env->name);
		head->hyper.hidden = find_number(hello, "hidden", 4096,
		    head->hyper.hidden);
		head->hyper.dueling = find_number(hello, "dueling", 1,
		    head->hyper.dueling);
		head->hyper.hidden += head->hyper.hidden == 0;
	}
	cJSON_Delete(hello);
	return why;
}

const char *
policy_file_names(const uint8_t *text, size_t len, const struct env_kind **env,
    const struct algo **algo)
{
	struct policy_head head = { 0 };
	const char *why = parse_hello(text, len, &head);

	*env = head.env;
	*algo = head.algo;
	return why;
}

/*
 * Open the learner that the hello describes, with the n floats at `weights`.
 * Return NULL, or a description of the error.  A net has one weight from each
 * neuron of a layer to each neuron of the next layer, so check n before memory
 * is allocated for the net.
 */
static const char *
open_learner(struct learner *l, const struct policy_head *head,
    const uint8_t *weights, size_t n, uint64_t seed, struct tally *t)
{
	if (n < head->hyper.hidden * head->hyper.hidden)
		return "the number of weights does not fit the environment and "
		    "--hidden";
	if (!vec_finite(weights, n))
		return "a weight is not finite";
	learner_open(l, head->env, head->algo, &head->hyper, seed, NULL, t);
	if (n != l->params)
		return "the number of weights does not fit the environment and "
		    "--hidden";
	memcpy(l->w, weights, n * sizeof(*l->w));
	return NULL;
}

/*
 * Read the next message from fd.  Return NULL, or a description of the error.
 */
static const char *
read_message(struct stream_in *in, int fd, struct stream_head *h,
    const uint8_t **body)
{
	const char *why;
	size_t missing;
	ssize_t n;
	int got;

	while ((got = stream_in_next(in, h, body, &missing, &why)) == 0) {
		n = stream_in_fill(in, fd, missing);
		if (n == 0)
			return "the file ends too early";
		if (n == -1 && errno != EINTR)
			return strerror(errno);
	}
	return got == 1 ? NULL : why;
}

/* Open l from the file.  Return NULL, or a description of the error. */
static const char *
read_policy(struct stream_in *in, int fd, uint64_t seed, struct tally *t,
    struct learner *l)
{
	struct stream_head h;
	struct policy_head head;
	const uint8_t *body;
	const char *why = read_message(in, fd, &h, &body);

	if (why == NULL && h.kind != STREAM_HELLO)
		return "this is not a saved policy";
	if (why == NULL)
		why = parse_hello(body, h.elements, &head);
	if (why == NULL)
		why = read_message(in, fd, &h, &body);
	if (why == NULL && h.kind != STREAM_WEIGHTS)
		return "this is not a saved policy";
	return why != NULL ? why :
	    open_learner(l, &head, body, h.elements, seed, t);
}

bool
policy_file_read(const char *path, uint64_t seed, struct tally *t,
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
	why = read_policy(&in, fd, seed, t, l);
	if (why != NULL)
		warnx("%s: byte %" PRIu64 ": %s", path, in.offset, why);
	if (why != NULL && l->self != NULL)
		learner_close(l);
	close(fd);
	stream_in_free(&in);
	return why == NULL;
}
