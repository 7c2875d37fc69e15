#!/usr/bin/env bash
# olaf-report.sh - write tables and plots of the results of olaf-evaluation.sh
#
#	share/examples/olaf-report.sh DIR
#
# The script reads DIR/runs.csv and DIR/curves.  It writes DIR/REPORT.md, the
# tables for bar charts, and plots.  In each part only the runs with the largest
# cap count.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -eq 1 ] || { echo 'usage: olaf-report.sh DIR' >&2; exit 2; }
[ -x "$top/build/innet-plot" ] && PATH=$top/build:$PATH
cd "$1" || exit 1
[ -s runs.csv ] || { echo "olaf-report: no runs.csv in $1" >&2; exit 1; }
kept=$(awk -F, 'NR == FNR { if ($7 > cap[$1]) cap[$1] = $7; next }
	FNR == 1 || $7 == cap[$1]' runs.csv runs.csv)

# pick PART,QUEUE,REPLY,LOAD,WORKERS COLUMN: print "SEED VALUE" for each of
# these runs that has a value in that column
pick() {
	awk -F, -v key="$1" -v want="$2" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == want) c = i; next }
		$1 "," $2 "," $3 "," $4 "," $5 == key && $c != "" { print $6, $c }' <<<"$kept" | sort
}

# mean [PLACES], sd: print the mean or the standard deviation of the second word
# of each line; PLACES is the number of decimal places
mean() { awk -v d="${1:-1}" '{ s += $2; n++ } END { if (n) printf "%.*f", d, s / n; else printf "-" }'; }
sd() {
	awk '{ s += $2; q += $2 * $2; n++ }
		END { v = n > 1 ? (q - s * s / n) / (n - 1) : 0; printf "%.2f", (v > 0 ? sqrt(v) : 0) }'
}
has() { [ -n "$(awk -F, -v p="$1" '$1 == p' <<<"$kept")" ]; }

# judged: read lines "SEED FIFO OLAF".  Print the geometric mean of the ratio of
# the times, the number of lines in which Olaf was faster, and whether the ratio
# differs significantly from 1.  The test is a t test of the logarithms at the 5
# % level, because times differ by factors and not by seconds.
judged() {
	awk '{ d = log($2 / $3); s += d; q += d * d; n++; first += d > 0 }
	END {
		split("12.71 4.30 3.18 2.78 2.57 2.45 2.36 2.31 2.26 2.23 2.20 2.18 2.16 2.14", t, " ")
		if (!n) { print "- | - | not measured"; exit }
		var = n > 1 ? (q - s * s / n) / (n - 1) : 0
		beyond = n > 1 && s * s / n > (n > 15 ? 2.13 : t[n - 1]) ^ 2 * var && s != 0
		word = s > 0 ? "**Olaf is faster**" : "**FIFO is faster**"
		if (!beyond) word = n < 2 ? "one run says nothing" : "no difference beyond chance"
		printf "%.2f | %d of %d | %s\n", exp(s / n), first, n, word
	}'
}

# times_of PART REPLY LOAD: print "SEED FIFO OLAF" with the times of both queues
times_of() { join <(pick "$1,fifo,$2,$3,8" time_s) <(pick "$1,olaf,$2,$3,8" time_s); }

# both PART REPLY LOAD COLUMN PLACES: print "FIFO, OLAF" with the means of a
# column
both() { echo "$(pick "$1,fifo,$2,$3,8" "$4" | mean "$5"), $(pick "$1,olaf,$2,$3,8" "$4" | mean "$5")"; }

# row PART REPLY LOAD: print a row of the table of times
row() {
	local f=$1,fifo,$2,$3,8 o=$1,olaf,$2,$3,8 n
	n=$(pick "$f" time_s | wc -l)
	[ "$n" -gt 0 ] || return
	echo "| $3 | $2 | $(pick "$f" time_s | mean) ($(pick "$f" time_s | sd)) | $(pick "$o" time_s | mean) ($(pick "$o" time_s | sd)) |" \
		"$(times_of "$@" | judged) | $(both "$@" solved 1) |" \
		"$(both "$@" loss_percent 1) | $(both "$@" mean_age_ms 0) | $(both "$@" jain 3) |"
}

# draw ARG...: run innet-plot, if gnuplot is installed
draw() { [ -z "$gnuplot" ] || innet-plot "$@"; }
gnuplot=$(command -v gnuplot) || echo 'olaf-report: no plots: gnuplot is missing (gnuplot-nox)' >&2

# curves LABEL PART,QUEUE,REPLY,LOAD,WORKERS: print the option --group, the
# label and the files of these runs, if there are any
curves() {
	local cap files
	cap=$(awk -F, -v p="${2%%,*}" '$1 == p { print $7; exit }' <<<"$kept")
	files=$(compgen -G "curves/${2//,/-}-*-$cap-*.csv")
	[ -z "$files" ] || { echo --group; echo "$1"; echo "$files"; }
}

# learning FILE OPTION... -- LABEL KEY [LABEL KEY]...: draw learning curves into
# FILE
learning() {
	local file=$1 options=() args=()
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	while [ $# -gt 1 ]; do mapfile -t -O ${#args[@]} args < <(curves "$1" "$2"); shift 2; done
	[ ${#args[@]} -eq 0 ] || draw rewards "${options[@]}" -w "$file" "${args[@]}"
}

factorial() {
	echo '## Time to reward, by load and by reply

Two clusters of 8 workers learn CartPole with A2C.  Each worker sends a gradient of 36,620 bytes about
every 30 ms.  The queue has 32 slots.  The load is the offered traffic divided by the traffic that
the link can carry.  The server adds '"$(cat step)"' times the gradient to the weights.  We chose the
factor 0.2 in runs with FIFO at load 0.3, because learning with 0.2 was stable and nearly the fastest.

The columns "FIFO, s" and "Olaf, s" show the seconds until the mean reward of the last 100 episodes of
a cluster reached 475.  Each figure is the mean over both clusters and all seeds, with the standard
deviation over seeds in brackets.  If a cluster did not reach 475, we use the time limit of the run (the
cap).  "FIFO / Olaf" is the ratio of the two times, as the geometric mean over the seeds.  "Judgement" is
the result of a t test of the logarithm of this ratio at the 5 % level.  If a field has two figures, the
first figure is for FIFO and the second figure is for Olaf.

| load | reply to | FIFO, s | Olaf, s | FIFO / Olaf | Olaf first | judgement | clusters solved | lost, % | mean age, ms | Jain |
|---|---|---|---|---|---|---|---|---|---|---|'
	for load in 4 0.3; do
		for reply in worker cluster; do row factorial $reply $load; done
		echo "| $load | both | | | $( (times_of factorial worker $load; times_of factorial cluster $load) | judged) | | | | |"
	done
	echo
	(echo 'load and reply,FIFO,FIFO_sd,Olaf,Olaf_sd'
	for load in 4 0.3; do for reply in worker cluster; do
		f=factorial,fifo,$reply,$load,8 o=factorial,olaf,$reply,$load,8
		echo "$load to $reply,$(pick $f time_s | mean 3),$(pick $f time_s | sd),$(pick $o time_s | mean 3),$(pick $o time_s | sd)"
	done; done) | sed 's/,-,/,,/g' >time.csv
	draw bars -w time.svg --label 'seconds to reward' time.csv
	learning rewards.svg --x seconds -- FIFO factorial,fifo,cluster,4,8 Olaf factorial,olaf,cluster,4,8
	age=''
	for q in olaf fifo; do
		f=$(compgen -G "curves/age-factorial-$q-cluster-4-*" | head -n 1)
		[ -z "$f" ] || { cp "$f" $q.csv && age="$age $q.csv"; }
	done
	# shellcheck disable=SC2086	# words
	[ -z "$age" ] || { draw age --cluster 1 -w age.svg $age; rm -f $age; }
	echo 'Olaf lowers the loss and the age, no matter how the agents learn.  But whether Olaf shortens the time to
the reward depends on how the agents learn.  A reply to the whole cluster helps both queues, because a
worker then gets new weights more often than its own updates arrive.  The times of one setting differ by
a factor of two to four between seeds.  The paper has no table of the times that learning takes; it
compares FIFO with Olaf in its Figure 7.
'
}

fig7() {
	echo '## Figure 7: speedup of time to reward

The paper measures the time until the server has received 200 updates of each worker, and divides the
time with FIFO by the time with Olaf.  The workers of the paper together send 60 Gbit/s over links of 5,
10, 20 and 40 Gbit/s (loads 12, 6, 3 and 1.5).  In the paper, the ratio is always above 1, and it is
larger for slower links.  In our runs, we divide the times to a mean reward of 475, and the server replies
to the whole cluster.

| load | reply to | FIFO, s | Olaf, s | FIFO / Olaf | Olaf first | judgement | clusters solved | lost, % | mean age, ms | Jain |
|---|---|---|---|---|---|---|---|---|---|---|'
	local load part
	echo 'load,FIFO,FIFO_sd,Olaf,Olaf_sd' >fig7.csv
	for load in 0.3 1.5 4 12; do
		part=fig7
		case $load in 0.3 | 4) part=factorial ;; esac
		row $part cluster $load
		[ -z "$(times_of $part cluster $load)" ] || echo "$load,$(pick $part,fifo,cluster,$load,8 time_s | mean 3),$(pick $part,fifo,cluster,$load,8 time_s | sd),$(pick $part,olaf,cluster,$load,8 time_s | mean 3),$(pick $part,olaf,cluster,$load,8 time_s | sd)" >>fig7.csv
	done
	[ "$(wc -l <fig7.csv)" -eq 1 ] || draw bars -w fig7.svg --label 'seconds to reward' fig7.csv
	echo '
The figures of this table should differ from those of the paper.  The paper measures the time until a
number of updates has arrived, so with FIFO the workers must send another update for each lost update.  In
our runs, the workers do not have to replace lost updates, and asynchronous learning tolerates the loss.
The time limit of a run also limits the ratio.
'
}

fig2() {
	echo '## Figure 2: asynchronous, with aggregation, synchronous

Eight workers learn CartPole with A2C and plain gradient ascent, without congestion.  There are three
modes.  In mode async, the server adds 0.05 times each gradient to the weights.  In mode aggregated, the
switch sums any eight gradients, as iSwitch does, and the workers add 0.4 times their mean to the weights.
The gradients are at most 3 rounds stale.  In mode sync, the switch sums one gradient of each worker, and
the workers add 0.4 times the mean of these gradients to the weights.

In an iteration, each worker computes a gradient from 128 steps of its environment (a lesson).  The
table shows the number of iterations until the mean reward of the last 20 episodes of a worker reached
475.  If a worker did not reach 475, we use the number of all iterations of the run.  Each figure is the
mean over workers and seeds, with the standard deviation in brackets.

| mode | iterations to 475 | final reward | paper |
|---|---|---|---|'
	local q
	for q in async aggregated sync; do
		echo "| $q | $(pick fig2,$q,worker,0,8 iterations | mean 0) ($(pick fig2,$q,worker,0,8 iterations | sd)) |" \
			"$(pick fig2,$q,worker,0,8 final_reward | mean) | $([ $q = async ] && echo 'highest reward throughout' || echo below)"' |'
	done
	learning fig2.svg --smooth 20 -- async fig2,async,worker,0,8 aggregated fig2,aggregated,worker,0,8 sync fig2,sync,worker,0,8
	echo '
The figures of this table should differ from those of the paper.  The paper uses PPO, a gate on rewards
and 200 iterations of whole episodes.  The paper does not state the step sizes of the modes aggregated and sync.
In our runs, an iteration changes the weights by the same amount in all three modes, because each gradient
has the same factor: adding 0.4 times the mean of eight gradients is the same as adding 0.05 times each
gradient.

The page figure2.md, made by olaf-figure2.sh, shows the effects of step size, delay and batch size
separately.  If all modes use the same step size between 0.05 and 0.4, mode async is the fastest with every
seed, as in the paper.  The reason is that mode async makes eight steps in an iteration.  If lessons have
128 steps and an iteration changes the weights by the same amount in all modes, mode async is the fastest
with at most half of the seeds.  With the largest step size, mode async is never the fastest.  If gradients
arrive later, learning needs more iterations.
'
}

fig3() {
	echo '## Figure 3: the number of workers

Each worker learns LunarLander with PPO on its own copy of the weights.  A worker plays 1,024 steps, trains
on these steps for four epochs with Adam, and sends the change of its weights (39,188 bytes).  The server
adds half of this change to its weights and answers the whole cluster.  There is no congestion.

In an iteration, each worker plays 1,024 steps.  The table shows the number of iterations until the
mean reward of the last 20 episodes of a worker reached 200.  A run has 200 iterations, and a worker
that never reached this reward counts as 200.  Each figure is the mean over workers and seeds, with the standard
deviation in brackets.

| workers | iterations to 200 | final reward | paper |
|---|---|---|---|'
	local n args=()
	for n in 1 2 4 8; do
		echo "| $n | $(pick fig3,ideal,cluster,0,$n iterations | mean 0) ($(pick fig3,ideal,cluster,0,$n iterations | sd)) |" \
			"$(pick fig3,ideal,cluster,0,$n final_reward | mean) | $([ $n = 1 ] && echo slowest || echo faster than with fewer) |"
		args+=("$n workers" "fig3,ideal,cluster,0,$n")
	done
	learning fig3.svg --smooth 20 -- "${args[@]}"
	echo '
The figures of this table should differ from those of the paper.  In the paper, the server has a gate on
rewards.  We found that agents do not learn with such a gate (share/results/tools.md).  Our workers send
the change of the weights in a whole lesson, which contains more information than one gradient.
'
}

fig8() {
	echo '## Figure 8: reward under congestion

The workers learn LunarLander in the same way as for Figure 3.  Each of eight workers sends the change
of its weights about every 300 ms, so 200 iterations take 60 s.  The queue has 32 slots, and the
server replies to the whole cluster.

| queue | load | final reward | seconds to 200 | solved | lost, % | mean age, ms |
|---|---|---|---|---|---|---|'
	local q k f
	for q in ideal,0 olaf,4 fifo,1.5 fifo,4; do
		k=fig8,${q%,*},cluster,${q#*,},8
		echo "| ${q%,*} | ${q#*,} | $(pick $k final_reward | mean) ($(pick $k final_reward | sd)) | $(pick $k time_s | mean) |" \
			"$(pick $k solved | mean) | $(pick $k loss_percent | mean) | $(pick $k mean_age_ms | mean 0) |"
	done
	learning fig8.svg --x seconds -- ideal fig8,ideal,cluster,0,8 'Olaf, load 4' fig8,olaf,cluster,4,8 \
		'FIFO, load 1.5' fig8,fifo,cluster,1.5,8 'FIFO, load 4' fig8,fifo,cluster,4,8
	echo
	f=$(join <(pick fig8,olaf,cluster,4,8 final_reward) <(pick fig8,fifo,cluster,4,8 final_reward) |
		awk '{ n++; above += $2 > $3 } END { printf "%d of %d", above, n }')
	echo "In the paper, the final reward with Olaf is 82 % higher than with FIFO at 40 Gbit/s (load 1.5), and 86.5 %
higher at 20 Gbit/s (load 3).  In our runs at load 4, Olaf has the higher final reward with $f
seeds.  We cannot compare percentages, because the rewards of LunarLander are negative at first, and
because the paper counts iterations and not seconds.
"
}

fairness() {
	echo '## Ages and fairness, with and without transmission control

There are ten clusters of three workers, and each update is 1 kB long.  Each worker of clusters 1 to 5
sends an update about every 100 ms, and each worker of clusters 6 to 10 sends one about every 300 ms.  The
queue has 8 slots, and the load is 3.

| queue | lost, % | age of 1-5, ms | age of 6-10, ms | Jain | paper (Table 3): lost, ages, Jain |
|---|---|---|---|---|---|'
	local q k paper
	echo 'queue,clusters 1-5,clusters 6-10' >fairness.csv
	for q in fifo olaf olaf-urgent olaf-fair; do
		k=fairness,$q,cluster,3,3
		case $q in
		fifo) paper='86, 1381, 5382, 0.86' ;;
		olaf) paper='5.6, 243, 291, 0.91' ;;
		*) paper='4.7, 263, 270, 0.99' ;;
		esac
		echo "| $q | $(pick $k loss_percent | mean) | $(pick $k mean_age_ms | mean 0) | $(pick $k mean_age2_ms | mean 0) |" \
			"$(pick $k jain | mean 3) | $paper |"
		echo "$q,$(pick $k mean_age_ms | mean 3),$(pick $k mean_age2_ms | mean 3)" >>fairness.csv
	done
	draw bars -w fairness.svg --label 'Age-of-Model in ms' fairness.csv
	echo '
The figures of this table should differ from those of the paper.  The paper simulates three switches in a
row with ten workers per cluster, but our runs have one switch and three workers per cluster.  The model of
a cluster that sends every 300 ms cannot be as fresh as the model of a cluster that sends every 100 ms.
'
}

{
	echo '# How a merging queue affects learning, compared with the paper

The script `share/examples/olaf-evaluation.sh` made this page.  The file `runs.csv` has a row for each run.
'
	awk -F, 'NR > 1 { n++; slow += $19 != "" && $19 < ($2 == "sync" ? 60 : 80) }
		END { if (slow) printf "**The machine was busy**: in %d of %d runs agents sent less than 80 %% of " \
		    "the gradients that their intervals allow,\nso the loads were lower than this page says, and " \
		    "learning took longer.\n\n", slow, n }' <<<"$kept"
	for part in factorial fig7 fig2 fig3 fig8 fairness; do
		has $part || { [ $part = fig7 ] && has factorial; } || continue
		$part
	done
} >REPORT.md.new && mv REPORT.md.new REPORT.md && echo "$PWD/REPORT.md"
