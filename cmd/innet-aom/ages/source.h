/*
 * source.h - the updates of one side of a run, in order of time
 *
 * One or several captures, of innet's packets or of a format's, are merged by
 * their stamps, each moved by the offset of its clock.  Damage of one ends
 * that one; it is warned of.  Opening may exit.
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

/* Captures that were given, and how far their clocks are moved. */
struct source_files {
	const char *path[SOURCE_FILES_MAX];
	int64_t offset_ns[SOURCE_FILES_MAX];
	size_t n;
};

/* What captures hold, besides innet's own packets. */
struct source_options {
	const struct format *format;	/* NULL: innet's, or bare */
	const struct clusters *bare;	/* of bare packets, or NULL */
	const char *filter;		/* which are innet's, or NULL */
	struct names *clusters, *workers;	/* of a format */
};

/* An update that a capture shows. */
struct source_update {
	struct update u;
	uint64_t stamp_ns;
	uint64_t hash;		/* by which it is known again */
	double reward;
};

struct source_file {
	struct updates up;
	struct messages m;
	int64_t offset_ns;
	bool in_packet;		/* m may have messages */
	bool ended;		/* no packet is left */
	bool have;		/* next is set */
	struct source_update next;
};

struct source {
	const struct source_options *options;
	struct source_file *file;	/* owned */
	size_t n;
	struct source_file *given;	/* whose update was handed out last */
	uint64_t until_ns;	/* packets stamped later are the end */
	bool any;		/* there is a packet, and first_ns */
	uint64_t first_ns, last_ns;	/* stamps of any packet */
	uint64_t late;		/* updates older than one handed out */
	int rc;			/* 1: a capture was damaged */
};

/* Open the captures of f and find the first update of each. */
void source_open(struct source *s, const struct source_options *options,
    const struct source_files *f, uint64_t until_ns);

/* From now on, packets stamped later are the end. */
void source_set_end(struct source *s, uint64_t until_ns);

/* What is given every update, with the argument of source_read(). */
typedef void source_update_fn(void *arg, const struct source_update *u);

/* Give every update to take, with arg, in order of time, until the end. */
void source_read(struct source *s, source_update_fn *take, void *arg);

/* No more will be read; counters stay until source_free(). */
void source_close(struct source *s);

void source_free(struct source *s);

/* Packets in all captures, of which so many were left out, for any reason. */
uint64_t source_packets(const struct source *s);
uint64_t source_ignored(const struct source *s);
uint64_t source_backwards(const struct source *s);

/* "a.pcap", or "a.pcap and 2 more", in room. */
const char *source_name(const struct source_files *f, char *room,
    size_t bytes);

#endif
