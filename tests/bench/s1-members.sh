#!/bin/bash
# S1: measure synchronous aggregation of 40 kB over loopback with 1 to 64
# members of a job (MEMBERS)
#
# The results are the median round of 40 and its exponent over the members, in
# ROUNDS (5) runs of each number of members; the work grows at least linearly
# with the members' bytes.  Then ten jobs of 64 members
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
. "$here/rounds.bash"
need 'S1 members' innet-switch innet-worker jq
dir=$(mktemp -d -p /dev/shm)
trap 'running=$(jobs -p); [ -z "$running" ] || kill $running 2>/dev/null || :; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
. "$here/aggregate.bash"
. "$here/fit.bash"

on() { shift; exec "$@"; }
read -ra members <<<"${MEMBERS:-1 2 4 8 16 32 64}"
for ((i = 0; i < runs; i++)); do
	for n in "${members[@]}"; do
		take "$dir/ms.$n" through lo 127.0.0.1 "$n" 40020 40 366 \
			innet-switch --program iswitch --reduce sum
	done
done
scales 'S1 members' "$dir/ms" 'ms a round, by members' 1.10 "${members[@]}"
[ ! -e "$dir/ms.64" ] || row 'S1 members-64' ms "$dir/ms.64" 1.2 1
for ((i = 0; i < 10; i++)); do
	begin
	through lo 127.0.0.1 64 40020 "${COUNT:-200}" 366 \
		innet-switch --program iswitch --reduce sum >/dev/null
	end "$dir/again"
	tail -qn 1 "$dir"/out.w* | jq -sr 'def share(f): 100 * (map(f) | add) / (map(.segments_sent) | add);
		[share(.retransmitted), share(.helps_sent)] | @tsv' >>"$dir/again"
done
for what in sent-again:1:5 helps:2:1; do
	IFS=: read -r name n most <<<"$what"
	cut -f"$n" "$dir/again" | sort -g | tail -n 1 >"$dir/$name"
	cp "$dir/again.others" "$dir/$name.others"
	row "S1 members-64-$name" % "$dir/$name" "$most" 1
done
