/* options.c - the table of all options of innet-aom: options.h */
#include "config.h"

#include "cmd/innet-aom/options.h"

static const struct opt opts[] = {
	{ 'p', "program", "NAME", "olaf (default), iswitch or dlp" },
	{ 'r', "read", "FILE",
	    "capture at the receiver (default stdin); repeats" },
	{ O_SENT, "sent", "FILE", "capture of what was sent; repeats" },
	{ O_COUNTERS, "counters", "FILE",
	    "the switch's report, to split what is lost" },
	{ O_BY, "by", "WHAT", "a row a cluster (default) or worker" },
	{ O_CONSTITUENTS, "constituents", "WHICH",
	    "age of the newest (default) or oldest" },
	{ O_FROM, "from", "WHEN", "age counts from first, sent or a time" },
	{ O_UNTIL, "until", "TIME", "end there, not with the capture" },
	{ O_END, "end", "WHEN",
	    "ages end with the cluster, the capture, or a time" },
	{ O_COMPARE, "compare", "FILE",
	    "another receiver's capture, side by side" },
	{ O_COMPARE_SENT, "compare-sent", "FILE", "what was sent to it" },
	{ O_COMPARE_COUNTERS, "compare-counters", "FILE",
	    "its switch's report" },
	{ O_JSON, "json", NULL, "print one JSON object a line" },
	{ O_CSV, "csv", NULL, "print comma-separated values" },
	{ O_TOTAL, "total", NULL, "the row of all alone" },
	{ O_COLUMNS, "columns", "LIST", "these, by the names --csv has" },
	{ O_SERIES, "series", "FILE", "write the ages over time as CSV" },
	{ O_FORMAT, "format", "NAME",
	    "innet (default), bare, match, csv, or a file" },
	{ O_FIELD, "field", "NAME=WHERE", "where a field of an update is" },
	{ O_FILTER, "filter", "EXPR", "which packets are updates" },
	{ O_OFFSET, "offset", "FILE=TIME", "move a capture's clock" },
	{ O_ESTIMATE, "estimate-offset", NULL,
	    "find it from traffic that goes both ways" },
	{ O_STRICT, "strict", NULL, "fail where nothing is recognised" },
	{ O_TABLE, "cluster-table", "FILE",
	    "clusters of bare packets: prefix,cluster" },
	{ O_SWITCH, "switch", "ADDR", "iswitch: which end is the switch" },
	{ O_OUT_OF_STEP, "async", NULL, "iswitch: jobs without a Join are" },
	{ O_UDP_PORT, "udp-port", "N",
	    "dlp: the aggregator's (1234 and 12344)" },
	{ O_ANSWER_EARLY, "answer-early", NULL,
	    "dlp: answers are of the step before" },
	{ O_ANSWER_EARLY, "late", NULL, NULL },
	{ 'q', "quiet", NULL, "leave out the summary on standard error" },
	{ 'v', "verbose", NULL, "say what was left out, and why" },
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
