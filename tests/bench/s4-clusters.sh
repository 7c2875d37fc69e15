#!/bin/bash
# S4: measure the processor time of the Olaf queue for an update, with a capture
# as in P3 of 9 to 60,000 clusters (CLUSTERS).  The time should not depend on
# the clusters, so the result is its exponent over them (twice the time at
# 60,000 clusters would give 0.08).
# Run this from the build folder, or name that folder in BUILD.
#
# shellcheck disable=SC1091
set -eu -o pipefail
build=${BUILD:-.} updates=${UPDATES:-540000} rounds=${ROUNDS:-3}
export PATH="$build:$PATH" LC_ALL=C TIMEFORMAT='%U %S'
here=$(dirname "$0")
. "$here/need.bash"
need 'S4 clusters' innet-switch innet-gen
. "$here/fit.bash"
dir=$(mktemp -d -p /dev/shm) && trap 'rm -rf "$dir"' EXIT

clusters=${CLUSTERS:-9 90 900 9000 60000}
for n in $clusters; do
	innet-gen -q --arrivals poisson --rate 60G --payload 256B --clusters "$n" \
		--workers 3 -c $((updates / n / 3)) -w "$dir/$n.pcap"
done
for ((i = 0; i < rounds; i++)); do
	for n in $clusters; do
		{ time innet-switch -q -r "$dir/$n.pcap" -w "$dir/out" --rate 40G \
			--slots 8; } 2>&1 | awk -v n="$((updates / n / 3 * n * 3))" \
			'{ print ($1 + $2) / n * 1e9 }' >>"$dir/$n"
		rm -f "$dir/out"
	done
done
for n in $clusters; do
	echo "$n $(sort -g "$dir/$n" | sed -n "$((rounds / 2 + 1))p")" >>"$dir/fit"
done
scales 'S4 clusters' "$dir/fit" 'ns of processor an update, by clusters' 0.08
