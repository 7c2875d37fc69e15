/*
 * page.h - write a page of pictures and tables as one HTML file
 */
#ifndef INNET_PLOT_PAGE_H
#define INNET_PLOT_PAGE_H

#include "cmd/innet-plot/page-rows.h"

/* Write the page to path, whole or not at all: 0, or 1 with a message. */
int page_write(struct page *p, const char *path);

/* Free all that the page owns. */
void page_free(struct page *p);

#endif
