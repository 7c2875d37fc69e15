/* log.c - print lines about a run on standard error */
#include "cmd/innet-aom/ages/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/counters.h"
#include "common/base/message.h"

/*
 * Print the numbers of ignored packets, as in ": of got.pcap 3 checksum, 1
 * short; of sent.pcap ..."
 */
static void
put_ignored(FILE *f, const struct source *s, size_t files, bool *any)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct updates *in = &s->file[i].up;
		const char *before = *any ? "; " : ": ";

		if (updates_ignored(in) == 0)
			continue;
		fputs(before, f);
		if (files > 1)
			fprintf(f, "of %s ", pcapio_name(in->in.path, false));
		*any = true;
		before = "";
		for (unsigned k = 0; k < SOUNDNESS_VERDICTS; k++) {
			if (in->ignored[k] == 0)
				continue;
			fprintf(f, "%s%" PRIu64 " %s", before, in->ignored[k],
			    soundness_name(k));
			before = ", ";
		}
	}
}

/* Print how many bytes and messages of TCP streams are missing. */
static void
put_streams(FILE *f, const struct source *s)
{
	uint64_t bytes = 0, messages = 0, given_up = 0, many = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct tcp *t = &s->file[i].m.tcp;

		bytes += t->lost_bytes;
		messages += t->lost_messages;
		given_up += t->given_up;
		many += t->too_many;
	}
	if (bytes + messages > 0)
		fprintf(f, "; the capture lacks %" PRIu64 " bytes of TCP "
		    "streams",
		    bytes);
	if (messages > 0)
		fprintf(f, ", %" PRIu64 " whole messages", messages);
	if (given_up > 0)
		fprintf(f, "; gave up %" PRIu64 " streams", given_up);
	if (many > 0)
		fprintf(f, "; left out %" PRIu64 " segments because there are "
		    "too many streams", many);
}

/*
 * Print how many frames were split, or were used although the capture had cut
 * them.
 */
static void
put_odd(FILE *f, const struct run *r)
{
	const struct source *side[] = { &r->in_sent, &r->in };
	uint64_t frames = 0, datagrams = 0, several = 0, messages = 0, cut = 0;

	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; i < side[k]->n; i++) {
			const struct updates *in = &side[k]->file[i].up;

			frames += in->split.frames;
			datagrams += in->split.datagrams;
			several += side[k]->file[i].m.several;
			messages += side[k]->file[i].m.several_messages;
			cut += in->cut;
		}
	}
	if (frames > 0)
		fprintf(f, "; %" PRIu64 " frame%s split into %" PRIu64 " "
		    "datagrams", frames, plural(frames), datagrams);
	if (several > 0)
		fprintf(f, "; %" PRIu64 " datagram%s with %" PRIu64 " messages",
		    several, plural(several), messages);
	if (cut > 0)
		fprintf(f, "; %" PRIu64 " cut short but usable", cut);
}

static void
put_losses(FILE *f, const struct rows *rows)
{
	const struct value *v = rows->row[rows->n - 1].v;

	fprintf(f, "%" PRId64 " update%s of %" PRId64 " constituent%s",
	    v[RECEIVED].whole, plural((uint64_t)v[RECEIVED].whole),
	    v[MERGED].whole, plural((uint64_t)v[MERGED].whole));
	if (v[LOST].known)
		fprintf(f, "; %" PRId64 " of %" PRId64 " lost", v[LOST].whole,
		    v[SENT].whole);
	if (rows->packets_known)
		fprintf(f, ", %" PRId64 " packet%s fewer", rows->packets_lost,
		    plural((uint64_t)rows->packets_lost));
	if (v[LOSS_PERCENT].known)
		fprintf(f, "; loss %.2f %% counts %s", v[LOSS_PERCENT].real,
		    v[DROPPED].known ? "only dropped updates" :
		    "dropped and superseded updates");
}

void
log_summary(const struct ages_options *options, const struct run *r,
    const struct run_files *files, const struct rows *rows)
{
	const uint64_t backwards = source_backwards(&r->in) +
	    source_backwards(&r->in_sent);
	const double more = 100 * (r->other_end - 1);
	uint64_t ahead = 0;
	char *line = NULL, name[512];
	size_t room = 0;
	FILE *f = open_memstream(&line, &room);
	bool any = false;

	if (f == NULL)
		err(1, "summary");
	put_losses(f, rows);
	for (size_t i = 0; i < r->flows; i++)
		ahead += r->flow[i].age.ahead;
	if (ahead > 0)
		fprintf(f, "; clock_ahead %" PRIu64, ahead);
	if (backwards > 0)
		fprintf(f, "; time_backwards %" PRIu64, backwards);
	if (r->unmatched > 0)
		fprintf(f, "; unmatched %" PRIu64, r->unmatched);
	if (r->ambiguous > 0)
		fprintf(f, "; ambiguous %" PRIu64, r->ambiguous);
	put_odd(f, r);
	put_streams(f, &r->in);
	put_streams(f, &r->in_sent);
	fprintf(f, "; ignored %" PRIu64, source_ignored(&r->in) +
	    source_ignored(&r->in_sent));
	put_ignored(f, &r->in, r->in.n + r->in_sent.n, &any);
	put_ignored(f, &r->in_sent, r->in.n + r->in_sent.n, &any);
	fclose(f);
	warnx("%s: %s", source_name(&files->received, name, sizeof(name)),
	    line);
	free(line);
	if (more > 5 || more < -5)
		warnx("ages are measured until %s; with --end %s the mean age "
		    "of all clusters would be %.3g %% %s",
		    options->rules.end == END_CLUSTER ?
		    "the last packet of their cluster" :
		    "the end of the captures",
		    options->rules.end == END_CLUSTER ? "capture" : "cluster",
		    more < 0 ? -more : more, more < 0 ? "lower" : "higher");
}

/*
 * Warn if most updates are older than the capture.  In that case, the ages are
 * useless, because the trace was probably replayed with the original times in
 * its updates.
 */
static void
log_old_updates(const struct run *r, const char *name)
{
	uint64_t packets = 0, first = r->in.first_ns;

	for (size_t i = 0; i < r->flows; i++)
		packets += r->flow[i].got.packets;
	if (r->older == 0 || r->older < packets / 2)
		return;
	if (r->has_sent && r->in_sent.first_ns < first)
		first = r->in_sent.first_ns;
	warnx("%s: %" PRIu64 " of %" PRIu64 " packets carry updates that are "
	    "older than the capture, by up to %.6g s; the packets may have "
	    "been replayed with --no-stamp, or the times in the updates may "
	    "count from another epoch", name, r->older,
	    packets, (double)(first - r->oldest_ns) / 1e9);
}

/* Print the range of the mean age if deliveries are ambiguous. */
static void
log_ambiguous(const struct run *r, const char *name)
{
	const struct aom **in_order, **freshest;
	struct aom_figures a, b;
	size_t n = 0;

	if (r->ambiguous == 0)
		return;
	in_order = calloc(r->flows, sizeof(*in_order));
	freshest = calloc(r->flows, sizeof(*freshest));
	if (in_order == NULL || freshest == NULL)
		err(1, "ages");
	for (size_t i = 0; i < r->flows; i++, n++) {
		in_order[n] = &r->flow[i].age;
		freshest[n] = r->flow[i].freshest != NULL ?
		    r->flow[i].freshest : in_order[n];
	}
	aom_sums(in_order, n, &a);
	aom_sums(freshest, n, &b);
	warnx("%s: %" PRIu64 " deliveries fit several updates with the same "
	    "bytes; these deliveries are matched in the order of sending, and "
	    "the mean age is between %" PRIu64 " and %" PRIu64 " ns",
	    name, r->ambiguous, b.mean_ns, a.mean_ns);
	free(in_order);
	free(freshest);
}

void
log_warnings(const struct run *r, const struct run_files *files,
    const struct rows *rows)
{
	const struct value *lost = &rows->row[rows->n - 1].v[LOST];
	char room[512];
	const char *name = source_name(&files->received, room, sizeof(room));

	if (lost->known && lost->whole < 0)
		warnx("%s: more updates arrived than were sent; if the capture "
		    "has each packet at several hops or interfaces, select one "
		    "hop or interface with --filter, for example 'dst port "
		    "46638'",
		    name);
	log_old_updates(r, name);
	log_ambiguous(r, name);
}

void
log_captures(const struct source *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct updates *in = &s->file[i].up;

		warnx("%s: %" PRIu64 " packet%s, %" PRIu64 " regular, %" PRIu64
		    " ignored, %" PRIu64 " with time going backwards",
		    pcapio_name(in->in.path, false), in->in.packets,
		    plural(in->in.packets), in->regular, updates_ignored(in),
		    in->backwards);
	}
}

static void
log_hints(const struct ages_options *options, const struct updates *in)
{
	char *line = NULL;
	size_t room = 0;
	FILE *f = open_memstream(&line, &room);

	if (f == NULL)
		err(1, "hints");
	hints_print(&in->hints, f);
	if (in->hints.unmarked > 0 && !options->has_format &&
	    options->filter == NULL)
		fprintf(f, "; %" PRIu64 " go to innet's port; if their DSCP "
		    "was rewritten, use --filter 'udp port %d'",
		    in->hints.unmarked, UPDATE_PORT);
	fclose(f);
	warnx("%s: none of %" PRIu64 " packets is an update%s%s%s: %s",
	    pcapio_name(in->in.path, false), in->in.packets,
	    options->has_format ? " in the format "
	    : options->bare	? " from a cluster of the table"
				: "",
	    options->has_format ? (options->format.name[0] == '\0' ? "given" :
	    options->format.name)
		: "",
	    options->has_format || options->bare ? ""
	    : options->filter != NULL		 ? " that passes the filter"
						 : " with innet's DSCP 11",
	    line);
	free(line);
}

/* Warn if every recognised packet was malformed. */
static void
log_unsound(const struct updates *in)
{
	unsigned most = 0;

	for (unsigned k = 1; k < SOUNDNESS_VERDICTS; k++)
		if (in->ignored[k] > in->ignored[most])
			most = k;
	warnx("%s: %" PRIu64 " packet%s, but none is usable; the most common "
	    "reason is '%s' (%" PRIu64 " packet%s)",
	    pcapio_name(in->in.path, false), in->in.packets,
	    plural(in->in.packets), soundness_name(most), in->ignored[most],
	    plural(in->ignored[most]));
}

bool
log_unrecognised(const struct ages_options *options, const struct source *s)
{
	bool any = false;

	for (size_t i = 0; i < s->n; i++) {
		const struct updates *in = &s->file[i].up;

		if (in->in.packets == 0 || in->regular + in->in.copies +
		    updates_ignored(in) < in->in.packets)
			continue;
		if (updates_ignored(in) == 0)
			log_hints(options, in);
		else
			log_unsound(in);
		any = true;
	}
	return any;
}
