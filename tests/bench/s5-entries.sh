#!/bin/bash
# S5: measure the sum tree with 64 Ki to 64 Mi entries (ENTRIES) in batches of
# 256: the times to insert, update and sample as many entries as it has, and
# their exponents over the entries, in ROUNDS (5) runs. Then show the same for single writes to
# random leaves. Run this from the build folder, or name that folder in BUILD.
#
# shellcheck disable=SC1091,SC2154
set -eu -o pipefail
export PATH="${BUILD:-.}/tests/bench:$PATH" LC_ALL=C
here=$(dirname "$0")
. "$here/need.bash"
. "$here/rounds.bash"
need 'S5 entries' sumtree
. "$here/fit.bash"
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT

read -ra entries <<<"${ENTRIES:-64 256 1024 4096 16384 65536}"
for ((i = 0; i < runs; i++)); do
	for n in "${entries[@]}"; do
		n=$((n * 1024))
		begin
		sumtree $n 256 3 >"$dir/all"
		end "$dir"/{insert,update,sample}.$n
		awk -v n=$n -v dir="$dir" '$1 == "hot" {
			print n * $3 * 1e-6 >>(dir "/" $2 "." n) }' "$dir/all"
		take "$dir/ns.$n" sumtree least $n 41
	done
done
for ((i = 0; i < ${#entries[@]}; i++)); do
	entries[i]=$((entries[i] * 1024))
	derive "$dir/ns.${entries[i]}" "$dir/least.${entries[i]}" "${entries[i]} * \$1 * 1e-6"
done
for what in insert update sample; do
	scales "S5 $what" "$dir/$what" 'ms for all, by entries' 1.10 "${entries[@]}"
done
# Every layout needs this part of an update: a cache line of leaves must be
# fetched.
scales 'S5 least, of writes to single leaves' "$dir/least" 'ms for all, by entries' '' "${entries[@]}"
