/* source.c - read the updates of several captures in order of time */
#include "common/base/message.h"

#include "cmd/innet-aom/ages/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Return the timestamp t converted to the clock of the run. */
static uint64_t
move_stamp(const struct source_file *f, uint64_t t)
{
	const __int128 v = (__int128)t + f->offset_ns;

	if (v < 0)
		errx(1, "%s: --offset moves a packet to a time before 1970",
		    pcapio_name(f->up.in.path, false));
	return v > INT64_MAX ? INT64_MAX : (uint64_t)v;
}

static void
set_update(const struct source_options *options, const struct format_found *in,
    struct source_update *to)
{
	const uint32_t cluster =
	    names_get_number(options->clusters, &in->cluster);

	if (cluster > UINT16_MAX)
		errx(1, "there are more than 65536 clusters; check that the "
		    "field of the cluster is the right one");
	to->u = (struct update){ .kind = UPDATE_UPDATE,
	    .cluster = (uint16_t)cluster,
	    .worker = names_get_number(options->workers, &in->worker),
	    .sequence = (uint32_t)in->sequence,
	    .merged = (uint16_t)in->merged,
	    .generated_ns = in->generated_ns };
	to->hash = in->hash;
	to->reward = in->reward;
}

/*
 * Get the next update from the messages of the current packet.  Return false if
 * no update is left.
 */
static bool
next_message(const struct source *s, struct source_file *f)
{
	struct format_packet k;
	struct format_message g;
	struct format_found found;
	unsigned verdict;
	int got;

	while ((got = messages_next(&f->m, &k, &g, &f->next.stamp_ns)) == 1) {
		verdict = format_update(s->options->format, &k, &g, &found);
		if (verdict == UPDATE_OK) {
			set_update(s->options, &found, &f->next);
			return true;
		}
		f->up.regular += verdict == SOUNDNESS_REGULAR;
		f->up.ignored[verdict] += verdict != SOUNDNESS_REGULAR;
	}
	if (got == -1)
		f->up.ignored[f->m.bad]++;
	return false;
}

/*
 * Read one more packet of the format.  Return false at the end of the capture.
 */
static bool
read_format_packet(struct source *s, struct source_file *f)
{
	struct updates *up = &f->up;
	struct pcapio_packet p = { 0 };
	const int got = pcapio_next(&up->in, &p);
	unsigned verdict;
	uint64_t t;

	if (got == -1)
		s->rc = pcapio_warn_damage(&up->in);
	if (got != 1)
		return false;
	t = updates_stamp(up, &p);
	if (t > up->until_ns)
		return false;
	up->last_ns = t;
	verdict = messages_packet(&f->m, up->in.link, &p, t);
	f->in_packet = verdict == UPDATE_OK;
	if (verdict == SOUNDNESS_REGULAR) {
		up->regular++;
		hints_count(&up->hints, up->in.link, p.data, p.caplen);
	} else if (verdict != UPDATE_OK) {
		up->ignored[verdict]++;
	}
	if (verdict == SOUNDNESS_SUPER_DATAGRAM && up->split.cannot++ == 0)
		up->split.cannot_at = up->in.packets;
	up->split.unsure = f->m.unsure;
	return true;
}

/* Read the capture's next update of the format into f->next. */
static bool
next_by_format(struct source *s, struct source_file *f)
{
	for (;;) {
		if (f->in_packet && next_message(s, f))
			return true;
		f->in_packet = false;
		if (!f->ended)
			f->ended = !read_format_packet(s, f);
		else if (messages_end(&f->m))
			f->in_packet = true;
		else
			return false;
	}
}

/* Hash a bare packet, because it has no sequence number for matching. */
static void
hash_bare(struct source_update *x)
{
	x->hash = clusters_hash(CLUSTERS_HASH_START, &x->u.worker,
	    sizeof(x->u.worker));
	x->hash = clusters_hash(x->hash, x->u.vec, x->u.n);
}

/*
 * Find the next update of f, if there is one.  This function is separate, so
 * that the fast path stays short.
 */
__attribute__((noinline, cold)) static void
read_next(struct source *s, struct source_file *f)
{
	int got;

	if (s->options->format != NULL) {
		f->have = next_by_format(s, f);
	} else {
		do
			got = updates_next(&f->up, &f->next.stamp_ns,
			    &f->next.u);
		while (got == 1 && f->next.u.kind != UPDATE_UPDATE);
		if (got == -1)
			s->rc = pcapio_warn_damage(&f->up.in);
		f->have = got == 1;
		f->next.reward = (double)f->next.u.reward;
		if (f->have && s->options->bare != NULL)
			hash_bare(&f->next);
	}
	if (f->have && f->offset_ns != 0)
		f->next.stamp_ns = move_stamp(f, f->next.stamp_ns);
}

static void
open_file(struct source *s, struct source_file *f, const char *path)
{
	const struct source_options *options = s->options;
	const char *name = pcapio_name(path, false);

	if (strcmp(path, "-") == 0 && isatty(STDIN_FILENO))
		errx(2, "standard input is a terminal; give a capture with -r "
		    "FILE");
	if (updates_open(&f->up, path) == -1)
		errx(1, "%s: %s", name, f->up.in.why);
	pcapio_read_ahead(&f->up.in);
	f->up.bare = options->bare;
	f->up.headers = true;
	if (options->format != NULL && messages_open(&f->m, options->format,
	    f->up.in.link) == -1)
		errx(2, "%s: filter '%s': %s", name, options->format->filter,
		    f->m.filter.why);
	if (options->format == NULL && options->filter != NULL &&
	    filter_open(&f->up.filter, f->up.in.link, options->filter) == -1)
		errx(2, "%s: filter '%s': %s", name, options->filter,
		    f->up.filter.why);
}

void
source_open(struct source *s, const struct source_options *options,
    const struct source_files *f, uint64_t until_ns)
{
	*s = (struct source){ .options = options, .n = f->n };
	s->file = calloc(f->n, sizeof(*s->file));
	if (s->file == NULL)
		err(1, "no memory for %zu captures", f->n);
	for (size_t i = 0; i < f->n; i++) {
		s->file[i].offset_ns = f->offset_ns[i];
		open_file(s, &s->file[i], f->path[i]);
	}
	source_set_end(s, until_ns);
	for (size_t i = 0; i < f->n; i++) {
		struct source_file *x = &s->file[i];
		uint64_t first;

		read_next(s, x);
		if (x->up.in.packets == 0)
			continue;
		first = move_stamp(x, x->up.first_ns);
		if (!s->any || first < s->first_ns)
			s->first_ns = first;
		s->any = true;
	}
}

void
source_set_end(struct source *s, uint64_t until_ns)
{
	s->until_ns = until_ns;
	for (size_t i = 0; i < s->n; i++) {
		const __int128 t = (__int128)until_ns - s->file[i].offset_ns;

		s->file[i].up.until_ns = t < 0 ? 0 : t > UINT64_MAX ?
		    UINT64_MAX : (uint64_t)t;
	}
}

/* Return the next update, borrowed until the next call, or NULL at the end. */
static const struct source_update *
source_next(struct source *s)
{
	struct source_file *best = NULL;

	if (s->given != NULL)
		read_next(s, s->given);
	for (size_t i = 0; i < s->n; i++) {
		struct source_file *f = &s->file[i];

		if (f->have && (best == NULL ||
		    f->next.stamp_ns < best->next.stamp_ns))
			best = f;
	}
	s->given = best;
	if (best == NULL || best->next.stamp_ns > s->until_ns)
		return NULL;
	if (best->next.stamp_ns < s->last_ns) {
		s->late++;
		best->next.stamp_ns = s->last_ns;
	}
	s->last_ns = best->next.stamp_ns;
	return &best->next;
}

/*
 * Read a single capture of innet's own packets, without correcting its
 * timestamps.
 */
static void
read_plain_capture(struct source *s, source_update_fn *take, void *arg)
{
	struct source_file *f = &s->file[0];
	struct source_update *x = &f->next;
	int got = f->have;

	while (got == 1) {
		if (x->u.kind == UPDATE_UPDATE) {
			if (x->stamp_ns > s->until_ns)
				return;
			x->reward = (double)x->u.reward;
			take(arg, x);
		}
		got = updates_next(&f->up, &x->stamp_ns, &x->u);
	}
	if (got == -1)
		s->rc = pcapio_warn_damage(&f->up.in);
}

void
source_read(struct source *s, source_update_fn *take, void *arg)
{
	const struct source_update *x;

	if (s->n == 1 && s->file[0].offset_ns == 0 &&
	    s->options->format == NULL && s->options->bare == NULL) {
		read_plain_capture(s, take, arg);
		return;
	}
	while ((x = source_next(s)) != NULL)
		take(arg, x);
}

void
source_close(struct source *s)
{
	s->last_ns = 0;
	for (size_t i = 0; i < s->n; i++) {
		struct source_file *f = &s->file[i];
		uint64_t last;

		updates_warn_odd(&f->up);
		if (f->up.in.packets > 0) {
			last = move_stamp(f, f->up.last_ns);
			if (last > s->last_ns)
				s->last_ns = last;
		}
		updates_close(&f->up);
	}
	if (s->last_ns > s->until_ns)
		s->last_ns = s->until_ns;
}

void
source_free(struct source *s)
{
	for (size_t i = 0; i < s->n; i++)
		messages_close(&s->file[i].m);
	free(s->file);
}

uint64_t
source_packets(const struct source *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->file[i].up.in.packets;
	return n;
}

uint64_t
source_ignored(const struct source *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += updates_ignored(&s->file[i].up);
	return n;
}

uint64_t
source_backwards(const struct source *s)
{
	uint64_t n = s->late;

	for (size_t i = 0; i < s->n; i++)
		n += s->file[i].up.backwards;
	return n;
}

const char *
source_name(const struct source_files *f, char *room, size_t bytes)
{
	if (f->n == 1)
		return pcapio_name(f->path[0], false);
	snprintf(room, bytes, "%s and %zu more", pcapio_name(f->path[0],
	    false), f->n - 1);
	return room;
}
