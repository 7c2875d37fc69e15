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

#include "cmd/innet-agent/net.h"
#include "cmd/innet-agent/saved.h"
#include "common/stream.h"
#include "common/whole.h"

size_t
saved_hello(char *buf, size_t len, const char *env, const char *algo,
    size_t params)
{
	return (size_t)snprintf(buf, len, "{\"version\":1,\"elements\":%zu,"
	    "\"name\":\"innet-agent\",\"env\":\"%s\",\"algo\":\"%s\"}",
	    params, env, algo);
}

int
saved_check(const char *path)
{
	struct whole w;

	if (whole_open(&w, path) == -1) {
		warn("%s", path);
		return -1;
	}
	whole_close(&w, false);
	return 0;
}

int
saved_write(const char *path, const char *env, const char *algo,
    const float *w, size_t params)
{
	char text[256];
	const size_t len = saved_hello(text, sizeof(text), env, algo, params);
	struct whole to;
	bool good;

	if (whole_open(&to, path) == -1) {
		warn("%s", path);
		return -1;
	}
	good = stream_write_all(to.fd, &(struct stream_head){
	    .kind = STREAM_HELLO, .elements = (uint32_t)len }, text) == 0 &&
	    stream_write_all(to.fd, &(struct stream_head){
	    .kind = STREAM_WEIGHTS, .elements = (uint32_t)params }, w) == 0;
	if (whole_close(&to, good) == 0)
		return 0;
	warn("%s", path);
	return -1;
}

/* The kind of environment a hello speaks of, or NULL. */
static const struct env_kind *
spoken_of(const uint8_t *text, size_t len)
{
	cJSON *hello = cJSON_ParseWithLength((const char *)text, len);
	const char *name = cJSON_GetStringValue(
	    cJSON_GetObjectItemCaseSensitive(hello, "env"));
	const struct env_kind *kind = NULL;

	for (size_t i = 0; name != NULL && env_kinds[i] != NULL; i++) {
		if (strcmp(env_kinds[i]->name, name) == 0)
			kind = env_kinds[i];
	}
	cJSON_Delete(hello);
	return kind;
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

/* The weights behind the hello, or NULL and *why. */
static float *
weights(struct stream_in *in, int fd, const struct env_kind **kind,
    const char **why)
{
	struct stream_head h;
	const uint8_t *body;
	float *w;

	*why = message(in, fd, &h, &body);
	if (*why == NULL && h.kind == STREAM_HELLO) {
		*kind = spoken_of(body, h.elements);
		*why = *kind == NULL ? "names no known environment" :
		    message(in, fd, &h, &body);
	}
	if (*why == NULL && h.kind != STREAM_WEIGHTS)
		*why = "not a policy";
	if (*why == NULL &&
	    h.elements != net_params((*kind)->obs, (*kind)->actions))
		*why = "wrong number of weights";
	if (*why != NULL)
		return NULL;
	w = malloc(stream_body_bytes(&h));
	if (w == NULL)
		*why = strerror(errno);
	else
		memcpy(w, body, stream_body_bytes(&h));
	return w;
}

float *
saved_read(const char *path, const struct env_kind **kind)
{
	struct stream_in in = { 0 };
	const char *why;
	float *w;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*kind = NULL;
	if (fd == -1) {
		warn("%s", path);
		return NULL;
	}
	w = weights(&in, fd, kind, &why);
	if (w == NULL)
		warnx("%s: byte %" PRIu64 ": %s", path, in.offset, why);
	close(fd);
	stream_in_free(&in);
	return w;
}
