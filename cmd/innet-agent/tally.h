/*

 * tally.h - count steps, episodes and gradients, and decide when training ends
 *
 * The tally also keeps the rewards of the last hundred episodes and writes the
 * log, which has a row for each episode.
 */
#ifndef INNET_AGENT_TALLY_H
#define INNET_AGENT_TALLY_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { TALLY_LAST = 100 };

struct tally_begun {
	uint64_t steps, episodes, gradients;
};

struct tally {
	struct tally_begun begun;	/* counts in the loaded checkpoint */
	uint64_t steps, episodes, gradients;
	uint64_t steps_end, episodes_end;	/* limits; 0: no limit */
	double solved;		/* mean reward at which training ends, if
				 * `solve` is set */
	bool solve;
	double last[TALLY_LAST];
	uint64_t begun_ns;	/* start of the run, a time of
				 * CLOCK_MONOTONIC */
	uint64_t play_ns;	/* time spent playing */
	uint64_t lesson_ns;	/* time spent learning; includes sink_ns and
				   replay_ns */
	uint64_t sink_ns;	/* time spent in the gradient sink */
	uint64_t replay_ns;	/* time spent in the replay memory */
	uint64_t first_ns;	/* time of the first gradient */
	uint64_t update_ns;	/* time spent in the optimizer */
	FILE *log;		/* owned; NULL: no log */
	const char *log_path;
	bool log_bad;		/* a row could not be written */
	const volatile sig_atomic_t *stop;	/* flag that is set when a
						 * signal arrives */
};

/* Return the time of CLOCK_MONOTONIC in ns. */
uint64_t tally_now_ns(void);

/* Return the seconds since the run began. */
double tally_seconds(const struct tally *t);

/*
 * Start the clock, and open a log at path unless path is NULL.  Exits with
 * status 1 if the log cannot be opened.
 */
void tally_open(struct tally *t, const char *path);

/*
 * Close the log.  Return 0, or -1 after printing a message if the log is
 * incomplete.
 */
int tally_close(struct tally *t);

/* Count an episode whose total reward is `reward`. */
void tally_episode(struct tally *t, double reward);

/*
 * Return the mean reward of the last n <= TALLY_LAST episodes.  If there are
 * fewer, return the mean of all; if there are none, return 0.
 */
double tally_mean(const struct tally *t, uint64_t n);

/*
 * Return whether the last hundred episodes reached the mean reward t->solved.
 */
bool tally_is_solved(const struct tally *t);

/*
 * Return the number of gradients per second since the first gradient.  Return 0
 * if there are fewer than two gradients.
 */
double tally_rate(const struct tally *t);

/* Return whether training must end now. */
bool tally_over(const struct tally *t);

#endif
