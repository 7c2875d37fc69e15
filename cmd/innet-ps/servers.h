/* servers.h - the programs of innet-ps */
#ifndef INNET_PS_SERVERS_H
#define INNET_PS_SERVERS_H

#include "common/switch/program.h"

/*
 * Return the programs, ending with NULL.  They are those of innet-switch, as
 * servers: olaf keeps weights, iswitch waits for whole vectors or answers each,
 * and dlp behaves like the server of the thesis.
 */
const struct program *const *servers(void);

#endif
