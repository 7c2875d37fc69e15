# reproduce.jq - what innet-sim printed, beside the papers, as Markdown or CSV
#
# reproduce.sh gives it $part, what to write, and $known, reproduce.json; the
# results come in: { NAME: [ rows ] }.

include "markdown";

def known: $known[0];
def shown($n): if . == null then "" else fixed($n) end;
def against($want): if . == null or $want == null or $want == 0 then ""
	else off($want) end;

# Of percentages, the points between.
def points($want): if . == null or $want == null then ""
	else "\(. - $want | fixed(1)) points" end;
# [ paper, here, other ] with so many decimals, and how far here is off each.
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

# Table 1: of bursts, of steady workers on a link that takes a time for each frame
# and merge, and of steady workers alone.  Lost is what neither came nor is inside
# what came; of steady workers, what was dropped.
def table1_settings: [ "table1", "table1-periodic", "table1-natural" ];
def table1_of($set; $q; $r): .[$set][] | select(.group == "all" and queue == $q
	and (rate | rtrimstr("G") | rtrimstr("M")) == ($r | rtrimstr("G"))) |
	. + { lost: (if $set == "table1" then (.sent - .merged) / .sent * 100
		else .dropped / .sent * 100 end) };
def table1_figures: . as $all | known.table1[] | . as $k |
	[ table1_settings[] as $s | $all | table1_of($s; $k.queue; $k.rate) ] as $h |
	([ "received", $k.paper[0], ($h | map(.received)), $k.other[0], 0 ],
	if $k.paper[1] then
	[ "aggregated", $k.paper[1], ($h | map(.aggregated)), $k.other[1], 0 ] else empty end,
	[ "lost, %", $k.paper[2], ($h | map(.lost)), $k.other[2], 1 ]) |
	{ queue: $k.queue, rate: $k.rate, name: .[0], paper: .[1], here: .[2],
	  other: .[3], n: .[4] };
def reduction($s; $r): table1_of($s; "olaf"; $r).mean_age_ns as $o |
	(1 - $o / table1_of($s; "fifo"; $r).mean_age_ns) * 100;
def table1_row: . as $f | [ .queue, .rate, .name, (.paper | shown($f.n)),
	(.here[] | shown($f.n)), (.other | shown($f.n)),
	(.here[0:2][] | if $f.n == 0 then against($f.paper) else points($f.paper) end) ];
def table1:
	([ "queue", "out", "", "paper", "bursts", "periodic", "natural",
		"bursts, other simulation", "bursts off the paper",
		"periodic off the paper" ] | head),
	(table1_figures | table1_row | row),
	(. as $all | ("40G", "20G") as $r | { queue: "olaf for fifo", rate: $r,
		name: "mean age less, %", paper: known.ages[$r].paper,
		here: [ table1_settings[] as $s | $all | reduction($s; $r) ],
		other: known.ages[$r].other, n: 1 } | table1_row | row);
def table1_csv:
	[ "queue", "paper", "bursts", "periodic", "natural" ],
	(table1_figures | select(.name == "received") |
		[ "\(.queue) \(.rate)", .paper ] + .here) | @csv;

# Figure 6: k merges, of the switch's own counts and of the filter's packets.
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
	"", "The share of packets with at most k merges; in brackets, of the other simulation:",
	"", ([ "out", "k = 0", "1", "2", "3", "5", "8" ] | head),
	(. as $all | ("40G", "20G", "5G") as $r |
		($all["cdf" + $r][0].merged_histogram | to_entries) as $h |
		[ $r ] + ([ 0, 1, 2, 3, 5, 8 ] | to_entries | map(
		"\(.value as $k | $h | at_most($k) | fixed(3)) (\(known.figure6[$r].at[.key] |
		fixed(3)))")) | row);

# Figure 7: how many times as long drop-tail took, by the median and last cluster.
def traffics: [ "bursts", "poisson", "periodic" ];
def times($t; $r; $q): [ .["figure7-\($t)"][] | select(.cluster != "all" and
	rate == $r and queue == $q).goal_ns ];
def last($t; $r; $q): .["figure7-\($t)"][] | select(.cluster == "all" and
	rate == $r and queue == $q).goal_ns;
# One that never came is last.
def middle($t; $r; $q): [ times($t; $r; $q)[] // infinite ] | median |
	if isinfinite then null else . end;
def ratio: if .[0] and .[1] then .[0] / .[1] else null end;
def speedup($t; $r): [ middle($t; $r; "fifo", "olaf") ] | ratio;
def last_speedup($t; $r): [ last($t; $r; "fifo", "olaf") ] | ratio;
def figure7:
	([ "traffic", "out", "median cluster", "other simulation, median worker",
		"off the other", "last cluster", "other, last worker", "off the other" ] | head),
	(. as $all | traffics[] as $t | ("5G", "10G", "20G", "40G") as $r |
		known.figure7[$t][$r] as $k | ($all | speedup($t; $r)) as $m |
		($all | last_speedup($t; $r)) as $s |
		[ $t, $r, ($m | shown(2)), ($k[0] | shown(2)), ($m | against($k[0])),
		($s | shown(2)), ($k[1] | shown(2)), ($s | against($k[1])) ] | row);
def figure7_csv: [ "out" ] + traffics,
	(. as $all | ("5G", "10G", "20G", "40G") as $r |
		[ $r ] + [ traffics[] as $t | $all | speedup($t; $r) ]) | @csv;

# Tables 2 and 3, Figure 10: rows of ten clusters and one for all.
def mode: if queue == "fifo" then "fifo" elif
	.point["workers[*].control"] == "none" then "olaf" else "olaf_tc" end;
# Transmission control without Olaf is not asked for.
def asked: map(select(queue == "olaf" or
	.point["workers[*].control"] == "none"));
def groups: group_by(.point) | map(
	(map(select(.cluster != "all")) | sort_by(.cluster | tonumber) |
		map(.mean_age_ns / 1e6)) as $age |
	(.[] | select(.cluster == "all")) as $all |
	{ mode: ($all | mode), point: $all.point, loss: $all.loss_percent,
	lost: (($all.sent - $all.merged - $all.queued) / $all.sent * 100),
	s1: ($age[:5] | mean), s2: ($age[5:] | mean), jain: $all.jain,
	of_means: ($age | jain) });
def settings: [ "natural", "a", "b", "c", "d" ];
def figure9_of($s): .["figure9-\($s)"] | asked | groups |
	map(. + { key: "\(.point["workers[S2].interval"]) \(.mode)" });
def table($interval; $modes):
	([ "" ] + [ "", "loss %", "S1, ms", "S2, ms", "Jain", "of mean ages" ] | head),
	(. as $all | $modes[] as $m | "\($interval) \($m)" as $key |
		(known.figure9.paper[$key] | if . then
			[ $m, "**paper**", (.[0] | shown(1)), (.[1, 2] | shown(0)),
			(.[3] | shown(2)), "" ] | row else empty end),
		(settings[] as $s | ($all | figure9_of($s)[] | select(.key == $key)) as $h |
		([ $m, "\($s): simulation", ($h.loss | fixed(1)), ($h.s1, $h.s2 | fixed(0)),
			($h.jain, $h.of_means | fixed(2)) ] | row),
		(known.figure9[$s][$key] | if . then
			[ "", "\($s): other", (.[0] | shown(1)), (.[1, 2] | shown(0)),
			(.[3] | shown(2)), "" ] | row else empty end),
		(known.figure9.paper[$key] | if . then
			[ "", "\($s): off the paper", (.[0] as $w | $h.loss | points($w)),
			(.[1] as $w | $h.s1 | against($w)), (.[2] as $w | $h.s2 | against($w)),
			(.[3] as $w | $h.jain | against($w)), "" ] | row else empty end)));
def figure9:
	"### Table 2: all every 100 ms", "", table("100ms"; [ "fifo", "olaf", "olaf_tc" ]),
	"", "### Table 3: S2 every 300 ms", "", table("300ms"; [ "fifo", "olaf", "olaf_tc" ]);
def figure9_csv($m):
	[ "setting", "S1 100 ms", "S2 100 ms", "S1 (S2 300 ms)", "S2 300 ms" ],
	[ "paper", known.figure9.paper["100ms \($m)"][1, 2],
		known.figure9.paper["300ms \($m)"][1, 2] ],
	(. as $all | settings[] as $s | ($all | figure9_of($s)) as $f |
		[ $s ] + [ ("100ms", "300ms") as $i | $f[] |
		select(.key == "\($i) \($m)") | .s1, .s2 ]) | @csv;

# Figure 10, by alpha.
def bits: if endswith("k") then (.[:-1] | tonumber * 1000) else tonumber end;
def alpha: .point["links[sw1].rate"] | bits / 500000;
def figure10_of($phase): .figure10 | asked | groups | map(select(
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
		def ages: "\(.s1 | fixed(0)), \(.s2 | fixed(0))";
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

# All that was simulated of Olaf's, a line a row.
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
