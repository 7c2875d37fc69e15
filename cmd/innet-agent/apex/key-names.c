/* key-names.c - the names of the keys that actors and a learner share */
#include "config.h"

#include "cmd/innet-agent/apex/key-names.h"

static void
print_name(char to[NAMES_BYTES], const char *what, const char *tag)
{
	snprintf(to, NAMES_BYTES, "innet:%s%s", what, tag);
}

struct names
names_on(size_t k, size_t servers)
{
	char tag[KEYSLOT_TAG] = "";
	struct names n;

	if (servers > 1)
		keyslot_tag((unsigned)k, (unsigned)servers, tag);
	print_name(n.table, "replay", tag);
	print_name(n.list, "list", tag);
	print_name(n.params, "params", tag);
	print_name(n.rewards, "rewards", tag);
	print_name(n.end, "end", tag);
	return n;
}
