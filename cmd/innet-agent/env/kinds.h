/* kinds.h - the environments that --env offers */
#ifndef INNET_AGENT_ENV_KINDS_H
#define INNET_AGENT_ENV_KINDS_H

#include "cmd/innet-agent/env/env.h"

/* All kinds, ended by NULL.  The first one is the default of --env. */
extern const struct env_kind *const env_kinds[];

/* Return the names of env_kinds in the same order, ended by NULL. */
const char *const *env_names(void);

/* Each kind is defined in the file of the same name. */
extern const struct env_kind env_acrobot, env_breakout, env_cartpole,
    env_mountaincar, env_mountaincar_continuous, env_pendulum;
extern const struct env_kind env_lunarlander, env_lunarlander_continuous;
/*
 * The next kinds are defined only if configure was asked to use Box2D and found
 * it.
 */
extern const struct env_kind env_lunarlander_box2d,
    env_lunarlander_continuous_box2d;

#endif
