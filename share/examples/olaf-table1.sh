#!/usr/bin/env bash
# olaf-table1.sh - reproduce Olaf's Table 1: how many updates arrive, and how
# many are merged, replaced or dropped
#
#	share/examples/olaf-table1.sh [--seeds N] [--json]
#
# 27 workers in 9 clusters send 500 updates each through one 128 Gbit/s port,
# with 60 Gbit/s in all.  The clusters send bursts, one cluster after another. 
# A queue of 8 slots, including the slot in transmission, feeds a link of 40 or
# 20 Gbit/s.  A frame has 254 bytes, and rates count the bits of these bytes. 
# The table has the means over the seeds, the figures of an independent
# simulation with the same settings, and those of the paper.
set -eu
cd "$(dirname "$0")/../.."
[ -x build/innet-switch ] && PATH=$PWD/build:$PATH
seeds=30 json=''
while [ $# -gt 0 ]; do
	case $1 in
	--seeds) seeds=${2:?--seeds needs a number}; shift ;;
	--json) json=1 ;;
	*) echo "olaf-table1: unknown option '$1'" >&2; exit 2 ;;
	esac
	shift
done
command -v jq >/dev/null || { echo "${0##*/}: jq is missing (package jq)" >&2; exit 1; }
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT

for seed in $(seq "$seeds"); do
	[ -t 2 ] && printf '\rseed %d/%d ' "$seed" "$seeds" >&2
	innet-gen -q --clusters 9 --workers 3 -c 500 --payload 212B --rate 60G \
		--arrivals bursts --burst 8 --port-rate 128G --seed "$seed" -w "$dir/in"
	for p in fifo olaf; do
		for rate in 40 20; do
			innet-switch -q --queue $p -r "$dir/in" -w /dev/null --slots 8 --rate ${rate}G \
				--report "$dir/$p-$rate-$seed.json"
		done
	done
done
[ -t 2 ] && printf '\r' >&2

# mean NAME RATE: print the numbers of packets received, aggregated, replaced
# and dropped, and the lost percent, as means over the seeds
mean() {
	jq -s --arg p "$1" --arg r "$2" 'map(.totals) | length as $n | {queue: $p, gbps: ($r | tonumber),
		received: (map(.delivered.packets) | add / $n),
		aggregated: (map(.aggregated.constituents) | add / $n),
		replaced: (map(.superseded.constituents) | add / $n),
		dropped: (map(.dropped_full.constituents) | add / $n),
		lost_percent: (map((.arrived.constituents - .delivered.packets - .aggregated.constituents) /
			.arrived.constituents) | add * 100 / $n)}' "$dir/$1-$2"-*.json
}
if [ -n "$json" ]; then
	for p in fifo olaf; do for r in 40 20; do mean $p $r | jq -c .; done; done
	exit
fi
row() { mean "$1" "$2" | jq -r --arg p "$3" --arg s "$4" \
	'[.queue, .gbps, (.received | round), (.aggregated | round), (.replaced | round),
	(.dropped | round), (.lost_percent * 10 | round / 10), "|", $s, "|", $p] | map(tostring) | join("\t")'; }
{
	printf 'queue\tGbit/s\treceived\taggregated\treplaced\tdropped\tlost %%\t|\tsimulation\t|\tpaper\n'
	row fifo 40 '6109, 55.8 %' '5875, 56.5 %'
	row olaf 40 '4823 + 7204, 11 %' '4589 + 7492, 10.5 %'
	row fifo 20 '3476, 74.3 %' '3485, 74.2 %'
	row olaf 20 '2604 + 9343, 11.5 %' '2473 + 9505, 11.3 %'
} | expand -t 8,16,26,38,48,57,65,68,92,95
echo
echo 'lost counts replaced and dropped updates, as the paper probably does; for Olaf,'
echo 'a field "A + B" has the received (A) and the aggregated (B) updates'
