/* servers.h - the programs of innet-ps */
#ifndef INNET_PS_SERVERS_H
#define INNET_PS_SERVERS_H

#include "common/switch/program.h"

/*
 * Programs as innet-switch has them, but for what makes them servers: olaf
 * keeps weights, iswitch waits for whole vectors or answers each, dlp does as
 * the thesis's server.  The list ends with NULL.
 */
const struct program *const *servers(void);

#endif
