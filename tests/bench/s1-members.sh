#!/bin/bash
# S1: synchronous aggregation of 40 kB over loopback with 1 to 64 members of a
# job (MEMBERS): the median round, and its exponent over members, whose limit
# is linear in bytes.
# Run from the build folder, or say where it is in BUILD.
#
# shellcheck disable=SC1091,SC2154
set -eu -o pipefail
build=${BUILD:-.}
export PATH="$build:$PATH" LC_ALL=C
here=$(dirname "$0")
. "$here/need.bash"
need 'S1 members' innet-switch innet-worker
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
