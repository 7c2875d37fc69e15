/* servers.h - the programs of innet-ps */
#ifndef INNET_PS_SERVERS_H
#define INNET_PS_SERVERS_H

#include "common/switch/program.h"

/*
 * Return the list of programs, which ends with NULL.  These are the programs of
 * innet-switch, implemented as servers: olaf keeps weights, iswitch waits for
 * whole vectors or answers each vector, and dlp behaves like the server of the
 * thesis.
 */
const struct program *const *servers(void);

#endif
