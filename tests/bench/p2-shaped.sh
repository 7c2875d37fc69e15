#!/bin/bash
# P2: compare synchronous aggregation by a switch with a parameter server and
# with MPI's ring, in a rack of namespaces with links of RATE (100) Mbit/s
#
# The three take turns, and the results are medians of ROUNDS (5) runs with 4
# workers, then with 6, 9 and 12 (iSwitch, Figure 15).  With 4 workers the
# switch also runs in the path of the rack's bridge.  Twelve workers at 100
# Mbit/s could use all of two processors, so their rows are at 20 Mbit/s in
# their own rack, where the links are the limit.  This needs root.
# Run this from the build folder, or name that folder in BUILD.
#
# shellcheck disable=SC1091,SC2086,SC2154
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${BUILD:-.}" && pwd) part=${1-} mbit=${2:-${RATE:-100}}
export PATH="$here/../../share/testbed:$build:$build/tests/bench:$PATH" LC_ALL=C
. "$here/need.bash"
. "$here/rounds.bash"
need 'P2 shaped' innet-switch innet-worker innet-ps mpirun mpi-allreduce
if [ -z "$part" ]; then
	why=$(testbed.sh list 2>&1 >/dev/null) || skip 'P2 shaped' "$why"
	for part in "all $mbit" 'twelve 20'; do
		# shellcheck disable=SC2086	# what, and at which rate
		BUILD=$build testbed.sh rack -n 12 --rate "${part#* }mbit" -- \
			bash "$here/p2-shaped.sh" $part
	done
	exit
fi
dir=$(mktemp -d -p /dev/shm) && trap 'rm -rf "$dir"' EXIT
. "$here/aggregate.bash"

on() { exec testbed.sh exec "$@"; }
switch=$(testbed.sh addr switch) server=$(testbed.sh addr server)
declare -A rounds=([40kB]=60 [157kB]=24 [3.31MB]=2 [6.41MB]=2)
declare -A ps_rounds=([40kB]=12 [157kB]=5 [3.31MB]=2 [6.41MB]=2)

# WORKERS SIZE: run each of the three, or only two if the server takes too long
turn() {
	local n=$1 s=$2
	take "$dir/innet.$n.$s" through switch "$switch" "$n" "${bytes[$s]}" "${rounds[$s]}" \
		366 innet-switch --program iswitch --reduce sum
	[ "$part" = twelve ] || take "$dir/ps.$n.$s" through server "$server" "$n" \
		"${bytes[$s]}" "${ps_rounds[$s]}" 366 innet-ps -p iswitch
	[ "$n" -ne 4 ] || take "$dir/path.4.$s" through switch "$switch" 4 "${bytes[$s]}" \
		"${rounds[$s]}" 366 innet-switch --program iswitch --reduce sum --bridge br0
	# use the ring algorithm, and no handshakes, which would take 8 % of the
	# time
	take "$dir/ring.$n.$s" allreduce $mpi --mca coll_tuned_use_dynamic_rules 1 \
		--mca coll_tuned_allreduce_algorithm 4 \
		--mca btl_tcp_eager_limit 8388608 -n "$n" \
		mpi-allreduce "${bytes[$s]}" "${rounds[$s]}"
}
got() { [ ! -e "$dir/$1.$2.$3" ] || median "$dir/$1.$2.$3"; }

# The least time of a round if frames had only payload: one vector on each link
# with a switch; N + 1 vectors with a server, because it answers one worker
# while the next one sends; 2 (N - 1) / N vectors in a ring.
least_time() {
	awk -v b="${bytes[$3]}" -v n="$2" -v of="$1" -v mbit="$mbit" 'BEGIN {
		times = of == "ps" ? n + 1 : of == "ring" ? 2 * (n - 1) / n : 1
		print times * b * 8 / mbit / 1e3
	}'
}
# ROW WORKERS SIZE PEER BAR
hold() { row "P2 $1" ms "$dir/innet.$2.$3" "$4" "$5"; }

if [ "$part" = twelve ]; then
	for s in 40kB 157kB; do
		for ((i = 0; i < runs; i++)); do turn 12 $s; done
		hold ring-$s-12-workers 12 $s "$dir/ring.12.$s" 0.61
		hold link-$s-12-workers 12 $s "$(least_time innet 12 $s)" 1.05
	done
	exit
fi
for ((i = 0; i < runs; i++)); do
	for s in $sizes; do
		turn 4 "$s"
	done
	for n in 6 9 12; do
		turn $n 40kB
		turn $n 157kB
	done
done

for s in 157kB 3.31MB 6.41MB; do
	hold "server-$s" 4 "$s" "$dir/ps.4.$s" 0.215
done
for n in 6 9 12; do
	hold "server-157kB-$n-workers" $n 157kB "$dir/ps.$n.157kB" 0.160
done
for s in $sizes; do
	hold "ring-$s" 4 "$s" "$dir/ring.4.$s" 0.74
done
for s in $sizes; do
	hold "link-$s" 4 "$s" "$(least_time innet 4 "$s")" 1.10
done

# the switch in the path of the rack's bridge
for s in 157kB 3.31MB 6.41MB; do
	row "P2 path-server-$s" ms "$dir/path.4.$s" "$dir/ps.4.$s" 0.215
done
for s in $sizes; do
	row "P2 path-link-$s" ms "$dir/path.4.$s" "$(least_time innet 4 "$s")" 1.10
done

# SIZE WORKERS: print a line of the table
line() {
	awk -v s="$1" -v n="$2" -v a="$(got innet "$2" "$1")" -v l="$(least_time innet "$2" "$1")" \
	    -v p="$(got ps "$2" "$1")" -v pl="$(least_time ps "$2" "$1")" \
	    -v r="$(got ring "$2" "$1")" -v rl="$(least_time ring "$2" "$1")" 'BEGIN {
		server = sprintf("%9s %9.2f %6s", "-", pl, "-")
		if (p != "")
			server = sprintf("%9.2f %9.2f %6.1f", p, pl, 100 * (1 - a / p))
		printf "# P2 %-6s %7d %8.2f %8.2f %s %9.2f %9.2f %6.1f\n",
		    s, n, a, l, server, r, rl, 100 * (1 - a / r)
	}'
}
cat <<-'END'
# P2 The table has the time of a round in ms, the least time that its bytes need
# P2 on these links, and by how many percent the switch is faster.  The paper
# P2 measured 4 workers at 10 Gbit/s; its times include those of the hosts.
# P2 size   workers   switch    least    server     least   less      ring     least   less
# P2 paper        4                                    81.6-85.8           63.4-87.9
END
for s in $sizes; do
	line "$s" 4
done
for s in 40kB 157kB; do
	for n in 6 9 12; do
		line $s $n
	done
done
