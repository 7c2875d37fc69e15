#!/bin/bash
# P5: compare writing Poisson updates of 256 B to a new file in tmpfs with
# write() of the same number of bytes. Run this from the build folder, or name
# that folder in BUILD.
set -eu
build=${BUILD:-.} updates=${UPDATES:-2000000} rounds=${ROUNDS:-7} bar=2.00
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
median() { sort -n | sed -n "$((rounds / 2 + 1))p"; }

gen			# once, for the size and to warm up
bytes=$(stat -c %s "$dir/new")
for ((i = 0; i < rounds; i++)); do
	timed gen >>"$dir/innet"
	timed write-peer "$dir/new" "$bytes" >>"$dir/peer"
done
a=$(median <"$dir/innet") b=$(median <"$dir/peer")
awk -v a="$a" -v b="$b" -v bar="$bar" 'BEGIN {
	r = a / b
	printf "P5 gen innet %.2f s peer %.2f s ratio %.2f bar %.2f %s\n",
	    a, b, r, bar, r <= bar ? "ok" : "short"
}'
