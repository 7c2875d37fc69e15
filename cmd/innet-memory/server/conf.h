/*
 * conf.h - the configuration of the server, from the command line and CONFIG
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
	bool no_tcp;			/* true for --listen none */
	const char *unix_path;		/* NULL: no Unix socket */
	const char *port_file;		/* NULL: none */
	const char *password_file;	/* NULL: none */
	const char *save;		/* file from which keys are loaded and
					 * to which they are saved, or NULL */
	uint64_t save_every_ns;		/* time between two saves; TIMER_NEVER:
					 * save only at the end */
	uint64_t memory_bytes;	/* memory limit for all keys and buffers */
	uint64_t touch_bytes;	/* number of bytes of the heap to touch at the
				 * start */
	/* limit on the bytes of replies that a client leaves unread */
	uint64_t output_bytes;
	/* time after which a client that does not read is closed */
	uint64_t stuck_ns;
	/*
	 * time after which a client without requests is closed, or TIMER_NEVER
	 */
	uint64_t idle_ns;
	uint64_t auth_ns;	/* time limit for sending the password */
	uint64_t duration_ns;
	uint64_t spin_ns;	/* how long to poll after a request */
	uint64_t clients;	/* largest number of clients at a time */
	struct networks allow;		/* networks whose clients may connect */
	uint64_t capacity;	/* size of table "replay"; 0: no table */
	double alpha;	/* priority exponent of table "replay" */
	uint64_t seed;
	/* a seed was given; false: the kernel provides the seed */
	bool seeded;
	FILE *json;			/* output of --json, or NULL */
	bool verbose, quiet;
	/* other hosts are served without a password */
	bool insecure;
	const char *user;		/* user to change to, or NULL */
};

/* Parse the command line; if it is wrong, print an error and exit. */
struct conf conf_parse(int argc, char *argv[]);

#endif
