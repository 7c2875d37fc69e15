#!/bin/bash
# S5: measure the sum tree with 64 Ki to 64 Mi entries (ENTRIES) in batches of
# 256: the times to insert, update and sample as many entries as it has, and
# their exponents over the entries. Then show the same for single writes to
# random leaves. Run this from the build folder, or name that folder in BUILD.
#
# shellcheck disable=SC1091
set -eu -o pipefail
export PATH="${BUILD:-.}/tests/bench:$PATH" LC_ALL=C
here=$(dirname "$0")
. "$here/need.bash"
need 'S5 entries' sumtree
. "$here/fit.bash"
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT

for n in ${ENTRIES:-64 256 1024 4096 16384 65536}; do
	sumtree "${n}Ki" 256 "${ROUNDS:-7}" | awk -v n="$((n * 1024))" -v dir="$dir" '
		$1 == "hot" { print n, n * $3 * 1e-6 >>(dir "/" $2) }'
	sumtree least "${n}Ki" 41 | awk -v n="$((n * 1024))" '
		{ print n, n * $1 * 1e-6 }' >>"$dir/least"
done
for what in insert update sample; do
	scales "S5 $what" "$dir/$what" 'ms for all, by entries' 1.10
done
# Every layout needs this part of an update: a cache line of leaves must be
# fetched.
awk '{ printf "# S5 least, of writes to single leaves: %s ms at %s\n", $2, $1 }' "$dir/least"
echo "# S5 least: exponent $(exponent "$dir/least")"
