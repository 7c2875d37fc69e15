# reproduce-iswitch.jq - print results of innet-sim and of the paper as Markdown
#
# reproduce-iswitch.sh sets $paper, $step, $out, $racks, $live, $measured, and for its
# experiments $message, $optimizer_step and $optimizer_out.

include "markdown";

def algorithms: [ "dqn", "a2c", "ppo", "ddpg" ];
def title: { dqn: "DQN", a2c: "A2C", ppo: "PPO", ddpg: "DDPG", ps: "PS",
	ar: "AR", isw: "iSW" }[.];

# Return the results of a training by its name.
def in_step($a; $p): $step[] | select(.training == "\($a)-\($p)");
def out_of_step($a; $p): $out[] | select(.training == "\($a)-\($p)");
def ms: . / 1e6;
def approaches: [ "ps", "ar", "isw" ];
def hours($a; $p): $paper[$a].h[approaches | index($p)];
def wanted($a; $p): hours($a; $p) * 3.6e6 / $paper[$a].n;
def simulated_hours($a; $p): in_step($a; $p).iteration_ns * $paper[$a].n / 3.6e12;
def async_hours($a; $p): out_of_step($a; $p).iteration_ns * $paper[$a][$p][0] / 3.6e12;

def figure12:
	"## Figure 12: a synchronous iteration, ms", "",
	([ "", "approach", "paper", "simulated", "off", "compute", "aggregation",
		"its share" ] | head),
	(algorithms[] as $a | approaches[] as $p | in_step($a; $p) as $s |
		($s.iteration_ns | ms) as $got | wanted($a; $p) as $want |
		[ ($a | title), ($p | title), ($want | fixed(2)),
		($got | fixed(2)), ($got | off($want)),
		($s.compute_ns | ms | fixed(2)), ($s.aggregation_ns | ms | fixed(2)),
		"\($s.aggregation_ns / $s.iteration_ns * 100 | fixed(1)) %" ] | row),
	"",
	"We fitted the cost of a message to all four algorithms, and the result is 1.2 ms.  If we fit the cost to PPO",
	"alone (40 kB), the result is 0.92 ms.  With 0.92 ms, PS and AR also agree with the paper, although we did",
	"not fit the cost to them:", "",
	([ "", "approach", "paper", "with 0.92 ms", "off" ] | head),
	(approaches[] as $p | ($message[] | select(.training == "ppo-\($p)")) as $s |
		wanted("ppo"; $p) as $want | ($s.iteration_ns | ms) as $got |
		[ "PPO", ($p | title), ($want | fixed(2)), ($got | fixed(2)), ($got | off($want)) ] | row);

# Return the smallest and the largest saving in percent over the algorithms.
def saved($of; $than):
	[ algorithms[] as $a | 1 - in_step($a; "isw")[$of] /
		in_step($a; $than)[$of] | . * 100 ] |
	"\(min | fixed(1)) to \(max | fixed(1))";

def claims:
	"", "This table compares statements in the paper's text with the simulation, in percent:", "",
	([ "", "paper", "simulated" ] | head),
	([ "aggregation's share of an iteration, PS and AR", "49.9 to 83.2",
		([ algorithms[] as $a | ("ps", "ar") as $p | in_step($a; $p) |
		.aggregation_ns / .iteration_ns * 100 ] |
		"\(min | fixed(1)) to \(max | fixed(1))") ] | row),
	([ "iSW: shorter iteration than PS", "41.9 to 72.7",
		saved("iteration_ns"; "ps") ] | row),
	([ "iSW: less aggregation than PS", "81.6 to 85.8",
		saved("aggregation_ns"; "ps") ] | row),
	([ "iSW: shorter iteration than AR", "36.7 to 48.9",
		saved("iteration_ns"; "ar") ] | row),
	([ "iSW: less aggregation than AR", "63.4 to 87.9",
		saved("aggregation_ns"; "ar") ] | row);

def table4:
	"", "## Table 4: synchronous training, hours", "",
	"The numbers of iterations are from the paper, because a simulated network learns nothing.",
	"", ([ "", "iterations", "approach", "paper", "simulated", "off" ] | head),
	(algorithms[] as $a | approaches[] as $p |
		simulated_hours($a; $p) as $h |
		[ ($a | title), "\($paper[$a].n)", ($p | title),
		(hours($a; $p) | fixed(2)), ($h | fixed(2)),
		($h | off(hours($a; $p))) ] | row);

def table3:
	"", "## Table 3: speedup over PS of the same kind", "",
	([ "", "", "paper", "simulated", "off" ] | head),
	(algorithms[] as $a | ("ar", "isw") as $p |
		(simulated_hours($a; "ps") / simulated_hours($a; $p)) as $x |
		$paper[$a].x[{ ar: 0, isw: 1 }[$p]] as $want |
		[ ($a | title), "synchronous \($p | title)", ($want | fixed(2)),
		($x | fixed(2)), ($x | off($want)) ] | row),
	(algorithms[] as $a |
		(async_hours($a; "ps") / async_hours($a; "isw")) as $x |
		[ ($a | title), "asynchronous iSW", ($paper[$a].x[2] | fixed(2)),
		($x | fixed(2)), ($x | off($paper[$a].x[2])) ] | row),
	"",
	"The asynchronous rows use the asynchronous server of Table 5.  The notes below that table explain why this",
	"server is faster than in the paper.";

def table5:
	"", "## Table 5: asynchronous training, staleness bound 3", "",
	"The numbers of iterations are from the paper.  The simulated hours are the numbers of iterations multiplied",
	"by the simulated time of an iteration.", "",
	([ "", "approach", "paper, ms", "simulated", "off", "paper, hours",
		"simulated", "staleness", "0", "1", "2", "3", "more" ] | head),
	(algorithms[] as $a | ("ps", "isw") as $p | out_of_step($a; $p) as $s |
		$paper[$a][$p] as $want | ($s.iteration_ns | ms) as $got |
		([ $s | to_entries[] | select(.key | startswith("staleness_")) |
			.value ]) as $k |
		[ ($a | title), ($p | title), ($want[1] | fixed(2)),
		($got | fixed(2)), ($got | off($want[1])), ($want[2] | fixed(2)),
		(async_hours($a; $p) | fixed(2)), ($s.mean_staleness | fixed(2)),
		"\($k[0])", "\($k[1])", "\($k[2])", "\($k[3])",
		"\($k[4:] | add)" ] | row),
	"",
	"- The rows of iSW do not test the simulation, because we derived the compute times from",
	"  the paper's values in these rows.  These rows only show that all other work is done while",
	"  the workers compute.",
	"- Except for PPO, PS is faster in the simulation than in the paper.  In the simulation, the",
	"  vectors of the workers reach the server one after another, and the server's link carries vectors in both",
	"  directions at the same time.  With N workers, the server applies N updates during one",
	"  cycle of a worker.",
	"- An optimizer at the server does not explain the difference.  If we add an optimizer that",
	"  takes the missing time, this optimizer also slows down the synchronous server.  The synchronous",
	"  server is then slower than in the paper:", "",
	([ "", "optimizer, ms", "asynchronous: paper", "simulated", "off", "synchronous: paper",
		"simulated", "off" ] | head),
	(("dqn", "a2c", "ddpg") as $a |
		($optimizer_out[] | select(.training == "\($a)-ps")) as $o |
		($optimizer_step[] | select(.training == "\($a)-ps")) as $s |
		[ ($a | title), ($s.update_ns | ms | fixed(1)), ($paper[$a].ps[1] | fixed(2)),
		($o.iteration_ns | ms | fixed(2)), ($o.iteration_ns | ms | off($paper[$a].ps[1])),
		(wanted($a; "ps") | fixed(2)), ($s.iteration_ns | ms | fixed(2)),
		($s.iteration_ns | ms | off(wanted($a; "ps"))) ] | row),
	"",
	"- We count staleness in updates.  With a server, each gradient is an update, and with a",
	"  switch, each sum of four gradients is an update.  The paper gives no figures for",
	"  staleness; it only says that staleness is smaller with iSW.";

def figure15:
	"", "## Figure 15: speedup with more workers, in racks of three", "",
	"Each figure is the number of gradients per second of N workers, divided by that of 4 workers with the same",
	"approach.  This ratio is the speedup if N workers need 4/N of the iterations.  A simulation",
	"of the network cannot show how many iterations N workers need.  The paper has curves without numbers.  The text",
	"of the paper says that AR is worst, PS second and iSW best, and that asynchronous iSW scales almost linearly.", "",
	([ "", "approach", "4", "6", "9", "12", "ms at 4", "ms at 12" ] | head),
	(("ppo", "ddpg") as $a | ("ar", "ps", "isw", "ps-async", "isw-async") as $p |
		[ $racks[] | select(.training == "\($a)-\($p)") ] as $r |
		[ ($a | title), (if $p | endswith("-async") then "asynchronous "
			else "" end) + ($p | split("-")[0] | title),
		($r[] | .vectors_per_s / $r[0].vectors_per_s | fixed(2)),
		($r[0, -1].iteration_ns | ms | fixed(2)) ] | row);

def testbed:
	if ($measured | length) == 0 then empty else
	"", "## The simulation compared with live runs of innet", "",
	"The live runs had four workers in network namespaces, with links of 100 Mbit/s.  All workers",
	"shared two processors.  The table compares the aggregation times of the live runs with the",
	"simulated times, in ms.  The live times are from share/results/iswitch/measured.csv.", "",
	([ "", "carrier", "live", "simulated", "off" ] | head),
	(algorithms[] as $a | ("ps", "ring", "switch") as $p |
		($live[] | select(.training == "\($a)-\($p)")) as $s |
		($measured | split("\n")[] | split(",") | select(.[0] == "carry"
		and .[1] == $a and .[4] == "sync" and .[5] == $p)) as $m |
		($m[10] | tonumber) as $want | ($s.aggregation_ns | ms) as $got |
		[ ($a | title), $p, ($want | fixed(2)), ($got | fixed(2)),
		($got | off($want)) ] | row),
	"",
	"The simulation models links, frames and the order of events.  In the live runs, the hosts",
	"also need time to process packets, they share two processors, and the ring uses TCP.  After each pause, a",
	"live link also sends a burst at full speed.  The column \"off\" shows the sum of all these effects."
	end;

"# iSwitch, simulated", "",
"There are four workers with links of 10 Gbit/s.  The compute times are from Table 5 of the paper.  We chose",
"the cost of a message at a host so that the simulation fits the column iSW of Table 4 of the paper.  The",
"figures of the parameter server (PS) and of AllReduce (AR), and all comparisons with these figures, are",
"predictions of the simulation.",
"", figure12, claims, table4, table3, table5, figure15, testbed
