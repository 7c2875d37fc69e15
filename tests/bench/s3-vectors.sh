#!/bin/bash
# S3: measure synchronous aggregation of 4 workers over loopback with vectors of
# 4 kB to 64 MB (VECTORS, in bytes).  The results are the median round and its
# exponent over the bytes, in ROUNDS (5) runs of each size.
# Run this from the build folder, or name that folder in BUILD.
#
# shellcheck disable=SC1091,SC2154
set -eu -o pipefail
build=${BUILD:-.}
export PATH="$build:$PATH" LC_ALL=C
here=$(dirname "$0")
. "$here/need.bash"
. "$here/rounds.bash"
need 'S3 vectors' innet-switch innet-worker
dir=$(mktemp -d -p /dev/shm)
trap 'running=$(jobs -p); [ -z "$running" ] || kill $running 2>/dev/null || :; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
. "$here/aggregate.bash"
. "$here/fit.bash"

on() { shift; exec "$@"; }
read -ra vectors <<<"${VECTORS:-4000 16000 64000 256000 1000000 4000000 16000000 64000000}"
for ((i = 0; i < runs; i++)); do
	for n in "${vectors[@]}"; do
		count=$((n < 400000 ? 40 : 16000000 / n + 2))
		take "$dir/ms.$n" through lo 127.0.0.1 4 "$n" $count 16374 \
			innet-switch --program iswitch --reduce sum
	done
done
scales 'S3 vectors' "$dir/ms" 'ms a round, by bytes' 1.10 "${vectors[@]}"
