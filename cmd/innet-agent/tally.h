/*
 * tally.h - count steps, episodes and gradients, and decide when to end
 *
 * It also keeps the rewards of the last hundred episodes and writes the log, a
 * row for each episode.
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
	uint64_t steps_end, episodes_end;	/* 0: no such end */
	double solved;		/* mean reward that ends it, with solve */
	bool solve;
	double last[TALLY_LAST];
	uint64_t begun_ns;	/* CLOCK_MONOTONIC */
	uint64_t play_ns;	/* spent playing */
	uint64_t lesson_ns;	/* spent learning, the next two included */
	uint64_t sink_ns;	/* in the gradient sink */
	uint64_t replay_ns;	/* in the replay memory */
	uint64_t first_ns;	/* time of the first gradient */
	uint64_t update_ns;	/* in the optimizer */
	FILE *log;		/* NULL: none; owned */
	const char *log_path;
	bool log_bad;		/* a row could not be written */
	const volatile sig_atomic_t *stop;	/* a signal came */
};

/* Return CLOCK_MONOTONIC in ns. */
uint64_t tally_now_ns(void);

/* Return the seconds since the run began. */
double tally_seconds(const struct tally *t);

/* Start the clock and the log at path (NULL: none); exits 1 if it cannot. */
void tally_open(struct tally *t, const char *path);

/* Close the log: 0, or -1 with a message if it is not whole. */
int tally_close(struct tally *t);

/* Count an episode with that reward in all. */
void tally_episode(struct tally *t, double reward);

/*
 * Return the mean reward of the last n <= TALLY_LAST episodes, or of all there
 * are; 0 if there are none.
 */
double tally_mean(const struct tally *t, uint64_t n);

/* Were the last hundred episodes good enough on average? */
bool tally_is_solved(const struct tally *t);

/* Return the gradients a second since the first; 0 if fewer than two. */
double tally_rate(const struct tally *t);

/* Is it time to end? */
bool tally_over(const struct tally *t);

#endif
