/*
 * page-read.h - read files into a page
 */
#ifndef INNET_PLOT_PAGE_READ_H
#define INNET_PLOT_PAGE_READ_H

#include "cmd/innet-plot/page-rows.h"

/*
 * Read the file at path into the arm `name`.  The name and the contents of the
 * file determine its format.  Exit if the file cannot be read.
 */
void page_read(struct page *p, struct figure *fig, const char *path,
    const char *name);

#endif
