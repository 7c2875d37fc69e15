#!/usr/bin/env bash
# olaf-figure2.sh - measure Olaf's Figure 2: do asynchronous workers need fewer
# iterations, and is the step, the staleness or the batch the reason?
#
#	share/examples/olaf-figure2.sh -o DIR [--seeds N] [--quick]
#
# Eight workers learn CartPole with A2C over a switch on loopback.  Their
# gradients g are used in three ways:
#
#   async       a server adds step x g, and answers the worker at once
#   aggregated  a switch sums any eight gradients, as asynchronous iSwitch does,
#               and the workers add step x the mean of these; gradients are at
#               most 3 rounds stale
#   sync        a switch sums one gradient of each worker, and the workers add
#               step x the mean
#
# An iteration is one gradient of each worker. In an iteration, async therefore
# makes eight steps and the other modes one. Three sets of runs separate the
# causes:
#
#   step   all modes with each of several step sizes
#   delay  async, with gradients that arrive 1, 4 and 16 iterations later
#   batch  gradients from 4 and 64 steps (instead of 16) in 8 environments
#
# DIR/figure2.csv gets a row for each run that has ended; these runs are not
# repeated. The script makes DIR/figure2.md from this file. If gnuplot is
# installed, it also draws DIR/figure2.svg, which shows iterations by step size,
# with a bar for each setting in which all workers reached the goal. --seeds
# sets how often each setting runs (default 5). Seeds are the outer loop, so
# that other load on the machine affects all settings. If workers sent less than
# 70 % of the expected gradients, the script repeats the run once. A run ends
# when each worker has had a mean reward of 475 over 20 episodes, or after 20 s
# (60 s if a gradient needs 64 steps). --quick does three runs of 1 s to test
# this script. All runs take 35 minutes.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
say() { printf 'olaf-figure2: %s\n' "$*" >&2; }
misuse() { say "$*"; exit 2; }
out='' seeds=5 quick='' cap=20 N=8 goal=475
while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=1 cap=1; shift; continue ;;
	-h|--help) sed -n '2,/^set /{/^set /!p}' "$0" | sed 's/^# \?//'; exit 0 ;;
	esac
	[ $# -ge 2 ] || misuse "$1 is unknown, or its value is missing"
	case $1 in
	-o) out=$2 ;;
	--seeds) seeds=$2 ;;
	*) misuse "unknown option '$1'" ;;
	esac
	shift 2
done
[ -n "$out" ] || misuse 'use -o DIR to name a folder for the results'
[[ $seeds =~ ^[1-9][0-9]?$ ]] || misuse "--seeds '$seeds' is not 1 to 99"
[ -x "$top/build/innet-switch" ] && PATH=$top/build:$PATH
for tool in innet-switch innet-ps innet-worker innet-agent innet-plot; do
	command -v $tool >/dev/null || { say "$tool is missing"; exit 1; }
done

# plan: print all runs, one a line: set mode step delay horizon seed
plan() {
	local s step mode
	[ -z "$quick" ] || { printf 'step,%s,0.4,0,16,1\n' async aggregated sync; return; }
	for ((s = 1; s <= seeds; s++)); do
		for step in 0.025 0.05 0.1 0.2 0.4 0.8 1.6 3.2; do
			for mode in async aggregated sync; do
				echo "step,$mode,$step,0,16,$s"
			done
		done
		printf "delay,async,0.05,%s,16,$s\n" 1 4 16
		for horizon in 4 64; do
			echo "batch,async,0.05,0,$horizon,$s"
			echo "batch,aggregated,0.4,0,$horizon,$s"
			echo "batch,sync,0.4,0,$horizon,$s"
		done
	done
}

# iteration: print the time of an iteration in us, which is longer for 64 steps
iteration() { echo $((horizon < 64 ? 16000 : 40000)); }

# interval WORKER: print the interval of a worker in us, which is up to a
# quarter shorter or longer than the time of an iteration
interval() { echo $(($(iteration) * (75 * (N - 1) + 50 * $1) / (100 * (N - 1)))); }

# launch NAME COMMAND...: run the command in the background, and set $pid.  If
# NAME ends in .port, wait for that file.
launch() {
	local name=$1
	shift
	"$@" >/dev/null 2>"$name.err" &
	pid=$! running="$running $pid"
	[[ $name == *.port ]] || return 0
	for _ in {1..500}; do
		[ ! -s "$name" ] || return 0
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.02
	done
	return 1
}

# reached: print a line for each worker: the iterations until the mean reward of
# 20 episodes reached the goal (all iterations if it did not), whether it
# reached the goal (1 or 0), and the mean reward of the last 20 episodes.
reached() {
	local k
	for ((k = 0; k < N; k++)); do
		cat $k.csv 2>/dev/null | awk -F, -v goal=$goal -v lesson=$((8 * horizon)) 'NR > 1 && NF == 4 {
			sum += $3 - last[NR % 20]; last[NR % 20] = $3; n++; at = $1
			if (!there && n >= 20 && sum >= 20 * goal) there = $1
		} END { n = n < 20 ? n : 20
			printf "%.1f %d %.1f\n", (there ? there : at) / lesson, (there > 0),
			    n ? sum / n : 0 }'
	done
}

# train: run a switch or a server and the workers, until all reach the goal or
# the time is over
train() {
	local how k any='' until pids='' agent="--env cartpole --algo a2c --envs 8
		--horizon $horizon --norm 0.5 --lambda 0.95 --optimizer sgd --learning-rate $step"
	case $mode in
	async)
		how="-p olaf"
		[ "$delay" -eq 0 ] || how="$how --impair delay=$((delay * $(iteration)))us"
		launch at.port innet-ps -q --listen 127.0.0.1:0 --port-file at.port --reply worker \
			--optimizer sgd --average none --learning-rate "$step" || return 1 ;;
	*)
		how="-p iswitch"
		[ "$mode" = sync ] || {
			any=--async
			how="$how --async --staleness 3 --learning-rate $step"
		}
		launch at.port innet-switch -q --listen 127.0.0.1:0 --port-file at.port \
			-p iswitch -H $N $any || return 1 ;;
	esac
	for ((k = 0; k < N; k++)); do
		# shellcheck disable=SC2086	# words
		launch $k innet-worker -q --switch "127.0.0.1:$(cat at.port)" $how --worker $k -- \
			innet-agent -q $agent --interval "$(interval $k)us" --init-seed "$seed" \
			--seed $((seed * 1000 + k)) --log $k.csv --report $k.json
		pids="$pids $pid"
	done
	until=$((SECONDS + (horizon < 64 ? cap : 3 * cap)))
	while ((SECONDS < until)); do
		sleep 0.5
		reached | grep -q ' 0 ' || break
	done
	# shellcheck disable=SC2086	# words
	kill $pids 2>/dev/null
	for pid in $pids; do
		wait "$pid" || return 1
		running=${running/ $pid/}
	done
}

# pace: print the gradients that the workers sent, in percent of the gradients
# that their intervals allow.  The figure is low on a busy machine, and in sync
# mode, because all workers wait for the slowest.
pace() {
	local k
	for ((k = 0; k < N; k++)); do
		sed -n "s/.*\"sent\":\([0-9]*\).*\"elapsed_s\":\([0-9.]*\).*/\1 \2 $(interval $k)/p" $k.json
	done | awk '{ p += $1 * $3 / 1e4 / $2; n++ } END { printf "%.0f", n ? p / n : 0 }'
}

# work first|last: do a run in its own folder.  Append its row to figure2.csv if
# the workers sent at least 70 % of the expected gradients, or if this is the
# last try.
work() {
	local rc=0 at
	running=''
	rm -rf run && mkdir run && cd run || return 1
	train || rc=1
	# shellcheck disable=SC2086	# words
	kill $running 2>/dev/null
	wait
	running=''
	[ $rc -ne 0 ] || {
		at=$(pace)
		row=$key,$(reached | awk '{ i += $1; n += $2; r += $3 }
			END { printf "%.1f,%d,%.1f", i / NR, n, r / NR }'),$at
	}
	cd .. || return 1
	[ $rc -eq 0 ] || return 1
	rm -r run
	[ "$at" -ge 70 ] || [ "$1" = last ] || return 1
	echo "$row" >>figure2.csv
}

running=''
# shellcheck disable=SC2086	# words
trap '[ -z "$running" ] || kill $running 2>/dev/null; wait' EXIT
trap 'exit 1' INT TERM
mkdir -p "$out" && cd "$out" || exit 1
head=set,mode,step,delay,horizon,seed,iterations,workers_there,final_reward,pace_percent
[ -s figure2.csv ] || echo $head >figure2.csv
[ "$(head -n 1 figure2.csv)" = $head ] || { say "$PWD/figure2.csv has other columns than this script writes"; exit 1; }
bad=0 i=0 all=$(plan | wc -l)
while read -r key <&3; do
	i=$((i + 1))
	! grep -q "^$key," figure2.csv || continue
	IFS=, read -r _ mode step delay horizon seed <<<"$key"
	say "$i of $all: $key"
	work first || work last || { say "$key failed; see $PWD/run"; bad=1; break; }
done 3< <(plan)
awk -v workers=$N -v bars=bars.csv -f "$here/olaf-figure2.awk" figure2.csv >figure2.md || bad=1
! command -v gnuplot >/dev/null || ! grep -q ',[0-9]' bars.csv ||
	innet-plot bars --label 'iterations until all workers reached 475' -w figure2.svg bars.csv || bad=1
rm -f bars.csv
exit $bad
