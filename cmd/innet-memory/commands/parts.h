/*
 * parts.h - what the server is made of: see server.h
 */
#ifndef INNET_MEMORY_SERVER_PARTS_H
#define INNET_MEMORY_SERVER_PARTS_H

#include "cmd/innet-memory/server/server.h"

extern const struct part admin_part, blocking_part, connection_part,
    expire_part, info_part, keys_part, lists_part, saves_part, strings_part,
    tables_part, tx_part;

#endif
