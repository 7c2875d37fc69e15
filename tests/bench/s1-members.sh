#!/bin/bash
# S1: measure synchronous aggregation of 40 kB over loopback with 1 to 64
# members of a job (MEMBERS)
#
# The results are the median round and its exponent over the members; the work
# grows at least linearly with the members' bytes.  Then ten jobs of 64 members
# run.  The results are those of the worst job: the share of segments that were
# sent again, and the Helps per segment.
# Run this from the build folder, or name that folder in BUILD.
#
# shellcheck disable=SC1091,SC2154
set -eu -o pipefail
build=${BUILD:-.}
export PATH="$build:$PATH" LC_ALL=C
here=$(dirname "$0")
. "$here/need.bash"
need 'S1 members' innet-switch innet-worker jq
dir=$(mktemp -d -p /dev/shm)
trap 'running=$(jobs -p); [ -z "$running" ] || kill $running 2>/dev/null || :; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
. "$here/rounds.bash"
. "$here/fit.bash"

on() { shift; exec "$@"; }
for n in ${MEMBERS:-1 2 4 8 16 32 64}; do
	ms=$(through lo 127.0.0.1 "$n" 40020 "${ROUNDS:-200}" 366 \
		innet-switch --program iswitch --reduce sum)
	echo "$n $ms" >>"$dir/fit"
done
scales 'S1 members' "$dir/fit" 'ms a round, by members' 1.10
awk '$1 == 64 {
	printf "S1 members-64 innet %.2f ms peer 1.20 ms ratio %.2f bar 1.00 %s\n",
	    $2, $2 / 1.2, $2 <= 1.2 ? "ok" : "short"
}' "$dir/fit"
for ((i = 0; i < 10; i++)); do
	through lo 127.0.0.1 64 40020 "${ROUNDS:-200}" 366 \
		innet-switch --program iswitch --reduce sum >/dev/null
	tail -qn 1 "$dir"/out.w* | jq -sr 'def share(f): 100 * (map(f) | add) / (map(.segments_sent) | add);
		[share(.retransmitted), share(.helps_sent)] | @tsv' >>"$dir/again"
done
sort -n "$dir/again" | awk '{ again = $1; helps = $2 > helps ? $2 : helps }
	function row(name, v, bar) {
		printf "S1 %s innet %.2f %% peer %.2f %% ratio %.2f bar 1.00 %s\n",
		    name, v, bar, v / bar, v <= bar ? "ok" : "short"
	}
	END { row("members-64-sent-again", again, 5); row("members-64-helps", helps, 1) }'
