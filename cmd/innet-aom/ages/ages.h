/*
 * ages.h - innet-aom for the program olaf: ages, loss and fairness of updates
 */
#ifndef INNET_AOM_AGES_H
#define INNET_AOM_AGES_H

/*
 * Read the captures or tables that the command line names, and print their
 * figures.  Return the exit status.  Misuse ends the process with status 2.
 */
int ages_run(int argc, char *argv[]);

#endif
