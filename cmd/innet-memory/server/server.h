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

/* Reasons why clients are closed; the last one: they closed themselves. */
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
	DISCONNECT_AUTH,
	DISCONNECT_SHUTDOWN,
	DISCONNECT_ERROR,
	DISCONNECT_GONE,
	DISCONNECT_REASONS
};

extern const char *const disconnect_names[DISCONNECT_REASONS];

/* Another descriptor that the loop waits for; see server_add_source(). */
struct event_source {
	int fd;
	void (*ready)(struct server *srv, struct event_source *w);
};

#define SERVER_REDIS_VERSION "7.0.0"	/* of the commands */
enum { SERVER_IN_BYTES = 256 << 10, SERVER_LISTENERS = 2 };

struct server {
	struct conf conf;
	const struct part *const *parts;	/* ends with NULL */
	struct account account;		/* for all memory */
	struct keyspace keys;
	struct lazy_free lazy_free;		/* takes removed keys */
	struct command_table command_table;
	struct rng rng;
	char *password;			/* NULL: none is needed */
	struct save_state *save;	/* of commands/persistence.c */
	uint64_t version;		/* of the latest change */
	/* counts changes after which parked clients are tried again */
	uint64_t changes;
	/* monotonic time of this turn of the loop, and of the start */
	uint64_t now_ns;
	uint64_t start_ns;
	int epoll;			/* descriptor */
	/* by commands in this turn of a client */
	uint64_t spent_ns;
	bool turns_wanted;		/* clients wait for another turn */
	int events;			/* events of this turn */
	/* closed to refuse a client without descriptors */
	int spare_fd;
	bool accept_paused;		/* without descriptors */
	int statm;			/* descriptor of /proc/self/statm */
	int port;
	struct event_source listener[SERVER_LISTENERS], signal;
	struct client **client;
	size_t clients, clients_room, parked, clients_peak;
	size_t dead;			/* of clients, closed in this turn */
	/* clients without the password, the oldest first (stranger.h) */
	struct client *stranger_first, *stranger_last;
	size_t strangers, stranger_bytes;	/* bytes of their buffers */
	struct client *parked_first, *parked_last;	/* the oldest first */
	uint8_t *input;			/* SERVER_IN_BYTES for input */
	void *heap_end;			/* end of the heap that was advised */
	uint64_t next_id, next_tick_ns;
	uint64_t accepted, refused, commands, in_bytes, out_bytes;
	uint64_t oom, errors, auth_failed;
	uint64_t expired;		/* expired keys */
	uint64_t sweep_ns;		/* when to look for more, monotonic */
	size_t sweep_at;		/* from this place downwards */
	/* closed clients, by reason */
	uint64_t disconnects[DISCONNECT_REASONS];
	bool stop, stop_save;		/* stop; and save before */
};

/* Call w->ready() whenever w->fd is readable. */
bool server_add_source(struct server *srv, struct event_source *w);
void server_remove_source(struct server *srv, struct event_source *w);

/* Note a change that a parked client may wait for. */
static inline void
server_mark_changed(struct server *srv)
{
	srv->changes++;
}

/*
 * Let all parts save; 1, after printing the reason: not everything was saved.
 */
int server_save(struct server *srv);

/* Remove all keys. */
void server_flush(struct server *srv);

/*
 * Allow as many open files as there may be clients, or lower the number of
 * clients.
 */
void server_raise_file_limit(struct server *srv);

/*
 * Ask the kernel for large pages where the heap has grown, before a blob is
 * filled.
 */
void server_advise_heap(struct server *srv);

#endif
