#!/bin/bash
# run.sh - run all benches, or those that BENCH names: BENCH='P1 P3'
#
# Each bench prints lines such as
#	P3 olaf-filter innet 0.61 s peer 0.80 s ratio 0.76 bar 1.00 ok
# and can add lines that begin with #.  The output begins with the machine, its
# load, the commit and the date.  A comment after a bench says if other
# processes used more than a tenth of a processor while the bench ran.  The
# output ends with the number of rows that are ok, short (worse than the bar) or
# skipped, and a list of the short and skipped ones.  If RESULTS names a file
# and BENCH is not set, the output is also written to that file.  The exit
# status is 1 if a bench failed to run; a row that is short is not a failure.
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

# print the machine, its load, the commit and the date
heading() {
	local model commit
	model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | sed q)
	commit=$(git -C "$here" describe --always --dirty --abbrev=12 2>/dev/null)
	printf '# %s, %s processors, Linux %s\n' "${model:-$(uname -m)}" \
		"$(getconf _NPROCESSORS_ONLN)" "$(uname -r)"
	printf '# load %s in the last minute\n' "$(sed 's/ .*//' /proc/loadavg)"
	printf '# commit %s, %s\n' "${commit:-unknown}" "$(date -u +%F)"
}

# note_time: set $noted to the seconds of processor time that all processes and
# the benches have used, and to the time of day
note_time() {
	times >"$said.times"	# not in a subshell, which has no children
	noted=$(awk -v hz="$(getconf CLK_TCK)" -v now="$(date +%s.%N)" '
		/^cpu / { all = ($2 + $3 + $4) / hz }
		FILENAME != "/proc/stat" && FNR == 2 {
			for (i = 1; i <= 2; i++) {
				split($i, t, /[ms]/)
				here += 60 * t[1] + t[2]
			}
		}
		END { printf "%.2f %.2f %.2f\n", all, here, now }' /proc/stat "$said.times")
	rm -f "$said.times"
}

# name_others BENCH BEFORE: name the bench if other processes used the machine
name_others() {
	note_time
	awk -v bench="$1" -v before="$2" -v after="$noted" 'BEGIN {
		split(before, b)
		split(after, a)
		others = (a[1] - b[1] - a[2] + b[2]) / (a[3] - b[3] + 0.01)
		if (others > 0.1) {
			printf "# %s: other processes used %.1f processors\n", bench, others
		}
	}'
}

# print the rows that match an expression
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
	note_time
	before=$noted
	bash "$bench" | tee -a "$said"
	[ "${PIPESTATUS[0]}" -eq 0 ] || failed+=("$(basename "$bench")")
	name_others "$(basename "$bench")" "$before" | tee -a "$said"
done
summary >"$said.end"
cat "$said.end"
cat "$said.end" >>"$said"
rm -f "$said.end"
if [ -n "${RESULTS-}" ] && [ ${#rows[@]} -eq 0 ]; then
	cp "$said" "$RESULTS"
fi
[ ${#failed[@]} -eq 0 ]
