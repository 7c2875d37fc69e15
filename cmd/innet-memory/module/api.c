/* api.c - fetch the functions of the server by name */
#include "cmd/innet-memory/module/api.h"

#define API_DEFINE(ret, name, args) ret (*RM_##name) args;
API_NEEDED(API_DEFINE)
API_WANTED(API_DEFINE)

const char *
api_open(struct rm_ctx *c)
{
	int (*get)(const char *name, void *to);

	*(void **)&get = c->get_api;
#define API_FETCH(ret, name, args) \
	if (get("RedisModule_" #name, (void *)&RM_##name) != RM_OK) \
		return "RedisModule_" #name;
	API_NEEDED(API_FETCH)
#define API_TRY(ret, name, args) \
	if (get("RedisModule_" #name, (void *)&RM_##name) != RM_OK) \
		RM_##name = NULL;
	API_WANTED(API_TRY)
	return NULL;
}
