/*
 * innet-aom - measure age, loss and fairness from captures
 *
 * It is two programs with one command line.  ages/ has the ages of Olaf's
 * updates; timing/ has the times of iSwitch's iterations and DLP's steps.
 * Neither knows the other.  format/ reads packets that are not innet's.
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

	signal(SIGPIPE, SIG_IGN);	/* a closed pipe is a write error */
	if (strcmp(program, "olaf") == 0)
		return ages_run(argc, argv);
	return timing_run(program, argc, argv);
}
