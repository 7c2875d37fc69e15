/* json.h - print a verdict for other programs, as one JSON object on a line */
#ifndef INNET_VERIFY_JSON_H
#define INNET_VERIFY_JSON_H

#include "cmd/innet-verify/solve.h"

void json_print(FILE *f, const struct spec *s, const struct objective *o,
    const struct answer *a);

#endif
