/* options.c - the table of all options of innet-aom */
#include "config.h"

#include "cmd/innet-aom/options.h"

static const struct opt opts[] = {
	{ 'p', "program", "NAME",
	    "program whose packets are measured: olaf (default), iswitch "
	    "or dlp" },
	{ 'r', "read", "FILE",
	    "capture at the receiver (default: standard input); may be "
	    "repeated" },
	{ O_SENT, "sent", "FILE",
	    "capture of the updates that were sent; may be repeated" },
	{ O_COUNTERS, "counters", "FILE",
	    "report of the switch, to divide lost updates into superseded and "
	    "dropped ones" },
	{ O_BY, "by", "WHAT", "rows to print: cluster (default) or worker" },
	{ O_CONSTITUENTS, "constituents", "WHICH",
	    "update whose time determines the age of a merged packet: newest "
	    "(default) or oldest" },
	{ O_FROM, "from", "WHEN",
	    "measure ages from: first (the first delivery; the default), sent "
	    "(the first sent packet) or a time" },
	{ O_UNTIL, "until", "TIME",
	    "end at TIME instead of at the end of the captures" },
	{ O_END, "end", "WHEN",
	    "measure ages until: cluster (the last packet of the cluster; the "
	    "default), capture (the end of the captures) or a time" },
	{ O_COMPARE, "compare", "FILE",
	    "capture of another run, to be compared with the first run" },
	{ O_COMPARE_SENT, "compare-sent", "FILE",
	    "capture of the updates that were sent in the other run" },
	{ O_COMPARE_COUNTERS, "compare-counters", "FILE",
	    "report of the other run's switch" },
	{ O_JSON, "json", NULL, "print a JSON object for each row" },
	{ O_CSV, "csv", NULL, "print comma-separated values" },
	{ O_TOTAL, "total", NULL, "print only the row for all clusters" },
	{ O_COLUMNS, "columns", "LIST",
	    "print only these figures, named as in the output of --csv" },
	{ O_SERIES, "series", "FILE",
	    "write the ages over time to a CSV file" },
	{ O_FORMAT, "format", "NAME",
	    "format of the packets: innet (default), bare, match, csv, or a "
	    "format file" },
	{ O_FIELD, "field", "NAME=WHERE",
	    "place of a field in the packets, for example cluster=u16@0" },
	{ O_FILTER, "filter", "EXPR",
	    "use only packets that match an expression of pcap-filter(7)" },
	{ O_OFFSET, "offset", "FILE=TIME",
	    "add TIME to all timestamps of the capture FILE" },
	{ O_ESTIMATE, "estimate-offset", NULL,
	    "estimate the offset between the clocks from packets in both "
	    "directions" },
	{ O_STRICT, "strict", NULL,
	    "exit with status 1 if a capture has packets but no updates" },
	{ O_TABLE, "cluster-table", "FILE",
	    "CSV file (prefix,cluster) with the clusters of bare packets" },
	{ O_SWITCH, "switch", "ADDR",
	    "iswitch: address of the switch in the capture" },
	{ O_OUT_OF_STEP, "async", NULL,
	    "iswitch: treat a job without a Join in the capture as "
	    "asynchronous" },
	{ O_UDP_PORT, "udp-port", "N",
	    "dlp: port of the aggregator (default 1234 and 12344)" },
	{ O_ANSWER_EARLY, "answer-early", NULL,
	    "dlp: treat each answer as the aggregate of the previous step" },
	{ O_ANSWER_EARLY, "late", NULL, NULL },
	{ 'q', "quiet", NULL, "print no summary on standard error" },
	{ 'v', "verbose", NULL,
	    "print which packets each capture contains and which were left "
	    "out" },
	OPT_HELP_VERSION,
	{ 0 }
};

const struct opt_tool options_tool = {
	"innet-aom", PACKAGE_VERSION,
	"[-qv] [-r FILE]... [--sent FILE]... [OPTION]...",
	"Measure the Age-of-Model, loss and fairness of captured updates.", opts
};

const char *
options_program(int argc, char *argv[])
{
	static const char *const words[] = { "olaf", "iswitch", "dlp", NULL };
	int which = 0, ch;

	while ((ch = opt_next(&options_tool, argc, argv)) != -1)
		if (ch == 'p')
			which = opt_word("program", optarg, words);
	optind = 1;
	return words[which];
}

const char *
options_name(int ch)
{
	const struct opt *o = opts;

	while (o->ch != ch)
		o++;
	return o->name;
}
