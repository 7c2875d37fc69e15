/*
 * server.h - the state of the server, and what all its files use
 */
#ifndef INNET_MEMORY_SERVER_SERVER_H
#define INNET_MEMORY_SERVER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/rng.h"

#include "cmd/innet-memory/server/conf.h"
#include "cmd/innet-memory/server/command-table.h"
#include "cmd/innet-memory/store/blob.h"
#include "cmd/innet-memory/store/keyspace.h"
#include "cmd/innet-memory/store/lazy-free.h"

/* Why clients are disconnected by us; the last is their own doing. */
enum disconnect_reason {
	DISCONNECT_NONE,
	DISCONNECT_QUIT,
	DISCONNECT_KILLED,
	DISCONNECT_PROTOCOL,
	DISCONNECT_OUTPUT,
	DISCONNECT_STUCK,
	DISCONNECT_IDLE,
	DISCONNECT_MEMORY,
	DISCONNECT_HTTP,
	DISCONNECT_SHUTDOWN,
	DISCONNECT_ERROR,
	DISCONNECT_GONE,
	DISCONNECT_REASONS
};

extern const char *const disconnect_names[DISCONNECT_REASONS];

/* A descriptor that the loop waits for besides; see server_add_source(). */
struct event_source {
	int fd;
	void (*ready)(struct server *srv, struct event_source *w);
	void *arg;
};

#define SERVER_REDIS_VERSION "7.0.0"	/* whose commands these are */
enum { SERVER_IN_BYTES = 256 << 10, SERVER_LISTENERS = 2 };

struct server {
	struct conf conf;
	const struct part *const *parts;	/* ends with NULL */
	struct account account;		/* the account of all memory */
	struct keyspace keys;
	struct lazy_free lazy_free;		/* of what was removed */
	struct command_table command_table;
	struct rng rng;
	char *password;			/* NULL: none is asked for */
	struct save_state *save;	/* of commands/persistence.c */
	uint64_t version;		/* the last given to what changed */
	/* times parked clients should be tried */
	uint64_t changes;
	/* monotonic, of this turn of the loop */
	uint64_t now_ns;
	uint64_t start_ns;
	int epoll, signals;		/* descriptors */
	uint64_t spent_ns;		/* by commands, in a client's turn */
	bool turns_wanted;		/* clients wait for another turn */
	int events;			/* events of this turn */
	int spare_fd;			/* given up to turn a client away */
	bool accept_paused;		/* no descriptor: none is let in */
	int statm;			/* of what the process has */
	int port;
	struct event_source listener[SERVER_LISTENERS], signal;
	struct client **client;
	size_t clients, clients_room, parked, clients_peak;
	struct client *parked_first, *parked_last;	/* by when they came */
	struct client *current;		/* whose command runs */
	uint8_t *input;			/* where input comes, between turns */
	void *heap_end;			/* what has been advised on */
	uint64_t next_id, next_tick_ns;
	uint64_t accepted, refused, commands, in_bytes, out_bytes;
	uint64_t oom, errors, auth_failed;
	uint64_t expired;		/* keys */
	uint64_t sweep_ns;		/* next look for those, monotonic */
	size_t sweep_at;		/* ... from this place down */
	uint64_t disconnects[DISCONNECT_REASONS]; /* clients gone, by reason */
	bool stop, stop_save;		/* SHUTDOWN or a signal */
};

/* Have w->ready called whenever there is something to read at w->fd. */
bool server_add_source(struct server *srv, struct event_source *w);
void server_remove_source(struct server *srv, struct event_source *w);

/* Something that a parked client may wait for has happened. */
static inline void
server_mark_changed(struct server *srv)
{
	srv->changes++;
}

/* Save what is to be saved; 1: not all was, as said. */
int server_save(struct server *srv);

/* Forget all that is stored. */
void server_flush(struct server *srv);

/* Let so many files be open as clients may come, or let fewer come. */
void server_raise_file_limit(struct server *srv);

/* Before a blob of so many bytes is filled: what the kernel should know. */
void server_advise_heap(struct server *srv);

#endif
