#!/bin/bash
# L1: compare synchronous aggregation of 3 workers in a rack of namespaces that
# loses frames with Open MPI's AllReduce over TCP
#
# Both use the same links of RATE (1000) Mbit/s, and take turns.  LOSSES names
# the shares of frames that are lost, and includes 0%.  The results are medians
# of ROUNDS (5) runs of the mean round, because a loss costs TCP most in the
# tail.  Without loss, two rows compare with the time that the bytes of a vector
# need on a link.  The table also has the result of innet-sim for each cell.  In
# the simulation a link takes as long as a segment of one worker takes here, and
# a host takes as long for a packet as the cell without loss shows.  This needs
# root.
# Run this from the build folder, or name that folder in BUILD.
#
# shellcheck disable=SC1091,SC2034,SC2086,SC2153,SC2154
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${BUILD:-.}" && pwd) mbit=${RATE:-1000}
export PATH="$here/../../share/testbed:$build:$build/tests/bench:$PATH" LC_ALL=C
. "$here/need.bash"
. "$here/rounds.bash"
need 'L1 loss' innet-switch innet-worker innet-sim jq mpirun mpi-allreduce
losses=${LOSSES:-0% 0.1% 1% 5% 20%}
cells='3x40kB 3x629kB 12x40kB'

# simulated WORKERS SEGMENTS LOSS PROPAGATION_NS PACKET_NS: print the ms per
# iteration in the simulation
simulated() {
	local rounds=300
	[ "$2" -lt 100 ] || rounds=60
	jq -n "{ duration: \"none\", wire_overhead: true, trainings: [ { name: \"x\",
		workers: $1, vector: \"$(($2 * 1464))B\", loss: \"$3\",
		propagation: \"$4ns\", packet: \"$5ns\", iterations: $rounds,
		rate: \"${mbit}M\", compute: \"0ns\", message: \"0ns\",
		switch_delay: \"0ns\", update: \"0ns\" } ] }" >"$kept/s.json"
	innet-sim -q --json "$kept/s.json" | jq '.iteration_ns / 1e6'
}

# fitted MS COMMAND...: print the ns, up to 200 us, with which the command
# prints MS
fitted() {
	local ms=$1 low=0 high=200000 middle
	shift
	while [ $((high - low)) -gt 50 ]; do
		middle=$(((low + high) / 2))
		if jq -en "$("$@" $middle) < $ms" >/dev/null; then low=$middle; else high=$middle; fi
	done
	echo $low
}

one_segment() { simulated 1 1 0% "$1" 0; }
lossless() { simulated "${cell%x*}" "$segments" 0% "$propagation" "$1"; }

# beside_simulator: print the measured and the simulated result of each cell of
# $cells
beside_simulator() {
	local propagation packet segments got loss
	propagation=$(fitted "$(median "$kept/innet.1x1464B.0%")" one_segment)
	for cell in $cells; do
		segments=28
		[ "${cell#*x}" = 40kB ] || segments=430
		packet=$(fitted "$(median "$kept/innet.$cell.0%")" lossless)
		echo "# L1 $cell: a link takes $propagation ns and a packet $packet ns"
		for loss in $losses; do
			got=$(simulated "${cell%x*}" $segments "$loss" "$propagation" "$packet")
			awk -v cell="$cell" -v loss="$loss" -v b="$got" -v a="$(median "$kept/innet.$cell.$loss")" \
				'BEGIN { printf "# L1 %s at %s: %.2f ms, simulated %.2f ms, ratio %.2f\n",
					cell, loss, a, b, a / b }'
		done
	done
}

if [ "${1-}" != inside ]; then
	why=$(testbed.sh list 2>&1 >/dev/null) || skip 'L1 loss' "$why"
	kept=$(mktemp -d -p /dev/shm) && trap 'rm -rf "$kept"' EXIT
	for ((i = 0; i < runs; i++)); do
		for loss in $losses; do
			BUILD=$build KEPT=$kept testbed.sh rack -n 12 --rate "${mbit}mbit" \
				--loss "$loss" -- bash "$here/l1-loss.sh" inside "$loss"
		done
	done
	for s in $cells; do
		for loss in $losses; do
			got=$kept/innet.$s.$loss
			echo "# L1 $s at $loss: $(spread "$got") ms," \
				"$(ratio "$got" "$kept/innet.$s.0%") times that without loss$(others "$got")"
			[ -s "$kept/mpi.$s.$loss" ] || continue
			bar=1.00
			case $s.$loss in 3x40kB.1% | 3x40kB.5%) bar=0.20 ;; esac
			row "L1 $s-at-$loss" ms "$got" "$kept/mpi.$s.$loss" $bar
		done
	done
	# bytes of the vector
	for what in 629kB:629520 3.31MB:3310000; do
		s=${what%:*}
		row "L1 link-$s" ms "$kept/innet.3x$s.0%" \
			"$(awk -v b="${what#*:}" -v mbit="$mbit" 'BEGIN { print b * 8 / mbit / 1e3 }')" 1.1
	done
	beside_simulator
	exit
fi
loss=$2
dir=$(mktemp -d -p /dev/shm) && trap 'rm -rf "$dir"' EXIT
. "$here/aggregate.bash"

on() { exec testbed.sh exec "$@"; }
switch=$(testbed.sh addr switch)
bytes[40kB]=40992
bytes[629kB]=629520
bytes[1464B]=1464
figure=mean
declare -A rounds=([40kB]=180 [629kB]=36 [1464B]=600 [3.31MB]=12)
declare -A ring_rounds=([0%]=60 [0.1%]=60 [1%]=18 [5%]=3)

[ "$loss" != 0% ] || cells="1x1464B $cells 3x3.31MB"
for cell in $cells; do
	s=${cell#*x}
	take "$KEPT/innet.$cell.$loss" through switch "$switch" "${cell%x*}" "${bytes[$s]}" \
		"${rounds[$s]}" 366 innet-switch --program iswitch --reduce sum
	# with a loss of 20 % TCP takes more than a minute for a round
	if [[ $cell = 3x* && $cell != 3x3.31MB ]] && [ -n "${ring_rounds[$loss]-}" ]; then
		take "$KEPT/mpi.$cell.$loss" allreduce $mpi -n 3 \
			mpi-allreduce "${bytes[$s]}" "${ring_rounds[$loss]}"
	fi
done
