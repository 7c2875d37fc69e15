/*
 * timing.h - innet-aom of programs iswitch and dlp: the times of iterations
 */
#ifndef INNET_AOM_TIMING_H
#define INNET_AOM_TIMING_H

/*
 * Read the captures that the command line names and print what iterations of
 * the program ("iswitch" or "dlp") took; return the exit status.  Misuse ends
 * the process with status 2.
 */
int timing_run(const char *program, int argc, char *argv[]);

#endif
