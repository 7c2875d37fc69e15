#!/usr/bin/env bash
# demo.sh - three clusters train CartPole across an Olaf queue, then a FIFO
#
#	share/examples/demo.sh [--seed N] [--seconds N] [--out DIR] [--impair LIST]
#
# DIR is build/demo of a tree, or else ./demo.  --impair is the switch's, and
# applies to both arms.
#
# Nine agents in three clusters train across a live switch whose uplink carries
# about a quarter of what they send: first with an Olaf queue, then with a
# drop-tail queue of the same size.  Both arms have the same seeds, slots, rate,
# reply mode and time.  Ages count from what was sent.  Exits 1 when Olaf's agents
# did not solve CartPole, 475 on average over 100 episodes in a row, or its mean
# age is not the lower one.
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

# However it ends, nothing is left running.
running=''
trap '[ -z "$running" ] || kill $running 2>/dev/null; wait' EXIT
trap 'exit 1' INT TERM

# Wait for a file to be written: FILE WHAT PID
await() {
	for _ in $(seq 500); do
		[ -s "$1" ] && return 0
		kill -0 "$3" 2>/dev/null || break
		sleep 0.02
	done
	printf 'demo: %s did not start; see %s\n' "$2" "$PWD" >&2
	return 1
}

# One arm: NAME of the switch's program, which names its files as well.
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

# ARM last|best: the mean reward of an agent's last 100 episodes, or of the best 100
# in a row, since one that has learned may unlearn; over all of them.
reward() {
	for f in "$1"-[0-9]-[0-9].csv; do
		tail -n +2 "$f" | awk -F, -v want="$2" '
			{ r[NR] = $3; s += $3 - (NR > 100 ? r[NR - 100] : 0) }
			NR >= 100 && s / 100 > best { best = s / 100 }
			END { n = NR < 100 ? NR : 100; print want == "best" ? best + 0 : n ? s / n : 0 }'
	done | awk '{ s += $1 } END { printf "%.1f", NR ? s / NR : 0 }'
}

printf 'demo: 3 clusters of 3 workers, CartPole with A2C; %s\n' \
	"uplink $rate, offered about four times that" >&2
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
	if (r < 475) { print "demo: Olaf reached " r ", not 475" >"/dev/stderr"; bad = 1 }
	if (a >= b) { print "demo: Olaf is not the fresher one" >"/dev/stderr"; bad = 1 }
	exit bad }'
