/* stream-child.c - send gradients and receive results, with time limits */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/base/message.h"

#include "cmd/innet-agent/allocate.h"
#include "cmd/innet-agent/stream-child.h"
#include "cmd/innet-agent/policy-file.h"
#include "cmd/innet-agent/snapshot.h"
#include "cmd/innet-agent/tally.h"
#include "cmd/innet-agent/apex/wait.h"

/*
 * Wait until fd is ready or deadline_ns has passed.  Return OPTIMIZER_FAILED
 * after printing a message if time is up, and OPTIMIZER_END if the worker no
 * longer reads.
 */
static enum optimizer_status
await_fd(const struct child *c, int fd, short events, uint64_t deadline_ns,
    const char *what)
{
	struct pollfd p[2] = {
		{ .fd = fd, .events = events },
		{ .fd = c->out },	/* this detects that the reader no
					 * longer exists */
	};

	switch (wait_until(p, 2, deadline_ns, c->stop)) {
	case WAIT_READY:
		return p[0].revents != 0 ? OPTIMIZER_CONTINUE : OPTIMIZER_END;
	case WAIT_STOP:
		return OPTIMIZER_END;
	case WAIT_DUE:
		break;
	}
	warnx("standard %s: the worker %s gradient %" PRIu64 " within %g s",
	    fd == c->in ? "input" : "output", what, c->sent,
	    (double)c->timeout_ns * 1e-9);
	return OPTIMIZER_FAILED;
}

/*
 * Write n bytes, at most PIPE_BUF at a time.  A pipe that poll() reports as
 * writable has room for PIPE_BUF bytes, so no write blocks.
 */
static enum optimizer_status
write_all(const struct child *c, const void *bytes, size_t n)
{
	const uint64_t deadline_ns = tally_now_ns() + c->timeout_ns;
	const char *p = bytes;
	enum optimizer_status rc;

	while (n > 0) {
		ssize_t done;

		rc = await_fd(c, c->out, POLLOUT, deadline_ns, "did not read");
		if (rc != OPTIMIZER_CONTINUE)
			return rc;
		done = write(c->out, p, n < PIPE_BUF ? n : PIPE_BUF);
		if (done == -1 && errno == EPIPE)
			return OPTIMIZER_END;
		if (done == -1 && errno != EINTR && errno != EAGAIN) {
			warn("standard output");
			return OPTIMIZER_FAILED;
		}
		if (done > 0) {
			p += done;
			n -= (size_t)done;
		}
	}
	return OPTIMIZER_CONTINUE;
}

static enum optimizer_status
send_message(const struct child *c, const struct stream_head *h,
    const void *body)
{
	uint8_t head[STREAM_HEADER_BYTES];
	enum optimizer_status rc;

	stream_put(head, h);
	rc = write_all(c, head, sizeof(head));
	return rc == OPTIMIZER_CONTINUE
		   ? write_all(c, body, stream_body_bytes(h))
		   : rc;
}

/* Receive the next message from the worker. */
static enum optimizer_status
receive_message(struct child *c, struct stream_head *h, const uint8_t **body)
{
	const uint64_t deadline_ns = tally_now_ns() + c->timeout_ns;
	const char *why = NULL;
	enum optimizer_status rc;
	size_t missing;
	ssize_t n;
	int got;

	while ((got = stream_in_next(&c->stream, h, body, &missing, &why)) ==
	    0) {
		rc = await_fd(c, c->in, POLLIN, deadline_ns, "sent no result "
		    "for");
		if (rc != OPTIMIZER_CONTINUE)
			return rc;
		n = stream_in_fill(&c->stream, c->in, missing);
		if (n == 0 && c->stream.have == c->stream.used)
			return OPTIMIZER_END;
		if (n == 0) {
			warnx("standard input: byte %" PRIu64 ": the stream "
			    "ends in the middle of a message",
			    c->stream.offset);
			return OPTIMIZER_FAILED;
		}
		if (n == -1 && errno != EINTR && errno != EAGAIN) {
			warn("standard input");
			return OPTIMIZER_FAILED;
		}
	}
	if (got == 1)
		return OPTIMIZER_CONTINUE;
	warnx("standard input: byte %" PRIu64 ": %s", c->stream.offset, why);
	return OPTIMIZER_FAILED;
}

/* Return a description of the error in a result, or NULL if it is valid. */
static const char *
check_result(const struct child *c, const struct stream_head *h, const float *v)
{
	if (h->elements != 0 && h->elements != c->elements)
		return "the result and the gradient have different lengths";
	if (h->elements != 0 && (h->flags & STREAM_MODEL) == 0 &&
	    h->contributions == 0)
		return "the sum has no contributions";
	for (size_t i = 0; i < h->elements; i++) {
		if (!isfinite(v[i]))
			return "the result is not finite; lower "
			    "--learning-rate, or check that all agents have "
			    "the same --init-seed";
	}
	return NULL;
}

/* Apply a result to the weights w. */
static void
apply_result(struct child *c, const struct stream_head *h, const float *v,
    float *w)
{
	c->results++;
	if (h->elements == 0)
		return;
	c->iteration = h->iteration;
	if (h->flags & STREAM_MODEL) {
		c->models++;
		memcpy(w, v, c->params * sizeof(*w));
		if (c->base != NULL)
			memcpy(c->base, w, c->params * sizeof(*w));
		return;
	}
	c->sums++;
	for (size_t i = 0; i < c->params; i++)
		c->mean[i] = v[i] / (float)h->contributions;
	if (c->base == NULL)
		optimizer_step(c->optimizer, w, c->mean);
	for (size_t i = 0; i < c->params && c->base != NULL; i++)
		w[i] = c->base[i] += c->mean[i];
}

/*
 * Name the parts that another worker needs to continue from the state of this
 * agent, as specified in innet-stream(5).
 */
static void
state_parts(struct child *c, float *w, struct snapshot *s)
{
	struct optimizer *o = c->optimizer;

	snapshot_part(s, w, c->params * sizeof(*w));
	snapshot_part(s, &o->steps, sizeof(o->steps));
	snapshot_part(s, o->m, o->params * sizeof(*o->m));
	snapshot_part(s, o->v, o->params * sizeof(*o->v));
}

/*
 * Encode the state of this agent, preceded by a line that names its kind.
 * Return the length of that line.
 */
static size_t
encode_state(struct child *c, float *w, struct snapshot *s)
{
	char line[64];
	const int n = snprintf(line, sizeof(line), "innet-agent state 1 %u "
	    "%zu\n", (unsigned)c->optimizer->rule, c->params);

	*s = (struct snapshot){ 0 };
	snapshot_add(s, line, (size_t)n);
	state_parts(c, w, s);
	return (size_t)n;
}

/* Send the state of this agent to another worker. */
static enum optimizer_status
send_state(struct child *c, float *w)
{
	struct snapshot s;
	enum optimizer_status rc;

	encode_state(c, w, &s);
	rc = send_message(c, &(struct stream_head){ .kind = STREAM_STATE,
	    .elements = (uint32_t)s.len, .iteration = c->iteration },
	    s.bytes);
	snapshot_free(&s);
	return rc;
}

/*
 * Replace the state of this agent by that of another worker.  No result follows
 * for the gradient that this agent sent.
 */
static enum optimizer_status
receive_state(struct child *c, const struct stream_head *h, const uint8_t *body,
    float *w)
{
	struct snapshot own, s = { .reading = true };
	const size_t line = encode_state(c, w, &own);
	const bool good = h->elements == own.len &&
	    memcmp(body, own.bytes, line) == 0;

	if (good) {
		snapshot_add(&s, body + line, own.len - line);
		state_parts(c, w, &s);
		if (c->base != NULL)
			memcpy(c->base, w, c->params * sizeof(*w));
		c->iteration = h->iteration;
		snapshot_free(&s);
	} else {
		warnx("standard input: the state comes from a different agent; "
		    "give all agents the same --env, --algo, --optimizer and "
		    "--hidden");
	}
	snapshot_free(&own);
	return good ? OPTIMIZER_CONTINUE : OPTIMIZER_FAILED;
}

/* Print the worker's hello without bytes that could control a terminal. */
static void
print_hello(const uint8_t *text, size_t len)
{
	char line[512];
	size_t n = len < sizeof(line) - 1 ? len : sizeof(line) - 1;

	for (size_t i = 0; i < n; i++)
		line[i] = text[i] >= ' ' && text[i] < 127 ? (char)text[i] : '?';
	line[n] = '\0';
	warnx("standard input: hello %s%s", line, n < len ? "..." : "");
}

/*
 * Receive results until the last result for the gradient that was sent.  A
 * hello can arrive between two results.
 */
static enum optimizer_status
receive_results(struct child *c, float *w)
{
	struct stream_head h = { 0 };
	const uint8_t *body;
	const char *why;
	enum optimizer_status rc;

	do {
		const uint64_t offset = c->stream.offset;

		rc = receive_message(c, &h, &body);
		if (rc != OPTIMIZER_CONTINUE || h.kind == STREAM_BYE)
			return rc == OPTIMIZER_CONTINUE ? OPTIMIZER_END : rc;
		if (h.kind == STREAM_HELLO) {
			if (c->verbose)
				print_hello(body, h.elements);
			continue;
		}
		if (h.kind == STREAM_STATE && (h.flags & STREAM_MODEL) != 0)
			return receive_state(c, &h, body, w);
		if (h.kind == STREAM_STATE) {
			rc = send_state(c, w);
			if (rc != OPTIMIZER_CONTINUE)
				return rc;
			continue;
		}
		why = h.kind != STREAM_RESULT ? "this message is not a result" :
		    check_result(c, &h, (const float *)(const void *)body);
		if (why != NULL) {
			warnx("standard input: byte %" PRIu64 ": %s", offset,
			    why);
			return OPTIMIZER_FAILED;
		}
		apply_result(c, &h, (const float *)(const void *)body, w);
	} while (h.kind != STREAM_RESULT || h.flags & STREAM_MORE);
	return OPTIMIZER_CONTINUE;
}

/* Copy a vector to c->wide, which has the length of vectors on the stream. */
static const float *
widen_vector(struct child *c, const float *vector)
{
	return memcpy(c->wide, vector, c->params * sizeof(*vector));
}

static enum optimizer_status
exchange_gradient(void *self, float *w, const float *grad, float reward)
{
	struct child *c = self;
	const struct stream_head h = {
		.kind = STREAM_GRADIENT, .reward = reward,
		.elements = (uint32_t)c->elements, .iteration = c->iteration,
		.contributions = 1,
	};
	enum optimizer_status rc;

	c->sent++;
	rc = send_message(c, &h, widen_vector(c, grad));
	return rc == OPTIMIZER_CONTINUE ? receive_results(c, w) : rc;
}

struct gradient_sink
child_sink(struct child *c)
{
	return (struct gradient_sink){ .apply = exchange_gradient, .self = c };
}

enum optimizer_status
child_open(struct child *c, const struct learner *l)
{
	char text[POLICY_FILE_HELLO_MAX];
	size_t len;
	enum optimizer_status rc;

	if (c->elements < c->params)
		c->elements = c->params;
	len = policy_file_hello(text, l, c->elements);
	len = len - 1 + (size_t)snprintf(text + len - 1, POLICY_FILE_HELLO_MAX -
	    len + 1, ",\"gradients\":\"up\"}");
	if (l->algo->prioritize == NULL) /* no replay memory */
		len = len - 1 + (size_t)snprintf(text + len - 1,
		    POLICY_FILE_HELLO_MAX - len + 1, ",\"state\":true}");
	c->mean = allocate(c->params, sizeof(*c->mean));
	c->wide = allocate(c->elements, sizeof(*c->wide));
	/*
	 * A pipe that cannot be enlarged, or a descriptor that is not a pipe,
	 * is used unchanged.
	 */
	fcntl(c->in, F_SETPIPE_SZ, STREAM_PIPE_BYTES);
	fcntl(c->out, F_SETPIPE_SZ, STREAM_PIPE_BYTES);
	rc = send_message(c, &(struct stream_head){ .kind = STREAM_HELLO,
	    .elements = (uint32_t)len }, text);
	if (rc != OPTIMIZER_CONTINUE)
		return rc;
	return send_message(c, &(struct stream_head){ .kind = STREAM_WEIGHTS,
	    .elements = (uint32_t)c->elements, .iteration = c->iteration },
	    widen_vector(c, l->w));
}

void
child_close(struct child *c, bool bye)
{
	if (bye)
		send_message(c, &(struct stream_head){ .kind = STREAM_BYE },
		    NULL);
	stream_in_free(&c->stream);
	free(c->mean);
	free(c->wide);
}
