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
 *
 * Of several servers each has such a table, and the first all else.  Names on
 * server k then end in a tag, key-slot.h's for that part of the slots, so that
 * the masters of a Redis Cluster have them in that order, too.
 */
#ifndef INNET_AGENT_APEX_NAMES_H
#define INNET_AGENT_APEX_NAMES_H

#include "cmd/innet-agent/conf.h"
#include "cmd/innet-agent/apex/key-slot.h"

enum { NAMES_BYTES = 16 + KEYSLOT_TAG };

struct names {
	char table[NAMES_BYTES], list[NAMES_BYTES], params[NAMES_BYTES];
	char rewards[NAMES_BYTES], end[NAMES_BYTES];
};

/* Those on server k of so many. */
struct names names_on(size_t k, size_t servers);

/* How long the server is asked to wait for a limit, in ms. */
#define REMOTE_PATIENCE_MS 200

/* Play, and push what happens; learn from it: main's status. */
int apex_actor_run(const struct conf *cf, const volatile sig_atomic_t *got);
int apex_learner_run(const struct conf *cf, const volatile sig_atomic_t *got);

#endif
