#!/bin/bash
# F1: measure how a flood of forged Joins slows down a job of four workers with
# a key
#
# The flood has RATE (100,000) packets a second from 100,000 forged addresses. 
# Rounds of 40 kB with and without the flood take turns; the results are medians
# of ROUNDS (5) runs.  The bench also measures the growth of the switch's
# memory, and the time that the Join of another worker takes.  All programs run
# in one network namespace.
# The program that sends the flood uses processor time too, which is printed.
# Run this from the build folder, or name that folder in BUILD.
#
# shellcheck disable=SC1091,SC2034,SC2086,SC2154
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${BUILD:-.}" && pwd) rate=${RATE:-100000}
export PATH="$build:$build/tests/bench:$PATH" LC_ALL=C
. "$here/need.bash"
. "$here/rounds.bash"
need 'F1 floods' innet-switch innet-worker innet-ctl strangers jq unshare ip
if [ "${1-}" != inside ]; then
	unshare -rn true 2>/dev/null || skip 'F1 floods' 'no network namespaces'
	exec unshare -rn bash "$0" inside
fi
dir=$(mktemp -d -p /dev/shm)
trap 'running=$(jobs -p); [ -z "$running" ] || kill $running 2>/dev/null || :; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
ip link set lo up
ip addr add 10.98.0.0/15 dev lo
(umask 077; head -c 32 /dev/urandom >"$dir/key")

# of PID FIELD: print a field of the memory of a process, in kB
of() { sed -n "s/^$2:[^0-9]*\([0-9]*\) kB/\1/p" "/proc/$1/status"; }

# spent PID: print the processor time of a process in seconds
spent() { awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) / hz }' "/proc/$1/stat"; }

# round ROUNDS: print the median in ms of rounds of 40 kB of four workers
round() {
	local pids='' i
	for i in 0 1 2 3; do
		innet-worker -p iswitch --switch "$at" --key "$dir/key" --job 1 --worker $i --synthetic 40020B \
			--interval 0 -c "$1" --json >"$dir/out.$i" 2>"$dir/err.$i" &
		pids="$pids $!"
	done
	for i in $pids; do wait "$i" || { tail -n 2 "$dir"/err.* >&2; return 1; }; done
	sed -n 's/.*"round_p50_ns":\([0-9]*\).*/\1/p' "$dir"/out.* >"$dir/p50"
	awk -v ns="$(median "$dir/p50")" 'BEGIN { print ns / 1e6 }'
}

innet-switch -q -p iswitch -H 4 --key "$dir/key" --listen 10.98.0.1:0 --port-file "$dir/port" \
	--report "$dir/report" 2>"$dir/err.switch" &
switch=$!
await "$dir/port"
at=10.98.0.1:$(cat "$dir/port")
for ((i = 0; i < runs; i++)); do
	take "$dir/calm" round 1000
	before=$(of $switch VmRSS) busy=$(spent $switch)
	began=$(date +%s%N)
	strangers "$at" 3600 "$rate" 100000 >"$dir/sent" &
	flood=$!
	sleep 1.2		# until then all 100,000 addresses have sent a Join
	take "$dir/flooded" round 1000
	begin
	s=$(date +%s%N)
	innet-ctl --key "$dir/key" "$at" --job $((9 + i)) join --vector 10 --worker 1 >/dev/null
	awk -v a="$s" -v b="$(date +%s%N)" 'BEGIN { print (b - a) / 1e6 }' >>"$dir/join"
	end "$dir/join"
	awk -v ns=$(($(date +%s%N) - began)) -v f="$(spent $flood)" -v was="$busy" -v is="$(spent $switch)" \
		-v n="$(nproc)" 'BEGIN {
		all = n * ns / 1e9
		printf "# F1: of %.1f s of processor the strangers took %.2f, the switch %.2f: 1 / %.2f of it is left to workers\n",
		    all, f, is - was, all / (all - f - is + was)
	}'
	kill $flood
	wait $flood 2>/dev/null || :
	of $switch VmRSS | awk -v a="$before" '{ print $1 - a }' >>"$dir/grown"
done
kill $switch
wait $switch
jq -r '"# F1: of \(.packets) packets \([.. | .challenged? // empty][0]) were challenged, \([.. | .unproved? // empty][0]) had no answer"' "$dir/report"
row 'F1 flood-4x40kB' ms "$dir/flooded" "$dir/calm" 1.3
row 'F1 join-in-a-flood' ms "$dir/join" 1000 1
sort -n "$dir/grown" | tail -n 1 | awk '{ print 1024 * $1 }' >"$dir/most"
row 'F1 memory-of-100k-strangers' bytes "$dir/most" 1048576 1
