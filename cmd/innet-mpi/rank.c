/*
 * rank.c - run one rank of a job whose gradients MPI sums
 *
 * During training, ranks communicate only with MPI_Allreduce.  Each vector ends
 * with two marks: whether the rank still trains, and whether it has failed.  A
 * rank that ends takes part in one more sum with its marks, and all ranks end
 * after this sum.
 */
#include <inttypes.h>
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/base/crc32c.h"
#include "common/base/durations.h"
#include "common/base/files.h"
#include "common/base/message.h"
#include "common/base/progress.h"
#include "common/net/child.h"
#include "common/net/timer.h"
#include "common/traffic/synthetic.h"
#include "common/wire/stream-order.h"

#include "cmd/innet-mpi/rank.h"

#define CHILD_END_NS 5000000000u /* longest time that a child may take to end */

/*
 * marks that follow the elements; the sum of a mark is the number of ranks that
 * set the mark
 */
enum { GOING, FAILED, MARKS };

struct rank {
	const struct rank_conf *cf;
	struct child child;
	struct stream_order order;
	int me, ranks;
	uint32_t elements;
	uint32_t crc;			/* checksum of the first weights */
	uint64_t first, given;	/* first iteration; number of sums received */
	float *mine, *sum;		/* elements, followed by MARKS marks */
	struct durations rounds;	/* time from sending a gradient to the
					 * arrival of its sum */
	uint64_t start_ns, spoke_ns, told_ns;
	bool over;	/* the rank has sent its last gradient */
	bool failed;			/* the reason for the failure was
					 * already printed */
	bool ended;			/* the child ended on its own */
};

/* The message that is printed if a call of an MPI function takes too long. */
static volatile sig_atomic_t in_mpi_call;
static char timeout_text[160];
static size_t timeout_bytes;

void
rank_signal(int sig)
{
	if (!in_mpi_call)
		return;
	if (sig == SIGALRM) {
		if (write(STDERR_FILENO, timeout_text, timeout_bytes) == -1)
			_exit(1);
		_exit(1);
	}
	if (sig == SIGINT || sig == SIGTERM) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
}

/*
 * Begin a call of an MPI function, which may take at most the time of
 * --give-up.  `what` is the reason to print if the call takes longer.
 */
static void
begin_mpi_call(const struct rank *r, const char *what)
{
	const uint64_t us = r->cf->give_up_ns / 1000;
	struct itimerval it = { .it_value = { (time_t)(us / 1000000),
	    (suseconds_t)(us % 1000000) } };

	if (us == 0)
		it.it_value.tv_usec = 1;
	snprintf(timeout_text, sizeof(timeout_text),
	    "innet-mpi: rank %d: %s after %.1f s; it has received %" PRIu64 " "
	    "sums\n",
	    r->me, what, (double)r->cf->give_up_ns / 1e9, r->given);
	timeout_bytes = strlen(timeout_text);
	in_mpi_call = 1;
	setitimer(ITIMER_REAL, &it, NULL);
	sigprocmask(SIG_SETMASK, r->cf->wait_mask, NULL);
}

/* End a call of an MPI function, and block signals again. */
static void
end_mpi_call(void)
{
	const struct itimerval none = { 0 };
	sigset_t block;

	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigaddset(&block, SIGUSR1);
	sigaddset(&block, SIGALRM);
	sigaddset(&block, SIGCHLD);
	sigprocmask(SIG_BLOCK, &block, NULL);
	setitimer(ITIMER_REAL, &none, NULL);
	in_mpi_call = 0;
}

static void
set_failed(struct rank *r)
{
	r->failed = r->over = true;
}

/* Sleep until a pipe of the child can be read or written, for at most 50 ms. */
static void
wait_for_child(struct rank *r)
{
	const struct timespec ts = timer_to_timespec(TIMER_SECOND_NS / 20);
	struct pollfd p[2] = {
		{ .fd = child_is_too_slow(&r->child) ? -1 : r->child.from,
		    .events = POLLIN },
		{ .fd = r->child.out_have == 0 ? -1 : r->child.to,
		    .events = POLLOUT },
	};

	if (ppoll(p, 2, &ts, r->cf->wait_mask) > 0 &&
	    (p[1].revents & (POLLOUT | POLLERR)) != 0)
		child_write(&r->child);
	timer_deliver_signals(r->cf->wait_mask);
}

/* If the child was silent for too long, print a warning and return true. */
static bool
is_silent(struct rank *r, uint64_t now_ns)
{
	const char *missing = stream_order_missing(&r->order);
	const uint64_t since = missing != NULL ? r->start_ns : r->spoke_ns;
	const uint64_t ns = missing != NULL ? r->cf->give_up_ns :
	    r->cf->silence_ns;

	if (now_ns - since < ns)
		return false;
	warnx("rank %d: %s: no %s %s %.1f s", r->me, r->child.name,
	    missing != NULL ? missing : "gradient",
	    missing != NULL ? "after" : "for", (double)ns / 1e9);
	return true;
}

/* Check a message of the child.  Return false if this rank must end. */
static bool
check_message(struct rank *r, const struct stream_head *h, const uint8_t *body)
{
	const char *why = stream_order_check(&r->order, h, body);

	r->spoke_ns = timer_mono_ns();
	if (why != NULL) {
		child_report_message(&r->child, h, why);
		set_failed(r);
	} else if (h->kind == STREAM_BYE) {
		r->ended = r->over = true;
	}
	return !r->over;
}

/*
 * The child has ended.  Check that the child did not end within a message or
 * before it sent a hello.
 */
static void
check_end(struct rank *r)
{
	const bool cut = child_report_truncation(&r->child);

	if (!cut && !r->order.hello)
		warnx("rank %d: %s: the command ended before it sent a hello",
		    r->me,
		    r->child.name);
	if (cut || !r->order.hello)
		set_failed(r);
}

/*
 * Receive the next message of the child.  Return false if the child or this
 * rank ends.
 */
static bool
receive_message(struct rank *r, struct stream_head *h, const uint8_t **body)
{
	while (!r->over) {
		const bool gone = child_has_exited(&r->child);
		const int got = child_is_too_slow(&r->child) ? 0 :
		    child_next_message(&r->child, h, body);

		if (got == 1)
			return check_message(r, h, *body);
		if (got == -2 || (got == 0 && is_silent(r, timer_mono_ns())))
			set_failed(r);
		r->ended = got == -1 || (gone && got == 0);
		if (r->ended)
			check_end(r);
		r->over |= r->ended || *r->cf->stop;
		if (!r->over)
			wait_for_child(r);
	}
	return false;
}

/* Receive the hello and the weights, unless the gradients are synthetic. */
static void
receive_weights(struct rank *r)
{
	struct stream_head h = { 0 };
	const uint8_t *body = NULL;

	r->elements = r->cf->synthetic;
	if (r->elements > 0)
		return;
	while (stream_order_missing(&r->order) != NULL &&
	       receive_message(r, &h, &body))
		;
	if (r->over)
		return;
	r->elements = r->order.elements;
	r->first = h.iteration;
	r->crc = crc32c(0, body, stream_body_bytes(&h));
}

/* End the child, unless this was already done. */
static void
end_child(struct rank *r)
{
	if (r->child.name == NULL)
		return;
	/* a child that ends without a request may still be saving a model */
	r->failed |= child_stop(&r->child, r->ended ? r->cf->silence_ns :
	    CHILD_END_NS, !r->ended) != 0;
	r->child.name = NULL;
}

/* End this rank, because another rank ends or has failed. */
static void
end_with_others(struct rank *r, bool failed)
{
	if (failed && !r->failed) {
		warnx("rank %d: another rank has failed", r->me);
		r->failed = true;
	}
	r->over = true;
}

/*
 * Check that all ranks begin with the same weights.  If they do not, all ranks
 * end.
 */
static void
agree_on_start(struct rank *r)
{
	enum { FAILS, OVER, N, NOT_N, CRC, NOT_CRC, FIRST, NOT_FIRST, ALL };
	const int64_t mine[ALL] = { r->failed, r->over, r->elements,
	    -(int64_t)r->elements, r->crc, -(int64_t)r->crc,
	    (int64_t)r->first, -(int64_t)r->first };
	int64_t most[ALL];

	begin_mpi_call(r, "the other ranks have not started");
	MPI_Allreduce(mine, most, ALL, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
	end_mpi_call();
	if (most[FAILS] > 0 || most[OVER] > 0) {
		end_with_others(r, most[FAILS] > 0);
	} else if (most[N] != -most[NOT_N]) {
		warnx("rank %d: the vector of this rank has %" PRIu32 " "
		    "elements, but the vectors of all ranks have %" PRId64 " "
		    "to %" PRId64 " elements; give all ranks vectors of the "
		    "same length",
		    r->me, r->elements,
		    -most[NOT_N], most[N]);
		set_failed(r);
	} else if (most[CRC] != -most[NOT_CRC]) {
		warnx("rank %d: the ranks begin with different weights; give "
		    "all of them the same seed",
		    r->me);
		set_failed(r);
	} else if (most[FIRST] != -most[NOT_FIRST]) {
		warnx("rank %d: this rank continues from iteration "
		    "%" PRIu64 ", but the ranks continue from different "
		    "iterations, %" PRId64 " to %" PRId64, r->me, r->first,
		    -most[NOT_FIRST], most[FIRST]);
		set_failed(r);
	}
}

/* Allocate the vectors, and answer the hello. */
static void
allocate_vectors(struct rank *r)
{
	const size_t n = (size_t)r->elements + MARKS;
	char text[96];
	int len;

	r->mine = calloc(n, sizeof(*r->mine));
	r->sum = calloc(n, sizeof(*r->sum));
	if (r->mine == NULL || r->sum == NULL)
		err(1, "no memory for vectors of %" PRIu32 " elements",
		    r->elements);
	if (r->cf->synthetic > 0)
		return;
	len = snprintf(text, sizeof(text), "{\"version\":1,\"worker\":%d,"
	    "\"members\":%d,\"mode\":\"sync\"}", r->me, r->ranks);
	child_send(&r->child, &(struct stream_head){ .kind = STREAM_HELLO,
	    .elements = (uint32_t)len }, text);
}

/* Store the next gradient in `mine`; return false at the end. */
static bool
take_gradient(struct rank *r)
{
	struct stream_head h;
	const uint8_t *body;

	if (r->cf->synthetic > 0) {
		r->over |= *r->cf->stop != 0;
		if (!r->over && (r->cf->check || r->given == 0))
			synthetic_fill(r->mine, r->elements, (uint32_t)r->me,
			    (uint32_t)r->given);
		return !r->over;
	}
	if (!receive_message(r, &h, &body)) {
		/*
		 * end the child before the sum, so that the marks in the sum
		 * include the child's exit status
		 */
		end_child(r);
		return false;
	}
	memcpy(r->mine, body, 4 * (size_t)r->elements);
	return true;
}

/* Check the sum of synthetic gradients, whose correct value is known. */
static void
check_sum(struct rank *r)
{
	const uint32_t t = (uint32_t)r->given;
	const uint32_t i = synthetic_wrong(r->sum, r->elements,
	    (uint32_t)r->ranks, t);

	if (i == r->elements)
		return;
	warnx("rank %d: iteration %" PRIu32 ", element %" PRIu32
	    ": the sum is %g, not %g", r->me, t, i, (double)r->sum[i],
	    (double)synthetic_sum((uint32_t)r->ranks, t, i));
	set_failed(r);
}

/* Send the sum to the child. */
static void
send_sum(struct rank *r)
{
	const struct stream_head h = { .kind = STREAM_RESULT,
	    .elements = r->elements, .contributions = (uint32_t)r->ranks,
	    .iteration = r->first + r->given + 1 };

	if (r->cf->check)
		check_sum(r);
	r->given++;
	if (r->cf->synthetic == 0)
		child_send(&r->child, &h, r->sum);
}

static void
show_progress(struct rank *r, uint64_t now_ns)
{
	if (!r->cf->progress || r->me != 0 ||
	    now_ns - r->told_ns < TIMER_SECOND_NS)
		return;
	r->told_ns = now_ns;
	progress_say("%" PRIu64 " iterations", r->given);
}

/* Sum one gradient of each rank.  Return false if any rank has ended. */
static bool
sum_gradients(struct rank *r)
{
	const bool have = take_gradient(r);
	const uint64_t began = timer_mono_ns();
	float *mark = r->mine + r->elements, *marks = r->sum + r->elements;
	uint64_t now;

	mark[GOING] = have;
	mark[FAILED] = r->failed;
	begin_mpi_call(r, "no sum has arrived");
	MPI_Allreduce(r->mine, r->sum, (int)r->elements + MARKS, MPI_FLOAT,
	    MPI_SUM, MPI_COMM_WORLD);
	end_mpi_call();
	if (marks[FAILED] > 0 || marks[GOING] < (float)r->ranks) {
		end_with_others(r, marks[FAILED] > 0);
		return false;
	}
	now = timer_mono_ns();
	durations_add(&r->rounds, now - began);
	send_sum(r);
	show_progress(r, now);
	return r->cf->count == 0 || r->given < r->cf->count;
}

static void
print_summary(const struct rank *r)
{
	const uint64_t p10 = durations_percentile(&r->rounds, 10),
	    p50 = durations_percentile(&r->rounds, 50),
	    p90 = durations_percentile(&r->rounds, 90),
	    mean = durations_mean(&r->rounds);

	if (r->cf->json != NULL)
		fprintf(r->cf->json, "{\"worker\":%d,\"ranks\":%d,"
		    "\"elements\":%" PRIu32 ",\"iterations\":%" PRIu64
		    ",\"round_p10_ns\":%" PRIu64 ",\"round_p50_ns\":%" PRIu64
		    ",\"round_p90_ns\":%"
		    PRIu64 ",\"round_mean_ns\":%" PRIu64 "}\n", r->me,
		    r->ranks, r->elements, r->given, p10, p50, p90, mean);
	else
		fprintf(stderr, "innet-mpi: rank %d of %d: %" PRIu64
		    " iterations of %" PRIu32 " elements, a round of %.3f ms "
		    "in the median, %.3f in the mean\n", r->me, r->ranks,
		    r->given, r->elements, (double)p50 / 1e6,
		    (double)mean / 1e6);
}

/* Join the MPI job.  The child is already running, and does not use MPI. */
static void
join_job(struct rank *r)
{
	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &r->me);
	MPI_Comm_size(MPI_COMM_WORLD, &r->ranks);
}

int
rank_run(const struct rank_conf *cf)
{
	const uint64_t now = timer_mono_ns();
	struct rank r = { .cf = cf, .start_ns = now, .spoke_ns = now,
	    .order = { .most = STREAM_ELEMENTS_MAX,
	    .carrier = "innet-mpi" } };

	if (!durations_reserve(&r.rounds))
		err(1, "a rank");
	if (cf->synthetic == 0)
		child_start(&r.child, cf->argv, cf->wait_mask);
	join_job(&r);
	receive_weights(&r);
	if (r.over)
		end_child(&r);
	agree_on_start(&r);
	if (!r.over) {
		allocate_vectors(&r);
		while (sum_gradients(&r))
			;
	}
	end_child(&r);
	if (cf->progress && r.me == 0)
		progress_clear();
	begin_mpi_call(&r, "the other ranks have not ended");
	MPI_Finalize();
	end_mpi_call();
	/*
	 * On a failure, the error must be the last line, so print no summary.
	 */
	if (cf->json != NULL || (!cf->quiet && !r.failed))
		print_summary(&r);
	r.failed |= cf->json != NULL && files_flush(cf->json) != 0;
	durations_free(&r.rounds);
	free(r.mine);
	free(r.sum);
	return r.failed;
}
