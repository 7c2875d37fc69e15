/* store.c - save the weights of all clusters in a file, and load them */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/atomic-file.h"
#include "common/base/crc32c.h"
#include "common/base/file-open.h"
#include "common/base/message.h"
#include "common/wire/stream.h"

#include "cmd/innet-ps/store.h"

static const char magic[8] = { 'I', 'N', 'N', 'E', 'T', 'P', 'S', '2' };

enum { HEAD_BYTES = 12, RANGE_BYTES = 16 };

/* Parse a cluster at p.  Return its length, or 0 with the error in *why. */
static size_t
parse_cluster(const uint8_t *p, size_t left, struct server_rule *clusters,
    const char **why)
{
	struct server_rule *c;
	uint32_t elements, n;
	size_t need;

	*why = "is cut short within a cluster";
	if (left < HEAD_BYTES)
		return 0;
	c = &clusters[stream_get_le(p, 2)];
	elements = (uint32_t)stream_get_le(p + 4, 4);
	n = (uint32_t)stream_get_le(p + 8, 4);
	if (elements == 0 || n == 0 || n > elements ||
	    elements > STREAM_ELEMENTS_MAX || c->w != NULL) {
		*why = c->w != NULL ? "has the same cluster twice" :
		    "has a vector of impossible size";
		return 0;
	}
	need = HEAD_BYTES + (size_t)update_packets(elements, n) *
	    RANGE_BYTES +
	    (size_t)elements * 16;
	if (left < need)
		return 0;
	if (!server_rule_init(c, elements, n)) {
		*why = "needs more memory than the system has";
		return 0;
	}
	p += HEAD_BYTES;
	for (uint32_t r = 0; r < c->ranges; r++, p += RANGE_BYTES) {
		struct server_rule_range *at = &c->range[r];

		at->version = (uint32_t)stream_get_le(p, 4);
		at->step = (uint32_t)stream_get_le(p + 4, 4);
		memcpy(&at->reward, p + 8, 8);
		at->rewarded = isfinite(at->reward);
		c->whole += at->version != 0;
	}
	memcpy(c->w, p, (size_t)elements * 16);
	c->has_initial = true;
	c->initial_worker = UPDATE_ALL_WORKERS;
	*why = "has a value that is not finite";
	if (!vec_finite(p, (size_t)elements * 4))
		return 0;
	return need;
}

const char *
store_parse(const uint8_t *p, size_t len, struct server_rule *clusters)
{
	const char *why = NULL;
	size_t at = sizeof(magic), took;

	if (len < sizeof(magic) + 4 || memcmp(p, magic, sizeof(magic)) != 0)
		return "is not a file that innet-ps --save wrote";
	len -= 4;
	if (crc32c(0, p, len) != stream_get_le(p + len, 4))
		return "is damaged: its CRC is wrong";
	for (; at < len; at += took) {
		took = parse_cluster(p + at, len - at, clusters, &why);
		if (took == 0)
			return why;
	}
	return NULL;
}

void
store_load_or_exit(const char *path, struct server_rule *clusters)
{
	const int fd = file_open_again(path);
	FILE *f = fd == -1 ? NULL : fdopen(fd, "r");
	struct stat st;
	const char *why;
	uint8_t *p;

	if (f == NULL || fstat(fileno(f), &st) == -1)
		err(1, "%s", path);
	p = malloc((size_t)st.st_size + 1);
	if (p == NULL || fread(p, 1, (size_t)st.st_size, f) !=
	    (size_t)st.st_size)
		err(1, "%s", path);
	why = store_parse(p, (size_t)st.st_size, clusters);
	if (why != NULL)
		errx(1, "%s: %s", path, why);
	free(p);
	fclose(f);
}

struct writer {
	struct atomic_file file;
	FILE *f;		/* buffered stream of `file` */
	uint32_t crc;
	bool bad;
};

static void
put(struct writer *w, const void *p, size_t len)
{
	w->crc = crc32c(w->crc, p, len);
	w->bad |= fwrite(p, 1, len, w->f) != len;
}

static void
put_cluster(struct writer *w, unsigned id, const struct server_rule *c)
{
	uint8_t head[HEAD_BYTES] = { 0 }, range[RANGE_BYTES];

	stream_put_le(head, id, 2);
	stream_put_le(head + 4, c->elements, 4);
	stream_put_le(head + 8, c->n, 4);
	put(w, head, sizeof(head));
	for (uint32_t r = 0; r < c->ranges; r++) {
		const struct server_rule_range *at = &c->range[r];
		const double reward = at->rewarded ? at->reward : (double)NAN;

		stream_put_le(range, at->version, 4);
		stream_put_le(range + 4, at->step, 4);
		memcpy(range + 8, &reward, 8);
		put(w, range, sizeof(range));
	}
	put(w, c->w, (size_t)c->elements * 16);
}

int
store_save(const char *path, const struct server_rule *clusters)
{
	uint8_t crc[4];
	struct writer w = { 0 };

	/* The caller has locked `path`, so this process is its only writer. */
	if (atomic_file_open_tmp(&w.file, path) == -1 ||
	    (w.f = atomic_file_stream(&w.file)) == NULL) {
		warn("%s", path);
		return 1;
	}
	put(&w, magic, sizeof(magic));
	for (unsigned c = 0; c < 65536; c++) {
		if (server_rule_is_ready(&clusters[c]))
			put_cluster(&w, c, &clusters[c]);
	}
	stream_put_le(crc, w.crc, 4);
	put(&w, crc, sizeof(crc));
	w.bad |= fclose(w.f) == EOF;
	if (atomic_file_close(&w.file, !w.bad) == 0)
		return 0;
	warn("%s: cannot save the weights", path);
	return 1;
}
