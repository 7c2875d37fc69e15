#!/usr/bin/env bash
# reproduce.sh - simulate the tables and figures of the papers
#
#	share/examples/reproduce.sh [--quick] [--runs N] [--jobs N] [--only NAME] [-o DIR]
#
# The script runs the scenarios in share/scenarios with innet-sim and writes
# DIR/report.md (default DIR: reproduced).  The report has the figures of the
# paper, those of innet-sim, those of an independent simulation with the same
# settings, the differences, and experiments that explain the differences.  DIR
# also gets plots and the figures as CSV.  Each point has 30 runs (--runs), in
# Figure 7 it has 3, and 300 if the report says so.  --quick does fewer runs of
# slow parts, and omits proofs that take minutes.  --only NAME runs one part:
# table1, verify, figure6, figure7, figure9 (with Tables 2 and 3), figure10,
# datacenter or iswitch.  This needs jq; plots also need gnuplot.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
scenarios=$here/../scenarios
parts='table1 verify figure6 figure7 figure9 figure10 datacenter iswitch'
quick='' runs=30 jobs='' only='' dir=reproduced
said="share/examples/reproduce.sh${*:+ $*}"
say() { printf 'reproduce: %s\n' "$*" >&2; }
while [ $# -gt 0 ]; do
	case $1 in
	-h|--help) sed -n '2,/^set /{/^set /!p}' "$0" | sed 's/^# \?//'; exit 0 ;;
	--quick) quick=1; shift; continue ;;
	--runs|--jobs|--only|-o)
		[ $# -ge 2 ] || { say "$1 needs a value"; exit 2; } ;;
	*) say "unknown option '$1'"; exit 2 ;;
	esac
	case $1 in
	--runs) runs=$2 ;;
	--jobs) jobs=$2 ;;
	--only) only=$2 ;;
	-o) dir=$2 ;;
	esac
	shift 2
done
case " $parts " in
*" ${only:-table1} "*) ;;
*) say "no part '$only'; there are: $parts"; exit 2 ;;
esac
if [ -x "$here/../../build/innet-sim" ]; then PATH=$(cd "$here/../../build" && pwd):$PATH; fi
for tool in innet-sim innet-gen innet-switch innet-plot jq; do
	command -v $tool >/dev/null || { say "$tool is missing"; exit 1; }
done
plots=$(command -v gnuplot) || say 'no plots: gnuplot is missing (gnuplot-nox)'
mkdir -p "$dir"
raw=$(mktemp -d) && trap 'rm -rf "$raw"' EXIT

# sim NAME RUNS FILE [OPTION...]: write the rows of a scenario to $raw/NAME.json
sim() {
	local name=$1 n=$2 file=$scenarios/$3
	shift 3
	[ ! -t 2 ] || say "$name"
	innet-sim -q --json ${jobs:+--jobs="$jobs"} --runs="$n" "$@" "$file" >"$raw/$name.json"
}

# tried PART RUNS [OPTION...]: run the experiments on a part, which
# reproduce.json lists
tried() {
	local name=$1 of=$((quick ? 2 : $2)) n=0 file change
	shift 2
	while IFS=$'\t' read -r file change; do
		jq "$change" "$scenarios/$file" | innet-sim -q --json ${jobs:+--jobs="$jobs"} \
			--runs=$of "$@" - >"$raw/$name-tried-$n.json"
		n=$((n + 1))
	done < <(jq -r --arg p "$name" '.tried[$p][] | "\(.file)\t\(.change)"' "$here/reproduce.json")
}

# groups NAME RUNS FILE [OPTION...]: like sim, but by cluster; unless --quick is
# given, add a row with confidence intervals for each group
groups() {
	sim "$@" --by=cluster
	[ -z "$quick" ] || return 0
	mv "$raw/$1.json" "$raw/clusters"
	sim "$@"
	jq -c 'select(.group != "all")' "$raw/$1.json" >>"$raw/clusters"
	mv "$raw/clusters" "$raw/$1.json"
}

# write PART: print the results in $raw as Markdown, or as CSV if PART ends in
# .csv
write() {
	(cd "$raw" && jq -n 'reduce inputs as $row ({};
		.[input_filename | rtrimstr(".json")] += [$row])' *.json) |
		jq -L "$here" -r --arg part "$1" --slurpfile known "$here/reproduce.json" -f "$here/reproduce.jq"
}

# why PART: print the notes on a part
why() { awk -v p="@$1" '/^@/ { on = $0 == p; next } on' "$here/reproduce.notes"; }

# part NAME TITLE: print a section of the report; its results must be in $raw
part() { printf '\n## %s\n\n' "$2"; write "$1"; printf '\n'; why "$1"; }

# bars NAME LABEL: write and draw $dir/NAME.csv, and print a link to the plot
bars() {
	write "$1.csv" >"$dir/$1.csv"
	[ -z "$plots" ] || { innet-plot bars --label "$2" -w "$dir/$1.svg" "$dir/$1.csv" &&
		printf '\n![%s](%s.svg)\n' "$2" "$1"; }
}

# Simulate workers that send in random order through a port that is always busy.
#  The updates come from innet-gen, which makes more than 500 for each worker. 
#  The
# simulation stops after the 13,500th update.
table1_random() {
	local seed of=$((quick ? 10 : 2 * runs))
	for seed in $(seq $of); do
		innet-gen -q --seed="$seed" -c 600 --payload=212B --interval=500us \
			--arrivals=poisson --port-rate=59531250 -w "$raw/order.pcap"
		jq --arg order "$raw/order.pcap" '.wire_overhead = "24B" | .links[].frame_time = "20us" |
			.switches[] += { slots: 9, merge_time: "11us" } |
			.workers |= map({ at, clusters, workers, frame, stop: "460801us", schedule: $order })' \
			"$scenarios/olaf-table1-periodic.json" | innet-sim -q --json --jobs=1 --total -
	done | jq -cs 'group_by(.point)[] | .[0] + (map(to_entries[] | select(.value | type == "number")) |
		group_by(.key) | map({ key: .[0].key, value: (map(.value) | add / length) }) | from_entries) +
		{ runs: length }' >"$raw/table1-random.json"
}

table1() {
	local many=$((quick ? runs : 10 * runs))
	sim table1 "$many" olaf-table1.json
	table1_random
	sim table1-steady "$many" olaf-table1-periodic.json
	sim table1-natural "$many" olaf-table1-periodic.json --set wire_overhead=0B \
		--set 'links[sw].frame_time=0ns' --set 'switches[sw].merge_time=0ns' \
		--set 'workers[0].access_rate=64M'
	tried table1 "$many" --total
	part table1 "Olaf, Table 1: packets that pass through a queue of eight slots"
	bars table1 'packets received'
}

# Let innet-verify decide each interpretation of the paper's claim.  "empty"
# means that a cluster has no second delivery, so that no ages are compared.
verify() {
	local reading what p of
	printf '\n## Olaf, sections 6 and 12: two clusters, fair to 0.1\n\n'
	command -v innet-verify >/dev/null || { printf 'Not run: innet-verify is missing (Z3).\n'; return; }
	printf '| p/C, slots, offsets | 100/100 ms | 100/300 ms |\n|---|---|---|\n'
	while IFS='|' read -r reading what; do
		printf '| %s' "$what"
		for p in equal unequal; do
			case $quick$reading in 1seconds*|1periods-two-slots-fixed) printf ' | not run'; continue ;; esac
			of=$(innet-verify -q --json --objective 'fair<=0.1' "$scenarios/verify/$reading-$p.json") || true
			printf ' | %s' "$(jq -r 'if .verdict != "fails" then .verdict
				elif any(.run[]; .peaks == 0) then "empty"
				else "fails, peaks \(.run | map(.peak_sum_ns / .peaks / 1e6 | round | tostring) | join(" and ")) ms" end' <<<"$of")"
		done
		printf ' |\n'
	done <<-'END'
		2ms-free|2 ms, 8 slots, any
		2ms-fixed|2 ms, 8 slots, 0
		2ms-one-slot-fixed|2 ms, 1 slot, 0
		2ms-one-slot-control-free|2 ms, 1 slot and control, any
		periods-one-slot-free|200 ms, 1 slot, any
		periods-two-slots-fixed|200 ms, 2 slots, 0
		periods-two-slots-free|200 ms, 2 slots, any
		periods-three-slots-fixed|200 ms, 3 slots, 0
		seconds-fixed|2 s, 3 slots, 0
		seconds-free|2 s, 3 slots, any
		seconds-two-slots-fixed|2 s, 2 slots, 0
		seconds-one-slot-control-fixed|2 s, 1 slot and control, 0
	END
	printf '\n'
	why verify
}

figure6() {
	local seed rate
	sim figure6 "$runs" olaf-figure6.json --by=switch
	for seed in $(seq "$runs"); do
		jq 'del(.sweep)' "$scenarios/olaf-figure6.json" |
			innet-sim -q --seed="$seed" -w "$raw/capture" - >/dev/null
		for rate in 40G 20G 5G; do
			innet-switch -q -r "$raw/capture/sw.in.pcap" -w /dev/null --slots=8 \
				--rate=$rate --report="$raw/report-$rate-$seed"
		done
	done
	for rate in 40G 20G 5G; do
		jq -s '{merged_histogram: (map(.merged_histogram | to_entries) | add | group_by(.key) |
			map({key: .[0].key, value: (map(.value) | add)}) | from_entries)}' \
			"$raw/report-$rate"-* >"$raw/cdf$rate.json"
		cp "$raw/cdf$rate.json" "$raw/$rate"
	done
	part figure6 'Olaf, Figure 6: merges in a packet'
	for rate in 40G 20G 5G; do mv "$raw/$rate" "$dir/figure6-$rate.json"; done
	[ -z "$plots" ] || { (cd "$dir" && innet-plot cdf -w figure6.svg figure6-{40G,20G,5G}.json) &&
		printf '\n![merges in a packet](figure6.svg)\n'; }
}

figure7() {
	local n=${quick:+1}
	n=${n:-3}
	sim figure7-bursts "$n" olaf-figure7.json --by=cluster
	sim figure7-poisson "$n" olaf-figure7.json --by=cluster \
		--set 'workers[0].arrivals=poisson' --set 'workers[0].access_rate=0'
	sim figure7-periodic "$n" olaf-figure7.json --by=cluster \
		--set 'workers[0].burst=8' --set 'workers[0].walk=0'
	part figure7 'Olaf, Figure 7: speedup until 200 updates of each worker have arrived'
	bars figure7 'How many times longer FIFO takes'
}

figure9() {
	local s
	groups figure9-natural "$runs" olaf-figure9.json
	for s in a b c d; do groups figure9-$s "$runs" olaf-figure9-$s.json; done
	groups figure9-e $((quick ? 10 : 10 * runs)) olaf-figure9-e.json
	groups figure9-f $((quick ? 10 : 10 * runs)) olaf-figure9-e.json \
		--set 'workers[S2].phase=aligned'
	tried figure9 "$runs" --by=cluster --set 'workers[*].control=none'
	tried control "$runs" --by=cluster --set 'workers[S2].interval=300ms' --set 'switches[*].queue=olaf'
	part figure9 'Olaf, Figure 9: two switches in front of a third'
	bars figure9-olaf 'mean age behind Olaf, ms'
	bars figure9-fifo 'mean age behind FIFO, ms'
}

figure10() {
	sim figure10 $((quick ? 2 : runs)) olaf-figure10.json
	part figure10 'Olaf, Figure 10: mean age by alpha, ms'
	bars figure10 'mean age, ms'
}

datacenter() {
	local of=() kb
	[ ! -x /usr/bin/time ] || of=(/usr/bin/time -f %M -o "$raw/kb")
	"${of[@]}" innet-sim --json --jobs=1 --runs=1 ${quick:+--duration=100ms} \
		"$scenarios/datacenter.json" >"$raw/datacenter.json" 2>"$raw/summary"
	part datacenter 'A datacenter: 100,000 workers in 1,000 clusters'
	kb=$(tail -n 1 "$raw/kb" 2>/dev/null) || kb=''
	printf -- '- innet-sim simulated %s, with one core%s.\n' "$(tail -n 1 "$raw/summary")" "${kb:+ and $((kb / 1000)) MB of memory}"
}

iswitch() {
	[ -e "$here/reproduce-iswitch.sh" ] || return 0
	printf '\n'
	"$here/reproduce-iswitch.sh" | sed 's/^#/##/'
}

{
	printf '# The papers, simulated\n\nThe command `%s` made this page on %s.\n\n' "$said" "$(date -u +%F)"
	why intro
	for p in ${only:-$parts}; do
		"$p"
	done
} >"$dir/report.part"
mv "$dir/report.part" "$dir/report.md"
case $only in
verify|iswitch) ;;
*) write simulation.csv >"$dir/simulation.csv" ;;
esac
echo "$dir/report.md"
