/*
 * Fuzz JSON from the network as innet-ctl prints it; byte 0 selects the kind.
 */
#include "common/wire/control.h"
#include "tests/fuzz/fuzz.h"

#include "cmd/innet-ctl/paged.h"
#include "cmd/innet-ctl/show.h"

/* No output may affect a terminal; a label may have other characters. */
static void
check(const char *text, size_t len, bool labels)
{
	for (size_t i = 0; i < len; i++)
		must((text[i] >= 0x20 && text[i] <= 0x7e) || text[i] == '\n' ||
		    labels, "a table is of printable characters");
	must(len > 0 && text[len - 1] == '\n', "the last line is whole");
}

/* Print it in one format or in all. */
static void
show(uint8_t action, const cJSON *root)
{
	char *text = NULL;
	size_t len = 0, tables = 0;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		abort();
	if (action == CONTROL_MEMBERS) {
		show_members(f, root);
	} else if (action == CONTROL_JOBS) {
		show_jobs(f, root);
	} else {
		show_stats(f, root, NULL, 0, true);
		show_stats(f, root, root, 0.5, false);
	}
	fflush(f);
	tables = len;
	if (action == CONTROL_STATS)
		show_prometheus(f, root, (cJSON *const *)&root, 1);
	fclose(f);
	check(text, tables, false);
	check(text, len, true);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static const uint8_t actions[] = { CONTROL_MEMBERS, CONTROL_STATS,
	    CONTROL_JOBS };
	const uint8_t action = actions[len > 0 ? p[0] % 3 : 0];
	struct paged g = { 0 }, again = { 0 };

	if (len < 1)
		return 0;
	g.text = (char *)malloc(len);
	if (g.text == NULL)
		abort();
	memcpy(g.text, p + 1, len - 1);
	g.text[len - 1] = '\0';
	if (paged_parse(&g, len - 1)) {
		must(strpbrk(g.text, "\n\r\033") == NULL, "it is one line");
		again.text = strdup(g.text);
		must(again.text != NULL &&
		    paged_parse(&again, strlen(again.text)) &&
		    strcmp(again.text, g.text) == 0,
		    "the line is the same object again");
		if (show_lacks(action, g.root) == NULL)
			show(action, g.root);
	}
	paged_free(&again);
	paged_free(&g);
	return 0;
}
