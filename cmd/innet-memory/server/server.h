/* server.h - the state of the server, and functions that all its files use */
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

/*
 * Reasons why a client's connection is closed.  DISCONNECT_GONE means that the
 * client closed it.
 */
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

/* A further descriptor that the loop waits for; see server_add_source(). */
struct event_source {
	int fd;
	void (*ready)(struct server *srv, struct event_source *w);
};

#define SERVER_REDIS_VERSION "7.0.0"	/* version of Redis whose commands this
					 * server copies */
enum { SERVER_IN_BYTES = 256 << 10, SERVER_LISTENERS = 2 };

struct server {
	struct conf conf;
	const struct part *const *parts;	/* all parts; the list ends with
						 * NULL */
	struct account account;	/* account that counts the memory of all keys
				 * and buffers */
	struct keyspace keys;
	struct lazy_free lazy_free;		/* queue of removed keys that
						 * must still be freed */
	struct command_table command_table;
	struct rng rng;
	char *password;			/* the password; NULL if no password is
					 * needed */
	struct save_state *save;	/* see commands/persistence.c */
	uint64_t version;		/* version of the latest change */
	/* number of changes that a parked client may wait for */
	uint64_t changes;
	/* monotonic time at which this pass of the event loop began */
	uint64_t now_ns;
	uint64_t start_ns;
	int epoll;			/* descriptor of epoll */
	/* time that commands took in this turn of a client */
	uint64_t spent_ns;
	bool turns_wanted;		/* some clients have requests that wait
					 * for another turn */
	int events;			/* number of events in this pass of the
					 * event loop */
	/*
	 * a spare descriptor, closed when the server needs it to refuse a
	 * client
	 */
	int spare_fd;
	bool accept_paused;	/* no descriptor was left for a new client */
	int statm;			/* descriptor of /proc/self/statm */
	int port;
	struct event_source listener[SERVER_LISTENERS], signal;
	struct client **client;
	size_t clients, clients_room, parked, clients_peak;
	size_t dead;		/* number of clients closed in this pass of the
				 * event loop */
	/*
	 * clients that have not given the password, oldest first (see
	 * stranger.h)
	 */
	struct client *stranger_first, *stranger_last;
	size_t strangers, stranger_bytes;	/* number of unauthenticated
						 * clients; size of their
						 * buffers in bytes */
	struct client *parked_first, *parked_last;	/* oldest first */
	uint8_t *input;			/* buffer of SERVER_IN_BYTES */
	void *heap_end;	/* end of the part of the heap with huge pages */
	uint64_t next_id, next_tick_ns;
	uint64_t accepted, refused, commands, in_bytes, out_bytes;
	uint64_t oom, errors, auth_failed;
	uint64_t expired;		/* number of expired keys */
	uint64_t sweep_ns;	/* time of the next search for expired keys */
	size_t sweep_at; /* number of keys not yet checked in this search */
	/* number of closed clients by reason */
	uint64_t disconnects[DISCONNECT_REASONS];
	bool stop, stop_save;	/* a stop was requested; the keys must be saved
				 * before the server stops */
};

/* Call w->ready() whenever w->fd is readable. */
bool server_add_source(struct server *srv, struct event_source *w);
void server_remove_source(struct server *srv, struct event_source *w);

/* Record a change that a parked client may wait for. */
static inline void
server_mark_changed(struct server *srv)
{
	srv->changes++;
}

/*
 * Call stop() of all parts, which saves the keys.  Return 1 if a part could not
 * save; the part has printed the reason.
 */
int server_save(struct server *srv);

/* Remove all keys. */
void server_flush(struct server *srv);

/*
 * Raise the limit of open files to suit the number of clients.  If that is
 * impossible, lower the number of clients.
 */
void server_raise_file_limit(struct server *srv);

/*
 * Ask the kernel for huge pages for the part by which the heap has grown.  Call
 * this before a blob is filled.
 */
void server_advise_heap(struct server *srv);

#endif
