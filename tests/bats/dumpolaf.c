/*
 * dumpolaf - the Olaf packets of a capture as lines of text, for tests
 *
 *	dumpolaf FILE	time_ns kind cluster worker sequence merged following
 *			generated_ns reward first_value n
 *
 * and of a model, occupancy, flags, active and capacity as well.
 */
#include <inttypes.h>
#include <stdio.h>

#include "common/capture/updates.h"

int
main(int argc, char *argv[])
{
	struct updates it;
	struct update u = { 0 };
	uint64_t t = 0;
	int got;

	if (argc != 2)
		errx(2, "usage: dumpolaf FILE");
	if (updates_open(&it, argv[1]) == -1)
		errx(1, "%s: %s", argv[1], it.in.why);
	while ((got = updates_next(&it, &t, &u)) == 1) {
		printf("%" PRIu64 " %u %u %" PRIu32 " %" PRIu32 " %u %u %"
		    PRIu64 " %g %g %" PRIu32, t, u.kind, u.cluster, u.worker,
		    u.sequence, u.merged, u.following, u.generated_ns,
		    (double)u.reward, (double)vec_get(u.vec, 0), u.n);
		if (u.kind == UPDATE_MODEL)
			printf(" %" PRIu32 " %d %u %u", u.status.occupancy,
			    u.status.filled | u.status.full << 1,
			    u.status.active, u.status.capacity);
		putchar('\n');
	}
	if (got == -1)
		return pcapio_warn_damage(&it.in);
	updates_close(&it);
	return 0;
}
