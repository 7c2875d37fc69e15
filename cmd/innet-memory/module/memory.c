/* memory.c - the amount of memory that the server allows */
#include "cmd/innet-memory/module/memory.h"

/* Return a field of the section "memory" of INFO. */
static uint64_t
read_memory_field(const char *name)
{
	void *i = RM_GetServerInfo(NULL, "memory");
	const uint64_t v = RM_ServerInfoGetFieldUnsigned(i, name, NULL);

	RM_FreeServerInfo(NULL, i);
	return v;
}

uint64_t
memory_limit(void)
{
	return read_memory_field("maxmemory");
}

size_t
memory_room(void)
{
	const uint64_t most = memory_limit();
	const uint64_t used = most == 0 ? 0 : read_memory_field("used_memory");

	return most == 0 ? SIZE_MAX : used < most ? (size_t)(most - used) : 0;
}

size_t
memory_room_for_value(void)
{
	const int unlimited = RM_CTX_SLAVE | RM_CTX_LOADING |
	    RM_CTX_ASYNC_LOADING;

	return RM_GetContextFlags(NULL) & unlimited ? SIZE_MAX : memory_room();
}
