/* innet-replay - replay a captured trace */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/innet-replay/conf.h"
#include "common/base/counters.h"
#include "common/base/files.h"
#include "common/base/message.h"
#include "common/base/num.h"
#include "common/base/opt.h"
#include "common/net/timer.h"

enum {
	O_TO = OPT_LONG, O_SPEED, O_PPS, O_TOPSPEED, O_LOOP, O_PROGRAM,
	O_FILTER, O_STAMP, O_NO_STAMP, O_DURATION, O_NO_OFFLOAD, O_JSON
};

static const struct opt opts[] = {
	{ 'r', "read", "FILE", "read this capture (default: standard input)" },
	{ O_TO, "to", "ADDR", "send the datagrams to this address" },
	{ 'w', "write", "FILE",
	    "write the packets with new times to FILE instead of sending "
	    "them" },
	{ O_SPEED, "speed", "X",
	    "send X times as fast as the capture (default 1)" },
	{ O_PPS, "pps", "N", "send N packets per second, evenly spaced" },
	{ O_TOPSPEED, "topspeed", NULL, "send as fast as possible" },
	{ O_LOOP, "loop", "N", "send the capture N times (default 1)" },
	{ 'c', "count", "N", "end after N packets" },
	{ O_DURATION, "duration", "TIME", "end after this time" },
	{ O_PROGRAM, "program", "NAME",
	    "packets to send: olaf (default), iswitch, dlp or all" },
	{ O_FILTER, "filter", "EXPR",
	    "send only packets that match an expression of pcap-filter(7)" },
	{ O_STAMP, "stamp", NULL,
	    "with --write: also change the times in updates" },
	{ O_NO_STAMP, "no-stamp", NULL,
	    "with --to: leave the times in updates unchanged" },
	{ O_NO_OFFLOAD, "no-offload", NULL, "send without UDP_SEGMENT" },
	{ O_JSON, "json", NULL, "print the summary as a JSON object" },
	{ 'q', "quiet", NULL, "print no summary and no progress" },
	{ 'v', "verbose", NULL,
	    "print how many packets were left out, and why" },
	OPT_HELP_VERSION,
	{ 0 }
};

static const struct opt_tool tool = {
	.name = "innet-replay", .version = PACKAGE_VERSION,
	.usage = "--to=ADDR [-r FILE] [--OPTION[=VALUE]]...\n"
	    "       innet-replay -w FILE [-r FILE] [--OPTION[=VALUE]]...",
	.about = "Send the datagrams of a capture again, each five-tuple from "
	    "a socket of its\nown, when they were captured or at another pace.",
	.opts = opts
};

static volatile sig_atomic_t stopped;	/* signal to stop, or 0 */

static void
on_signal(int sig)
{
	if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP)
		stopped = sig;
}

static void
parse_pace(int ch, struct conf *cf)
{
	switch (ch) {
	case O_SPEED:
		opt_check("speed", optarg, num_real(optarg, 1e-6, 1e6,
		    &cf->speed));
		break;
	case O_PPS:
		opt_check("packet rate", optarg, num_u64(optarg, 1, 1000000000,
		    &cf->pps));
		break;
	case O_TOPSPEED: cf->topspeed = true; break;
	case O_LOOP:
		opt_check("loop count", optarg, num_u64(optarg, 1, UINT32_MAX,
		    &cf->loops));
		break;
	case O_DURATION:
		opt_check("duration", optarg, num_time(optarg, 1, INT64_MAX,
		    &cf->duration_ns));
		break;
	default: break;
	}
}

static void
parse_one(int ch, struct conf *cf)
{
	static const char *const programs[] = { "olaf", "iswitch", "dlp",
	    "all", NULL };

	switch (ch) {
	case 'r': cf->in = optarg; break;
	case 'w': cf->out = optarg; break;
	case O_TO:
		opt_check("address", optarg, addr_parse(optarg, "46638",
		    &cf->to));
		break;
	case 'c':
		opt_check("count", optarg, num_u64(optarg, 1, UINT64_MAX,
		    &cf->count));
		break;
	case O_PROGRAM:
		cf->want.program = (enum trace_program)opt_word("program",
		    optarg, programs);
		break;
	case O_FILTER: cf->want.filter = optarg; break;
	case O_STAMP: case O_NO_STAMP: break;
	case O_NO_OFFLOAD: cf->offload = false; break;
	case 'q': cf->quiet = true; break;
	case 'v': cf->verbose = true; break;
	default: parse_pace(ch, cf); break;
	}
}

static struct conf
parse(int argc, char *argv[])
{
	struct conf cf = { .in = "-", .speed = 1, .loops = 1,
	    .duration_ns = TIMER_NEVER, .offload = true,
	    .stop = &stopped, .on_signal = on_signal };
	struct files files = { 0 };
	bool to = false, speed = false, json = false, stamp = false, no = false;
	int ch;

	while ((ch = opt_next(&tool, argc, argv)) != -1) {
		to |= ch == O_TO;
		speed |= ch == O_SPEED;
		json |= ch == O_JSON;
		stamp |= ch == O_STAMP;
		no |= ch == O_NO_STAMP;
		parse_one(ch, &cf);
	}
	opt_done(&tool, argc, argv);
	if (to == (cf.out != NULL))
		errx(2, to ? "give --to or --write, not both" :
		    "give a destination: --to ADDR or --write FILE");
	if (no && cf.out != NULL)
		errx(2, "--no-stamp cannot be used with --write, which changes "
		    "the times in updates only if --stamp is given");
	cf.stamp = cf.out != NULL ? stamp : !no;
	if (speed + (cf.pps > 0) + cf.topspeed > 1)
		errx(2, "give only one of --speed, --pps and --topspeed");
	if (cf.out != NULL && cf.topspeed)
		errx(2, "--topspeed cannot be used with --write, because it "
		    "defines no timestamps; use --pps");
	files_in(&files, "-r", cf.in);
	files_out(&files, "-w", cf.out);
	if (json)
		cf.json = files_json(&files);
	files_done(&files);
	cf.progress = !cf.quiet && cf.out == NULL && isatty(STDERR_FILENO);
	return cf;
}

static void
print_json(FILE *f, const struct trace *t, const struct tally *n)
{
	const char *comma = "";

	fprintf(f, "{\"packets\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"flows\":%"
	    PRIu64 ",\"elapsed_ns\":%" PRIu64 ",\"late_p50_ns\":%" PRIu64
	    ",\"late_p99_ns\":%" PRIu64 ",\"late_max_ns\":%" PRIu64
	    ",\"failed\":%" PRIu64 ",\"unreachable\":%" PRIu64
	    ",\"time_backwards\":%" PRIu64 ",\"split_frames\":%" PRIu64
	    ",\"split_datagrams\":%" PRIu64 ",\"skipped\":{", n->packets,
	    n->bytes, n->flows, n->elapsed_ns, latency_ns(&n->late, 0.5),
	    latency_ns(&n->late, 0.99), n->late.most_ns, n->failed,
	    n->unreachable, t->time_backwards, t->split.frames,
	    t->split.datagrams);
	for (unsigned i = 0; i < TRACE_REASONS; i++) {
		if (t->skipped[i] == 0)
			continue;
		fprintf(f, "%s\"%s\":%" PRIu64, comma, trace_reason(i),
		    t->skipped[i]);
		comma = ",";
	}
	fputs("}}\n", f);
}

static void
print_summary(const struct conf *cf, const struct trace *t,
    const struct tally *n)
{
	const double s = (double)n->elapsed_ns / 1e9;
	uint64_t skipped = 0;
	char late[96] = "", wrong[96] = "", split[96] = "";

	for (unsigned i = 0; i < TRACE_REASONS; i++)
		skipped += t->skipped[i];
	if (n->late.count > 0)
		snprintf(late, sizeof(late), "; late by %.1f us (median), "
		    "%.1f us (99 %%)", (double)latency_ns(&n->late, 0.5) / 1e3,
		    (double)latency_ns(&n->late, 0.99) / 1e3);
	if (n->failed + n->unreachable > 0)
		snprintf(wrong, sizeof(wrong), "; %" PRIu64 " failed, %" PRIu64
		    " unreachable", n->failed, n->unreachable);
	if (t->split.frames > 0)
		snprintf(split, sizeof(split), ", %" PRIu64 " frame%s of %"
		    PRIu64 " datagrams split", t->split.frames,
		    plural(t->split.frames), t->split.datagrams);
	if (cf->out != NULL)
		fprintf(stderr, "innet-replay: %" PRIu64 " packet%s written, %"
		    PRIu64 " left out%s\n", n->packets, plural(n->packets),
		    skipped, split);
	else
		fprintf(stderr, "innet-replay: %" PRIu64 " packet%s of %" PRIu64
		    " five-tuple%s in %.3f s, %.6g a second%s%s; %" PRIu64
		    " left out%s\n", n->packets, plural(n->packets), n->flows,
		    plural(n->flows), s, (double)n->packets / (s > 0 ? s : 1),
		    late, wrong, skipped, split);
}

static int
replay_trace(const struct conf *cf)
{
	struct tally n = { 0 };
	struct trace t;
	int rc;

	trace_open(&t, cf->in, &cf->want, cf->loops);
	rc = cf->out != NULL ? retime_trace(cf, &t, &n) :
	    send_trace(cf, &t, &n);
	if (!cf->quiet && rc == 0)
		print_summary(cf, &t, &n);
	if (cf->json != NULL) {
		print_json(cf->json, &t, &n);
		rc |= files_flush(cf->json);
	}
	trace_close(&t);
	return rc;
}

int
main(int argc, char *argv[])
{
	const struct conf cf = parse(argc, argv);

	return replay_trace(&cf);
}
