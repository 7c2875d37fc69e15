/* Fuzz the bytes as a table of times. */
#include "cmd/innet-aom/ages/times-table.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct names clusters = { 0 }, workers = { 0 };
	struct times_table t = { 0 };
	char why[TIMES_TABLE_ERROR_BYTES] = "";
	FILE *f = fmemopen((void *)(uintptr_t)p, len, "r");

	if (f == NULL)		/* there are no bytes */
		return 0;
	if (times_table_parse(&t, f, "table", &clusters, &workers, true, why) ==
	    -1)
		must(why[0] != '\0', "what is wrong is named");
	times_table_sort(&t, false);
	times_table_sort(&t, true);
	for (size_t i = 0; i < t.n; i++)
		must(t.row[i].merged > 0 && t.row[i].cluster < clusters.n &&
		    t.row[i].worker < workers.n, "rows are sound");
	names_rank(&clusters);
	names_rank(&workers);
	names_free(&clusters);
	names_free(&workers);
	free(t.row);
	fclose(f);
	return 0;
}
