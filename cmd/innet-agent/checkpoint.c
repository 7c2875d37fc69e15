/* checkpoint.c - take, write and read the state of training */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/innet-agent/checkpoint.h"
#include "cmd/innet-agent/policy-file.h"
#include "common/base/atomic-file.h"
#include "common/base/crc32c.h"
#include "common/base/file-link.h"
#include "common/base/message.h"
#include "common/wire/stream.h"

enum { MARK_BYTES = 8, CRC_BYTES = 4 };

static const char mark[MARK_BYTES + 1] = "innetck1";	/* follows the
							   weights */

/* The settings that must be the same when training continues. */
struct required {
	uint64_t envs, rule, params;
};

static struct required
required_settings(const struct checkpoint *c)
{
	return (struct required){ .envs = c->l->hyper.envs,
	    .rule = c->optimizer->rule, .params = c->l->params };
}

/* Name the parts of the state, except the weights. */
static void
name_parts(struct checkpoint *c, struct snapshot *s)
{
	struct learner *l = c->l;
	struct tally *t = l->tally;
	struct optimizer *o = c->optimizer;

	l->algo->parts(l, s);
	snapshot_part(s, &l->rng, sizeof(l->rng));
	snapshot_part(s, &t->steps, sizeof(t->steps));
	snapshot_part(s, &t->episodes, sizeof(t->episodes));
	snapshot_part(s, &t->gradients, sizeof(t->gradients));
	snapshot_part(s, t->last, sizeof(t->last));
	snapshot_part(s, &o->steps, sizeof(o->steps));
	snapshot_part(s, o->m, o->params * sizeof(*o->m));
	snapshot_part(s, o->v, o->params * sizeof(*o->v));
	if (c->more != NULL)
		c->more(c->arg, s);
}

static uint64_t
count_updates(const struct checkpoint *c)
{
	return c->iteration != NULL ? *c->iteration : c->l->tally->gradients;
}

void
checkpoint_take(struct checkpoint *c)
{
	const uint64_t iteration = c->iteration != NULL ? *c->iteration : 0;
	struct required same = required_settings(c);
	uint8_t head[POLICY_FILE_HEAD_MAX];

	c->last.len = 0;
	snapshot_add(&c->last, head, policy_file_head(head, c->l, c->l->params,
	    iteration));
	snapshot_add(&c->last, c->l->w, c->l->params * sizeof(*c->l->w));
	snapshot_add(&c->last, mark, MARK_BYTES);
	snapshot_add(&c->last, &same, sizeof(same));
	name_parts(c, &c->last);
	c->updates = count_updates(c);
}

/*
 * Keep the current file at path as path + ".old".  The workers of a job are at
 * most one checkpoint apart, so with the old files all of them have a
 * checkpoint of the same iteration.
 */
static void
keep_old_copy(const char *path)
{
	struct stat st;
	char *old, *link_, end[PATH_MAX];

	if (!file_link_end(path, end) || lstat(end, &st) == -1 ||
	    !S_ISREG(st.st_mode))
		return;
	if (asprintf(&old, "%s.old", path) == -1)
		err(1, "%s", path);
	if (asprintf(&link_, "%s.tmp", old) == -1)
		err(1, "%s", path);
	unlink(link_);
	if ((link(end, link_) == 0 ? rename(link_, old) :
	    rename(end, old)) == -1)
		warn("%s", old);
	free(link_);
	free(old);
}

static int
write_last(struct checkpoint *c)
{
	const uint32_t crc = crc32c(0, c->last.bytes, c->last.len);
	struct atomic_file to;
	bool good;

	if (atomic_file_open_tmp(&to, c->path) == 0) {
		good = atomic_file_write(&to, c->last.bytes, c->last.len) &&
		    atomic_file_write(&to, &crc, CRC_BYTES);
		if (good && c->iteration != NULL)
			keep_old_copy(c->path);
		if (atomic_file_close(&to, good) == 0) {
			c->written = c->updates;
			c->there = true;
			return 0;
		}
	}
	warn("%s", c->path);
	return -1;
}

void
checkpoint_lesson(void *checkpoint)
{
	struct checkpoint *c = checkpoint;
	const uint64_t before = c->written / c->every;

	checkpoint_take(c);
	if (c->updates / c->every > before)
		write_last(c);
}

int
checkpoint_end(struct checkpoint *c)
{
	if (c->last.len == 0)
		return policy_file_write(c->path, c->l);
	return c->there && c->written == c->updates ? 0 : write_last(c);
}

void
checkpoint_free(struct checkpoint *c)
{
	snapshot_free(&c->last);
}

/*
 * Read the whole file or pipe at path.  Return 0, or -1 after printing a
 * message.
 */
static int
read_whole_file(struct snapshot *s, const char *path)
{
	const int fd = file_open_read(path);
	uint8_t piece[65536];
	struct stat st;
	ssize_t n = -1;

	if (fd != -1 && fstat(fd, &st) == 0) {
		if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode)) {
			warnx("%s: not a regular file, so it cannot be a "
			    "checkpoint", path);
			close(fd);
			return -1;
		}
		while ((n = read(fd, piece, sizeof(piece))) > 0)
			snapshot_add(s, piece, (size_t)n);
	}
	if (n == -1)
		warn("%s", path);
	if (fd != -1)
		close(fd);
	return n == -1 ? -1 : 0;
}

/*
 * Return the body of the message at s->at and advance s->at.  On failure,
 * return NULL and set *why.
 */
static const uint8_t *
next_message(struct snapshot *s, enum stream_kind kind, struct stream_head *h,
    const char **why)
{
	const uint8_t *head = s->bytes + s->at;
	const size_t left = s->len - s->at;

	*why = "the file ends too early";
	if (left < STREAM_HEADER_BYTES)
		return NULL;
	*why = stream_get(head, h);
	if (*why == NULL && h->kind != kind)
		*why = "this is not a checkpoint";
	if (*why == NULL &&
	    left - STREAM_HEADER_BYTES < stream_body_bytes(h))
		*why = "the file ends too early";
	if (*why != NULL)
		return NULL;
	s->at += STREAM_HEADER_BYTES + stream_body_bytes(h);
	return head + STREAM_HEADER_BYTES;
}

/*
 * Return whether the file was written for the learner's environment and
 * algorithm.  If not, print a message.
 */
static bool
is_of_same_kind(struct snapshot *s, const struct learner *l, const char *path)
{
	const struct env_kind *env;
	const struct algo *algo;
	struct stream_head h;
	const char *why;
	const uint8_t *text = next_message(s, STREAM_HELLO, &h, &why);

	if (text != NULL)
		why = policy_file_names(text, h.elements, &env, &algo);
	if (why != NULL)
		warnx("%s: %s", path, why);
	else if (env != l->kind || algo != l->algo)
		warnx("%s: the checkpoint was written by %s on %s, not by %s "
		    "on %s; give the same --algo and --env", path,
		    algo->name, env->name, l->algo->name, l->kind->name);
	else
		return true;
	return false;
}

/*
 * Restore the weights and the state, which begin at s->at.  Return NULL, or a
 * description of the error.
 */
static const char *
restore_state(struct checkpoint *c, struct snapshot *s)
{
	const struct required want = required_settings(c);
	struct required same;
	char found[MARK_BYTES] = { 0 };
	struct stream_head h;
	const char *why;
	const uint8_t *w = next_message(s, STREAM_WEIGHTS, &h, &why);
	uint32_t crc;

	if (w == NULL)
		return why;
	if (s->at == s->len)
		return "this is a saved policy, not a checkpoint of "
		    "--save-every";
	if (s->len - s->at < CRC_BYTES)
		return "the file ends too early";
	s->len -= CRC_BYTES;
	memcpy(&crc, s->bytes + s->len, CRC_BYTES);
	if (crc != crc32c(0, s->bytes, s->len))
		return "the file is damaged or cut short: its checksum is "
		    "wrong";
	snapshot_part(s, found, MARK_BYTES);
	snapshot_part(s, &same, sizeof(same));
	if (s->bad || memcmp(found, mark, MARK_BYTES) != 0)
		return "this is a checkpoint of another version";
	if (same.envs != want.envs)
		return "the checkpoint has another number of --envs";
	if (same.rule != want.rule)
		return "the checkpoint has another --optimizer";
	if (same.params != want.params || h.elements != want.params)
		return "the checkpoint has another number of weights; give the "
		    "same --hidden";
	memcpy(c->l->w, w, want.params * sizeof(*c->l->w));
	name_parts(c, s);
	if (c->iteration != NULL)
		*c->iteration = h.iteration;
	return snapshot_whole(s) ? NULL : "this is a checkpoint of another "
	    "version";
}

int
checkpoint_load(struct checkpoint *c, const char *path)
{
	struct snapshot s = { .reading = true };
	struct tally *t = c->l->tally;
	const char *why;
	int rc = -1;

	if (read_whole_file(&s, path) == 0 && is_of_same_kind(&s, c->l, path)) {
		why = restore_state(c, &s);
		if (why != NULL)
			warnx("%s: %s", path, why);
		rc = why == NULL ? 0 : -1;
	}
	snapshot_free(&s);
	if (rc == -1)
		return -1;
	t->begun = (struct tally_begun){ .steps = t->steps,
	    .episodes = t->episodes, .gradients = t->gradients };
	if (c->path != NULL)
		checkpoint_take(c);
	c->written = count_updates(c);
	return 0;
}
