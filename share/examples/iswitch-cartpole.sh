#!/usr/bin/env bash
# iswitch-cartpole.sh - train CartPole through a switch that sums gradients,
# synchronously or asynchronously
#
#	share/examples/iswitch-cartpole.sh [--async] [--workers N]
#		[--seed N] [--twice] [--hierarchy [--in-path]] [--steps N]
#		[--out DIR]
#
# Four agents start from the same weights, and each plays its own games. The
# switch adds all gradients in the order of the workers, and each agent makes a
# step with Adam along their mean. The run ends when the last 100 episodes of
# one agent have a mean reward of 475, or when each agent has played --steps
# (default 1500000).
#
# With --async no worker waits for another. A worker sends its gradient unless
# the weights of the gradient are more than 3 rounds old. The workers add 0.08
# times the mean of any four gradients. A gradient is clipped to a norm of 3,
# because a late gradient could otherwise move the weights too far.
#
# --twice runs again and compares the weights bit by bit. --hierarchy runs 12
# agents in two racks, each with a switch, and a third switch above these, in
# network namespaces with links of 100 Mbit/s; it needs root. With --in-path the
# switches run in the path of the racks' bridges. The exit status is 1 if 475
# was not reached or the weights differ.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
here=$(cd "$(dirname "$0")" && pwd)
mode=sync workers='' seed=1 steps=1500000 out='' twice='' hierarchy='' in_path=''
say() { printf 'iswitch-cartpole: %s\n' "$*" >&2; }
die() { say "$*"; exit 2; }
while [ $# -gt 0 ]; do
	case $1 in
	--async) mode=async; shift; continue ;;
	--twice) twice=1; shift; continue ;;
	--hierarchy) hierarchy=1; shift; continue ;;
	--in-path) in_path='--bridge br0'; shift; continue ;;
	esac
	[ $# -ge 2 ] || die "$1 is unknown, or its value is missing"
	case $1 in
	--workers) workers=$2 ;;
	--seed) seed=$2 ;;
	--steps) steps=$2 ;;
	--out) out=$2 ;;
	*) die "unknown option '$1'" ;;
	esac
	shift 2
done
for n in "${workers:-1}" "$steps" "1$seed"; do
	[[ $n =~ ^[1-9][0-9]{0,11}$ ]] || die '--workers, --steps and --seed take whole numbers'
done
case $mode in
sync) sum='--reduce ordered' work='' bound='' ;;
async)
	sum=--async bound='--norm 3'
	work='--async --learning-rate 0.08 --staleness 3'
	;;
esac
[ "$mode" = sync ] || [ -z "$twice" ] || die '--twice cannot be used with --async'
[ -n "$hierarchy" ] || [ -z "$in_path" ] || die '--in-path needs --hierarchy'
[ -z "$hierarchy" ] || [ "${workers:=12}" -eq 12 ] || die '--hierarchy has 12 workers'
workers=${workers:-4}
made=.
[ -x "$top/build/innet-switch" ] && made=$top/build PATH=$top/build:$PATH
command -v innet-switch >/dev/null || die 'innet-switch is not built; ./bootstrap'
out=${out:-$made/iswitch-cartpole}
PATH=$PATH:$here/../testbed

# End all processes and remove the namespaces at every exit.
running='' testbed=''
trap '[ -z "$running" ] || kill $running 2>/dev/null; wait
	[ -z "$testbed" ] || testbed.sh down "$testbed"' EXIT
trap 'exit 1' INT TERM

if [ -n "$hierarchy" ]; then
	testbed=$(testbed.sh up two-racks -n "$workers" --owner $$) || exit 1
	export INNET_TESTBED=$testbed
fi
mkdir -p "$out" && cd "$out" || exit 1
rm -f [12]-*

# start HOST NAME COMMAND...: run the command in the background, with its output
# in NAME.out and its messages in NAME.err
start() {
	local host=$1 name=$2
	shift 2
	[ -z "$hierarchy" ] || set -- testbed.sh exec "$host" "$@"
	"$@" >"$name.out" 2>"$name.err" &
	running="$running $!"
}

# switch HOST NAME OPTION...: start a switch on a host, and set $at to its
# address
switch() {
	local host=$1 name=$2
	shift 2
	at=127.0.0.1
	[ -z "$hierarchy" ] || at=$(testbed.sh addr "$host")
	# shellcheck disable=SC2086	# words
	start "$host" "$name" innet-switch --json -p iswitch $sum $in_path \
		--insecure --listen "$at:0" --port-file "$name.port" "$@"
	for _ in $(seq 500); do
		[ ! -s "$name.port" ] || { at=$at:$(cat "$name.port"); return; }
		kill -0 $! 2>/dev/null || break
		sleep 0.02
	done
	say "the switch did not start; see $PWD/$name.err"
	exit 1
}

# worker K RUN: start a worker on its host; it uses the switch at $at
worker() {
	# shellcheck disable=SC2086	# words
	start "w$1" "$2-w$1" innet-worker --json -p iswitch --switch "$at" \
		--worker "$1" $work -- \
		innet-agent -q --algo a2c $bound --init-seed "$seed" --seed $((seed * 1000 + $1)) \
		--solve --steps "$steps" --log "$2-w$1.csv" --save "$2-w$1.policy"
	agents="$agents $!"
}

# train RUN: train until the first agent ends, and set $first to its name.  All
# agents have the weights of $first, because each has applied the same sums.
train() {
	local k core pid rc=0
	agents=''
	if [ -n "$hierarchy" ]; then
		switch core "$1-core" -H 2
		core=$at
		switch switch1 "$1-switch1" -H 6 --parent "$core" --number 1
		for k in {0..5}; do worker "$k" "$1"; done
		switch switch2 "$1-switch2" -H 6 --parent "$core" --number 2
		for k in {6..11}; do worker "$k" "$1"; done
	else
		switch '' "$1-switch" -H "$workers"
		for ((k = 0; k < workers; k++)); do worker "$k" "$1"; done
	fi
	# shellcheck disable=SC2086	# words
	wait -n -p pid $agents || rc=1
	first=$1-w0
	for k in $agents; do
		[ "$k" -ne "$pid" ] || break
		first=$1-w$((${first#*w} + 1))
	done
	# shellcheck disable=SC2086	# words
	kill $agents 2>/dev/null
	# shellcheck disable=SC2086	# words
	wait $agents
	# shellcheck disable=SC2086	# words
	kill $running 2>/dev/null
	wait
	running=''
	[ $rc -eq 0 ] || { say "a worker failed; see $PWD/$first.err"; exit 1; }
}

# value NAME KEY: print the value of a key in the summary of a worker
value() { sed -n "s/.*\"$2\":\([0-9]*\).*/\1/p" "$1.out"; }
reward() { tail -n +2 "$1.csv" | tail -n 100 | awk -F, '{ s += $3 } END { printf "%.1f", NR ? s / NR : 0 }'; }
row() { printf '%-32s %12s\n' "$@"; }

say "$workers workers, $mode,${hierarchy:+ two racks and a core,} CartPole with A2C, seed $seed"
train 1
seconds=$(tail -n 1 "$first.csv" | cut -d, -f4)
key=iterations
[ "$mode" = sync ] || key=rounds
iterations=$(tail -n 1 "$first.out" | sed -n "s/.*\"$key\":\([0-9]*\).*/\1/p")
row iterations "$iterations" seconds "$seconds" \
	'ms per iteration' "$(awk -v s="$seconds" -v n="$iterations" 'BEGIN { printf "%.2f", 1000 * s / n }')" \
	'mean reward, last 100 episodes' "$(reward "$first")" \
	'CRC of the weights' "$(printf %08x "$(cksum <"$first.policy" | cut -d' ' -f1)")"
if [ "$mode" = async ]; then
	for k in staleness_{0..3} discarded; do
		row "gradients, ${k/_/ }" "$(tail -qn 1 1-w*.out | sed -n "s/.*\"$k\":\([0-9]*\).*/\1/p" |
			awk '{ s += $1 } END { print s }')"
	done
else
	row 'ms from gradient to sum, median' \
		"$(awk -v n="$(value "$first" round_p50_ns)" 'BEGIN { printf "%.2f", n / 1e6 }')"
fi
rc=0
awk -v r="$(reward "$first")" -v n="$(wc -l <"$first.csv")" 'BEGIN { exit r < 475 || n <= 100 }' ||
	{ say "the agents reached a reward of $(reward "$first"), not 475"; rc=1; }
if [ -n "$twice" ]; then
	one=$first
	train 2
	if cmp "$one.policy" "$first.policy" >&2; then
		row 'second run' bit-identical
	else
		row 'second run' different
		rc=1
	fi
fi
exit $rc
