/* kinds.c - the table of environments */
#include "config.h"

#include "cmd/innet-agent/env/kinds.h"

const struct env_kind *const env_kinds[] = {
	&env_cartpole,
	&env_mountaincar,
	&env_mountaincar_continuous,
	&env_acrobot,
	&env_pendulum,
	&env_breakout,
	&env_lunarlander,
	&env_lunarlander_continuous,
#ifdef HAVE_BOX2D
	&env_lunarlander_box2d,
	&env_lunarlander_continuous_box2d,
#endif
	NULL
};

const char *const *
env_names(void)
{
	static const char *names[sizeof(env_kinds) / sizeof(*env_kinds)];

	for (size_t i = 0; env_kinds[i] != NULL; i++)
		names[i] = env_kinds[i]->name;
	return names;
}
