#!/bin/bash
# P8: compare the sum tree with a binary tree of float32 sums; both take turns.
# There are bars for 1 Mi leaves in batches of 256, a table for other sizes, and
# totals after 10^7 updates (LONG=1: 10^9). The time of sampling includes the
# time to compute the top of the tree again after updates. The rows are about
# ROUNDS (5) runs, each with the median of seven turns; the table has one run for
# each of the other sizes. Run this from the build folder, or name that folder in
# BUILD.
#
# shellcheck disable=SC1091,SC2154
set -eu
export PATH="${BUILD:-.}/tests/bench:$PATH" LC_ALL=C
. "$(dirname "$0")/rounds.bash"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

for ((i = 0; i < runs; i++)); do
	take "$dir/1Mi-256" sumtree 1Mi 256 7
done
for what in sample:0.06 update:0.16 insert:0.02; do
	name=${what%:*}
	for n in 3 4; do
		awk -v name="$name" -v n=$n '$1 == "hot" && $2 == name { print $n }' \
			"$dir/1Mi-256" >"$dir/$name.$n"
		cp "$dir/1Mi-256.others" "$dir/$name.$n.others"
	done
	row "P8 sumtree-$name" ns "$dir/$name.3" "$dir/$name.4" "${what#*:}"
done

echo "# ns for each of a batch, and over the peer's (plain: hot, without AVX2)"
echo "# leaves batch caches        sample       weights    stratified        update        insert"
for leaves in 64Ki 1Mi 16Mi; do
	for batch in 64 256 1024; do
		f=$dir/$leaves-$batch
		[ -e "$f" ] || take "$f" sumtree $leaves $batch 7
		tail -n 15 "$f" | awk -v leaves=$leaves -v batch=$batch '
			$1 != how {
				printf "%s# %6s %5s %-6s", n++ ? "\n" : "", leaves,
				    batch, how = $1
			}
			{ printf "  %6.2f %5.3f", $3, $3 / $4 }
			END { print "" }'
	done
done
used=$(others "$dir"/*-{64,256,1024})
[ -z "$used" ] || echo "# P8: while the table was measured,${used#;}"

say() { printf '# %s\n' "$*"; }
if exact=$(sumtree long 1Mi "$([ "${LONG:-0}" = 0 ] && echo 10M || echo 1G)"); then
	say "exact: $exact"
else
	say "not exact: $exact, short"
fi
