/*
 * key-names.h - the names of the keys that actors and a learner share (Ape-X)
 *
 *	innet:replay	the experiences: a table of innet-memory
 *	innet:list	on a plain Redis, a list of the experiences; each item
 *			is a priority (binary32) and the experience
 *	innet:params	the learner's policy, as --save writes it
 *	innet:rewards	a list; each item is an actor's index, the number of
 *			actors, the actor's steps and an episode's reward
 *	innet:end	exists when training is over
 *
 * If there are several servers, each has a table, and the first server has all
 * other keys.  The names on server k then end with a tag (key-slot.h), so that
 * the masters of a Redis Cluster store them in the order of the servers.
 */
#ifndef INNET_AGENT_APEX_KEY_NAMES_H
#define INNET_AGENT_APEX_KEY_NAMES_H

#include "cmd/innet-agent/conf.h"
#include "cmd/innet-agent/apex/key-slot.h"

enum { NAMES_BYTES = 16 + KEYSLOT_TAG };

struct names {
	char table[NAMES_BYTES], list[NAMES_BYTES], params[NAMES_BYTES];
	char rewards[NAMES_BYTES], end[NAMES_BYTES];
};

/* Return the names on server k of `servers`. */
struct names names_on(size_t k, size_t servers);

/* The longest time that a server may wait for a rate limit, in ms. */
#define REMOTE_PATIENCE_MS 200

/*
 * Run an actor, which plays and pushes its experiences, or a learner, which
 * learns from them.  Return the exit status of main().
 */
int apex_actor_run(const struct conf *cf, const volatile sig_atomic_t *got);
int apex_learner_run(const struct conf *cf, const volatile sig_atomic_t *got);

#endif
