# innet-plot: gnuplot on what the others measured.
bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	{
		echo '11000000 1 0 1 1 1000000 0 4'
		echo '21000000 2 1 2 3 5000000 0 4'
		echo '31000000 1 1 1 1 6000000 0 4'
		echo '41000000 1 1 1 1 41000000 0 4'
	} | mkolaf >got.pcap
	innet-aom -q -r got.pcap --series s.csv >/dev/null
	{
		echo step,episode,reward,seconds
		seq 4 | awk '{ print $1 * 10 "," $1 "," $1 "," $1 / 2 }'
	} >log.csv
}

need_gnuplot() {
	command -v gnuplot >/dev/null || skip "no gnuplot"
}

# The data gnuplot would be given, in a line.
data() {
	innet-plot --script "$@" | sed -n '/EOD$/,/^EOD/p' | grep -v EOD | xargs
}

@test "ages over time, from a capture and from a series alike" {
	[ "$(data age --cluster 2 got.pcap)" = "0 16 0.02 36" ]
	[ "$(data age --cluster 1 got.pcap)" = "0 10 0.02 30 0.02 25 0.03 35" ]
	[ "$(data age got.pcap)" = "$(data age s.csv)" ]
	innet-plot --script age got.pcap | grep -q "title 'got: cluster 1'"
}

@test "cdf of ages: a curve a cluster, or one a run" {
	run -0 innet-plot --script cdf got.pcap
	[ "$(grep -c '^\$d' <<<"$output")" -eq 2 ]
	run -0 innet-plot --script cdf got.pcap s.csv
	[ "$(grep -c '^\$d' <<<"$output")" -eq 2 ]
	[[ $output == *"title 'got', "*"title 's'"* ]]
	[[ $(data cdf --cluster 2 got.pcap) == "16 0 "*" 36 1" ]]
}

@test "cdf of aggregations, from a switch's report" {
	echo '{"merged_histogram":{"5":1,"1":2,"2":1}}' >r.json
	[ "$(data cdf r.json)" = "0 0 0 0.5 1 0.75 4 1" ]
	run -2 innet-plot --script cdf r.json got.pcap
	[[ $output == *"got.pcap: reports and ages cannot be in one plot" ]]
}

@test "rewards are a moving mean over steps, episodes or seconds" {
	[ "$(data rewards log.csv)" = "10 1 20 1.5 30 2 40 2.5" ]
	[ "$(data rewards --smooth 2 log.csv)" = "10 1 20 1.5 30 2.5 40 3.5" ]
	[ "$(data rewards --smooth 1 --x seconds log.csv)" = "0.5 1 1 2 1.5 3 2 4" ]
}

@test "SVG, PNG and letters are drawn" {
	need_gnuplot
	innet-plot age -o a.svg got.pcap
	head -c 200 a.svg | grep -q '<svg'
	innet-plot cdf got.pcap -o a.png
	head -c 4 a.png | grep -q PNG
	innet-plot rewards log.csv | grep -q 'mean'
	[ "$(find . -name 'a.*' | wc -l)" -eq 2 ]
}

@test "names cannot make gnuplot do anything" {
	n=$'it\'s \'\nsystem "touch owned"\n`touch owned`.csv'
	cp log.csv "$n"
	run -0 innet-plot --script rewards "$n"
	[[ $output == *"title 'it''s ''?system \"touch owned\"?\`touch owned\`'"* ]]
	need_gnuplot
	innet-plot rewards "$n" -o x.svg
	[ ! -e owned ]
	cp log.csv ./-o.csv
	innet-plot --script rewards -- -o.csv >out
	grep -q "title '-o'" out
}

@test "a bad line of CSV is named" {
	for row in 1,2,x,4 1,2,nan,4 1,2 1,2,,4; do
		printf 'step,episode,reward,seconds\n1,1,1,1\n%s\n' "$row" >b.csv
		run -1 innet-plot rewards b.csv
		[[ $output == "innet-plot: b.csv:3: "* ]]
	done
	for row in 1,5,x 1,5,9 1,5ms,1 1,99999999999999999999,1; do
		printf 'cluster,time_ns,age_ns\n1,3,1\n%s\n' "$row" >b.csv
		run -1 innet-plot age b.csv
		[[ $output == "innet-plot: b.csv:3: "* ]]
	done
	printf '1,4,1\n' >b.csv
	run -1 innet-plot age b.csv
	[ "$output" = "innet-plot: b.csv:1: no column 'cluster'" ]
}

@test "damaged reports and empty files are named" {
	for s in '' '{' '{"merged_histogram":3}' '{"merged_histogram":{"0":1}}' \
		'{"merged_histogram":{"1":"x"}}' '{"merged_histogram":{"1":-1}}'; do
		echo "$s" >r.json
		run -1 innet-plot cdf r.json
		[[ $output == "innet-plot: r.json: "* ]]
	done
	: >e.csv
	run -1 innet-plot age e.csv
	[ "$output" = "innet-plot: e.csv: empty file" ]
	run -1 innet-plot age none.csv
	[ "$output" = "innet-plot: none.csv: No such file or directory" ]
}

@test "nothing to draw is an error, and no file is left" {
	mkolaf </dev/null >empty.pcap
	run -1 innet-plot age empty.pcap -o x.svg
	[[ $output == *"nothing to draw in empty.pcap" ]]
	run -1 innet-plot age --cluster 9 got.pcap -o x.svg
	[ ! -e x.svg ]
}

@test "a truncated capture: what was whole is drawn, status 1" {
	head -c 400 got.pcap >cut.pcap
	run -1 --separate-stderr innet-plot --script age cut.pcap
	[[ $stderr == *"cut.pcap: packet 4: truncated"* ]]
	[[ $output == *"plot "* ]]
}

@test "gnuplot missing: a line that names the package, the old file kept" {
	echo old >x.svg
	run -1 env PATH=/nonexistent "$(command -v innet-plot)" rewards log.csv \
		-o x.svg
	[ "$output" = "innet-plot: gnuplot was not found in PATH; on Debian: apt-get install gnuplot-nox" ]
	[ "$(cat x.svg)" = old ]
	[ "$(find . -name 'x.svg*' | wc -l)" -eq 1 ]
}

@test "gnuplot failing: its status, the old file kept" {
	mkdir bin
	printf '#!/bin/sh\nexit 3\n' >bin/gnuplot
	chmod +x bin/gnuplot
	echo old >x.svg
	PATH=$PWD/bin:$PATH run -1 innet-plot rewards log.csv -o x.svg
	[ "$output" = "innet-plot: gnuplot: exit status 3" ]
	[ "$(cat x.svg)" = old ]
	[ "$(find . -name 'x.svg*' | wc -l)" -eq 1 ]
}

@test "an output that cannot be written is named" {
	need_gnuplot
	run -1 innet-plot rewards log.csv -o no/such.svg
	[[ $output == "innet-plot: no/such.svg: No such file or directory" ]]
}

@test "misuse: status 2 and the word that is wrong" {
	run -2 innet-plot
	run -2 innet-plot age
	run -2 innet-plot pie log.csv
	[[ $output == *"invalid plot 'pie'"* ]]
	run -2 innet-plot rewards log.csv -o x.gif
	[[ $output == *"invalid output 'x.gif'"* ]]
	run -2 innet-plot age got.pcap --cluster 65536
	run -2 innet-plot rewards log.csv --smooth 0
}

@test "a long curve is thinned; its ends and peaks stay" {
	{
		echo step,episode,reward,seconds
		seq 0 99999 | awk '{ print $1 "," $1 "," ($1 == 54321 ? 7 : 1) ",1" }'
	} >long.csv
	innet-plot --script rewards --smooth 1 long.csv >out
	[ "$(wc -l <out)" -lt 4100 ]
	grep -q '^54321 7$' out
	grep -q '^0 1$' out
	grep -q '^99999 1$' out
}
