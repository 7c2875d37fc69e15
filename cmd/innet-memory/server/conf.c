/* conf.c - the command line of innet-memory */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/files.h"
#include "common/base/message.h"
#include "common/base/num.h"
#include "common/base/opt.h"
#include "common/net/spin.h"
#include "common/net/timer.h"

#include "cmd/innet-memory/server/conf.h"
#include "cmd/innet-memory/store/table.h"

enum {
	LISTEN = OPT_LONG, UNIX, PORT_FILE, PASSWORD, MEMORY, TOUCH, CLIENTS,
	IDLE, OUTPUT, STUCK, ALLOW, CAPACITY, ALPHA, SAVE, SAVE_EVERY, DURATION,
	SEED, JSON, INSECURE, USER, AUTH, SPIN
};

static const struct opt opts[] = {
	{ LISTEN, "listen", "ADDR",
	    "listen on HOST:PORT (default 127.0.0.1:6399); none: do not listen "
	    "on TCP" },
	{ UNIX, "unix", "PATH", "also listen on this Unix socket" },
	{ PORT_FILE, "port-file", "FILE",
	    "write the port number to this file" },
	{ PASSWORD, "password-file", "FILE",
	    "require the password on the first line of this file" },
	{ AUTH, "auth-timeout", "TIME",
	    "disconnect a client that does not send the password within TIME "
	    "(default 10s)" },
	{ ALLOW, "allow", "LIST", "serve only clients in these networks" },
	{ INSECURE, "insecure", NULL,
	    "serve clients on other machines without a password" },
	{ USER, "user", "NAME",
	    "change to this user once the sockets are open" },
	{ MEMORY, "memory", "SIZE",
	    "limit on memory for data and buffers (default 1GB)" },
	{ TOUCH, "touch", "SIZE",
	    "part of the memory to allocate at the start (default 128MB)" },
	{ CLIENTS, "max-clients", "N",
	    "maximum number of connected clients (default 10000)" },
	{ IDLE, "client-timeout", "TIME",
	    "disconnect a client that sends nothing for TIME (default: "
	    "never)" },
	{ OUTPUT, "output-limit", "SIZE",
	    "stop serving a client while more than SIZE of its replies is "
	    "unread (default 256MB)" },
	{ STUCK, "stuck-timeout", "TIME",
	    "disconnect a client that has reached --output-limit and reads "
	    "nothing for TIME (default 10s)" },
	{ CAPACITY, "capacity", "N",
	    "create a table 'replay' for N experiences at the start" },
	{ ALPHA, "alpha", "X",
	    "exponent of the priorities in the table of --capacity (default "
	    "0.6)" },
	{ SAVE, "save", "FILE",
	    "load this file at the start, and write it at the end and on "
	    "PER.SAVE" },
	{ SAVE_EVERY, "save-every", "TIME",
	    "also write the file of --save every TIME" },
	{ DURATION, "duration", "TIME", "end after this time" },
	{ SPIN, "spin", "TIME",
	    "after a request, poll for TIME before sleeping (default 0)" },
	{ SEED, "seed", "N",
	    "seed of the random numbers for sampling (default: from the "
	    "kernel)" },
	{ JSON, "json", NULL,
	    "print the summary as a JSON object on one line" },
	{ 'v', "verbose", NULL,
	    "print a line when a client connects or disconnects" },
	{ 'q', "quiet", NULL, "do not print the summary" },
	OPT_HELP_VERSION,
	{ 0 }
};

static const struct opt_tool tool = {
	"innet-memory", PACKAGE_VERSION, "[--listen ADDR] [OPTION...]",
	"Store experiences and parameters for actors and learners, which use\n"
	"the Redis protocol.", opts
};

static void
parse_size(const char *what, uint64_t lo, uint64_t *out)
{
	opt_check(what, optarg, num_bytes(optarg, lo, INT64_MAX, out));
}

static void
parse_time(uint64_t lo, uint64_t *out)
{
	opt_check("time", optarg, num_time(optarg, lo, INT64_MAX, out));
}

static void
parse_option(int ch, struct conf *cf)
{
	switch (ch) {
	case LISTEN:
		cf->no_tcp = strcmp(optarg, "none") == 0;
		if (!cf->no_tcp)
			opt_check("address", optarg, addr_parse(optarg,
			    "6399", &cf->listen));
		break;
	case UNIX: cf->unix_path = optarg; break;
	case PORT_FILE: cf->port_file = optarg; break;
	case PASSWORD: cf->password_file = optarg; break;
	case INSECURE: cf->insecure = true; break;
	case USER: cf->user = optarg; break;
	case ALLOW:
		opt_check("networks", optarg, networks_parse(&cf->allow,
		    optarg));
		break;
	case MEMORY: parse_size("memory", 1 << 20, &cf->memory_bytes); break;
	case TOUCH: parse_size("size", 0, &cf->touch_bytes); break;
	case OUTPUT: parse_size("size", 1, &cf->output_bytes); break;
	case IDLE: parse_time(1000000, &cf->idle_ns); break;
	case STUCK: parse_time(1000000, &cf->stuck_ns); break;
	case AUTH: parse_time(1000000, &cf->auth_ns); break;
	case SAVE_EVERY: parse_time(TIMER_SECOND_NS, &cf->save_every_ns); break;
	case DURATION: parse_time(1, &cf->duration_ns); break;
	case SPIN:
		opt_check("time", optarg, num_time(optarg, 0, SPIN_MAX_NS,
		    &cf->spin_ns));
		break;
	case CLIENTS:
		opt_check("number", optarg, num_u64(optarg, 1, 1000000,
		    &cf->clients));
		break;
	case CAPACITY:
		opt_check("capacity", optarg, num_u64(optarg, 1,
		    TABLE_CAPACITY_MAX, &cf->capacity));
		break;
	case ALPHA:
		opt_check("alpha", optarg,
		    num_real(optarg, 0, PRIORITIES_POWER_MAX,
		    &cf->alpha));
		break;
	case SEED:
		opt_check("seed", optarg, num_u64(optarg, 0, UINT64_MAX,
		    &cf->seed));
		cf->seeded = true;
		break;
	case SAVE:
		opt_check("file", optarg, *optarg == '\0' ? "the path is "
		    "empty" :
		    NULL);
		cf->save = optarg;
		break;
	case 'v': cf->verbose = true; break;
	case 'q': cf->quiet = true; break;
	}
}

/*
 * Check that no output file overwrites an input, and open the file of --json.
 */
static void
check_files(struct conf *cf, bool json)
{
	struct files f = { 0 };

	files_in(&f, "--password-file", cf->password_file);
	/*
	 * --save names one file for input and output, so this file does not
	 * count as an input here
	 */
	files_out(&f, "--save", cf->save);
	files_out(&f, "--port-file", cf->port_file);
	files_out(&f, "--unix", cf->unix_path);
	if (json)
		cf->json = files_json(&f);
	files_done(&f);
}

struct conf
conf_parse(int argc, char *argv[])
{
	struct conf cf = {
		.memory_bytes = 1000000000, .touch_bytes = 128000000,
		.output_bytes = 256000000, .clients = 10000, .alpha = 0.6,
		.stuck_ns = 10 * (uint64_t)TIMER_SECOND_NS,
		.auth_ns = 10 * (uint64_t)TIMER_SECOND_NS,
		.idle_ns = TIMER_NEVER, .save_every_ns = TIMER_NEVER,
		.duration_ns = TIMER_NEVER
	};
	bool json = false, alpha = false, touch = false;
	int ch;

	opt_check("address", "127.0.0.1", addr_parse("127.0.0.1", "6399",
	    &cf.listen));
	while ((ch = opt_next(&tool, argc, argv)) != -1) {
		json |= ch == JSON;
		alpha |= ch == ALPHA;
		touch |= ch == TOUCH;
		parse_option(ch, &cf);
	}
	opt_done(&tool, argc, argv);
	if (cf.no_tcp && cf.unix_path == NULL)
		errx(2, "--listen none needs --unix");
	if (cf.no_tcp && cf.port_file != NULL)
		errx(2, "--port-file cannot be used with --listen none");
	if (cf.save == NULL && cf.save_every_ns != TIMER_NEVER)
		errx(2, "--save-every needs --save");
	if (alpha && cf.capacity == 0)
		errx(2, "--alpha needs --capacity");
	if (touch && cf.touch_bytes > cf.memory_bytes)
		errx(2, "--touch: %" PRIu64 " bytes are more than the "
		    "%" PRIu64 " bytes of --memory", cf.touch_bytes,
		    cf.memory_bytes);
	check_files(&cf, json);
	return cf;
}
