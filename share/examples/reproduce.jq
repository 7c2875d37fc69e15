# reproduce.jq - print results of innet-sim and of the papers as Markdown or CSV
#
# reproduce.sh sets $part to the part to print, and $known to reproduce.json.  The
# input is an object of results: { NAME: [ rows ] }.

include "markdown";

def known: $known[0];
def shown($n): if . == null then "" else fixed($n) end;
def against($want): if . == null or $want == null or $want == 0 then ""
	else off($want) end;

# The difference of two percentages in points.
def points($want): if . == null or $want == null then ""
	else "\((. - $want) * 10 | round + 0 | . / 10 | fixed(1)) points" end;
# Return [ paper, here, other ] with $n decimals, and the differences of `here` from
# the paper and from the other simulation.
def compared($n; f): . as [ $paper, $here, $other ] |
	[ ($paper, $here, $other | shown($n)), ([ $here, $paper ],
	[ $here, $other ] | f) ];
def compared($n): compared($n; .[1] as $want | .[0] | against($want));
def compared_points: compared(1; .[1] as $want | .[0] | points($want));
def columns: [ "paper", "simulation", "other simulation", "off the paper",
	"off the other" ];

def mean: add / length;
def median: sort | .[length / 2 | floor];
def jain: (add * add) / (length * (map(. * .) | add));

def queue: .point | .["switches[*].queue"] // .["switches[sw].queue"];
def rate: .point["links[sw].rate"];

# The four settings of Table 1: bursts; workers in random order, and workers with
# steady intervals, both on a link with a fixed time for each frame and merge; and
# workers with steady intervals on a link without these times.
def table1_settings: [ "bursts", "random", "steady", "natural" ];
def table1_file: { bursts: "table1" }[.] // "table1-\(.)";
def table1_of($set; $q; $r): .[$set | table1_file][] | select(.group == "all" and
	queue == $q and (rate | rtrimstr("G") | rtrimstr("M")) == ($r | rtrimstr("G"))) |
	. + { dropped_percent: (.dropped / .sent * 100),
		lost_percent: ((.sent - .merged) / .sent * 100) };
# The columns of an entry in reproduce.json: received, aggregated, percent dropped,
# percent dropped or replaced.
def table1_names: [ [ 0, "received", "received" ], [ 1, "aggregated", "aggregated" ],
	[ 2, "dropped_percent", "lost: dropped, %" ], [ 3, "lost_percent", "lost: replaced too, %" ] ];
def table1_figures: . as $all | known.table1[] | . as $k |
	table1_names[] as [ $i, $key, $name ] | select($k.queue == "olaf" or $i % 2 == 0) |
	{ queue: $k.queue, rate: $k.rate, name: $name, n: ($i / 2 | floor),
	  paper: $k.paper[[ 0, 1, 2, 2 ][$i]],
	  here: [ table1_settings[] as $s | $all | table1_of($s; $k.queue; $k.rate)[$key] ],
	  other: [ table1_settings[] as $s | $k[$s][$i]? ] };
def reduction($o; $f): (1 - $o.mean_age_ns / $f.mean_age_ns) * 100;
def table1_ages: . as $all | known.ages | to_entries[] | .key as $r | .value as $k |
	{ queue: "olaf for fifo", rate: $r, name: "mean age less, %", n: 1, paper: $k.paper,
	  here: [ table1_settings[] as $s | $all |
		reduction(table1_of($s; "olaf"; $r); table1_of($s; "fifo"; $r)) ],
	  other: [ table1_settings[] as $s | $k[$s] ] };
def table1_row: . as $f | [ .queue, .rate, .name, (.paper | shown($f.n)),
	(range(4) as $i | (.here[$i] | shown($f.n)) +
		(.other[$i] | if . == null then "" else " (\(shown($f.n)))" end)),
	(.here[0:3][] | if $f.n == 0 then against($f.paper) else points($f.paper) end) ];

# A row for each experiment: figures at each output rate with FIFO, Olaf or both.
def us($key): .[$key] / (if rate | endswith("M") then 1e6 else 1e3 end);
def each_rate(f): map(f) | join(", ");
def tried($part): . as $all | known.tried[$part] | to_entries[] |
	{ says: .value.says, rows: $all["\($part)-tried-\(.key)"] };
def table1_tried: tried("table1") | .says as $says |
	(.rows | map(select(queue == "fifo"))) as $f | (.rows | map(select(queue == "olaf"))) as $o |
	[ $says, ($f | each_rate(.received | shown(0))), ($o | each_rate(.received | shown(0))),
	($o | each_rate(.aggregated | shown(0))),
	($o | each_rate(.dropped / .sent * 100 | fixed(1))),
	($o | each_rate((.sent - .merged) / .sent * 100 | fixed(1))),
	([ range($f | length) | reduction($o[.]; $f[.]) | fixed(1) ] | join(", ")),
	($f | each_rate(us("mean_age_ns") | fixed(1))), ($f | each_rate(us("max_age_ns") | fixed(1))) ];
def table1:
	([ "queue", "out", "", "paper", "bursts", "random order", "steady", "natural",
		"bursts off the paper", "random order off", "steady off" ] | head),
	(table1_figures | table1_row | row), (table1_ages | table1_row | row),
	"", "Figures in brackets are from the other simulation.", "",
	"### What changes it", "", "If a field has two figures, the first is for an output rate of 40 Gbit/s, and the second is for 20 Gbit/s:", "",
	([ "", "FIFO received", "Olaf received", "aggregated", "dropped, %", "replaced too, %",
		"mean age less, %", "FIFO's mean age, us", "its longest" ] | head),
	(table1_tried | row);
def table1_csv:
	[ "queue", "paper", "bursts", "random order", "steady", "natural" ],
	(table1_figures | select(.name == "received") |
		[ "\(.queue) \(.rate)", .paper ] + .here) | @csv;

# Figure 6: the share of packets with at most k merges, and the mean number of merges.
def at_most($k): (map(.value) | add) as $all |
	map(select((.key | tonumber) - 1 <= $k).value) | (add // 0) / $all;
def merges: (map(.value) | add) as $all |
	map(((.key | tonumber) - 1) * .value) | add / $all;
def figure6:
	([ "out" ] + columns + [ "the filter's packets" ] | head),
	(. as $all | ("40G", "20G", "5G") as $r |
		($all.figure6[] | select(rate == $r)) as $h |
		[ $r ] + ([ known.figure6[$r].paper, $h.aggregated / $h.frames,
		known.figure6[$r].other ] | compared(2)) +
		[ $all["cdf" + $r][0].merged_histogram | to_entries | merges | fixed(2) ] | row),
	"", "This table shows the share of packets with at most k merges.  Figures in brackets are",
	"from the other simulation:",
	"", ([ "out", "k = 0", "1", "2", "3", "5", "8" ] | head),
	(. as $all | ("40G", "20G", "5G") as $r |
		($all["cdf" + $r][0].merged_histogram | to_entries) as $h |
		[ $r ] + ([ 0, 1, 2, 3, 5, 8 ] | to_entries | map(
		"\(.value as $k | $h | at_most($k) | fixed(3)) (\(known.figure6[$r].at[.key] |
		fixed(3)))")) | row);

# Figure 7: the time with drop-tail divided by the time with Olaf, for the median and
# for the last cluster.
def traffics: [ "bursts", "poisson", "periodic" ];
def times($t; $r; $q): [ .["figure7-\($t)"][] | select(.cluster != "all" and
	rate == $r and queue == $q).goal_ns ];
def last($t; $r; $q): .["figure7-\($t)"][] | select(.cluster == "all" and
	rate == $r and queue == $q).goal_ns;
# A cluster that did not reach the goal comes last.
def middle($t; $r; $q): [ times($t; $r; $q)[] // infinite ] | median |
	if isinfinite then null else . end;
def ratio: if .[0] and .[1] then .[0] / .[1] else null end;
def speedup($t; $r): [ middle($t; $r; "fifo", "olaf") ] | ratio;
def last_speedup($t; $r): [ last($t; $r; "fifo", "olaf") ] | ratio;
def whole($t; $r; $q): [ times($t; $r; $q)[] | select(.) ] | length;
def merges_of($t; $r): .["figure7-\($t)"][] | select(.cluster == "all" and
	rate == $r and queue == "olaf") | .aggregated / .received;
def figure7:
	([ "traffic", "out", "median cluster", "other simulation, median worker",
		"off the other", "last cluster", "other, last worker", "off the other",
		"clusters done, FIFO", "Olaf", "merges a packet" ] | head),
	(. as $all | traffics[] as $t | ("5G", "10G", "20G", "40G") as $r |
		known.figure7[$t][$r] as $k | ($all | speedup($t; $r)) as $m |
		($all | last_speedup($t; $r)) as $s |
		[ $t, $r, ($m | shown(2)), ($k[0] | shown(2)), ($m | against($k[0])),
		($s | shown(2)), ($k[1] | shown(2)), ($s | against($k[1])),
		($all | "\(whole($t; $r; "fifo"))", "\(whole($t; $r; "olaf"))",
		(merges_of($t; $r) | fixed(2))) ] | row);
def figure7_csv: [ "out" ] + traffics,
	(. as $all | ("5G", "10G", "20G", "40G") as $r |
		[ $r ] + [ traffics[] as $t | $all | speedup($t; $r) ]) | @csv;

# Tables 2 and 3, Figure 10: rows of ten clusters or two groups, and a row for all.
def control: .point["workers[*].control"] // "none";
def mode: if queue == "fifo" then "fifo" elif control == "none" then "olaf"
	else "olaf_tc" end;
# Omit runs with transmission control but without Olaf.
def asked: map(select(queue != "fifo" or control == "none"));
def by_point: group_by(.point) | map(
	(map(select(.cluster and .cluster != "all")) | sort_by(.cluster | tonumber) |
		map(.mean_age_ns / 1e6)) as $age |
	(.[] | select((.cluster // .group) == "all")) as $all |
	def of($g; $i): (.[] | select(.group == $g) |
		{ age: (.mean_age_ns / 1e6), ci: ((.mean_age_ns_ci95 // 0) / 1e6) }) //
		{ age: ($age[$i:$i + 5] | mean) };
	of("S1"; 0) as $one | of("S2"; 5) as $two |
	{ mode: ($all | mode), point: $all.point, loss: $all.loss_percent,
	s1: $one.age, s2: $two.age, ci1: $one.ci, ci2: $two.ci,
	jain: $all.jain } + if $age == [] then {} else { of_means: ($age | jain) } end);
def settings: [ "natural", "a", "b", "c", "d", "e", "f" ];
def figure9_of($name): .[$name] | asked | by_point |
	map(. + { key: "\(.point["workers[S2].interval"]) \(.mode)" });
def with_interval($age; $ci): "\($age | fixed(0))" +
	if $ci == null then "" else " ± \($ci | fixed(0))" end;
def table($interval; $modes):
	([ "" ] + [ "", "loss %", "S1, ms", "S2, ms", "Jain", "of mean ages" ] | head),
	(. as $all | $modes[] as $m | "\($interval) \($m)" as $key |
		(known.figure9.paper[$key] | if . then
			[ $m, "**paper**", (.[0] | shown(1)), (.[1, 2] | shown(0)),
			(.[3] | shown(2)), "" ] | row else empty end),
		(settings[] as $s | ($all | figure9_of("figure9-\($s)")[] | select(.key == $key)) as $h |
		([ $m, "\($s): simulation", ($h.loss | fixed(1)), with_interval($h.s1; $h.ci1),
			with_interval($h.s2; $h.ci2), ($h.jain, $h.of_means | fixed(2)) ] | row),
		(known.figure9[$s][$key] | if . then
			[ "", "\($s): other", (.[0] | shown(1)), (.[1, 2] | shown(0)),
			(.[3] | shown(2)), "" ] | row else empty end),
		(known.figure9.paper[$key] | if . then
			[ "", "\($s): off the paper", (.[0] as $w | $h.loss | points($w)),
			(.[1] as $w | $h.s1 | against($w)), (.[2] as $w | $h.s2 | against($w)),
			(.[3] as $w | $h.jain | against($w)), "" ] | row else empty end)));
def loss_and_ages: "\(.loss | fixed(1)); \(.s1 | fixed(0)), \(.s2 | fixed(0))";
def four: [ ("100ms", "300ms") as $i | ("fifo", "olaf") as $m | "\($i) \($m)" ];
def figure9_tried: ([ "**paper**", (four[] as $key | known.figure9.paper[$key] |
		{ loss: .[0], s1: .[1], s2: .[2] } | loss_and_ages) ] | row),
	(. as $all | known.tried.figure9 | to_entries[] | . as $tried |
		($all | figure9_of("figure9-tried-\($tried.key)")) as $of |
		[ $tried.value.says, (four[] as $key | $of[] | select(.key == $key) | loss_and_ages) ] | row);
def control_tried: . as $all | known.tried.control | to_entries[] | .value.says as $says |
	($all["control-tried-\(.key)"] | by_point | sort_by(.mode)) as [ $olaf, $tc ] |
	[ $says, ($olaf, $tc | "\(.s1 | fixed(0)), \(.s2 | fixed(0))"),
	"\($tc.s1 - $olaf.s1 | fixed(0)), \($tc.s2 - $olaf.s2 | fixed(0))" ] | row;
def figure9:
	"### Table 2: all workers send every 100 ms", "", table("100ms"; [ "fifo", "olaf", "olaf_tc" ]),
	"", "### Table 3: the workers of S2 send every 300 ms", "", table("300ms"; [ "fifo", "olaf", "olaf_tc" ]),
	"", "### What changes it", "", "Each field has the loss in % and the mean ages of S1 and S2 in ms:", "",
	([ "", "Table 2: FIFO", "Olaf", "Table 3: FIFO", "Olaf" ] | head), figure9_tried,
	"", "The next table shows mean ages in ms for several thresholds of transmission control.  The setting",
	"is that of Table 3 (a), but with one worker per cluster:",
	"", ([ "threshold", "Olaf S1, S2", "Olaf_TC S1, S2", "TC's part" ] | head),
	([ "400 ms, **paper**", (known.figure9.paper | .["300ms olaf", "300ms olaf_tc"] |
		"\(.[1]), \(.[2])"), (known.figure9.paper |
		[ .["300ms olaf_tc"][1, 2] ] as $tc | .["300ms olaf"] as $o |
		"\($tc[0] - $o[1]), \($tc[1] - $o[2])") ] | row), control_tried;
def figure9_csv($m):
	[ "setting", "S1 100 ms", "S2 100 ms", "S1 (S2 300 ms)", "S2 300 ms" ],
	[ "paper", known.figure9.paper["100ms \($m)"][1, 2],
		known.figure9.paper["300ms \($m)"][1, 2] ],
	(. as $all | settings[] as $s | ($all | figure9_of("figure9-\($s)")) as $f |
		[ $s ] + [ ("100ms", "300ms") as $i | $f[] |
		select(.key == "\($i) \($m)") | .s1, .s2 ]) | @csv;

# Figure 10, by alpha.
def bits: if endswith("k") then (.[:-1] | tonumber * 1000) else tonumber end;
def alpha: .point["links[sw1].rate"] | bits / 500000;
def figure10_of($phase): .figure10 | asked | by_point | map(select(
	.point["workers[*].phase"] == $phase) | . + { alpha: alpha });
def at($a; $m): map(select(.alpha == $a and .mode == $m)) | .[0];
def figure10:
	([ "phases", "alpha", "FIFO S1, S2", "other", "off", "Olaf S1, S2", "other", "off",
		"Olaf_TC S1, S2" ] | head),
	(. as $all | ("random", "cluster", "aligned") as $p |
		($all | figure10_of($p)) as $f | (0.1, 0.2, 0.5, 1) as $a |
		known.figure10[$p]["\($a)"] as $k |
		($f | [ at($a; "fifo"), at($a; "olaf"), at($a; "olaf_tc") ]) as [ $fifo, $olaf, $tc ] |
		def two($i): if $k then "\($k[$i]), \($k[$i + 1])" else "" end;
		def both($i): [ (.s1 | against($k[$i]) | select(. != "")),
			(.s2 | against($k[$i + 1]) | select(. != "")) ] | join(", ");
		def ages: "\(with_interval(.s1; .ci1)), \(with_interval(.s2; .ci2))";
		[ $p, "\($a)", ($fifo | ages), two(0), ($fifo | both(0)),
		($olaf | ages), two(2), ($olaf | both(2)), ($tc | ages) ] | row);
def figure10_csv: [ "alpha", "FIFO S1", "FIFO S2", "Olaf S1", "Olaf S2" ],
	(figure10_of("random") | . as $f | [ .[].alpha ] | unique[] as $a |
		[ $a ] + ($f | [ at($a; "fifo", "olaf") | .s1, .s2 ])) | @csv;

def datacenter:
	([ "queues", "sent", "packets to the server", "updates in them", "lost, %", "mean age, ms",
		"95th percentile", "Jain" ] | head),
	(.datacenter[] | select(.group == "all") | [ queue, "\(.sent)", "\(.received)",
		"\(.merged)", (.loss_percent | fixed(1)), (.mean_age_ns, .p95_age_ns | . / 1e6 | fixed(1)),
		(.jain | fixed(3)) ] | row);

# All simulated rows of Olaf's evaluation, one a line.
def csv: [ "scenario", "point", "row", "runs", "sent", "received", "merged", "aggregated",
	"superseded", "dropped", "loss_percent", "mean_age_ns", "mean_age_ns_ci95", "jain" ],
	(to_entries[] | .key as $name | .value[] | select(.sent) |
	select(.cluster == null or .cluster == "all") |
	[ $name, ([ .point[]? ] | join(" ")), (.group // .cluster), .runs, .sent, .received,
	.merged, .aggregated, .superseded, .dropped, .loss_percent, .mean_age_ns,
	.mean_age_ns_ci95, .jain ]) | @csv;

if $part == "table1" then table1
elif $part == "table1.csv" then table1_csv
elif $part == "figure6" then figure6
elif $part == "figure7" then figure7
elif $part == "figure7.csv" then figure7_csv
elif $part == "figure9" then figure9
elif $part == "figure9-fifo.csv" then figure9_csv("fifo")
elif $part == "figure9-olaf.csv" then figure9_csv("olaf")
elif $part == "figure10" then figure10
elif $part == "figure10.csv" then figure10_csv
elif $part == "datacenter" then datacenter
else csv end
