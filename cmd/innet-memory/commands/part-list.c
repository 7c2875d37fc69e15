/* part-list.c - the list of the parts of innet-memory */
#include "cmd/innet-memory/commands/part-list.h"
#include "cmd/innet-memory/commands/parts.h"

const struct part *const part_list[] = {&admin_part, &connection_part,
    &info_part, &keys_part, &expire_part, &strings_part, &lists_part,
    &blocking_part, &transactions_part, &persistence_part, &per_part, NULL};
