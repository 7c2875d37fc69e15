/* timing.h - innet-aom for the programs iswitch and dlp: iteration times */
#ifndef INNET_AOM_TIMING_H
#define INNET_AOM_TIMING_H

/*
 * Read the captures that the command line names, and print how long the
 * iterations of the program ("iswitch" or "dlp") took.  Return the exit status.
 * Misuse ends the process with status 2.
 */
int timing_run(const char *program, int argc, char *argv[]);

#endif
