/*
 * innet-aom - measure age, loss and fairness from captures
 *
 * innet-aom has two independent parts with one command line: ages/ measures the
 * ages of Olaf's updates, and timing/ measures iterations of iSwitch and steps
 * of DLP.  The files in format/ read packets of other protocols.
 */
#include <signal.h>
#include <string.h>

#include "cmd/innet-aom/ages/ages.h"
#include "cmd/innet-aom/options.h"
#include "cmd/innet-aom/timing/timing.h"

int
main(int argc, char *argv[])
{
	const char *program = options_program(argc, argv);

	signal(SIGPIPE, SIG_IGN);	/* report a write to a closed pipe as a
					 * write error, instead of ending by a
					 * signal */
	if (strcmp(program, "olaf") == 0)
		return ages_run(argc, argv);
	return timing_run(program, argc, argv);
}
