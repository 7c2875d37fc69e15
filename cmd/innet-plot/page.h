/*
 * page.h - write a page of pictures and tables as one HTML file
 */
#ifndef INNET_PLOT_PAGE_H
#define INNET_PLOT_PAGE_H

#include "cmd/innet-plot/page-rows.h"

/*
 * Write the page to path, completely or not at all.  Return 0, or print a
 * message and return 1.
 */
int page_write(struct page *p, const char *path);

/* Free everything that the page owns. */
void page_free(struct page *p);

#endif
