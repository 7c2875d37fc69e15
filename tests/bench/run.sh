#!/bin/bash
# run.sh - the benches that are here, or those that BENCH names: BENCH='P1 P3'
#
# Each prints lines such as
#	P3 olaf-filter innet 0.61 s peer 0.80 s ratio 0.76 bar 1.00 ok
# and may add comments that begin with #.  Status 1 if any is short.
set -u
here=$(cd "$(dirname "$0")" && pwd)
read -ra rows <<<"${BENCH-}"
benches=() short=0
shopt -s nullglob
for row in "${rows[@]}"; do
	bench=("$here/${row,,}"-*.sh)		# P1 is not P10
	[ ${#bench[@]} -gt 0 ] || { printf 'run.sh: no bench %s\n' "$row" >&2; exit 2; }
	benches+=("${bench[@]}")
done
[ ${#rows[@]} -gt 0 ] || benches=("$here"/[a-z][0-9]*-*.sh)
for bench in "${benches[@]}"; do
	out=$(bash "$bench") || { printf '# %s failed\n' "$bench" >&2; short=1; }
	printf '%s\n' "$out"
	case $out in *' short'*) short=1 ;; esac
done
exit $short
