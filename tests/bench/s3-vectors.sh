#!/bin/bash
# S3: measure synchronous aggregation of 4 workers over loopback with vectors of
# 4 kB to 64 MB (VECTORS, in bytes).  The results are the median round and its
# exponent over the bytes.
# Run this from the build folder, or name that folder in BUILD.
#
# shellcheck disable=SC1091,SC2154
set -eu -o pipefail
build=${BUILD:-.}
export PATH="$build:$PATH" LC_ALL=C
here=$(dirname "$0")
. "$here/need.bash"
need 'S3 vectors' innet-switch innet-worker
dir=$(mktemp -d -p /dev/shm)
trap 'running=$(jobs -p); [ -z "$running" ] || kill $running 2>/dev/null || :; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
. "$here/rounds.bash"
. "$here/fit.bash"

on() { shift; exec "$@"; }
for n in ${VECTORS:-4000 16000 64000 256000 1000000 4000000 16000000 64000000}; do
	rounds=$((n < 400000 ? 200 : 80000000 / n + 2))
	ms=$(through lo 127.0.0.1 4 "$n" $((rounds > ${ROUNDS:-200} ? ROUNDS : rounds)) 16374 \
		innet-switch --program iswitch --reduce sum)
	echo "$n $ms" >>"$dir/fit"
done
scales 'S3 vectors' "$dir/fit" 'ms a round, by bytes' 1.10
