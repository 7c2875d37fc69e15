#!/bin/bash
# S2: run 1 to 1,000 jobs (JOBS) with one worker each and 40 kB at one switch.
# Measure the processor time of the switch for each contribution, and the
# exponent of the total time over the jobs. Run this from the build folder, or
# name that folder in BUILD.
#
# shellcheck disable=SC1091,SC2154
set -eu -o pipefail
build=${BUILD:-.} rounds=${ROUNDS:-10}
export PATH="$build:$PATH" LC_ALL=C
here=$(dirname "$0")
. "$here/need.bash"
need 'S2 jobs' innet-switch innet-worker
dir=$(mktemp -d -p /dev/shm)
trap 'running=$(jobs -p); [ -z "$running" ] || kill $running 2>/dev/null || :; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
. "$here/rounds.bash"
. "$here/fit.bash"

# print the processor time of a process so far in ms
spent() { awk -v hz="$(getconf CLK_TCK)" '{ print 1000 * ($14 + $15) / hz }' "/proc/$1/stat"; }

for n in ${JOBS:-1 10 100 500 1000}; do
	rm -f "$dir/port"
	innet-switch -q --program iswitch --reduce sum -H 1 --listen 127.0.0.1:0 \
		--port-file "$dir/port" 2>"$dir/err" &
	switch=$!
	await "$dir/port"
	workers=() count=$((rounds * (n < 100 ? 1000 / n : 10) / 10))
	for ((j = 1; j <= n; j++)); do
		innet-worker -q --switch "127.0.0.1:$(cat "$dir/port")" -p iswitch \
			--job $j --worker 0 --synthetic 40020B --interval 20ms \
			-c $count 2>>"$dir/err" >/dev/null &
		workers+=($!)
	done
	for w in "${workers[@]}"; do
		wait "$w" || { tail -n 3 "$dir/err" >&2; exit 1; }
	done
	echo "$n $(spent $switch) $count" | awk '{ print $1, 1000 * $2 / ($1 * $3) }' >>"$dir/us"
	kill $switch
	wait $switch || :
done
awk '{ print $1, $1 * $2 }' "$dir/us" >"$dir/fit"
awk '{ printf "%s%.0f at %s", NR == 1 ? "# S2 jobs: " : ", ", $2, $1 }
	END { print "; us of processor a contribution, by jobs" }' "$dir/us"
scales 'S2 jobs' "$dir/fit" 'us for a contribution of each' 1.10 | grep -v '^#'
