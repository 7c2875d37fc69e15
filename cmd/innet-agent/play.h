/* play.h - play with a saved policy, without learning */
#ifndef INNET_AGENT_PLAY_H
#define INNET_AGENT_PLAY_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Play `episodes` episodes with the policy at path, and always choose the most
 * probable action.  Print the mean reward to standard output or, if json is not
 * NULL, write an object to json.  Return 0, or 1 after printing a message.
 */
int play_policy(const char *path, uint64_t episodes, uint64_t seed, FILE *json,
    const volatile sig_atomic_t *stop);

#endif
