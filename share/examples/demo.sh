#!/usr/bin/env bash
# demo.sh - three clusters train CartPole over a link with an Olaf queue, then
# over a link with a FIFO
#
#	share/examples/demo.sh [--seed N] [--seconds N] [--out DIR] [--impair LIST]
#
# The results go to DIR (default: demo in the build folder, or ./demo if there
# is no build folder).  The switch gets the option --impair LIST in both runs.
#
# Nine agents in three clusters train across a live switch.  The uplink of the
# switch can carry about a quarter of the traffic that the agents send.  The
# first run has an Olaf queue, the second a drop-tail queue of the same size. 
# Both runs have the same seeds, slots, rate, reply mode and time.  The age of
# an update counts from the time at which its worker sent it.  The exit status
# is 1 if the agents with Olaf did not solve CartPole (a mean reward of 475 over
# 100 consecutive episodes), or if the mean age with Olaf is not lower than with
# FIFO.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
seed=1 seconds=25 out='' impair=''
die() { printf 'demo: %s\n' "$*" >&2; exit 2; }
while [ $# -gt 0 ]; do
	[ $# -ge 2 ] || die "$1 needs a value"
	case $1 in
	--seed) seed=$2 ;;
	--seconds) seconds=$2 ;;
	--out) out=$2 ;;
	--impair) impair=$2 ;;
	*) die "unknown option '$1'" ;;
	esac
	shift 2
done
case $seed$seconds in *[!0-9]*|'') die "--seed and --seconds take whole numbers" ;; esac
made=.
[ -x "$top/build/innet-switch" ] && made=$top/build PATH=$top/build:$PATH
command -v innet-switch >/dev/null || die 'innet-switch is not built; ./bootstrap'
out=${out:-$made/demo}
mkdir -p "$out" && cd "$out" || exit 1

clusters='1 2 3' workers='0 1 2'
interval=30 slots=8 rate=22Mbit	# 9 x 36,694 bytes every 30 ms is 88 Mbit/s

# End all processes at every exit.
running=''
trap '[ -z "$running" ] || kill $running 2>/dev/null; wait' EXIT
trap 'exit 1' INT TERM

# await FILE NAME PID: wait until the file has content.  NAME is the program's
# name in the error message.
await() {
	for _ in $(seq 500); do
		[ -s "$1" ] && return 0
		kill -0 "$3" 2>/dev/null || break
		sleep 0.02
	done
	printf 'demo: %s did not start; see %s\n' "$2" "$PWD" >&2
	return 1
}

# arm QUEUE: train with that queue.  The names of the files begin with QUEUE.
arm() {
	local p=$1 ps sw pids='' rc=0
	rm -f "$p"-* "$p".*
	innet-ps --listen 127.0.0.1:0 --port-file "$p-ps.port" --optimizer adam \
		--average none --learning-rate 0.005 --reply cluster --write-in "$p.pcap" 2>"$p-ps.err" &
	ps=$! running=$!
	await "$p-ps.port" 'the server' $ps || return 1
	innet-switch --listen 127.0.0.1:0 --port-file "$p-switch.port" --queue "$p" --slots $slots \
		--rate $rate --upstream "127.0.0.1:$(cat "$p-ps.port")" ${impair:+--impair "$impair"} \
		--write-in "$p-sent.pcap" --report "$p.json" 2>"$p-switch.err" &
	sw=$! running="$running $!"
	await "$p-switch.port" 'the switch' $sw || return 1
	for c in $clusters; do
		for w in $workers; do
			innet-worker --switch "127.0.0.1:$(cat "$p-switch.port")" --cluster "$c" \
				--worker "$w" --duration "${seconds}s" -- innet-agent --algo a2c \
				--seed $((seed * 100 + c * 10 + w)) --interval ${interval}ms \
				--log "$p-$c-$w.csv" 2>"$p-$c-$w.err" &
			pids="$pids $!" running="$running $!"
		done
	done
	[ -t 2 ] && for s in $(seq "$seconds"); do
		printf '\rdemo: %-4s %2d/%d s ' "$p" "$s" "$seconds" >&2; sleep 1
	done
	for pid in $pids; do wait "$pid" || rc=1; done
	kill -TERM $sw; wait $sw || rc=1
	kill -TERM $ps; wait $ps || rc=1
	running=''
	[ -t 2 ] && printf '\r' >&2
	[ $rc -eq 0 ] || { printf 'demo: a process failed; see %s/%s-*.err\n' "$PWD" "$p" >&2; }
	return $rc
}

# reward QUEUE last|best: print the mean reward of the last 100 episodes, or of
# the best 100 consecutive episodes of each agent, as a mean over the agents. 
# An agent that has learned the task can forget it again, so the best episodes
# count too.
reward() {
	for f in "$1"-[0-9]-[0-9].csv; do
		tail -n +2 "$f" | awk -F, -v want="$2" '
			{ r[NR] = $3; s += $3 - (NR > 100 ? r[NR - 100] : 0) }
			NR >= 100 && s / 100 > best { best = s / 100 }
			END { n = NR < 100 ? NR : 100; print want == "best" ? best + 0 : n ? s / n : 0 }'
	done | awk '{ s += $1 } END { printf "%.1f", NR ? s / NR : 0 }'
}

printf 'demo: 3 clusters of 3 workers, CartPole with A2C; %s\n' \
	"uplink $rate; the agents send about four times as much" >&2
for p in olaf fifo; do arm $p || exit 1; done

for p in olaf fifo; do
	innet-aom -q -r $p.pcap --sent $p-sent.pcap --counters $p.json --json >$p-ages.json
	tail -n 1 $p-ages.json >$p-all.json
	innet-aom -q -r $p.pcap --sent $p-sent.pcap --series $p.csv >/dev/null
done
value() { sed -n "s/.*\"$2\":\([-0-9.]*\).*/\1/p" "$1-all.json"; }
round() { awk -v n="$(value "$1" "$2")" -v d="$3" 'BEGIN { printf "%.*f", d, n }'; }
ms() { awk -v n="$(value "$1" "$2")" 'BEGIN { printf "%.1f", n / 1e6 }'; }
printf '%-28s %10s %10s\n' '' olaf fifo
printf '%-28s %10s %10s\n' \
	'updates sent' "$(value olaf sent)" "$(value fifo sent)" \
	'packets received' "$(value olaf received)" "$(value fifo received)" \
	'updates in them' "$(value olaf merged)" "$(value fifo merged)" \
	'dropped, %' "$(round olaf loss_percent 1)" "$(round fifo loss_percent 1)" \
	'mean age, ms' "$(ms olaf mean_age_ns)" "$(ms fifo mean_age_ns)" \
	'95th percentile of age, ms' "$(ms olaf p95_age_ns)" "$(ms fifo p95_age_ns)" \
	"Jain's index of mean ages" "$(round olaf jain 3)" "$(round fifo jain 3)" \
	'reward, last 100 episodes' "$(reward olaf last)" "$(reward fifo last)" \
	'reward, best 100 in a row' "$(reward olaf best)" "$(reward fifo best)"
if command -v gnuplot >/dev/null; then
	innet-plot age -w ages.svg olaf.csv fifo.csv
	innet-plot rewards -w rewards.svg --group olaf olaf-[0-9]-[0-9].csv \
		--group fifo fifo-[0-9]-[0-9].csv
	innet-plot cdf -w cdf.svg olaf.csv fifo.csv
	printf 'plots: %s/{ages,rewards,cdf}.svg\n' "$PWD"
else
	printf 'no plots: gnuplot is missing (gnuplot-nox)\n'
fi
innet-plot page -w page.html olaf.csv fifo.csv olaf.json fifo.json \
	--group olaf olaf-ages.json olaf-[0-9]-[0-9].csv \
	--group fifo fifo-ages.json fifo-[0-9]-[0-9].csv &&
	printf 'page: %s/page.html\n' "$PWD"
awk -v r="$(reward olaf best)" -v a="$(value olaf mean_age_ns)" -v b="$(value fifo mean_age_ns)" 'BEGIN {
	if (r < 475) { print "demo: the agents with Olaf reached a reward of " r ", not 475" >"/dev/stderr"; bad = 1 }
	if (a >= b) { print "demo: the mean age with Olaf is not lower than with FIFO" >"/dev/stderr"; bad = 1 }
	exit bad }'
