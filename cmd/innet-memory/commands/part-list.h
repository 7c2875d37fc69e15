/*
 * part-list.h - the list of the parts of innet-memory
 */
#ifndef INNET_MEMORY_COMMANDS_PART_LIST_H
#define INNET_MEMORY_COMMANDS_PART_LIST_H

#include "cmd/innet-memory/server/part.h"

extern const struct part *const part_list[];	/* the last entry is NULL */

#endif
