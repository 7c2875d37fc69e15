/* checkpoint.c - write all keys into a checkpoint, and replace them from one */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/innet-memory/store/load.h"
#include "cmd/innet-memory/server/checkpoint.h"
#include "cmd/innet-memory/store/table-checkpoint.h"

static void
write_list(struct writer *w, const struct key *k)
{
	const struct blob *b;

	save_list(w, k->name, k->name_len, k->version, k->list.n);
	for (size_t i = 0; i < k->list.n; i++) {
		b = list_get(&k->list, i);
		writer_put_counted(w, b->bytes, b->len);
	}
}

static void
write_key(struct writer *w, const struct key *k)
{
	if (k->type == KEY_TABLE)
		table_write(w, k->table);
	else if (k->type == KEY_STRING)
		save_string(w, k->name, k->name_len, k->version,
		    k->string->bytes, k->string->len);
	else
		write_list(w, k);
	if (k->expires_ms != 0)
		save_expiry(w, k->expires_ms);
}

void
checkpoint_write(struct writer *w, void *arg)
{
	const struct server *srv = arg;

	save_clock(w, srv->version);
	for (size_t i = 0; i < srv->keys.n; i++)
		write_key(w, srv->keys.key[i]);
}

/*
 * The keys read so far; they replace the server's keys only after the whole
 * file was read without an error.
 */
struct checkpoint_state {
	struct keyspace keys;
	uint64_t version;
	struct key *key;	/* last key read; its elements follow */
};

static const char *
read_clock(void *arg, uint64_t version)
{
	struct checkpoint_state *b = arg;

	b->version = version;
	return NULL;
}

/* Add a key with this name.  Return NULL, or the reason if this fails. */
static const char *
read_key(struct checkpoint_state *b, const struct blob *name, uint64_t version,
    enum key_type type, struct key **k)
{
	if (keyspace_find(&b->keys, name->bytes, name->len) != NULL)
		return "a key that already exists";
	*k = keyspace_add(&b->keys, name->bytes, name->len);
	if (*k == NULL)
		return "no memory for another key";
	(*k)->type = type;
	(*k)->version = version;
	b->key = *k;
	return NULL;
}

static const char *
read_string(void *arg, const struct blob *key, uint64_t version,
    struct blob *value)
{
	struct key *k;
	const char *why = read_key(arg, key, version, KEY_STRING, &k);

	if (why == NULL)
		k->string = value;
	return why;
}

static const char *
read_list(void *arg, const struct blob *key, uint64_t version, uint64_t n)
{
	struct checkpoint_state *b = arg;
	struct key *k;
	const char *why;

	if (n == 0)
		return "an empty list";
	why = read_key(b, key, version, KEY_LIST, &k);
	if (why != NULL)
		return why;
	return list_reserve(&k->list, b->keys.account, (size_t)n) ? NULL :
	    "no memory for another list";
}

static const char *
read_element(void *arg, struct blob *e)
{
	struct checkpoint_state *b = arg;

	list_push(&b->key->list, e, false);
	return NULL;
}

static const char *
read_expiry(void *arg, uint64_t at_ms)
{
	struct checkpoint_state *b = arg;

	if (b->key == NULL || b->key->expires_ms != 0 || at_ms == 0)
		return "an expiry time without a key";
	keyspace_expire(&b->keys, b->key, at_ms);
	return NULL;
}

static const char *
read_table(void *arg, struct table *t)
{
	struct checkpoint_state *b = arg;

	const char *why = keyspace_add_table(&b->keys, t, &b->key);

	if (why == NULL)
		b->key->version = b->version;
	return why;
}

static void
clear_state(struct checkpoint_state *b)
{
	keyspace_clear(&b->keys);
}

bool
checkpoint_read(struct server *srv, const char *path, char *why, size_t size)
{
	struct checkpoint_state b = { .keys = { .account = &srv->account,
	    .lazy_free = &srv->lazy_free, .seed = srv->keys.seed } }, old;
	const struct load_target into = { &b, read_clock, read_string,
		read_list, read_element, read_table, read_expiry };
	/* O_NONBLOCK: without it, opening a pipe would wait for a writer */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	struct stat st;
	struct reader r;
	bool good;

	if (fd == -1 || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode)) {
		snprintf(why, size, "%s", fd == -1 && errno != ELOOP ?
		    strerror(errno) : "not a regular file");
		if (fd != -1)
			close(fd);
		return false;
	}
	good = load_file(&r, fd, &srv->account, &into);
	close(fd);
	if (good) {
		old = (struct checkpoint_state){ .keys = srv->keys };
		srv->keys = b.keys;
		if (b.version > srv->version)
			srv->version = b.version;
		clear_state(&old);
	} else {
		snprintf(why, size, "%s", r.why);
		clear_state(&b);
	}
	return good;
}
