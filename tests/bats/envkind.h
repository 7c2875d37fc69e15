/*
 * envkind.h - an environment by the name that Gymnasium has for it
 */
#ifndef INNET_TESTS_ENVKIND_H
#define INNET_TESTS_ENVKIND_H

#include <string.h>

#include "cmd/innet-agent/env/kinds.h"
#include "cmd/innet-agent/env/env.h"

/* The kind that Gymnasium calls gym; NULL if there is none. */
static inline const struct env_kind *
envkind(const char *gym)
{
	for (size_t i = 0; env_kinds[i] != NULL; i++) {
		if (strcmp(env_kinds[i]->gym, gym) == 0)
			return env_kinds[i];
	}
	return NULL;
}

#endif
