#!/bin/bash
# S2: run 1 to 1,000 jobs (JOBS) with one worker each and 40 kB at one switch.
# Measure the processor time of the switch for each contribution, and the
# exponent of the total time over the jobs, in ROUNDS (5) rounds. Run this from the build folder, or
# name that folder in BUILD.
#
# shellcheck disable=SC1091,SC2154
set -eu -o pipefail
build=${BUILD:-.}
export PATH="$build:$PATH" LC_ALL=C
here=$(dirname "$0")
. "$here/need.bash"
. "$here/rounds.bash"
need 'S2 jobs' innet-switch innet-worker
dir=$(mktemp -d -p /dev/shm)
trap 'running=$(jobs -p); [ -z "$running" ] || kill $running 2>/dev/null || :; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
. "$here/fit.bash"

# print the processor time of a process so far in us
spent() { awk '{ print $1 / 1e3 }' "/proc/$1/schedstat"; }

# contributions JOBS: print the processor time of the switch for each contribution
# of this number of jobs, in us
contributions() {
	local n=$1 count j w switch
	local workers=()
	rm -f "$dir/port"
	innet-switch -q --program iswitch --reduce sum -H 1 --listen 127.0.0.1:0 \
		--port-file "$dir/port" 2>"$dir/err" &
	switch=$!
	await "$dir/port"
	count=$((n < 20 ? 200 / n : 10))
	for ((j = 1; j <= n; j++)); do
		innet-worker -q --switch "127.0.0.1:$(cat "$dir/port")" -p iswitch \
			--job $j --worker 0 --synthetic 40020B --interval 20ms \
			-c $count 2>>"$dir/err" >/dev/null &
		workers+=($!)
	done
	for w in "${workers[@]}"; do
		wait "$w" || { tail -n 3 "$dir/err" >&2; exit 1; }
	done
	spent $switch | awk -v n="$((n * count))" '{ print $1 / n }'
	kill $switch
	wait $switch || :
}

read -ra jobs <<<"${JOBS:-1 10 100 500 1000}"
for ((i = 0; i < runs; i++)); do
	for n in "${jobs[@]}"; do
		take "$dir/us.$n" contributions "$n"
	done
done
for n in "${jobs[@]}"; do
	derive "$dir/us.$n" "$dir/all.$n" "$n * \$1"
	echo "# S2 jobs: $(spread "$dir/us.$n") us of processor a contribution at $n jobs"
done
scales 'S2 jobs' "$dir/all" 'us for a contribution of each' 1.10 "${jobs[@]}" | grep -v '^#'
