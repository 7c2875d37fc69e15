/* presets.h - settings with which an algorithm learns an environment */
#ifndef INNET_AGENT_PRESETS_H
#define INNET_AGENT_PRESETS_H

#include "cmd/innet-agent/hyperparameters.h"

/* Those of that algorithm for that environment, or the algorithm's own. */
const struct hyperparameters *presets_find(const char *algo, const char *env);

#endif
