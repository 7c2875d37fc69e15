#!/bin/bash
# S6: run innet-sim with 10 to 10^7 workers (WORKERS) in 10 to 10,000 clusters
# under the tree of P10. Measure the processor time for a simulated second, its
# exponent over the workers in ROUNDS (5) rounds, and the memory with the most
# workers. Run this from
# the build folder, or name that folder in BUILD.
#
# shellcheck disable=SC1091,SC2154
set -eu -o pipefail
build=${BUILD:-.}
here=$(cd "$(dirname "$0")" && pwd)
export PATH="$build:$PATH" LC_ALL=C TIMEFORMAT='%U %S'
. "$here/need.bash"
. "$here/rounds.bash"
need 'S6 workers' innet-sim
. "$here/fit.bash"
dir=$(mktemp -d -p /dev/shm) && trap 'rm -rf "$dir"' EXIT

# WORKERS: print the options that spread the workers, and enough simulated time
# for a measurement
settings() {
	local clusters=$(($1 < 100000 ? $1 / 10 : 10000))
	[ $clusters -ge 10 ] || clusters=10
	ms=$((20000000 / $1))
	[ $ms -ge 100 ] || ms=100
	set=("--set=switches[0].count=$((clusters < 100 ? clusters : 100))"
		"--set=workers[0].clusters=$clusters"
		"--set=workers[0].workers=$(($1 / clusters))" "--duration=${ms}ms")
}

# simulated WORKERS: print the processor time for a simulated second
simulated() {
	settings "$1"
	{ time innet-sim -q --jobs=1 "${set[@]}" "$here/p10-datacenter.json" \
		>"$dir/out"; } 2>&1 | awk -v ms="$ms" \
		'{ printf "%.4f\n", ($1 + $2) * 1000 / ms }'
}

read -ra all <<<"${WORKERS:-10 100 1000 10000 100000 1000000 10000000}"
for ((i = 0; i < runs; i++)); do
	for n in "${all[@]}"; do
		take "$dir/s.$n" simulated "$n"
	done
done
scales 'S6 workers' "$dir/s" 's of processor a second of the model, by workers' 1.10 "${all[@]}"
settings "${all[-1]}"
kib=$(bash -c 'innet-sim -q --jobs=1 "$@" >/dev/null &
	pid=$!; most=0
	while read -r _ kib _ < <(grep VmHWM /proc/$pid/status 2>/dev/null); do
		most=$kib; sleep 0.05; done
	echo "$most"' _ "${set[@]}" "$here/p10-datacenter.json")
row "S6 memory-${all[-1]}-workers" MB $((kib / 1024)) 2500 1
