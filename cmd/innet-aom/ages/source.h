/*
 * source.h - read the updates of one side of a run in order of time
 *
 * Several captures, of innet's packets or of another format, are merged by
 * their timestamps, after each timestamp is corrected by the offset of its
 * clock.  If a capture is damaged, the functions print a warning and treat the
 * damage as its end.  The process exits if a capture cannot be opened.
 */
#ifndef INNET_AOM_SOURCE_H
#define INNET_AOM_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/innet-aom/ages/names.h"
#include "common/capture/hints.h"
#include "cmd/innet-aom/format/messages.h"
#include "common/capture/updates.h"

enum { SOURCE_FILES_MAX = 64 };

/* The captures of one side, and the offsets of their clocks. */
struct source_files {
	const char *path[SOURCE_FILES_MAX];
	int64_t offset_ns[SOURCE_FILES_MAX];
	size_t n;
};

/* The format of the packets, and the filter that selects them. */
struct source_options {
	const struct format *format;	/* format of the packets; NULL: innet's
					 * own or bare packets */
	const struct clusters *bare;	/* clusters of bare packets, or NULL */
	const char *filter;		/* filter that selects innet's packets,
					 * or NULL */
	struct names *clusters, *workers;	/* names of a format, or NULL */
};

/* An update in a capture. */
struct source_update {
	struct update u;
	uint64_t stamp_ns;
	uint64_t hash;		/* used by match.h */
	double reward;
};

struct source_file {
	struct updates up;
	struct messages m;
	int64_t offset_ns;
	bool in_packet;		/* this packet may have more messages in m */
	bool ended;		/* no packets are left */
	bool have;		/* next is set */
	struct source_update next;
};

struct source {
	const struct source_options *options;
	struct source_file *file;	/* array, owned */
	size_t n;
	struct source_file *given; /* the file of the update returned last */
	uint64_t until_ns;	/* packets with later timestamps are ignored */
	bool any;		/* at least one packet was read, so first_ns is
				 * set */
	uint64_t first_ns, last_ns;	/* first and last timestamp */
	uint64_t late;		/* number of updates that are out of order */
	int rc;			/* exit status; 1: a capture was damaged */
};

/* Open the captures of f and read the first update of each. */
void source_open(struct source *s, const struct source_options *options,
    const struct source_files *f, uint64_t until_ns);

/* Ignore packets with timestamps later than until_ns. */
void source_set_end(struct source *s, uint64_t until_ns);

/* Receive an update; `arg` is the argument of source_read(). */
typedef void source_update_fn(void *arg, const struct source_update *u);

/* Call take(arg, update) for every update in order of time. */
void source_read(struct source *s, source_update_fn *take, void *arg);

/* Close the captures; counters stay valid until source_free(). */
void source_close(struct source *s);

/* Free all memory of s. */
void source_free(struct source *s);

/*
 * These return the number of packets, the number of packets ignored for any
 * reason, and the number of timestamps that go backwards.
 */
uint64_t source_packets(const struct source *s);
uint64_t source_ignored(const struct source *s);
uint64_t source_backwards(const struct source *s);

/* Write "a.pcap" or "a.pcap and 2 more" to `room`, and return the text. */
const char *source_name(const struct source_files *f, char *room,
    size_t bytes);

#endif
