#!/bin/bash
# L1: synchronous aggregation of 3 workers in a rack of namespaces that loses
# frames, against Open MPI's AllReduce over TCP through the same links, by turns;
# the median of ROUNDS runs (3) of the mean round, for what TCP pays for a loss
# is in its tail; links of RATE Mbit/s (1000).  Needs root.
# Run from the build folder, or say where it is in BUILD.
#
# shellcheck disable=SC1091,SC2154
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${BUILD:-.}" && pwd) runs=${ROUNDS:-3} mbit=${RATE:-1000}
export PATH="$here/../../share/testbed:$build:$build/tests/bench:$PATH" LC_ALL=C
. "$here/need.bash"
need 'L1 loss' innet-switch innet-worker mpirun mpi-allreduce
if [ "${1-}" != inside ]; then
	why=$(testbed.sh list 2>&1 >/dev/null) || skip 'L1 loss' "$why"
	kept=$(mktemp -d -p /dev/shm) && trap 'rm -rf "$kept"' EXIT
	for ((i = 0; i < runs; i++)); do
		for loss in 0% 0.1% 1% 5% 20%; do
			BUILD=$build KEPT=$kept testbed.sh rack -n 3 --rate "${mbit}mbit" \
				--loss $loss -- bash "$here/l1-loss.sh" inside $loss
		done
	done
	. "$here/rounds.bash"
	for s in 40kB 629kB; do
		base=$(median "$kept/innet.$s.0%")
		for loss in 0% 0.1% 1% 5% 20%; do
			got=$(median "$kept/innet.$s.$loss")
			echo "# L1 $s at $loss: $got ms, $(awk -v a="$got" -v b="$base" \
				'BEGIN { printf "%.2f", a / b }') times that without loss"
			[ -s "$kept/mpi.$s.$loss" ] || continue
			bar=1.00
			case $s.$loss in 40kB.1% | 40kB.5%) bar=0.20 ;; esac
			verdict "L1 $s-at-$loss" "$got" "$(median "$kept/mpi.$s.$loss")" $bar
		done
	done
	exit
fi
loss=$2
dir=$(mktemp -d -p /dev/shm) && trap 'rm -rf "$dir"' EXIT
. "$here/rounds.bash"

on() { exec testbed.sh exec "$@"; }
switch=$(testbed.sh addr switch)
bytes[629kB]=629520
figure=mean
declare -A rounds=([40kB]=300 [629kB]=60)
declare -A ring_rounds=([0%]=100 [0.1%]=100 [1%]=30 [5%]=5)

for s in 40kB 629kB; do
	through switch "$switch" 3 "${bytes[$s]}" "${rounds[$s]}" 366 \
		innet-switch --program iswitch --reduce sum >>"$KEPT/innet.$s.$loss"
	# TCP takes a minute and more for a round at 20 %
	[ -n "${ring_rounds[$loss]-}" ] || continue
	allreduce mpi.sh -n 3 mpi-allreduce "${bytes[$s]}" "${ring_rounds[$loss]}" \
		>>"$KEPT/mpi.$s.$loss"
done
