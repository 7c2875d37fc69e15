#!/bin/bash
# S4: measure the processor time of the Olaf queue for an update, with a capture
# as in P3 of 9 to 60,000 clusters (CLUSTERS).  The time should not depend on
# the clusters, so the result is its exponent over them (twice the time at
# 60,000 clusters would give 0.08), in ROUNDS (5) rounds.
# Run this from the build folder, or name that folder in BUILD.
#
# shellcheck disable=SC1091,SC2154
set -eu -o pipefail
build=${BUILD:-.} updates=${UPDATES:-540000}
export PATH="$build:$PATH" LC_ALL=C TIMEFORMAT='%U %S'
here=$(dirname "$0")
. "$here/need.bash"
. "$here/rounds.bash"
need 'S4 clusters' innet-switch innet-gen
. "$here/fit.bash"
dir=$(mktemp -d -p /dev/shm) && trap 'rm -rf "$dir"' EXIT

# merged CLUSTERS: print the ns of processor time for each update
merged() {
	{ time innet-switch -q -r "$dir/$1.pcap" -w "$dir/out" --rate 40G \
		--slots 8; } 2>&1 | awk -v n="$((updates / $1 / 3 * $1 * 3))" \
		'{ print ($1 + $2) / n * 1e9 }'
	rm -f "$dir/out"
}

read -ra clusters <<<"${CLUSTERS:-9 90 900 9000 60000}"
for n in "${clusters[@]}"; do
	innet-gen -q --arrivals poisson --rate 60G --payload 256B --clusters "$n" \
		--workers 3 -c $((updates / n / 3)) -w "$dir/$n.pcap"
done
for ((i = 0; i < runs; i++)); do
	for n in "${clusters[@]}"; do
		take "$dir/ns.$n" merged "$n"
	done
done
scales 'S4 clusters' "$dir/ns" 'ns of processor an update, by clusters' 0.08 "${clusters[@]}"
