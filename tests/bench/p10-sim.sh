#!/bin/bash
# P10: compare innet-sim with ns-3 for 1,000 s of Olaf's Figure 9 with drop-tail
# queues
#
# Both have the same topology (tests/bench/ns3-figure9, if libns3-dev is
# installed), and must lose the same share within one percentage point.  Then
# the bench compares the cost of an event with 100,000 workers and with 10, and
# measures the memory.
# Run this from the build folder, or name that folder in BUILD.
#
# shellcheck disable=SC1091,SC2154
set -eu
build=${BUILD:-.} seconds=${SECONDS_MODEL:-1000}
here=$(cd "$(dirname "$0")" && pwd)
export PATH="$build:$build/tests/bench:$PATH" LC_ALL=C TIMEFORMAT=%U
. "$here/need.bash"
. "$here/rounds.bash"
dir=$(mktemp -d -p /dev/shm) && trap 'rm -rf "$dir"' EXIT

timed() { { time timeout -k 5 300 "$@" >"$dir/out" 2>"$dir/err"; } 2>&1; }
key() { sed -n 's/.*"'"$1"'":\([0-9.]*\).*/\1/p' "$dir/out" | tail -n 1; }
# ns NAME OPTION...: write the cost of an event to a file
ns() {
	local name=$1 t
	shift
	begin
	t=$(timed innet-sim --jobs=1 "$@" "$here/p10-datacenter.json")
	end "$dir/$name"
	awk -v t="$t" -v n="$(grep -oE '[0-9]+ events' "$dir/err")" \
		'BEGIN { print t / n * 1e9 }' >>"$dir/$name"
}
tree="--set=switches[0].count=10"

for ((i = 0; i < runs; i++)); do
	take "$dir/sim" timed innet-sim -q --json --jobs=1 --duration="${seconds}s" \
		"$here/p10-figure9.json"
	loss=$(key loss_percent)
	ns ten "$tree" --set=workers[0].clusters=10 --set=workers[0].workers=1 --duration=20000s
	ns thousand "$tree" --set=workers[0].clusters=10 --duration=200s
	ns all
	ns many --set=workers[0].clusters=10000 --set=workers[0].workers=10
done
if command -v ns3-figure9 >/dev/null; then
	for ((i = 0; i < (runs + 1) / 2; i++)); do
		take "$dir/ns3" timed ns3-figure9 "$seconds"
	done
	theirs=$(key loss_percent)
	row 'P10 figure-9' s "$dir/sim" "$dir/ns3" 0.05
	awk -v x="$loss" -v y="$theirs" 'BEGIN {
		d = x > y ? x - y : y - x
		printf "P10 loss innet %.2f %% peer %.2f %% ratio %.2f bar 1.00 %s\n",
		    x, y, d, d <= 1 ? "ok" : "short"
	}'
else
	(need 'P10 figure-9' ns3-figure9)
fi
# the cost of an event, divided by the cost with 10 workers
row 'P10 event-100000-workers' ns "$dir/all" "$dir/ten" 3
row 'P10 event-10000-clusters' ns "$dir/many" "$dir/ten" 4.5
echo "# P10 the peer has 10 workers; with 1,000 an event takes $(spread "$dir/thousand") ns"
kib=$(timeout 100 bash -c 'innet-sim -q --jobs=1 "$0" >/dev/null &
	pid=$!; most=0
	while read -r _ kib _ < <(grep VmHWM /proc/$pid/status 2>/dev/null); do
		most=$kib; sleep 0.05; done
	echo "$most"' "$here/p10-datacenter.json")
row 'P10 memory-100000-workers' MB $((kib / 1024)) 1000 1
