#!/usr/bin/env bash
# iswitch-evaluation.sh - repeat iSwitch's evaluation (Tables 3 to 5, Figure 12)
#
#	share/examples/iswitch-evaluation.sh -o DIR [--quick] [--seed N]
#		[--limit SECONDS] [--only NAME[,NAME...]] [--in-path]
#
# Four agents train in a rack of network namespaces with links of 100 Mbit/s.
# Their gradients pass through a parameter server on a host of its own (ps),
# through MPI's ring (ring), or through a switch (switch). Training is
# synchronous (sync), or asynchronous with a staleness bound of 3 (async; only
# with ps and switch). There are three kinds of runs:
#
# (i) train: the agents train with the vectors of their own small networks. A
#     run ends when the last ten episodes of worker 0 have a mean reward that
#     counts as solved, or after --limit seconds (default 90). This measures
#     iterations, time and reward.
# (ii) carry: the same agents run a few iterations. Zeros pad their vectors to
#     the sizes of the paper (6.41 MB, 3.31 MB, 40.02 kB, 157.52 kB). This
#     measures the time of an iteration and its parts.
# (iii) paced: like (ii), but only synchronous. Each agent needs 100 times as
#     long for a gradient as the GPUs of the paper, because the paper's links
#     are 100 times as fast as ours.
#
# The end-to-end time at the paper's size is the iterations of (i) times the
# time of (ii). DIR/measured.csv gets a row when a run ends; runs that it
# contains are not repeated. The script makes DIR/results.md and the plots from
# this file, also if a run failed. It repeats a failed run once. --only selects
# algorithms. --quick does fewer and shorter runs, for tests. With --in-path the
# switch runs in the path of the rack's bridge. This needs root and jq. Without
# Open MPI there are no runs with the ring. The exit status is 1 if a run
# failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
say() { printf 'iswitch-evaluation: %s\n' "$*" >&2; }
misuse() { say "$*"; exit 2; }
out='' quick='' in_path='' seed=1 limit=90 only='dqn,a2c,ppo,ddpg'
given=$*
while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=1; shift; continue ;;
	--in-path) in_path=' --bridge br0'; shift; continue ;;
	-h|--help) sed -n '2,/^set /{/^set /!p}' "$0" | sed 's/^# \?//'; exit 0 ;;
	esac
	[ $# -ge 2 ] || misuse "$1 is unknown, or its value is missing"
	case $1 in
	-o) out=$2 ;;
	--seed) seed=$2 ;;
	--limit) limit=$2 ;;
	--only) only=$2 ;;
	*) misuse "unknown option '$1'" ;;
	esac
	shift 2
done
[ -n "$out" ] || misuse 'use -o DIR to name a folder for the results'
[[ $seed =~ ^(0|[1-9][0-9]{0,5})$ ]] || misuse "--seed '$seed' is not a number up to 999999"
[[ $limit =~ ^[1-9][0-9]{0,4}$ ]] || misuse "--limit '$limit' is not a number of seconds"
[ -x "$top/build/innet-switch" ] && PATH=$top/build:$PATH
PATH=$PATH:$here/../testbed
for tool in innet-switch innet-agent jq; do
	command -v $tool >/dev/null || { say "$tool is missing"; exit 1; }
done

# For each algorithm: the environment, the reward that counts as solved, the
# vector's bytes, the settings that differ from the presets, and the number of
# iterations or seconds in (ii).
declare -A env=([dqn]=cartpole [a2c]=cartpole [ppo]=cartpole [ddpg]=pendulum)
declare -A goal=([dqn]=475 [a2c]=475 [ppo]=475 [ddpg]=-200)
declare -A bytes=([dqn]=6410000 [a2c]=3310000 [ppo]=40020 [ddpg]=157520)
declare -A sync_set=([dqn]='--horizon 64 --tau 0.1 --learning-rate 0.005' [a2c]='' [ppo]=''
	[ddpg]='--horizon 32 --tau 0.08 --learning-rate 0.005')
declare -A async_set=([dqn]='--horizon 16 --send deltas' [a2c]='' [ppo]='--send deltas'
	[ddpg]='--horizon 8 --tau 0.02 --learning-rate 0.003 --reward-scale 0.1 --send deltas')
declare -A gamma=([dqn]=1 [a2c]=0.02 [ppo]=1 [ddpg]=2)
# slower X N: print X / N.  A round of a server has one gradient, and not the
# mean of four, so the server gets a quarter of the learning rate.
slower() { awk -v x="$1" -v by="$2" 'BEGIN { print x / by }'; }
declare -A carry_set=([dqn]='--warmup 256' [a2c]='' [ppo]='' [ddpg]='--warmup 256')
declare -A rounds=([dqn]=5 [a2c]=6 [ppo]=100 [ddpg]=40)
declare -A seconds=([dqn]=15 [a2c]=12 [ppo]=6 [ddpg]=6)
# The computing time of the paper in ms: T(PS) - (T(PS) - T(iSW)) / 0.858.  T is
# the time of an iteration by Table 4, and 85.8 % is the largest reduction of
# aggregation time in section 5.3.
declare -A compute=([dqn]=12.5 [a2c]=15.0 [ppo]=8.6 [ddpg]=18.2)
declare -A paced_rounds=([dqn]=6 [a2c]=6 [ppo]=12 [ddpg]=6)
algorithms='' N=4
for a in ${only//,/ }; do
	[ -n "${env[$a]-}" ] || misuse "--only: unknown algorithm '$a'; dqn, a2c, ppo or ddpg"
	algorithms="$algorithms $a"
done
trained=$algorithms unbound=$algorithms paced=$algorithms
if [ -n "$quick" ]; then
	rounds=([dqn]=3 [a2c]=3 [ppo]=20 [ddpg]=10)
	seconds=([a2c]=5 [ppo]=3)
	[ "$limit" -le 20 ] || limit=20
	paced=''
	trained=$(grep -ow a2c <<<"$algorithms")
	unbound=$(grep -owE 'a2c|ppo' <<<"$algorithms")
fi
carriers='ps ring switch'
if ! command -v innet-mpi >/dev/null || ! command -v mpirun >/dev/null; then
	carriers='ps switch'
	say 'innet-mpi or mpirun is missing: there are no runs with the ring'
fi

# End all processes and remove the namespaces at every exit.
running='' testbed=''
end() {
	# shellcheck disable=SC2086	# words
	[ -z "$running" ] || kill $running 2>/dev/null
	[ -z "$testbed" ] || testbed.sh down "$testbed"
	wait
}
trap end EXIT
trap 'exit 1' INT TERM
# rack BYTES: make the testbed with a queue of BYTES before each link, unless
# the present testbed has such queues
queue=''
rack() {
	[ "$queue" != "$1" ] || return 0
	[ -z "$testbed" ] || testbed.sh down "$testbed"
	queue=$1 testbed=''
	testbed=$(testbed.sh up rack -n $N --rate 100mbit --queue "$1" --owner $$) || exit 1
	export INNET_TESTBED=$testbed
}
rack 1500000
mkdir -p "$out/runs" && cd "$out" || exit 1
settings="quick=$quick seed=$seed limit=$limit${in_path:+ in-path}"
if [ -s settings ] && [ "$(cat settings)" != "$settings" ]; then
	say "$PWD has results with other settings: $(cat settings)"
	exit 2
fi
echo "$settings" >settings
columns=kind,algorithm,env,bytes,mode,carrier,iterations,seconds,iteration_ms,compute_ms,aggregation_ms,update_ms,reward,solved
[ -s measured.csv ] || echo $columns >measured.csv

# start HOST NAME COMMAND...: run the command in the background, with its output
# in NAME.out and its messages in NAME.err
start() {
	local host=$1 name=$2
	shift 2
	testbed.sh exec "$host" "$@" >"$name.out" 2>"$name.err" </dev/null &
	running="$running $!"
}

# agent OPTION...: write the script ./$run.agent, which runs the agent of worker
# $1.
# Without an argument the worker's number is the MPI rank.
agent() {
	cat >"$run.agent" <<-END
		#!/bin/sh
		k=\${1:-\$OMPI_COMM_WORLD_RANK}
		echo \$\$ >$run.w\$k.pid
		exec innet-agent -q --algo $algo --env ${env[$algo]} --init-seed $seed \\
			--seed \$(($seed * 1000 + k)) --report $run.w\$k.json --log $run.w\$k.csv $*
	END
	chmod +x "$run.agent"
}

# server: start the server or the switch, and set $at to its address
server() {
	local host how
	case $carrier-$mode in
	ps-sync) host=server how='innet-ps -p iswitch --reduce ordered' ;;
	ps-async) host=server how='innet-ps -p iswitch --async' ;;
	switch-sync) host=switch how="innet-switch -p iswitch --reduce ordered$in_path" ;;
	switch-async) host=switch how="innet-switch -p iswitch --async$in_path" ;;
	esac
	at=$(testbed.sh addr $host)
	rm -f "$run.port"
	# shellcheck disable=SC2086	# words
	start $host "$run.server" $how --json -H $N --insecure --listen "$at:0" --port-file "$run.port"
	for _ in {1..500}; do
		[ ! -s "$run.port" ] || { at=$at:$(cat "$run.port"); return 0; }
		kill -0 $! 2>/dev/null || break
		sleep 0.02
	done
	return 1
}

# launch: start the workers and agents; each sends $count gradients if $count is
# not 0
launch() {
	local k how="--json -p iswitch" limits=''
	[ "$mode" = sync ] || how="$how --async"
	works=''
	[ "$count" -eq 0 ] || limits="-c $count"
	if [ "$carrier" = ring ]; then
		# shellcheck disable=SC2086	# words
		# use the ring algorithm, and no handshakes, which would take 8
		# % of the time
		start switch "$run.w0" mpi.sh --mca coll_tuned_use_dynamic_rules 1 \
			--mca coll_tuned_allreduce_algorithm 4 --mca btl_tcp_eager_limit 8388608 \
			-n $N innet-mpi --json $limits -- "./$run.agent"
		works=$!
		return
	fi
	server || return 1
	how="$how --switch $at"
	case $carrier-$mode-$kind in
	*-async-train) how="$how --pace $([ "$carrier" = ps ] && echo 23M || echo 92M)" ;;
	esac
	case $carrier-$mode in
	ps-async) how="$how --staleness 3 --maximize --learning-rate $(slower "${gamma[$algo]}" $N)" ;;
	switch-async) how="$how --staleness 3 --maximize --learning-rate ${gamma[$algo]}" ;;
	esac
	for ((k = 0; k < N; k++)); do
		# shellcheck disable=SC2086	# words
		start w$k "$run.w$k" innet-worker $how $limits --worker $k -- "./$run.agent" $k
		works="$works $!"
	done
}

# solved: is the mean reward of the last ten episodes of worker 0 high enough?
solved() {
	tail -n +2 "$run.w0.csv" 2>/dev/null | tail -n 10 | awk -F, -v goal="${goal[$algo]}" \
		'{ s += $3 } END { exit !(NR == 10 && s / NR >= goal) }'
}

# dismiss: end all workers, which end their agents.  With MPI, end the agent of
# rank 0; then all ranks end.
dismiss() {
	if [ "$carrier" = ring ]; then
		kill "$(cat "$run.w0.pid")" 2>/dev/null
	else
		# shellcheck disable=SC2086	# words
		kill $works 2>/dev/null
	fi
}

# gone: has a worker ended?
gone() {
	local pid
	for pid in $works; do
		kill -0 "$pid" 2>/dev/null || return 0
	done
	return 1
}

# finish SECONDS COMMAND: let the workers run for SECONDS or until COMMAND
# succeeds, then end them.  If $count is not 0, wait until they end by
# themselves.  Return 1 if a worker failed or did not end.
finish() {
	local rc=0 pid until=$((SECONDS + $1))
	while [ "$count" -eq 0 ] && ((SECONDS < until)) && ! "$2" && ! gone; do
		sleep 0.1
	done
	[ "$count" -ne 0 ] || { dismiss; until=$((SECONDS + 20)); }
	for pid in $works; do
		while kill -0 "$pid" 2>/dev/null && ((SECONDS < until)); do sleep 0.05; done
		! kill "$pid" 2>/dev/null || rc=1
		wait "$pid" || rc=1
	done
	# shellcheck disable=SC2086	# words
	kill $running 2>/dev/null
	wait
	running=''
	return $rc
}

# told: print the workers' summaries, one JSON object a line
told() { sed -n 's/\r//;/^{"\(cluster\|worker\)":.*}$/p' "$run".w?.out; }

# iterations: print the number of iterations of the job.  In sync mode these are
# the gradients of a worker, in async mode the updates of the weights.
iterations() {
	case $mode-$carrier in
	sync-*) jq .gradients "$run.w0.json" ;;
	# complete vectors that the server has added and answered
	async-ps)
		told | jq -s --slurpfile server <(tail -n 1 "$run.server.out") \
			'$server[0].jobs["1"].counters.results /
			(.[0].segments_sent / .[0].sent) | round' ;;
	async-switch) told | jq -s 'map(.rounds) | max' ;;
	esac
}

# parts mean|p50: print four times in ms as means over the workers: compute,
# update and total time of the agent, and the mean or median time of a round
# (the aggregation).
# The first three are per vector sent; in async mode the total is per iteration.
parts() {
	local n
	n=$(iterations)
	paste -d ' ' <(jq -s -r --argjson n "$n" --arg mode "$mode" 'def mean: add / length;
		[map(1000 * (.play_s + .learn_s) / .sent), map(1000 * .update_s / .sent),
		 map(1000 * (.play_s + .learn_s + .exchange_s + .update_s) /
			if $mode == "sync" then .sent else $n end)] | map(mean) | map(tostring) | join(" ")' \
		"$run".w?.json) <(told | jq -s "map(.round_$1_ns) | add / length / 1e6")
}

# row: append the row of this run to measured.csv
row() {
	local compute update all aggregation n at=''
	n=$(iterations)
	if [ "$kind" = train ]; then
		# find the line in the log of worker 0 at which the task was
		# solved, or the last
		at=$(tail -n +2 "$run.w0.csv" | awk -F, -v goal="${goal[$algo]}" -v n="$n" \
			-v steps="$(jq .steps "$run.w0.json")" '{
			last += $3 - r[NR % 10]; r[NR % 10] = $3; step = $1; t = $4; mean = last / (NR < 10 ? NR : 10)
			if (NR >= 10 && mean >= goal) { solved = 1; exit }
		} END { if (NR && steps) printf "%d %.3f %.2f %d", n * step / steps + 0.5, t, mean, solved }')
		read -r compute update all aggregation < <(parts mean)
	else
		read -r compute update all aggregation < <(parts p50)
		# The workers do not send their first gradients at the same
		# time.  In sync mode the time is therefore the sum of its
		# parts, and not the mean.
		[ "$mode" = async ] || all=$(awk "BEGIN { print $compute + $update + $aggregation }")
		at="$n $(jq .elapsed_s "$run.w0.json") - -"
	fi
	[ -n "$all" ] && [ -n "$aggregation" ] && [ -n "$at" ] || return 1
	awk -v head="$kind,$algo,${env[$algo]},$(jq .vector_bytes "$run.w0.json"),$mode,$carrier" -v at="$at" \
		-v all="$all" -v c="$compute" -v a="$aggregation" -v u="$update" 'BEGIN {
		split(at, x, " ")
		printf "%s,%d,%s,%.4f,%.4f,%.4f,%.4f,%s,%s\n", head, x[1], x[2], all, c, a, u, x[3], x[4] }' >>measured.csv
}

# work: do the run of $kind $algo $mode $carrier.  Return 1 if it failed.
work() {
	local set=${sync_set[$algo]} span=$limit
	run=runs/$kind-$algo-$mode-$carrier
	rm -f "$run".*
	[ "$mode" = sync ] || set=${async_set[$algo]}
	# Asynchronous workers do not wait, so several large vectors queue at
	# one link.
	[ "$kind-$mode" = carry-async ] && rack 40000000 || rack 1500000
	count=0
	if [ "$kind" = train ]; then
		agent "$set"
		launch && finish "$span" solved && row
		return
	fi
	[ "$kind" = carry ] || set="$set --compute $(slower "${compute[$algo]}" 0.01)ms"
	agent "$set" "${carry_set[$algo]}" --vector "${bytes[$algo]}B"
	if [ "$kind" = paced ]; then
		count=${paced_rounds[$algo]} span=$((60 + 3 * $(expect)))
	elif [ "$mode" = sync ]; then
		count=${rounds[$algo]} span=$((30 + 3 * $(expect)))
	else
		span=${seconds[$algo]}
	fi
	launch && finish "$span" false && row
}

# expect: estimate the seconds that a run takes, from its bytes and its start
expect() {
	local times=1
	local n=${rounds[$algo]} more=0
	[ "$kind" != train ] || { echo $((limit / 4)); return; }
	if [ "$kind" = paced ]; then
		n=${paced_rounds[$algo]}
		more=$(awk -v n="$n" -v c="${compute[$algo]}" 'BEGIN { printf "%d", n * c / 10 }')
	fi
	[ "$mode" = sync ] || { echo $((seconds[$algo] + 2)); return; }
	[ "$carrier" != ps ] || times=$((2 * N))
	[ "$carrier" != ring ] || times=2
	echo $((2 + more + n * bytes[$algo] * times / 12500000))
}

# plan: print all runs, one a line: kind algorithm mode carrier
plan() {
	for algo in $algorithms; do for carrier in $carriers; do echo carry "$algo" sync "$carrier"; done; done
	for algo in $paced; do for carrier in $carriers; do echo paced "$algo" sync "$carrier"; done; done
	for algo in $unbound; do for carrier in ps switch; do echo carry "$algo" async "$carrier"; done; done
	for algo in $trained; do
		for carrier in $carriers; do echo train "$algo" sync "$carrier"; done
		for carrier in ps switch; do echo train "$algo" async "$carrier"; done
	done
}

# have: does measured.csv have a row of this run?
have() { grep -q "^$kind,$algo,[^,]*,[^,]*,$mode,$carrier," measured.csv; }

# title12: print the title of figure 12: the times of iterations, compared with
# PS
title12() {
	awk -F, 'NF == 4 && $1 != "carrier" && $1 != "PS" { t = $2 + $3 + $4
		if (!($1 in lo) || t < lo[$1]) lo[$1] = t
		if (t > hi[$1]) hi[$1] = t }
		END { for (c in lo) s = s (s == "" ? "" : ", ") sprintf("%s takes %.2f to %.2f", c, lo[c], hi[c])
		print s " of the time of PS" }' figure12.csv
}

# figure12: draw figure12.csv, which has a block for each algorithm, as stacked
# bars
figure12() {
	local i=0 a plot=''
	while read -r _ a; do
		i=$((i + 1))
		plot="$plot${plot:+, }newhistogram '$a' lt 1, for [c=2:4] 'figure12.csv' index $i using c:xtic(1)"
		[ $i -gt 1 ] && plot="$plot notitle" || plot="$plot title word('- compute aggregation update', c)"
	done < <(grep '^#' figure12.csv)
	[ $i -eq 0 ] || gnuplot <<-END
		set terminal svg size 800,450 font 'sans,12' background 'white'
		set output 'figure12.svg'
		set datafile separator ','
		set style data histograms
		set style histogram rowstacked title offset 0,-1 gap 1
		set style fill solid noborder
		set linetype 1 lc rgb '#555555'
		set linetype 2 lc rgb '#56b4e9'
		set linetype 3 lc rgb '#e69f00'
		set boxwidth 0.7
		set bmargin 4
		set border 3 lc rgb '#888888'
		set tics nomirror textcolor rgb '#888888'
		set xtics textcolor rgb '#000000' scale 0
		set grid y lc rgb '#dddddd' dt 3
		set key outside top center horizontal reverse Left maxrows 1
		set title "$(title12)"
		set ylabel 'time of an iteration, PS = 1'
		set yrange [0:*]
		plot $plot
	END
}

# results: write tables and plots of all runs in measured.csv
results() {
	local algo c logs
	rm -f table3.csv
	awk -f "$here/iswitch-evaluation.awk" -v processors="$(nproc)" -v notes="$here/iswitch-evaluation.notes" \
		-v made="share/examples/iswitch-evaluation.sh $given" measured.csv >results.md.new &&
		mv results.md.new results.md
	command -v gnuplot >/dev/null || { say 'no gnuplot: no plots'; return; }
	figure12
	[ ! -s table3.csv ] ||
		innet-plot bars --label 'end to end, times as fast as PS' -w table3.svg table3.csv
	for algo in $trained; do
		logs=''
		for c in $carriers; do
			[ ! -s "runs/train-$algo-sync-$c.w0.csv" ] || logs="$logs --group $c runs/train-$algo-sync-$c.w0.csv"
		done
		# shellcheck disable=SC2086	# words
		[ -z "$logs" ] || innet-plot rewards --x seconds --smooth 10 -w "$algo.svg" $logs
	done
}

complain() {
	say "$run failed; see $PWD/$run.*"
	tail -qn 2 "$run".*.err | cut -c 1-400 >&2
}

failed='' done_s=0 all_s=0 k=0 runs=$(plan | wc -l)
while read -r kind algo mode carrier; do
	have || all_s=$((all_s + $(expect)))
done < <(plan)
while read -r kind algo mode carrier <&3; do
	k=$((k + 1))
	! have || continue
	say "$k of $runs: $kind $algo $mode $carrier, about $((all_s - done_s)) s left"
	# Repeat a failed run once: for example, a worker can miss more packets
	# than are kept for retransmission.
	work || { complain; work; } || { complain; failed=1; }
	done_s=$((done_s + $(expect)))
done 3< <(plan)
results
[ -z "$failed" ]
