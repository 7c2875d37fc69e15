/* presets.h - hyperparameters with which an algorithm learns an environment */
#ifndef INNET_AGENT_PRESETS_H
#define INNET_AGENT_PRESETS_H

#include "cmd/innet-agent/hyperparameters.h"

/*
 * Return the preset of the algorithm for the environment.  If there is none,
 * return the algorithm's first preset.
 */
const struct hyperparameters *presets_find(const char *algo, const char *env);

#endif
