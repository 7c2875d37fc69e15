/*
 * Fuzz the saved weights of innet-ps.  The input is the bytes after the magic. 
 * The target adds a right CRC, so that the fuzzer gets past it.  The server
 * must be able to answer from weights that load.
 */
#include "cmd/innet-ps/store.h"
#include "common/base/crc32c.h"
#include "common/wire/stream.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static struct server_rule clusters[65536];
	uint8_t *file = malloc(8 + len + 4);
	const char *why;

	if (file == NULL)
		abort();
	memcpy(file, "INNETPS2", 8);
	if (len > 0)
		memcpy(file + 8, p, len);
	stream_put_le(file + 8 + len, crc32c(0, file, 8 + len), 4);
	why = store_parse(file, 8 + len + 4, clusters);
	must(why == NULL || why[0] != '\0', "a refusal says why");
	for (unsigned c = 0; c < 65536; c++) {
		if (clusters[c].w == NULL)
			continue;
		if (why == NULL)
			must(vec_finite((const uint8_t *)clusters[c].w,
			    (size_t)clusters[c].elements * 4),
			    "what is loaded is finite");
		server_rule_free(&clusters[c]);
	}
	must(store_parse(p, len, clusters) != NULL || len >= 12,
	    "a short file is none");
	for (unsigned c = 0; c < 65536; c++)
		server_rule_free(&clusters[c]);
	free(file);
	return 0;
}
