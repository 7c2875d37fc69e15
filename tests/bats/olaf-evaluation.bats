# Tests of share/examples/olaf-evaluation.sh: its runs, rows and tables, and
# resuming after an interruption. Only the full evaluation, which takes 15
# minutes, shows whether Olaf learns faster.
load common

evaluation=$share/examples/olaf-evaluation.sh

setup_file() {
	[ -z "${INNET_TESTS_ONCE-}" ] || return 0
	cd "$BATS_FILE_TMPDIR" || return
	"$evaluation" --quick -o all >out 2>err 3>&- || { cat err; return 1; }
}

# value QUEUE LOAD COLUMN-NUMBER: print a value of the factorial with replies to
# the cluster
value() {
	awk -F, -v q="$1" -v l="$2" -v c="$3" '$1 == "factorial" && $2 == q &&
		$3 == "cluster" && $4 == l { print $c }' "$BATS_FILE_TMPDIR/all/runs.csv"
}

@test "each run of each part gives a row, and nothing remains running" {
	once training
	cd "$BATS_FILE_TMPDIR/all"
	cut -d, -f1 runs.csv | sort | uniq -c | xargs >counts
	[ "$(cat counts)" = "8 factorial 4 fairness 3 fig2 4 fig3 2 fig7 4 fig8 1 part" ]
	[ "$(awk -F, '{ print NF }' runs.csv | sort -u)" = 19 ]
	[ -z "$(find . -name 'run-*' -o -name '*.pcap')" ]
}

@test "at load 4, FIFO loses updates and is stale; Olaf loses none and is fresher" {
	once training
	awk -v f="$(value fifo 4 14)" -v o="$(value olaf 4 14)" 'BEGIN { exit !(f > 20 && o < 5) }'
	awk -v f="$(value fifo 4 15)" -v o="$(value olaf 4 15)" 'BEGIN { exit !(o > 0 && f > o) }'
}

@test "agents play: rewards and times exist, and none exceeds the maximum" {
	once training
	awk -F, '$1 != "fairness" && NR > 1 && !($8 > 0 && $8 <= $7 && $11 != "" && $18 > 0) {
		print; bad = 1 } END { exit bad }' "$BATS_FILE_TMPDIR/all/runs.csv"
	awk -F, '$1 == "fig2" && !($10 > 0 && $11 > 15) { exit 1 }' "$BATS_FILE_TMPDIR/all/runs.csv"
}

@test "the report has all parts, a judgement, and plots" {
	once training
	cd "$BATS_FILE_TMPDIR/all"
	[ "$(grep -c '^## ' REPORT.md)" -eq 6 ]
	[ "$(grep -c 'one run says nothing' REPORT.md)" -ge 4 ]
	run ! grep -n '()' REPORT.md
	if command -v gnuplot >/dev/null; then
		for f in time rewards age fig2 fig3 fig7 fig8 fairness; do grep -q '</svg>' $f.svg; done
	fi
}

@test "the evaluation does not repeat runs that were measured" {
	once training
	cp "$BATS_FILE_TMPDIR/all/runs.csv" before
	timeout 60 "$evaluation" --quick -o "$BATS_FILE_TMPDIR/all" 3>&-
	cmp before "$BATS_FILE_TMPDIR/all/runs.csv"
	run -1 "$evaluation" --step 0.4 -o "$BATS_FILE_TMPDIR/all"
	[[ $output == *" have --step 0.2" ]]
}

@test "a run that fails does not stop the others, and the next call repeats it" {
	once training
	mkdir -p one/curves/fig7-olaf-cluster-12-8-1-5-1.csv
	run -1 "$evaluation" --quick -o one --part fig7 3>&-
	[ "$(tail -n +2 one/runs.csv | cut -d, -f2)" = fifo ]
	cp one/runs.csv before
	rmdir one/curves/fig7-olaf-cluster-12-8-1-5-1.csv
	"$evaluation" --quick -o one --part fig7 3>&-
	[ "$(tail -n +2 one/runs.csv | cut -d, -f2 | xargs)" = "fifo olaf" ]
	cmp before <(head -n 2 one/runs.csv)
}

@test "the judgement tells chance from effect in invented times" {
	once training
	cp "$BATS_FILE_TMPDIR/all/runs.csv" all.csv
	head -n 1 all.csv >runs.csv
	echo 0.2 >step
	for s in 1 2 3 4 5; do
		echo factorial,fifo,worker,4,8,$s,30,$((20 + s)).000,2,,480.000,9,9,70,9,9,1,1,99
		echo factorial,olaf,worker,4,8,$s,30,$((10 + s % 2)).000,2,,480.000,9,9,0,9,9,1,1,99
		echo factorial,fifo,worker,0.3,8,$s,30,$((10 + s)).000,2,,480.000,9,9,0,9,9,1,1,99
		echo factorial,olaf,worker,0.3,8,$s,30,$((16 - s)).000,2,,480.000,9,9,0,9,9,1,1,99
		echo factorial,olaf,worker,0.3,8,$s,5,1.000,2,,480.000,9,9,0,9,9,1,1,99
	done >>runs.csv
	"$share/examples/olaf-report.sh" .
	grep -qF '| 4 | worker | 23.0 (1.58) | 10.6 (0.55) | 2.17 | 5 of 5 | **Olaf is faster** |' REPORT.md
	grep -qF '| 0.3 | worker | 13.0 (1.58) | 13.0 (1.58) | 1.00 | 2 of 5 | no difference beyond chance |' REPORT.md
}

@test "misuse: status 2, and the error names the wrong word" {
	run -2 "$evaluation" --speed 3
	[[ $output == "olaf-evaluation: unknown option '--speed'" ]]
	run -2 "$evaluation" --part fig9
	[[ $output == *"no part 'fig9'; there are: "* ]]
	run -2 "$evaluation" --seeds 0
	run -2 "$evaluation" --step -1
	run -2 "$evaluation" -o
	echo other >runs.csv
	run -1 "$evaluation" -o .
	[[ $output == *"runs.csv has other columns than this script writes" ]]
	run -2 "$share/examples/olaf-report.sh"
}
