/*
 * names.h - actors, a learner and the memory between them (Ape-X)
 *
 * What they keep on the server, under which names:
 *
 *	innet:replay	the experiences: a table of innet-memory's
 *	innet:list	or, on a plain Redis, a list of them: each the
 *			priority, binary32, and the experience
 *	innet:params	the learner's policy, as --save writes it
 *	innet:rewards	a list: actor, actors, steps so far, an episode's reward
 *	innet:end	is there when training is over
 */
#ifndef INNET_AGENT_APEX_NAMES_H
#define INNET_AGENT_APEX_NAMES_H

#include "cmd/innet-agent/conf.h"

#define REMOTE_TABLE "innet:replay"
#define REMOTE_LIST "innet:list"
#define REMOTE_PARAMS "innet:params"
#define REMOTE_REWARDS "innet:rewards"
#define REMOTE_END "innet:end"

/* How long the server is asked to wait for a limit, in ms. */
#define REMOTE_PATIENCE_MS 200

/* Play, and push what happens; learn from it: main's status. */
int actor_run(const struct conf *cf, const volatile sig_atomic_t *got);
int apex_run(const struct conf *cf, const volatile sig_atomic_t *got);

#endif
