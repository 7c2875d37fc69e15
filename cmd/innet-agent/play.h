/* play.h - let a saved policy play, without learning */
#ifndef INNET_AGENT_PLAY_H
#define INNET_AGENT_PLAY_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Play so many episodes of the policy at path, each time the likeliest
 * action, and print the mean reward to standard output, or as an object to
 * json if that is not NULL: 0, or 1 with a message.
 */
int play_policy(const char *path, uint64_t episodes, uint64_t seed, FILE *json,
    const volatile sig_atomic_t *stop);

#endif
