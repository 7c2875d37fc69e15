#!/bin/bash
# T0: compare synchronous aggregation over loopback with the least work that
# processes can do for the same segments (thin.c)
#
# The bench measures the time of a round, and the processor time of all
# processes in a round, for one segment of 2 workers and for vectors of 4
# workers.  The two take turns in ROUNDS (5) rounds.  The processor time of the start is subtracted: it is
# that of a very short run.  Rows compare with the thin switch with multicast;
# lines with # show the rest.
# Run this from the build folder, or name that folder in BUILD.  OLD may name a
# folder with the programs of an earlier build, which are then measured in the
# same run.
#
# shellcheck disable=SC1091,SC2034,SC2154
set -eu -o pipefail
build=${BUILD:-.}
export PATH="$build:$build/tests/bench:$PATH" LC_ALL=C
. "$(dirname "$0")/need.bash"
. "$(dirname "$0")/rounds.bash"
need 'T0 thin' innet-switch innet-worker thin
dir=$(mktemp -d -p /dev/shm)
trap 'running=$(jobs -p); [ -z "$running" ] || kill $running 2>/dev/null || :; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
. "$(dirname "$0")/aggregate.bash"

on() { shift; exec "$@"; }
group=239.77.0.9 port=$((20000 + $$ % 20000))
declare -A bytes=([segment]=1464 [40kB]=40020 [157kB]=157520 [3.31MB]=3310000)
declare -A long=([segment]=20000 [40kB]=2500 [157kB]=1000 [3.31MB]=60)
declare -A workers=([segment]=2)
sizes='segment 40kB 157kB 3.31MB'

# WORKERS BYTES ROUNDS: print the median round of innet in ms, as through() does
innet_unicast() {
	through lo 127.0.0.1 "$@" 366 innet-switch -p iswitch --reduce sum
}
innet_multicast() {
	through lo 127.0.0.1 "$@" 366 innet-switch -p iswitch --reduce sum --multicast $group
}
old_unicast() { PATH=$OLD:$PATH innet_unicast "$@"; }

# WORKERS BYTES ROUNDS GROUP: print the median round of the thin switch in ms
thin_rounds() {
	local server pids='' i rc=0
	rm -f "$dir"/out.*
	thin switch "$port" "$1" "$4" &
	server=$!
	sleep 0.1
	for ((i = 0; i < $1; i++)); do
		timeout 100 thin worker "$port" "$1" "$4" "$i" "$2" "$3" >"$dir/out.w$i" &
		pids="$pids $!"
	done
	for i in $pids; do
		wait "$i" || rc=1
	done
	kill "$server"
	wait "$server" || :
	[ $rc -eq 0 ] || return 1
	cat "$dir"/out.w* >"$dir/p50"
	awk -v ns="$(median "$dir/p50")" 'BEGIN { print ns / 1e6 }'
}
thin_unicast() { thin_rounds "$@" -; }
thin_multicast() { thin_rounds "$@" $group; }

# WAY WORKERS BYTES ROUNDS: print the median round, and the processor time of
# all processes, in ms
timed() {
	( "$@" >"$dir/round" && times >"$dir/times" )
	awk -F '[ms ]+' 'NR == 1 { round = $1; next } FNR == 2 {
		print round, 6e4 * ($1 + $3) + 1e3 * ($2 + $4) }' \
		"$dir/round" "$dir/times"
}

# WAY SIZE WORKERS: append the time and the processor time of a round, in us, to
# files
measure() {
	local most=${long[$2]} least round all few
	least=$((most / 50 + 1))
	begin
	read -r round all < <(timed "$1" "$3" "${bytes[$2]}" "$most")
	read -r _ few < <(timed "$1" "$3" "${bytes[$2]}" "$least")
	end "$dir/$1.$2.round" "$dir/$1.$2.processors"
	awk -v ms="$round" 'BEGIN { print ms * 1e3 }' >>"$dir/$1.$2.round"
	awk -v d="$all" -v s="$few" -v n=$((most - least)) \
		'BEGIN { print (d - s) * 1e3 / n }' >>"$dir/$1.$2.processors"
}

ways='innet_unicast innet_multicast thin_unicast thin_multicast'
[ -z "${OLD-}" ] || ways="old_unicast $ways"
for ((i = 0; i < runs; i++)); do
	for s in $sizes; do
		for way in $ways; do
			measure "$way" "$s" "${workers[$s]-4}"
		done
	done
done
for s in $sizes; do
	for what in round processors; do
		bar=1.2
		[ $what = round ] || bar=1.3
		for way in $ways; do
			echo "# T0 $s $what: ${way/_/, } $(spread "$dir/$way.$s.$what") us"
		done
		row "T0 thin-$s-$what" us "$dir/innet_multicast.$s.$what" \
			"$dir/thin_multicast.$s.$what" $bar
	done
done
