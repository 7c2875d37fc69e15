#!/bin/bash
# P8: compare the sum tree with a binary tree of float32 sums; both take turns.
# There are bars for 1 Mi leaves in batches of 256, a table for other sizes, and
# totals after 10^7 updates (LONG=1: 10^9). The time of sampling includes the
# time to compute the top of the tree again after updates. Run this from the
# build folder, or name that folder in BUILD.
set -eu
export PATH="${BUILD:-.}/tests/bench:$PATH" LC_ALL=C
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

sumtree 1Mi 256 "${ROUNDS:-21}" >"$dir/1Mi-256"
awk '
	BEGIN { bar["sample"] = 0.06; bar["update"] = 0.16; bar["insert"] = 0.02 }
	$1 == "hot" && $2 in bar {
		r = $3 / $4
		printf "P8 sumtree-%s innet %.2f ns peer %.2f ns ratio %.3f bar %.3f %s\n",
		    $2, $3, $4, r, bar[$2], r <= bar[$2] ? "ok" : "short"
	}' "$dir/1Mi-256"

echo "# ns for each of a batch, and over the peer's (plain: hot, without AVX2)"
echo "# leaves batch caches        sample       weights    stratified        update        insert"
for leaves in 64Ki 1Mi 16Mi; do
	for batch in 64 256 1024; do
		f=$dir/$leaves-$batch
		[ -e "$f" ] || sumtree $leaves $batch $((${ROUNDS:-21} / 3)) >"$f"
		awk -v leaves=$leaves -v batch=$batch '
			$1 != how {
				printf "%s# %6s %5s %-6s", n++ ? "\n" : "", leaves,
				    batch, how = $1
			}
			{ printf "  %6.2f %5.3f", $3, $3 / $4 }
			END { print "" }' "$f"
	done
done

say() { printf '# %s\n' "$*"; }
if exact=$(sumtree long 1Mi "$([ "${LONG:-0}" = 0 ] && echo 10M || echo 1G)"); then
	say "exact: $exact"
else
	say "not exact: $exact, short"
fi
