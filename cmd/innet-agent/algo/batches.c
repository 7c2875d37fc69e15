/* batches.c - allocate, write and read rows of experiences */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/innet-agent/allocate.h"
#include "cmd/innet-agent/algo/batches.h"

struct rows
rows_open(size_t n, size_t wide)
{
	return (struct rows){
		.obs = allocate(n, wide * sizeof(float)),
		.next = allocate(n, wide * sizeof(float)),
		.action = allocate(n, sizeof(union env_action)),
		.reward = allocate(n, sizeof(float)),
		.go = allocate(n, sizeof(float)),
	};
}

void
rows_close(struct rows *r)
{
	free(r->obs);
	free(r->next);
	free(r->action);
	free(r->reward);
	free(r->go);
}

void
rows_put(struct rows *r, size_t i, size_t wide, const struct experience *e)
{
	memcpy(r->obs + i * wide, e->obs, wide * sizeof(*r->obs));
	memcpy(r->next + i * wide, e->next, wide * sizeof(*r->next));
	r->action[i] = e->action;
	r->reward[i] = e->reward;
	r->go[i] = e->go;
}

struct experience
rows_get(const struct rows *r, size_t i, size_t wide)
{
	return (struct experience){
		.obs = r->obs + i * wide, .next = r->next + i * wide,
		.action = r->action[i], .reward = r->reward[i],
		.go = r->go[i],
	};
}

struct batch
batch_open(size_t n, size_t wide)
{
	return (struct batch){
		.rows = rows_open(n, wide),
		.weight = allocate(n, sizeof(float)),
		.priority = allocate(n, sizeof(float)),
		.id = allocate(n, sizeof(uint64_t)),
	};
}

void
batch_close(struct batch *b)
{
	rows_close(&b->rows);
	free(b->weight);
	free(b->priority);
	free(b->id);
}
