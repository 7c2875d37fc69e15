/* info.c - INFO */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/net/timer.h"

#include "cmd/innet-memory/commands/parts.h"

static double
to_us(uint64_t ns)
{
	return (double)ns / 1e3;
}

static void
info_server(struct server *srv, FILE *f)
{
	const uint64_t up = (srv->now_ns - srv->start_ns) / TIMER_SECOND_NS;

	fprintf(f, "redis_version:" SERVER_REDIS_VERSION "\r\n"
	    "redis_mode:standalone\r\nos:Linux\r\narch_bits:64\r\n"
	    "multiplexing_api:epoll\r\nprocess_id:%ld\r\ntcp_port:%d\r\n"
	    "uptime_in_seconds:%" PRIu64 "\r\nuptime_in_days:%" PRIu64 "\r\n"
	    "server_name:innet-memory\r\n", (long)getpid(), srv->port, up,
	    up / 86400);
}

static void
info_clients(struct server *srv, FILE *f)
{
	fprintf(f, "connected_clients:%zu\r\nmaxclients:%" PRIu64 "\r\n"
	    "blocked_clients:%zu\r\nmost_clients:%zu\r\n"
	    "unauthenticated_clients:%zu\r\n", srv->clients,
	    srv->conf.clients, srv->parked, srv->clients_peak,
	    srv->strangers);
}

/* Return the resident memory of the process in bytes, or 0 if it is unknown. */
static size_t
read_resident_bytes(const struct server *srv)
{
	char text[128] = "";
	size_t all, pages;

	if (pread(srv->statm, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "%zu %zu", &all, &pages) != 2)
		return 0;
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void
info_memory(struct server *srv, FILE *f)
{
	const struct account *bs = &srv->account;
	const size_t rss = read_resident_bytes(srv);
	const double mb = 1 << 20;

	fprintf(f, "used_memory:%zu\r\nused_memory_human:%.2fM\r\n"
	    "used_memory_peak:%zu\r\nused_memory_peak_human:%.2fM\r\n"
	    "maxmemory:%zu\r\nmaxmemory_human:%.2fM\r\n"
	    "maxmemory_policy:noeviction\r\nused_memory_rss:%zu\r\n"
	    "mem_fragmentation_ratio:%.2f\r\nmem_allocator:libc\r\n"
	    "lazyfree_pending_objects:%zu\r\nlazyfreed_objects:%" PRIu64
	    "\r\nlazyfree_most:%zu\r\n",
	    bs->used, (double)bs->used / mb,
	    bs->most, (double)bs->most / mb, bs->limit,
	    (double)bs->limit / mb, rss, bs->used == 0 ? 0 : (double)rss /
	    (double)bs->used, srv->lazy_free.keys, srv->lazy_free.freed,
	    srv->lazy_free.most);
}

static void
info_stats(struct server *srv, FILE *f)
{
	fprintf(f, "total_connections_received:%" PRIu64 "\r\n"
	    "total_commands_processed:%" PRIu64 "\r\n"
	    "total_net_input_bytes:%" PRIu64 "\r\n"
	    "total_net_output_bytes:%" PRIu64 "\r\n"
	    "rejected_connections:%" PRIu64 "\r\nevicted_keys:0\r\n"
	    "expired_keys:0\r\ntotal_error_replies:%" PRIu64 "\r\n"
	    "oom_replies:%" PRIu64 "\r\nauth_failures:%" PRIu64 "\r\n",
	    srv->accepted + srv->refused, srv->commands, srv->in_bytes,
	    srv->out_bytes, srv->refused, srv->errors, srv->oom,
	    srv->auth_failed);
	for (int i = DISCONNECT_NONE + 1; i < DISCONNECT_REASONS; i++)
		fprintf(f, "clients_left_%s:%" PRIu64 "\r\n",
		    disconnect_names[i], srv->disconnects[i]);
}

static void
info_replication(struct server *srv, FILE *f)
{
	(void)srv;
	fprintf(f, "role:master\r\nconnected_slaves:0\r\n");
}

static void
info_commandstats(struct server *srv, FILE *f)
{
	for (size_t i = 0; i < srv->command_table.n; i++) {
		const struct command_entry *v = &srv->command_table.v[i];
		const struct latency *l = &v->latency;

		if (l->count == 0 && v->rejected == 0)
			continue;
		fprintf(f, "cmdstat_%s:calls=%" PRIu64 ",usec=%.0f,"
		    "usec_per_call=%.2f,rejected_calls=%" PRIu64
		    ",failed_calls=%" PRIu64 "\r\n", v->name, l->count,
		    to_us(l->sum_ns), l->count == 0 ? 0 : to_us(l->sum_ns) /
		    (double)l->count, v->rejected, v->failed);
	}
}

static void
info_latencystats(struct server *srv, FILE *f)
{
	for (size_t i = 0; i < srv->command_table.n; i++) {
		const struct command_entry *v = &srv->command_table.v[i];
		const struct latency *l = &v->latency;

		if (l->count > 0)
			fprintf(f,
			    "latency_percentiles_usec_%s:p50=%.3f,"
			    "p99=%.3f,p99.9=%.3f,max=%.3f\r\n",
			    v->name, to_us(latency_ns(l, 0.5)),
			    to_us(latency_ns(l, 0.99)),
			    to_us(latency_ns(l, 0.999)), to_us(l->most_ns));
	}
}

static const struct section {
	const char *name;
	void (*show)(struct server *srv, FILE *f);
	bool more;	/* the section is shown only by INFO all, or if INFO
			 * names the section */
} sections[] = {
	{ "server", info_server, false },
	{ "clients", info_clients, false },
	{ "memory", info_memory, false },
	{ "stats", info_stats, false },
	{ "replication", info_replication, false },
	{ "commandstats", info_commandstats, true },
	{ "latencystats", info_latencystats, true }
};

/*
 * Return true if the section was requested.  If `more` is true, the section is
 * not in the default output.
 */
static bool
section_wanted(const struct resp_args *a, const char *name, bool more)
{
	if (a->n == 1)
		return !more;
	for (size_t i = 1; i < a->n; i++) {
		if (args_equal(a, i, name) || args_equal(a, i, "all") ||
		    args_equal(a, i, "everything") || (!more && args_equal(a, i,
		    "default")))
			return true;
	}
	return false;
}

/*
 * Print a blank line and then the section's name, which begins with a capital.
 */
static void
print_title(FILE *f, const char *name, bool *begun)
{
	fprintf(f, "%s# %c%s\r\n", *begun ? "\r\n" : "",
	    toupper((unsigned char)*name), name + 1);
	*begun = true;
}

static void
write_info(struct server *srv, const struct resp_args *a, FILE *f)
{
	bool begun = false;

	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		if (!section_wanted(a, sections[i].name, sections[i].more))
			continue;
		print_title(f, sections[i].name, &begun);
		sections[i].show(srv, f);
	}
	for (size_t i = 0; srv->parts[i] != NULL; i++) {
		const struct part *p = srv->parts[i];

		if (p->info == NULL || !section_wanted(a, p->name, false))
			continue;
		print_title(f, p->name, &begun);
		p->info(srv, f);
	}
}

static void
run_info(struct client *c, const struct resp_args *a)
{
	struct reply_stream w;

	if (!reply_open_stream(c, &w))
		return;
	write_info(c->srv, a, w.f);
	reply_close_stream(c, &w);
}

static const struct command commands[] = {
	{ "info", -1, 0, run_info, "server",
	    "Returns information and statistics about the server.",
	    .usage = "[section...]", .subs = NULL },
	{ 0 }
};

const struct part info_part = { .name = "info", .commands = commands };
