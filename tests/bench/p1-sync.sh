#!/bin/bash
# P1: compare synchronous aggregation of 4 workers over loopback with Open MPI's
# AllReduce over TCP
#
# The two take turns, and the results are medians of ROUNDS (5) runs.  The
# packets have 366 float32, or 16,374, which is the most that loopback allows;
# the better of the two counts.  Then the bench compares aggregation with --key,
# which authenticates all data, with aggregation without --key, in segments that
# fit 1,500 bytes.
# Run this from the build folder, or name that folder in BUILD.
#
# shellcheck disable=SC1091,SC2154
set -eu -o pipefail
build=${BUILD:-.}
export PATH="$build:$build/tests/bench:$PATH" LC_ALL=C
. "$(dirname "$0")/need.bash"
. "$(dirname "$0")/rounds.bash"
need 'P1 sync' innet-switch innet-worker mpirun mpi-allreduce
dir=$(mktemp -d -p /dev/shm)
trap 'running=$(jobs -p); [ -z "$running" ] || kill $running 2>/dev/null || :; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
. "$(dirname "$0")/aggregate.bash"

on() { shift; exec "$@"; }
root=''
[ "$(id -u)" -ne 0 ] || root=--allow-run-as-root
declare -A rounds=([40kB]=500 [157kB]=300 [3.31MB]=30 [6.41MB]=15)
declare -A bar=([40kB]=0.90 [157kB]=0.75 [3.31MB]=0.85 [6.41MB]=0.85)

(umask 077; head -c 32 /dev/urandom >"$dir/key")
declare -A proved=([40kB]=1.50 [6.41MB]=1.80)

for ((i = 0; i < runs; i++)); do
	for s in "${!proved[@]}"; do
		for trust in '' "--key $dir/key"; do
			take "$dir/$s.key${trust:+ed}" through lo 127.0.0.1 4 "${bytes[$s]}" \
				"${rounds[$s]}" 0 innet-switch --program iswitch --reduce sum
		done
	done
	trust=''
	for s in $sizes; do
		for floats in 366 16374; do
			take "$dir/$s.$floats" through lo 127.0.0.1 4 "${bytes[$s]}" \
				"${rounds[$s]}" $floats innet-switch --program iswitch --reduce sum
		done
		take "$dir/$s.mpi" allreduce mpirun $root --oversubscribe --mca pml ob1 --mca btl tcp,self \
			--mca btl_tcp_if_include lo -n 4 \
			mpi-allreduce "${bytes[$s]}" "${rounds[$s]}"
	done
done
for s in $sizes; do
	echo "# P1 sync-$s $(spread "$dir/$s.366") ms with 366 floats a packet," \
		"$(spread "$dir/$s.16374") ms with 16374"
	row "P1 sync-$s" ms "$(least "$dir/$s.366" "$dir/$s.16374")" "$dir/$s.mpi" "${bar[$s]}"
done
for s in 40kB 6.41MB; do
	row "P1 proved-$s" ms "$dir/$s.keyed" "$dir/$s.key" "${proved[$s]}"
done
