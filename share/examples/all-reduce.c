/*
 * all-reduce.c - add a vector of each process in the switch: innet_worker(3)
 *
 *	cc all-reduce.c -o all-reduce $(pkg-config --cflags --libs innet)
 *	./all-reduce HOST:PORT RANK RANKS
 */
#include <err.h>
#include <innet_worker.h>
#include <stdio.h>
#include <stdlib.h>

int
main(int argc, char *argv[])
{
	static float vec[10000];
	static struct innet_worker_options o;
	char why[INNET_WORKER_TEXT_BYTES];
	struct innet_worker *w;
	uint64_t ticket;

	if (argc != 4)
		errx(2, "usage: all-reduce HOST:PORT RANK RANKS");
	o.size = sizeof(o);
	o.address = argv[1];
	o.rank = (uint32_t)atoi(argv[2]);
	o.ranks = (uint32_t)atoi(argv[3]);
	w = innet_worker_join(&o, why);
	if (w == NULL)
		errx(1, "%s", why);

	for (int i = 0; i < 10000; i++)
		vec[i] = (float)o.rank;
	ticket = innet_worker_start(w, vec, vec, 10000, NULL);
	/* the program can compute here while the vectors are added */
	if (innet_worker_wait(w, ticket, INNET_WORKER_NEVER) != 0)
		errx(1, "%s", innet_worker_error(w, why));
	printf("rank %u: the sum is %g\n", o.rank, (double)vec[0]);
	innet_worker_leave(w);
	return 0;
}
