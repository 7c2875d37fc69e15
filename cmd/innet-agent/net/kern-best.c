/* kern-best.c - choose the fastest set of loops for this processor */
#include "config.h"

#include "cmd/innet-agent/net/kern-avx2.h"
#include "cmd/innet-agent/net/kern-avx512.h"
#include "cmd/innet-agent/net/kern-best.h"

const struct kern *
kern_best(void)
{
	const struct kern *fast = kern_avx512();

	if (fast == NULL)
		fast = kern_avx2();
	return fast != NULL ? fast : &kern_plain;
}
