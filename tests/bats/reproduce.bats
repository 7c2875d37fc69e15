# Tests of share/examples/reproduce.sh --quick: innet-sim must give the figures
# of the papers, or of another simulation, where these are robust.
load common

reproduce=$share/examples/reproduce.sh
report=$BATS_FILE_TMPDIR/report

setup() { once; }

# setup_file() cannot skip; see common.bash
setup_file() {
	[ "${INNET_TESTS_ONCE-}" != all ] || return 0
	"$reproduce" --quick -o "$BATS_FILE_TMPDIR/report" >"$BATS_FILE_TMPDIR/out" 2>&1 || {
		cat "$BATS_FILE_TMPDIR/out" >&2
		return 1
	}
}

# of SCENARIO POINT ROW COLUMN: print one figure of simulation.csv
of() {
	awk -F, -v s="\"$1\"" -v p="\"$2\"" -v r="\"$3\"" -v c="\"$4\"" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == c) at = i; next }
		$1 == s && $2 == p && $3 == r { print $at; n++ }
		END { exit n != 1 || !at }' "$report/simulation.csv" ||
		{ echo "not one figure: $*" >&2; return 1; }
}

# holds EXPRESSION NAME=VALUE...: check an expression of awk with these
# variables
holds() {
	local words=() what=$1
	shift
	for word; do
		[[ $word =~ ^[a-z]+=[0-9] ]] || { echo "$word" >&2; return 1; }
		words+=(-v "$word")
	done
	awk "${words[@]}" "BEGIN { exit !($what) }" || { echo "not so: $what; $*" >&2; return 1; }
}

# near VALUE WANT PERCENT: check that VALUE differs from WANT by less than
# PERCENT
near() { holds 'x > w * (1 - p / 100) && x < w * (1 + p / 100)' "x=$1" "w=$2" "p=$3"; }

@test "Table 1: counts are within 3 % of the other simulator's, and the loss within one point" {
	near "$(of table1 '40G fifo' all received)" 5875 3
	near "$(of table1 '20G fifo' all received)" 3485 3
	near "$(of table1 '40G olaf' all received)" 4589 3
	near "$(of table1 '40G olaf' all aggregated)" 7492 3
	near "$(of table1 '20G olaf' all received)" 2473 3
	near "$(of table1 '20G olaf' all aggregated)" 9505 3
	holds 'd > 55.5 && d < 57.5' "d=$(of table1 '40G fifo' all loss_percent)"
	holds 'd > 73.2 && d < 75.2' "d=$(of table1 '20G fifo' all loss_percent)"
	holds 's / 135 > 9.5 && s / 135 < 11.5' "s=$(of table1 '40G olaf' all superseded)"
	holds 's / 135 > 10.3 && s / 135 < 12.3' "s=$(of table1 '20G olaf' all superseded)"
	for r in 40G 20G; do
		holds 'd == 0' "d=$(of table1 "$r olaf" all dropped)"
		holds 'o < f' "o=$(of table1 "$r olaf" all mean_age_ns)" \
			"f=$(of table1 "$r fifo" all mean_age_ns)"
	done
}

@test "Table 1: counts of steady workers agree if each frame and each merge takes a time" {
	p=table1-steady
	near "$(of $p '40M fifo' all received)" 6109 3
	near "$(of $p '20M fifo' all received)" 3476 3
	near "$(of $p '40M olaf' all received)" 4823 9
	near "$(of $p '40M olaf' all aggregated)" 7204 8
	near "$(of $p '20M olaf' all aggregated)" 9343 3
	# without these settings the figures differ a lot
	holds 'r > 8000' "r=$(of table1-natural '40M fifo' all received)"
	grep -q '^| olaf for fifo | 40G | mean age less, % | 69.0 | ' "$report/report.md"
}

@test "Table 1: counts, losses and ages of workers in random order agree with the other simulator" {
	p=table1-random
	near "$(of $p '40M fifo' all received)" 6071 0.1
	near "$(of $p '20M fifo' all received)" 3499 0.1
	near "$(of $p '40M olaf' all received)" 4818 1
	near "$(of $p '20M olaf' all received)" 2623 1
	near "$(of $p '40M olaf' all merged)" $((4818 + 6956)) 1
	near "$(of $p '20M olaf' all merged)" $((2623 + 9277)) 1
	for r in 40M:37 20M:43; do
		holds '(d = 100 - 100 * o / f) > w - 3 && d < w + 3' "w=${r#*:}" \
			"o=$(of $p "${r%:*} olaf" all mean_age_ns)" \
			"f=$(of $p "${r%:*} fifo" all mean_age_ns)"
	done
}

@test "verification: each reading of p/C has a verdict, and empty readings are named" {
	command -v innet-verify >/dev/null || skip 'no innet-verify'
	grep -q '^| 2 ms, 8 slots, any | holds | fails, peaks 102 and 303 ms |$' "$report/report.md"
	grep -q '^| 2 ms, 1 slot, 0 | empty | empty |$' "$report/report.md"
	grep -q '^| 200 ms, 3 slots, 0 | holds | fails, peaks 606 and 894 ms |$' "$report/report.md"
	grep -q '^| 2 s, 3 slots, 0 | not run | not run |$' "$report/report.md"
}

@test "Figure 6: merges for each packet are within 3 %, and equal in filter and simulator" {
	for want in 40G:1.63 20G:3.84 5G:13.98; do
		row=$(grep "^| ${want%:*} .* | [0-9.]* |\$" "$report/report.md" | head -n 1)
		mean=$(cut -d'|' -f4 <<<"$row")
		near "${mean// /}" "${want#*:}" 3
		[ "$mean" = "$(cut -d'|' -f8 <<<"$row")" ]
	done
}

@test "Figure 7: Olaf is faster for any traffic, and gains more on slow links" {
	tail -n +2 "$report/figure7.csv" | awk -F, '
		{ for (i = 2; i <= 4; i++) { if ($i + 0 <= 1 || NR > 1 && $i > was[i]) bad = 1; was[i] = $i } }
		END { exit bad || NR != 4 }'
	near "$(awk -F, '$1 == "\"5G\"" { print $3 }' "$report/figure7.csv")" 1.62 5
	near "$(awk -F, '$1 == "\"40G\"" { print $3 }' "$report/figure7.csv")" 1.06 5
}

@test "Table 2: FIFO loses 88 %, and Olaf loses nothing, is fresher and fairer" {
	for t in 100ms 300ms; do
		f="$t fifo none" o="$t olaf none"
		near "$(of figure9-natural "$f" all loss_percent)" 88 0.1
		holds 'd == 0' "d=$(of figure9-natural "$o" all dropped)"
		for s in natural a b c d; do
			holds 'o < f' "o=$(of figure9-$s "$o" all mean_age_ns)" \
				"f=$(of figure9-$s "$f" all mean_age_ns)"
			holds 'o < f' "o=$(of figure9-$s "$o" all loss_percent)" \
				"f=$(of figure9-$s "$f" all loss_percent)"
			holds 'o > f' "o=$(of figure9-$s "$o" all jain)" \
				"f=$(of figure9-$s "$f" all jain)"
		done
	done
	near "$(of figure9-d '100ms fifo none' all mean_age_ns)" 1709e6 0.2
	near "$(of figure9-a '100ms olaf none' all mean_age_ns)" 231.5e6 2
}

@test "Tables 2 and 3: FIFO, 13.4 s, workers always in the same order" {
	near "$(of figure9-e '100ms fifo none' all loss_percent)" 88.9 0.1
	near "$(of figure9-f '300ms fifo none' all loss_percent)" 86.5 0.1
	# only the first of five clusters gets updates through, so the gap is
	# 4/5 of half the run
	[ "$(grep -c '^| fifo | f: simulation | .* | 5406 | ' "$report/report.md")" -eq 1 ]
	[ "$(grep -c '^| fifo | f: simulation | 86.5 | .* | 5418 | ' "$report/report.md")" -eq 1 ]
	grep -q '^| olaf | f: simulation | 0.0 | 21[0-9] | 337 | ' "$report/report.md"
	# each variant that was tried has a row
	for p in table1 figure9 control; do
		jq -r ".tried.$p[].says" "$share/examples/reproduce.json" | while read -r says; do
			grep -q "^| $says | [0-9].* |\$" "$report/report.md" || { echo "$says" >&2; exit 1; }
		done
	done
}

@test "Figure 10: the age of S1 falls with alpha, that of S2 is flat, and Olaf's are lower" {
	tail -n +2 "$report/figure10.csv" | awk -F, '
		NR > 1 && $4 > olaf || $4 >= $2 || $5 >= $3 { bad = 1 }
		{ olaf = $4; s1[NR] = $2; s2[NR] = $3 }
		END { exit bad || NR != 10 || s1[1] < 1.5 * s1[2] || s1[2] < 1.5 * s1[4] ||
			s1[4] < 1.5 * s1[10] || s2[10] > 1.1 * s2[1] || s2[10] < 0.9 * s2[1] }'
	near "$(awk -F, '$1 == 0.1 { print $4 }' "$report/figure10.csv")" 610 3
}

@test "datacenter: Olaf's queues lose nothing where FIFO's lose most" {
	holds 'd == 0 && s > 99999' "d=$(of datacenter olaf all dropped)" "s=$(of datacenter olaf all sent)"
	holds 'l > 80' "l=$(of datacenter fifo all loss_percent)"
	grep -q '^- innet-sim simulated 2 runs, .* events in ' "$report/report.md"
}

@test "the report has a section for each part and for iSwitch, and plots if gnuplot is installed" {
	for t in 'Table 1' 'Figure 6' 'Figure 7' 'Figure 9' 'Figure 10'; do
		grep -q "^## Olaf, $t: " "$report/report.md"
	done
	grep -q '^## iSwitch' "$report/report.md"
	if command -v gnuplot >/dev/null; then
		for f in $(sed -n 's/^!\[.*](\(.*\))$/\1/p' "$report/report.md"); do
			grep -q '</svg>' "$report/$f"
		done
		[ "$(ls "$report"/*.svg | wc -l)" -eq 6 ]
	fi
}

@test "reproduce.sh reports what it cannot do" {
	run -2 --separate-stderr "$reproduce" --only figure8 -o out
	[[ $stderr == *"no part 'figure8'; there are: table1 "* ]]
	run -2 "$reproduce" --seeds 3
	run -2 "$reproduce" --only
	[ ! -e out ]
}
