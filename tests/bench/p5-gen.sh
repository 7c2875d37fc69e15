#!/bin/bash
# P5: compare writing Poisson updates of 256 B to a new file in tmpfs with
# write() of the same number of bytes. Run this from the build folder, or name
# that folder in BUILD.
#
# shellcheck disable=SC1091,SC2154
set -eu
. "$(dirname "$0")/rounds.bash"
build=${BUILD:-.} updates=${UPDATES:-2000000}
export PATH="$build:$build/tests/bench:$PATH" LC_ALL=C TIMEFORMAT=%R
dir=$(mktemp -d -p /dev/shm) && trap 'rm -rf "$dir"' EXIT

gen() {
	innet-gen -q --arrivals poisson --rate 10G --clusters "${CLUSTERS:-9}" \
		--workers 3 -c $((updates / (3 * ${CLUSTERS:-9}))) -w "$dir/new"
}
timed() {
	rm -f "$dir/new"
	{ time "$@"; } 2>&1
}

gen			# once, for the size and to warm up
bytes=$(stat -c %s "$dir/new")
for ((i = 0; i < runs; i++)); do
	take "$dir/innet" timed gen
	take "$dir/peer" timed write-peer "$dir/new" "$bytes"
done
row 'P5 gen' s "$dir/innet" "$dir/peer" 2
