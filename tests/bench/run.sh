#!/bin/bash
# run.sh - the benches that are here, or those that BENCH names: BENCH='P1 P3'
#
# Each prints lines such as
#	P3 olaf-filter innet 0.61 s peer 0.80 s ratio 0.76 bar 1.00 ok
# and may add comments that begin with #.  Before them: machine, commit, date;
# behind them how many rows are ok, short or skipped, and which and why.  If
# RESULTS names a file and BENCH nothing, all of it is written there as well.
# Status 1 if a bench failed to run; a row that is short is no failure.
set -u
here=$(cd "$(dirname "$0")" && pwd)
read -ra rows <<<"${BENCH-}"
benches=() failed=()
shopt -s nullglob
for row in "${rows[@]}"; do
	bench=("$here/${row,,}"-*.sh)		# P1 is not P10
	[ ${#bench[@]} -gt 0 ] || { printf 'run.sh: no bench %s\n' "$row" >&2; exit 2; }
	benches+=("${bench[@]}")
done
[ ${#rows[@]} -gt 0 ] || benches=("$here"/[a-z][0-9]*-*.sh)
said=$(mktemp) && trap 'rm -f "$said"' EXIT

# the machine, the commit and the date
heading() {
	local model commit
	model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | sed q)
	commit=$(git -C "$here" describe --always --dirty --abbrev=12 2>/dev/null)
	printf '# %s, %s processors, Linux %s\n' "${model:-$(uname -m)}" \
		"$(getconf _NPROCESSORS_ONLN)" "$(uname -r)"
	printf '# commit %s, %s\n' "${commit:-unknown}" "$(date -u +%F)"
}

# the rows that match an expression
with() { grep -v '^#' "$said" | grep -E "$1"; }

summary() {
	local n
	printf '# %d rows ok, %d short, %d skipped, %d benches failed\n' \
		"$(with ' ok$' | wc -l)" "$(with ' short$' | wc -l)" \
		"$(with ' skipped: ' | wc -l)" "${#failed[@]}"
	with ' short$| skipped: ' | sed 's/^/#   /'
	for n in "${failed[@]}"; do
		printf '#   %s failed\n' "$n"
	done
}

heading | tee "$said"
for bench in "${benches[@]}"; do
	bash "$bench" | tee -a "$said"
	[ "${PIPESTATUS[0]}" -eq 0 ] || failed+=("$(basename "$bench")")
done
summary >"$said.end"
cat "$said.end"
cat "$said.end" >>"$said"
rm -f "$said.end"
if [ -n "${RESULTS-}" ] && [ ${#rows[@]} -eq 0 ]; then
	cp "$said" "$RESULTS"
fi
[ ${#failed[@]} -eq 0 ]
