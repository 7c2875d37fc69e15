/* innet-memory - keep experiences and parameters for actors and learners */
#include "cmd/innet-memory/commands/part-list.h"
#include "cmd/innet-memory/server/conf.h"
#include "cmd/innet-memory/server/loop.h"

int
main(int argc, char *argv[])
{
	const struct conf cf = conf_parse(argc, argv);

	return server_run(&cf, part_list);
}
