/*
 * conf.h - the configuration of the server: the command line, and then CONFIG
 * SET
 */
#ifndef INNET_MEMORY_SERVER_CONF_H
#define INNET_MEMORY_SERVER_CONF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/wire/networks.h"

struct conf {
	union addr listen;
	bool no_tcp;			/* --listen none */
	const char *unix_path;		/* NULL: none */
	const char *port_file;		/* NULL: none */
	const char *password_file;	/* NULL: none */
	const char *save;		/* file; NULL: nothing is saved */
	uint64_t save_every_ns;		/* TIMER_NEVER: at the end only */
	uint64_t memory_bytes;		/* limit for all keys and buffers */
	uint64_t touch_bytes;		/* of it, allocated at the start */
	/* of replies that a client may leave unread */
	uint64_t output_bytes;
	/* time after which such a client is closed */
	uint64_t stuck_ns;
	/* time without requests; TIMER_NEVER: no limit */
	uint64_t idle_ns;
	uint64_t auth_ns;		/* time to give the password */
	uint64_t duration_ns;
	uint64_t clients;		/* at most */
	struct networks allow;		/* networks whose clients are served */
	uint64_t capacity;		/* of the table "replay"; 0: none */
	double alpha;			/* exponent of its priorities */
	uint64_t seed;
	/* false: the seed comes from the kernel */
	bool seeded;
	FILE *json;			/* summary as JSON; NULL: none */
	bool verbose, quiet;
	/* serve other machines without a password */
	bool insecure;
	const char *user;		/* to change to, or NULL */
};

/* Read the command line; print an error and exit if it is wrong. */
struct conf conf_parse(int argc, char *argv[]);

#endif
