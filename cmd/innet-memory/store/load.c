/* load.c - read a checkpoint: whole and undamaged, or not at all */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/wire/stream.h"

#include "cmd/innet-memory/store/load.h"
#include "cmd/innet-memory/store/save.h"
#include "cmd/innet-memory/store/table.h"

/* The source of a file: arg is its descriptor. */
static const char *
from_file(void *arg, void *p, size_t len)
{
	const int fd = *(const int *)arg;
	ssize_t n;

	for (size_t done = 0; done < len; done += (size_t)n) {
		n = read(fd, (uint8_t *)p + done, len - done);
		if (n == -1 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return n == 0 ? "the file ends here" : strerror(errno);
	}
	return NULL;
}

/* The sink has been offered b: its complaint, if any, is ours, and b too. */
static void
offered(struct load *l, const char *why, struct blob *b)
{
	if (why == NULL)
		return;
	blob_drop(l->blobs, b);
	load_refuse(l, "%s", why);
}

static void
load_string(struct load *l, const struct load_into *into)
{
	struct blob *key = load_counted(l);
	const uint64_t version = load_uint(l, 8);
	struct blob *value = load_counted(l);

	if (value != NULL)
		offered(l, into->string(into->arg, key, version, value), value);
	blob_drop(l->blobs, key);
}

static void
load_list(struct load *l, const struct load_into *into)
{
	struct blob *key = load_counted(l), *b;
	const uint64_t version = load_uint(l, 8), n = load_uint(l, 8);
	const char *why = NULL;

	if (load_good(l) && n > l->left / 8)	/* each has its length */
		load_refuse(l, "%" PRIu64 " elements, which are not here", n);
	if (load_good(l))
		why = into->list(into->arg, key, version, n);
	if (why != NULL)
		load_refuse(l, "%s", why);
	blob_drop(l->blobs, key);
	for (uint64_t i = 0; i < n && load_good(l); i++) {
		b = load_counted(l);
		if (b != NULL)
			offered(l, into->element(into->arg, b), b);
	}
}

static void
load_table(struct load *l, const struct load_into *into)
{
	struct table *t = table_load(l);
	const char *why;

	if (t == NULL)
		return;
	why = into->table(into->arg, t);
	if (why == NULL)
		return;
	table_close(t);
	load_refuse(l, "%s", why);
}

/* The records up to the end. */
static void
load_records(struct load *l, const struct load_into *into)
{
	const char *why;
	uint64_t v;

	for (;;) {
		const char kind = (char)load_uint(l, 1);

		if (!load_good(l) || kind == 'E')
			return;
		switch (kind) {
		case 'V':
			why = into->clock(into->arg, load_uint(l, 8));
			if (why != NULL)
				load_refuse(l, "%s", why);
			break;
		case 'X':
			v = load_uint(l, 8);
			why = load_good(l) ? into->expiry(into->arg, v) : NULL;
			if (why != NULL)
				load_refuse(l, "%s", why);
			break;
		case 'S': load_string(l, into); break;
		case 'L': load_list(l, into); break;
		case 'T': load_table(l, into); break;
		default:
			load_refuse(l, "a record of no known kind");
		}
	}
}

static void
load_whole(struct load *l, const struct load_into *into)
{
	char magic[SAVE_MAGIC_BYTES];
	uint8_t end[4];
	uint32_t crc;

	load_bytes(l, magic, sizeof(magic));
	if (load_good(l) && memcmp(magic, SAVE_MAGIC, sizeof(magic)) != 0) {
		l->offset = 0;
		load_refuse(l, "not a checkpoint of innet-memory");
	}
	l->version = (unsigned)load_uint(l, 4);
	if (l->version < 1 || l->version > SAVE_VERSION)
		load_refuse(l, "a checkpoint of another version");
	load_records(l, into);
	if (load_good(l) && l->left > 0)
		load_refuse(l, "%" PRIu64 " bytes behind the end", l->left);
	crc = l->crc;
	if (load_good(l) && load_rest(l, end, sizeof(end)) &&
	    stream_get_le(end, sizeof(end)) != crc)
		load_refuse(l,
		    "damaged: the CRC-32C of all before is not this");
}

bool
load_from(struct load *l, int fd, struct blobs *blobs,
    const struct load_into *into)
{
	struct stat st;

	load_open(l, from_file, &fd, 0, blobs);
	if (load_good(l) && fstat(fd, &st) == -1)
		load_refuse(l, "%s", strerror(errno));
	else if (load_good(l) && st.st_size < SAVE_HEAD_BYTES + 5)
		load_refuse(l, "too short for a checkpoint: %" PRIu64 " bytes",
		    (uint64_t)st.st_size);
	if (load_good(l)) {
		l->left = (uint64_t)st.st_size - sizeof(l->crc);
		load_whole(l, into);
	}
	return load_close(l);
}
