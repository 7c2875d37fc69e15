/*
 * stream-echo - play innet-worker to one child: answer its gradients
 *
 *	stream-echo [-n N] [-m N] [-a RATE | -s] [-x FAULT] COMMAND [ARG...]
 *
 * Runs COMMAND with the gradient stream on its standard input and output,
 * keeps the weights it sends, raises them by every gradient with Adam at RATE
 * (default 0.002) and answers with the new ones; ends the stream after N
 * gradients and prints a line of what it saw.  -s answers with the gradient
 * itself, as a sum of one.  -m answers with this number of results, each but
 * the last one flagged that more follow.  Faults: silent (never answers), deaf
 * (never reads answers), magic, length, nan, cut (half a message).
 */
#include "config.h"

#include <err.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "common/base/num.h"
#include "common/wire/stream.h"

struct echo {
	uint64_t limit, more;	/* gradients to answer; results for each */
	double rate;
	bool sums;
	const char *fault;
	int in, out;		/* from and to the child */
	struct stream_in stream;
	float *w, *m, *v;
	uint32_t elements;
	uint64_t gradients, steps, stale;
	float reward;
};

/* The next message of the child: 1, or 0 at the end of its stream. */
static int
next(struct echo *e, struct stream_head *h, const uint8_t **body)
{
	const char *why;
	size_t missing;
	ssize_t n;
	int got;

	while ((got = stream_in_next(&e->stream, h, body, &missing, &why)) ==
	    0) {
		n = stream_in_fill(&e->stream, e->in, missing);
		if (n == -1)
			err(1, "read");
		if (n == 0)
			return 0;
	}
	if (got == -1)
		errx(1, "byte %llu: %s",
		    (unsigned long long)e->stream.offset, why);
	return 1;
}

/* Adam, up the gradient. */
static void
step(struct echo *e, const float *g)
{
	const double t = (double)++e->steps;
	const double rate = e->rate / (1 - pow(0.9, t));
	const double fix = 1 / (1 - pow(0.999, t));

	for (uint32_t i = 0; i < e->elements; i++) {
		e->m[i] = 0.9f * e->m[i] + 0.1f * g[i];
		e->v[i] = 0.999f * e->v[i] + 0.001f * g[i] * g[i];
		e->w[i] += (float)(rate * e->m[i] /
		    (sqrt(e->v[i] * fix) + 1e-8));
	}
}

/* Spoil the answer as told; false if there is to be none. */
static bool
spoil(struct echo *e, struct stream_head *h)
{
	uint8_t head[STREAM_HEADER_BYTES];

	if (strcmp(e->fault, "silent") == 0)
		return false;
	if (strcmp(e->fault, "length") == 0)
		h->elements--;
	if (strcmp(e->fault, "nan") == 0)
		e->w[7] = NAN;
	if (strcmp(e->fault, "cut") != 0 && strcmp(e->fault, "magic") != 0)
		return true;
	stream_put(head, h);
	head[0] = *e->fault == 'm' ? 'X' : 'I';
	if (write(e->out, head, sizeof(head)) == -1)
		err(1, "write");
	return false;
}

/* Answer one gradient. */
static void
answer(struct echo *e, const struct stream_head *got, const float *g)
{
	struct stream_head h = {
		.kind = STREAM_RESULT, .elements = e->elements,
		.iteration = ++e->gradients, .contributions = 1,
		.flags = e->sums ? 0 : STREAM_MODEL,
	};

	e->stale += got->iteration != e->gradients - 1;
	e->reward = got->reward;
	if (!e->sums)
		step(e, g);
	if (e->fault != NULL && !spoil(e, &h))
		return;
	for (uint64_t i = 0; i < e->more; i++) {
		h.flags &= (uint16_t)~STREAM_MORE;
		h.flags |= i + 1 < e->more ? STREAM_MORE : 0;
		if (stream_write_all(e->out, &h, e->sums ? g : e->w) == -1) {
			if (errno != EPIPE)
				err(1, "write");
			return;	/* its end shows when we read next */
		}
	}
}

static void
serve(struct echo *e)
{
	struct stream_head h;
	const uint8_t *body;
	static const char hello[] = "{\"version\":1,\"worker\":0,\"members\":1,"
	    "\"mode\":\"async\"}";

	if (!next(e, &h, &body) || h.kind != STREAM_HELLO)
		errx(1, "no hello");
	printf("hello %.*s\n", (int)h.elements, (const char *)body);
	if (!next(e, &h, &body) || h.kind != STREAM_WEIGHTS)
		errx(1, "no weights");
	e->elements = h.elements;
	e->w = malloc(stream_body_bytes(&h) + 1);
	e->m = calloc(h.elements, sizeof(float));
	e->v = calloc(h.elements, sizeof(float));
	if (e->w == NULL || e->m == NULL || e->v == NULL)
		err(1, "weights");
	memcpy(e->w, body, stream_body_bytes(&h));
	stream_write_all(e->out, &(struct stream_head){ .kind = STREAM_HELLO,
	    .elements = sizeof(hello) - 1 }, hello);
	while (e->gradients < e->limit && next(e, &h, &body)) {
		if (h.kind == STREAM_BYE) {
			puts("bye");
			return;
		}
		if (h.kind != STREAM_GRADIENT || h.elements != e->elements)
			errx(1, "not a gradient");
		answer(e, &h, (const float *)(const void *)body);
	}
}

/* Say "nothing newer" for as long as somebody listens. */
static void
babble(struct echo *e)
{
	const struct stream_head h = {
		.kind = STREAM_RESULT, .flags = STREAM_MODEL
	};

	while (stream_write_all(e->out, &h, NULL) == 0)
		;
}

/* Run the command between two pipes. */
static pid_t
spawn(struct echo *e, char *argv[])
{
	int down[2], up[2];
	pid_t pid;

	if (pipe2(down, O_CLOEXEC) == -1 || pipe2(up, O_CLOEXEC) == -1)
		err(1, "pipe");
	pid = fork();
	if (pid == -1)
		err(1, "fork");
	if (pid == 0) {
		dup2(down[0], STDIN_FILENO);
		dup2(up[1], STDOUT_FILENO);
		execvp(argv[0], argv);
		err(127, "%s", argv[0]);
	}
	close(down[0]);
	close(up[1]);
	e->out = down[1];
	e->in = up[0];
	signal(SIGPIPE, SIG_IGN);
	return pid;
}

int
main(int argc, char *argv[])
{
	struct echo e = { .limit = UINT64_MAX, .more = 1, .rate = 2e-3 };
	int ch, status;
	pid_t pid;

	while ((ch = getopt(argc, argv, "+a:m:n:sx:")) != -1) {
		if ((ch == 'n' && num_u64(optarg, 0, UINT64_MAX, &e.limit)) ||
		    (ch == 'm' && num_u64(optarg, 1, 100, &e.more)) ||
		    (ch == 'a' && num_real(optarg, 0, 1, &e.rate)) ||
		    ch == '?')
			errx(2, "bad option");
		if (ch == 'x')
			e.fault = optarg;
		e.sums = e.sums || ch == 's';
	}
	if (optind == argc)
		errx(2, "no command");
	pid = spawn(&e, argv + optind);
	if (e.fault != NULL && strcmp(e.fault, "deaf") == 0)
		babble(&e);
	else
		serve(&e);
	if (e.fault == NULL || strcmp(e.fault, "silent") != 0 ||
	    e.gradients == e.limit)
		close(e.out);
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			err(1, "waitpid");
	printf("%llu gradients, %llu stale, reward %.1f\n",
	    (unsigned long long)e.gradients, (unsigned long long)e.stale,
	    (double)e.reward);
	stream_in_free(&e.stream);
	free(e.w);
	free(e.m);
	free(e.v);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
