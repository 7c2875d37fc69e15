#!/bin/bash
# run.sh - run all benches, or those that BENCH names: BENCH='P1 P3'
#
# Each bench prints lines such as
#	P3 olaf-filter innet 0.61 s peer 0.80 s ratio 0.76 bar 1.00 ok
# and can add lines that begin with #.  rounds.bash describes the rows.  The
# output begins with the machine, its load, the commit and the date.  It ends
# with the number of rows that are ok, short (worse than the bar), skipped, or
# were measured while others used the machine, and a list of the short and
# skipped ones.
#
# With SAVE=yes, the output is also written to a file for this kind of processor
# in share/results/bench, or in the folder that RESULTS names.  The file has a
# section for each bench.  A bench that ran replaces its section; the other
# sections stay.
#
# The exit status is 1 if a bench failed to run; a row that is short is not a
# failure.
#
# shellcheck disable=SC1091,SC2154
set -u
here=$(cd "$(dirname "$0")" && pwd)
read -ra rows <<<"${BENCH-}"
results=${RESULTS:-$here/../../share/results/bench}
benches=() failed=()
shopt -s nullglob
for row in "${rows[@]}"; do
	bench=("$here/${row,,}"-*.sh)		# P1 is not P10
	[ ${#bench[@]} -gt 0 ] || { printf 'run.sh: no bench %s\n' "$row" >&2; exit 2; }
	benches+=("${bench[@]}")
done
[ ${#rows[@]} -gt 0 ] || benches=("$here"/[a-z][0-9]*-*.sh)
. "$here/rounds.bash"
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT

# processor FIELD: print a field of the first processor in /proc/cpuinfo
processor() { sed -n "s/^$1[^:]*: //p" /proc/cpuinfo 2>/dev/null | sed q; }
model=$(processor 'model name')
model=${model:-$(uname -m)}
kernel="Linux $(uname -r)"
count=$(getconf _NPROCESSORS_ONLN)
commit=$(git -C "$here" describe --always --dirty --abbrev=12 2>/dev/null)
date=$(date -u +%F)
load=$(sed 's/ .*//' /proc/loadavg)

# kind_of_processor: print a file name that stands for this kind of processor: its
# name, family and model, because virtual machines hide most of the name
kind_of_processor() {
	printf '%s %s %s\n' "$model" "$(processor 'cpu family')" "$(processor 'model	')" |
		sed -E 's/\((R|TM|tm)\)//g; s/ @.*Hz//; s/ (CPU|Processor)\>//g' |
		tr '[:upper:]' '[:lower:]' | sed -E 's/[^a-z0-9]+/-/g; s/^-|-$//g'
}

# section BENCH: print the section of a bench in the file of results
section() {
	printf '## %s\n\n' "$1"
	fmt -w 88 <<-END
	Measured on $date at commit ${commit:-unknown} with $runs rounds, $count processors and
	$kernel. The load was $load in the minute before the first bench.
	END
	echo
	sed 's/^/    /' "$dir/$1"
}

# save_results: write the sections of the benches that ran, and the earlier
# sections of the others
save_results() {
	local file bench name
	mkdir -p "$results" "$dir/old"
	file=$results/$(kind_of_processor).md
	[ ! -e "$file" ] || awk -v dir="$dir/old" '
		/^## / { to = dir "/" $2 }
		to != "" { print >to }' "$file"
	{
		printf '# Benches on %s\n\n' "$model"
		fmt -w 88 <<-END
		\`make -C build bench SAVE=yes\` writes this page. [bench.md](../bench.md) explains the
		rows. A figure is the median of the rounds, with the least and the most of them in
		brackets. A row that ends in "others used 0.6 processors" was measured while other
		processes used the machine.
		END
		for bench in "$here"/[a-z][0-9]*-*.sh; do
			name=$(basename "$bench" .sh)
			[ ! -e "$dir/new/$name" ] || mv "$dir/new/$name" "$dir/old/$name"
			[ ! -e "$dir/old/$name" ] || { echo; sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' "$dir/old/$name"; }
		done
	} >"$dir/page"
	cp "$dir/page" "$file"
	echo "# wrote $file"
}

# print the rows that match an expression
with() { grep -v '^#' "$dir/all" | grep -E "$1"; }

summary() {
	local n
	printf '# %d rows ok, %d short, %d skipped, %d benches failed\n' \
		"$(with ' ok(;|$)' | wc -l)" "$(with ' short(;|$)' | wc -l)" \
		"$(with ' skipped: ' | wc -l)" "${#failed[@]}"
	n=$(with '; others used ' | wc -l)
	[ "$n" -eq 0 ] || echo "# $n rows were measured while others used the machine"
	with ' short(;|$)| skipped: ' | sed 's/^/#   /'
	for n in "${failed[@]}"; do
		printf '#   %s failed\n' "$n"
	done
}

printf '# %s, %s processors, %s\n' "$model" "$count" "$kernel"
printf '# load %s in the last minute\n' "$load"
printf '# commit %s, %s\n' "${commit:-unknown}" "$date"
mkdir "$dir/new"
for bench in "${benches[@]}"; do
	name=$(basename "$bench" .sh)
	bash "$bench" | tee "$dir/$name"
	if [ "${PIPESTATUS[0]}" -ne 0 ]; then
		failed+=("$name.sh")
	elif grep -v '^#' "$dir/$name" | grep -qv ' skipped: '; then
		section "$name" >"$dir/new/$name"
	fi
	cat "$dir/$name" >>"$dir/all"
done
summary
[ -z "${SAVE-}" ] || save_results
[ ${#failed[@]} -eq 0 ]
