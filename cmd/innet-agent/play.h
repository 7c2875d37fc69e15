/* play.h - let a saved policy play, without learning */
#ifndef INNET_AGENT_PLAY_H
#define INNET_AGENT_PLAY_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Play so many episodes of the policy at path, each time the likeliest
 * action, and print the mean reward: 0, or 1 with a message.
 */
int play(const char *path, uint64_t episodes, uint64_t seed, bool json,
    const volatile sig_atomic_t *stop);

#endif
