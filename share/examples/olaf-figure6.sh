#!/usr/bin/env bash
# olaf-figure6.sh - reproduce Olaf's Figure 6: the distribution of the number of
# updates that the queue merges into a packet
#
#	share/examples/olaf-figure6.sh [--seeds N] [-o FILE.svg]
#
# The traffic of olaf-table1.sh passes through links of 40, 20 and 5 Gbit/s. 
# The script prints the share of packets with at most k aggregations, followed
# by the share in an independent simulation.  If gnuplot is installed, the
# script draws the distribution (figure6.svg).
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
[ -x "$top/build/innet-switch" ] && PATH=$top/build:$PATH
seeds=30 out=figure6.svg
while [ $# -gt 0 ]; do
	case $1 in
	--seeds) seeds=${2:?--seeds needs a number}; shift ;;
	-o) out=${2:?-o needs a file}; shift ;;
	*) echo "olaf-figure6: unknown option '$1'" >&2; exit 2 ;;
	esac
	shift
done
command -v jq >/dev/null || { echo "${0##*/}: jq is missing (package jq)" >&2; exit 1; }
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT

for seed in $(seq "$seeds"); do
	[ -t 2 ] && printf '\rseed %d/%d ' "$seed" "$seeds" >&2
	innet-gen -q --clusters 9 --workers 3 -c 500 --payload 212B --rate 60G \
		--arrivals bursts --burst 8 --port-rate 128G --seed "$seed" -w "$dir/in"
	for rate in 40 20 5; do
		innet-switch -q -r "$dir/in" -w /dev/null --slots 8 --rate ${rate}G \
			--report "$dir/$rate-$seed.json"
	done
done
[ -t 2 ] && printf '\r' >&2

# Add the histograms of all seeds to one report, which innet-plot can draw.
for rate in 40 20 5; do
	jq -s '{merged_histogram: (map(.merged_histogram | to_entries) | add | group_by(.key) |
		map({key: .[0].key, value: (map(.value) | add)}) | from_entries)}' \
		"$dir/$rate"-*.json >"$dir/${rate}G.json"
done
# row RATE: print the shares of packets with at most 0, 1, 2, 3, 5 and 8
# aggregations
row() {
	jq -r --arg rate "$1" '.merged_histogram | to_entries | map({k: (.key | tonumber - 1), n: .value}) |
		(map(.n) | add) as $all | . as $h |
		[$rate + "G"] + [(0, 1, 2, 3, 5, 8) as $k | ($h | map(select(.k <= $k).n) | add // 0) / $all |
		. * 1000 | round / 1000] | map(tostring) | join("\t")' "$dir/${1}G.json"
}
printf 'rate\tk<=0\t1\t2\t3\t5\t8\n'
row 40; printf '  sim.\t.253\t.284\t.851\t.983\t.999\t1\n'
row 20; printf '  sim.\t.228\t.241\t.293\t.377\t.733\t.975\n'
row 5;  printf '  sim.\t.237\t.240\t.250\t.255\t.278\t.300\n'
if command -v gnuplot >/dev/null; then
	innet-plot cdf -w "$out" "$dir/40G.json" "$dir/20G.json" "$dir/5G.json"
	echo "plot: $out"
else
	echo 'no plot: gnuplot is missing (gnuplot-nox)'
fi
