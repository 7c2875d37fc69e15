/* conf.h - what the command line says */
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
	const char *save;		/* NULL: nothing is kept */
	uint64_t save_every_ns;		/* TIMER_NEVER: at the end only */
	uint64_t memory_bytes;		/* for all that is stored, at most */
	uint64_t touch_bytes;		/* of it, taken at the start */
	uint64_t output_bytes;		/* a client may owe us to read */
	uint64_t stuck_ns;		/* ... so long, if it is more */
	/* TIMER_NEVER: a client may be silent */
	uint64_t idle_ns;
	uint64_t duration_ns;
	uint64_t clients;		/* at most */
	struct networks allow;		/* whose clients are served */
	uint64_t capacity;		/* of the table "replay"; 0: none */
	double alpha;			/* ... its exponent */
	uint64_t seed;
	bool seeded;			/* else seed is from the kernel */
	FILE *json;			/* where it goes; NULL: nowhere */
	bool verbose, quiet;
	bool insecure;			/* serve others without a password */
	const char *user;		/* to be, or NULL */
};

/* Read the command line, or exit. */
struct conf conf_parse(int argc, char *argv[]);

#endif
