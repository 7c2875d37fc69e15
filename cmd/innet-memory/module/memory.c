/* memory.c - how much memory the server allows */
#include "cmd/innet-memory/module/memory.h"

/* Return a field of INFO memory. */
static uint64_t
read_memory_field(struct client *c, const char *name)
{
	void *i = RM_GetServerInfo(c->ctx, "memory");
	const uint64_t v = RM_ServerInfoGetFieldUnsigned(i, name, NULL);

	RM_FreeServerInfo(c->ctx, i);
	return v;
}

uint64_t
memory_limit(struct client *c)
{
	return read_memory_field(c, "maxmemory");
}

bool
memory_has_room(struct client *c, size_t bytes)
{
	const uint64_t most = memory_limit(c);
	const uint64_t used = read_memory_field(c, "used_memory");

	return most == 0 || (used < most && bytes <= most - used);
}
