/*
 * server.h - all there is, and the loop that serves it
 *
 * The server is made of parts: keys, lists, transactions, administration,
 * replay tables.  A part has a table of commands and, if it wants, functions
 * that are called at the start, when time has passed, by FLUSHALL, by INFO and
 * at the end; server_parts[] in server.c lists them.
 */
#ifndef INNET_MEMORY_SERVER_H
#define INNET_MEMORY_SERVER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cmd/innet-memory/store/blob.h"
#include "common/base/rng.h"

#include "cmd/innet-memory/server/client.h"
#include "cmd/innet-memory/server/command.h"
#include "cmd/innet-memory/conf.h"
#include "cmd/innet-memory/store/keyspace.h"
#include "cmd/innet-memory/store/lazy-free.h"

struct part {
	const char *name;		/* of its section in INFO */
	const struct command *commands;
	/* NULL, or: */
	bool (*open)(struct server *srv);	/* false: said why, exit 1 */
	/* the next time it wants to be called, or sooner: next_tick_ns = 0 */
	uint64_t (*tick)(struct server *srv, uint64_t now_ns);
	void (*flush)(struct server *srv);	/* FLUSHALL */
	void (*info)(struct server *srv, FILE *f);	/* name:value\r\n */
	/* save; 1: not saved, as said */
	int (*stop)(struct server *srv);
	void (*close)(struct server *srv);	/* give back the memory */
};

extern const struct part *const server_parts[];	/* ends with NULL */

/* A descriptor that the loop waits for besides; see server_watch(). */
struct watch {
	int fd;
	void (*ready)(struct server *srv, struct watch *w);
	void *arg;
};

#define SERVER_REDIS_VERSION "7.0.0"	/* whose commands these are */
enum { SERVER_IN_BYTES = 256 << 10, SERVER_LISTENERS = 2 };

struct server {
	struct conf conf;
	struct blobs blobs;		/* the account of all memory */
	struct keyspace keys;
	struct lazy_free lazy_free;		/* of what was removed */
	struct verbs verbs;
	struct rng rng;
	char *password;			/* NULL: none is asked for */
	struct save *save;		/* the part's own */
	uint64_t version;		/* the last given to what changed */
	/* times parked clients should be tried */
	uint64_t changes;
	/* monotonic, of this turn of the loop */
	uint64_t now_ns;
	uint64_t start_ns;
	int epoll, signals;		/* descriptors */
	uint64_t spent_ns;		/* by commands, in a client's turn */
	bool more;			/* clients wait for another turn */
	int ready;			/* events of this turn */
	int spare;			/* given up to turn a client away */
	bool deaf;			/* no descriptor: none is let in */
	int statm;			/* of what the process has */
	int port;
	struct watch listener[SERVER_LISTENERS], signal;
	struct client **client;
	size_t clients, clients_room, parked, clients_most;
	struct client *parked_first, *parked_last;	/* by when they came */
	struct client *current;		/* whose command runs */
	uint8_t *in;			/* where input comes, between turns */
	void *heap_end;			/* what has been advised on */
	uint64_t next_id, next_tick_ns;
	uint64_t accepted, refused, commands, in_bytes, out_bytes;
	uint64_t oom, errors, auth_failed;
	uint64_t expired;		/* keys */
	uint64_t sweep_ns;		/* next look for those, monotonic */
	size_t sweep_at;		/* ... from this place down */
	uint64_t left[LEAVING_KINDS];	/* clients gone, by reason */
	bool stop, stop_save;		/* SHUTDOWN or a signal */
};

/*
 * Open, serve until told to stop, close: the exit status.  What goes wrong at
 * the start is said, and exits.
 */
int server_run(const struct conf *cf);

/* For one without sockets, as fuzz targets are. */
bool server_open(struct server *srv, const struct conf *cf);
void server_close(struct server *srv);

/* Have w->ready called whenever there is something to read at w->fd. */
bool server_watch(struct server *srv, struct watch *w);
void server_unwatch(struct server *srv, struct watch *w);

/* Something that a parked client may wait for has happened. */
static inline void
server_changed(struct server *srv)
{
	srv->changes++;
}

/* Save what is to be saved; 1: not all was, as said. */
int server_save(struct server *srv);

/* Forget all that is stored. */
void server_flush(struct server *srv);

/* Let so many files be open as clients may come, or let fewer come. */
void server_make_room(struct server *srv);

/* Before a blob of so many bytes is filled: what the kernel should know. */
void server_heap(struct server *srv);

/* Listening sockets, in listen.c; they say what fails and exit. */
void listen_open(struct server *srv);
/* Let clients in again, who could not be for want of descriptors. */
void listen_again(struct server *srv);
void listen_close(struct server *srv);

#endif
