#!/usr/bin/env bash
# olaf-evaluation.sh - measure how a merging queue affects training
#
#	share/examples/olaf-evaluation.sh [-o DIR] [--quick] [--seeds N]
#		[--step X] [--part NAME]...
#
# Real agents train across a live switch on loopback.  Without --part, all parts
# run:
#
#   factorial  {FIFO, Olaf} x {reply to worker, cluster} x {load 4, 0.3}: CartPole
#   fig7       time to reward at more loads
#   fig2       asynchronous, asynchronous with aggregation, and synchronous
#   fig3       LunarLander by local PPO and weight deltas: 1, 2, 4 and 8 workers
#   fig8       LunarLander through a narrow link
#   fairness   ages of clusters that send at different rates, with and without
#              transmission control
#
# DIR (default: build/olaf-evaluation, or ./olaf-evaluation) gets runs.csv, which has a
# row for each run that has ended, and curves/, which has the episodes of each
# run.
# olaf-report.sh then writes tables, plots and REPORT.md into DIR.  A run that
# runs.csv contains is not repeated, so you can continue a stopped evaluation
# with the same DIR.
#
# Settings that are compared run at the same time, with the same seeds, so that
# other load on the machine affects all of them.  --seeds sets how often each
# setting runs (default 5; at most 3 in fig3 and fig8).  --step sets the step
# size of the server in factorial and fig7 (default 0.2); to test its effect,
# run again with another DIR.
# --quick does one short run of each setting, in less than two minutes in all. 
# It only tests this script; its results do not show how agents learn.  The exit
# status is 1 if a run failed.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
here=$(cd "$(dirname "$0")" && pwd)
out='' quick='' seeds=5 step=0.2 parts=''
all_parts='factorial fig7 fig2 fig3 fig8 fairness'
say() { printf 'olaf-evaluation: %s\n' "$*" >&2; }
die() { say "$*"; exit 2; }
while [ $# -gt 0 ]; do
	[ "$1" != --quick ] || { quick=1; shift; continue; }
	[ $# -ge 2 ] || die "$1 is unknown, or its value is missing"
	case $1 in
	-o) out=$2 ;;
	--seeds) seeds=$2 ;;
	--step) step=$2 ;;
	--part) parts="$parts $2" ;;
	*) die "unknown option '$1'" ;;
	esac
	shift 2
done
[[ $seeds =~ ^[1-9][0-9]?$ ]] || die '--seeds takes 1 to 99'
[[ $step =~ ^0?\.[0-9]*[1-9]$|^[1-9]$ ]] || die '--step takes a number below 10, such as 0.4'
for p in $parts; do
	[[ " $all_parts " == *" $p "* ]] || die "no part '$p'; there are: $all_parts"
done
parts=${parts:-$all_parts}
made=.
[ -x "$top/build/innet-switch" ] && made=$top/build PATH=$top/build:$PATH
out=${out:-$made/olaf-evaluation}
command -v innet-switch >/dev/null || die 'innet-switch is not built; ./bootstrap'
mkdir -p "$out/curves" && cd "$out" || exit 1
out=$PWD

# A run has its own subshell and works in DIR/run-....  The variables $part
# $queue $reply $load $workers $seed $cap describe the run, as the columns of
# runs.csv do.

# settings: set the options of the agents, the server, the link and the clusters
# of a part.  We chose the step of the server in runs with an almost empty queue
# (FIFO at load 0.3, two seeds, both replies).  Steps of 0.1, 0.2 and 0.4 took
# 6.9, 4.6 and 4.1 s, and Adam with 0.005 took 14.8 s.  With some other seeds,
# agents never reached the goal with 0.4, so the step is 0.2.
settings() {
	agent='--env cartpole --algo a2c --envs 8 --horizon 16 --norm 0.5 --lambda 0.95'
	server="--optimizer sgd --average none --learning-rate $step"
	interval=30 bytes=36694 clusters=2 slots=32 program=$queue control=''
	lesson=128 goal=475	# environment steps of a gradient; reward of a solved task
	case $part in
	fig2)	# one step of 0.4 along the mean of 8 gradients, or 8 steps of 0.05
		agent="$agent --optimizer sgd --learning-rate 0.4"
		server='--optimizer sgd --average none --learning-rate 0.05'
		interval=8 clusters=1 program=olaf ;;
	fig3 | fig8)	# 200 iterations, as in the paper, take 40 s in fig3 and 60 s in fig8
		agent="--env lunarlander --algo ppo --send deltas --envs 4 --horizon 256
			--epochs 4 --batch 64 --learning-rate 3e-4 --gamma 0.999
			--lambda 0.98 --entropy 0.01"
		server='--optimizer sgd --average none --learning-rate 0.5'
		interval=200 bytes=39262 clusters=1 lesson=1024 goal=200
		[ "$part" = fig3 ] || interval=300 ;;
	fairness)
		interval=100 bytes=1098 clusters=10 slots=8 program=${queue%-*}
		[ "$queue" = "$program" ] || control="--control ${queue#*-}" ;;
	esac
	[ "$queue" != ideal ] || program=olaf
}

# roster: print a line for each worker: cluster, number, interval in us.  The
# intervals in a cluster are up to a quarter shorter or longer than $interval. 
# In the part fairness, the intervals of clusters 6 to 10 are three times as
# long.
roster() {
	awk -v C=$clusters -v W="$workers" -v T=$interval -v part="$part" 'BEGIN {
		for (c = 1; c <= C; c++)
			for (w = 0; w < W; w++) {
				us = 1000 * T * (W > 1 ? 0.75 + 0.5 * w / (W - 1) : 1)
				print c, w, int(us * (part == "fairness" && c > 5 ? 3 : 1))
			} }'
}

# rate: print the rate of the link in bit/s: the offered traffic divided by
# $load.
# Load 0 means a link that is never congested.
rate() {
	[ "$load" != 0 ] || { echo 40G; return; }
	roster | awk -v b=$bytes -v by="$load" '{ s += 1e6 / $3 } END { printf "%d", s * b * 8 / by }'
}

# launch NAME COMMAND...: run the command in the background, and set $pid.  If
# NAME ends in .port, wait for that file, and set $port to its content.
launch() {
	local name=$1
	shift
	"$@" 2>"$name.err" &
	pid=$! running="$running $pid"
	[[ $name == *.port ]] || return 0
	for _ in $(seq 1000); do
		[ ! -s "$name" ] || { port=$(cat "$name"); return 0; }
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.02
	done
	say "$name: did not start; see $PWD"
	return 1
}

# pooled C: print the episodes of all workers of cluster C in order of time
pooled() {
	tail -qn +2 "$1"-*.csv 2>/dev/null | LC_ALL=C sort -t, -k4,4n |
		awk -F, 'NF == 4 { print $1 "," ++n "," $3 "," $4 }'
}

# reached C: print the seconds until the mean reward of 100 episodes of cluster
# C reached the goal (or the cap if it did not), and the mean reward of the last
# 100 episodes.
# Return 1 if the cluster did not reach the goal.
reached() {
	pooled "$1" | awk -F, -v goal=$goal -v cap="$cap" '{
		sum += $3 - last[NR % 100]; last[NR % 100] = $3
		if (!t && NR >= 100 && sum / 100 >= goal && $4 < cap) t = $4
	} END { n = NR < 100 ? NR : 100
		printf "%s %.1f\n", t ? t : cap, n ? sum / n : 0; exit !t }'
}

# iterations: print the number of iterations until the mean reward of 20
# episodes of a worker reached the goal, as a mean over workers.  A worker that
# did not reach the goal counts with all iterations that fit into the cap. 
# Figures 2 and 3 use 20 episodes of one worker, so that the number of workers
# in a cluster does not affect the result.
iterations() {
	local f
	for f in 1-*.csv; do
		awk -F, -v goal=$goal -v steps=$lesson -v all=$((cap * 1000 / interval)) 'NR > 1 {
			sum += $3 - last[NR % 20]; last[NR % 20] = $3
			if (NR > 20 && sum >= 20 * goal) { all = $1 / steps; exit }
		} END { print all }' "$f"
	done | awk '{ s += $1 } END { printf "%.1f", s / NR }'
}

# pace: print the gradients that the agents sent, in percent of the gradients
# that their intervals allow.  The figure is low on a busy machine.  Synchronous
# workers wait for the slowest worker, so they reach at most 80 %.
pace() {
	local c w us
	roster | while read -r c w us; do
		sed -n 's/.*"sent":\([0-9]*\).*"elapsed_s":\([0-9.]*\).*/\1 \2 '"$us/p" "$c-$w.json"
	done | awk '$2 > 0 { p += $1 * $3 / 1e4 / $2; n++ } END { if (n) printf "%.0f", p / n }'
}

# learn: wait until the cap; in factorial and fig7, which measure only the time
# to the goal, stop when all clusters have reached the goal
learn() {
	local end=$((SECONDS + cap)) c there
	while [ $SECONDS -lt $end ]; do
		sleep 1
		there=0
		case $part in factorial | fig7)
			for ((c = 1; c <= clusters; c++)); do
				reached $c >/dev/null && there=$((there + 1))
			done ;;
		esac
		[ $there -lt $clusters ] || return 0
	done
}

# Run the server, the switch and the workers from start to end, and write the
# capture got.pcap and report.json.
train() {
	local workers_pids='' sw ps='' c w us mode=olaf cmd any=''
	case $queue in
	sync | aggregated)
		mode=iswitch
		if [ "$queue" = aggregated ]; then
			mode='iswitch --async --maximize --learning-rate 0.4'
			any=--async
		fi
		launch sw.port innet-switch --listen 127.0.0.1:0 --port-file sw.port -p iswitch \
			-H "$workers" $any || return 1 ;;
	*)
		launch ps.port innet-ps --listen 127.0.0.1:0 --port-file ps.port $server \
			--reply "$reply" --write-in got.pcap || return 1
		ps=$pid
		launch sw.port innet-switch --listen 127.0.0.1:0 --port-file sw.port --queue $program \
			--slots $slots --rate "$(rate)" --upstream "127.0.0.1:$port" \
			--report report.json || return 1 ;;
	esac
	sw=$pid
	while read -r c w us; do
		cmd="--synthetic 1024B --interval ${us}us"
		[ "$part" = fairness ] || cmd="-- innet-agent -q $agent --interval ${us}us
			--init-seed $((seed * 10 + c)) --seed $((seed * 1000 + c * 100 + w)) --log $c-$w.csv --report $c-$w.json"
		launch "$c-$w" innet-worker -q --switch "127.0.0.1:$port" -p $mode \
			--cluster "$c" --worker "$w" $control $cmd
		workers_pids="$workers_pids $pid"
	done < <(roster)
	learn
	kill -TERM $workers_pids 2>/dev/null
	for pid in $workers_pids; do
		# 143: SIGTERM ended the worker before it had started
		wait "$pid" || [ $? -eq 143 ] || { say "a worker failed; see $PWD"; return 1; }
	done
	kill -TERM $sw && wait $sw || return 1
	[ -z "$ps" ] || { kill -TERM $ps && wait $ps; }
}

# figure CLUSTER KEY: print a figure of one cluster, or of "all", from the
# output of innet-aom
figure() { sed -n "s/.*\"cluster\":$1,.*\"$2\":\([-0-9.]*\).*/\1/p" aom.json 2>/dev/null; }

# ages FIRST LAST: print the mean age in ms of clusters FIRST to LAST
ages() {
	for ((c = $1; c <= $2; c++)); do figure "$c" mean_age_ns; done |
		awk '{ s += $1 } END { if (NR) printf "%.3f", s / NR / 1e6 }'
}

# measured: print the measurements, which are the columns of runs.csv after the
# columns of $key
measured() {
	local c at seconds='' solved=0 final='' loss='' turns=''
	if [ -s got.pcap ]; then
		innet-aom -q -r got.pcap --counters report.json --json >aom.json || return 1
		loss=$(figure '"all"' loss_percent)
	fi
	[ "$part" = fairness ] || for ((c = 1; c <= clusters; c++)); do
		at=$(reached $c) && solved=$((solved + 1))
		seconds="$seconds ${at% *}" final="$final ${at#* }"
	done
	[[ $part != fig[23] ]] || turns=$(iterations)
	mean() { tr ' ' '\n' <<<"$1" | awk 'NF { s += $1; n++ } END { if (n) printf "%.3f", s / n }'; }
	printf '%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s\n' \
		"$(mean "$seconds")" $solved "$turns" "$(mean "$final")" \
		"$(figure '"all"' sent)" "$(figure '"all"' received)" "$loss" \
		"$(ages 1 $((clusters > 1 ? clusters / 2 : 1)))" \
		"$([ $clusters -eq 1 ] || ages $((clusters / 2 + 1)) $clusters)" \
		"$(figure '"all"' jain)" \
		"$(awk -F'[ms ]+' 'NR == 2 { printf "%.1f", $1 * 60 + $2 + $3 * 60 + $4 }' cpu)" "$([ $part = fairness ] || pace)"
}

# keep_curves: keep the episodes of each cluster in order of time.  For figures
# 2 and 3, which count iterations, keep the episodes of each worker.
keep_curves() {
	local c f name=$out/curves/${key//,/-}
	case $part in
	fairness) ;;
	fig2 | fig3) for f in 1-*.csv; do cp "$f" "$name-$f" || return 1; done ;;
	*) for ((c = 1; c <= clusters; c++)); do
		{ echo step,episode,reward,seconds; pooled $c; } >"$name-$c.csv" || return 1
	done ;;
	esac
	[ "$part,$seed" != factorial,1 ] ||
		innet-aom -q -r got.pcap --series "$out/curves/age-${key//,/-}.csv" >/dev/null
}

# run KEY: do a run, and write its row into run-KEY/row
run() {
	local rc=0
	key=$1 running=''
	IFS=, read -r part queue reply load workers seed cap <<<"$key"
	trap '[ -z "$running" ] || kill $running 2>/dev/null; wait' EXIT
	trap 'exit 1' INT TERM
	rm -rf "run-$key" && mkdir "run-$key" && cd "run-$key" || return 1
	settings
	train && times >cpu && keep_curves && row=$(measured) && echo "$key,$row" >row || rc=1
	rm -f ./*.pcap
	[ $rc -ne 0 ] || running=''
	return $rc
}

# plan: print the runs.  The runs of a line start at the same time.
plan() {
	local s n=$seeds cap=30 ideal=40 queues=60 load reply
	[ -z "$quick" ] || { n=1 cap=5 ideal=2 queues=4; }
	for ((s = 1; s <= n; s++)); do
		[[ " $parts " != *' factorial '* ]] || for load in 4 0.3; do
			for reply in worker cluster; do
				echo {fifo,olaf},$reply,$load,8,$s,$cap | sed 's/\(^\| \)/\1factorial,/g'
			done
		done
		[[ " $parts " != *' fig7 '* ]] || for load in 12 1.5; do
			[ "$quick$load" != 11.5 ] || continue
			echo fig7,{fifo,olaf},cluster,$load,8,$s,$cap
		done
		[[ " $parts " != *' fig2 '* ]] ||
			echo fig2,{async,aggregated,sync},worker,0,8,$s,$((quick ? 4 : 10))
		[[ " $parts " != *' fig3 '* ]] || [ $s -gt 3 ] ||
			echo fig3,ideal,cluster,0,{1,2,4,8},$s,$ideal
		[[ " $parts " != *' fig8 '* ]] || [ $s -gt 3 ] ||
			echo fig8,{ideal:0,{fifo,olaf}:4,fifo:1.5},8,$s,$queues |
				sed 's/:/,cluster,/g'
	done
	[[ " $parts " != *' fairness '* ]] ||
		echo fairness,{fifo,olaf,olaf-urgent,olaf-fair},cluster,3,3,1,$((quick ? 4 : 20))
}

group=''
trap '[ -z "$group" ] || kill $group 2>/dev/null; wait' EXIT
trap 'exit 1' INT TERM
head=part,queue,reply,load,workers,seed,cap_s,time_s,solved,iterations,final_reward
head=$head,sent,received,loss_percent,mean_age_ms,mean_age2_ms,jain,cpu_s,pace_percent
[ -s runs.csv ] || { echo "$head" >runs.csv; echo "$step" >step; }
[ "$(head -n 1 runs.csv)" = "$head" ] || { say "$out/runs.csv has other columns than this script writes"; exit 1; }
[ "$(cat step)" = "$step" ] || { say "the runs in $out have --step $(cat step)"; exit 1; }

mapfile -t plan < <(plan)
bad=0 left=0 began=$SECONDS
for line in "${plan[@]}"; do left=$((left + ${line##*,} + 3)); done
for i in "${!plan[@]}"; do
	group='' keys=''
	for key in ${plan[i]}; do
		grep -q "^$key," runs.csv || keys="$keys $key"
	done
	for key in $keys; do
		(run "$key") &
		group="$group $!"
	done
	began=$SECONDS
	while [ -t 2 ] && [ -n "$(jobs -r)" ]; do
		printf '\r%d/%d%s: %d s, cap %d, at most %d min left \033[K' $((i + 1)) ${#plan[@]} \
			"${keys//,/ }" $((SECONDS - began)) "${plan[i]##*,}" $(((left - SECONDS + began + 59) / 60)) >&2
		sleep 0.5
	done
	[ -t 2 ] || [ -z "$keys" ] ||
		say "$((i + 1))/${#plan[@]}:${keys}; at most $(((left + 59) / 60)) min left"
	for pid in $group; do wait "$pid" || bad=1; done
	group=''
	for key in $keys; do
		[ ! -s "run-$key/row" ] || { cat "run-$key/row" >>runs.csv && rm -r "run-$key"; }
	done
	left=$((left - ${plan[i]##*,} - 3))
done
[ ! -t 2 ] || printf '\r\033[K' >&2
"$here/olaf-report.sh" "$out" || bad=1
exit $bad
