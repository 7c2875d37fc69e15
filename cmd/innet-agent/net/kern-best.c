/* kern-best.c - choose the fastest loops that this processor runs */
#include "config.h"

#include "cmd/innet-agent/net/kern-avx2.h"
#include "cmd/innet-agent/net/kern-best.h"

const struct kern *
kern_best(void)
{
	const struct kern *fast = kern_avx2();

	return fast != NULL ? fast : &kern_plain;
}
