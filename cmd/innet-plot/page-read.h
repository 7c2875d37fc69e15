/*
 * page-read.h - read files into a page
 */
#ifndef INNET_PLOT_PAGE_READ_H
#define INNET_PLOT_PAGE_READ_H

#include "cmd/innet-plot/page-rows.h"

/*
 * Read the file at path into the arm `name`; its contents decide its kind.
 * Exits if it cannot be read.
 */
void page_read(struct page *p, struct figure *fig, const char *path,
    const char *name);

#endif
