# Tests of innet-plot, which draws the results of the other tools with gnuplot.
bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	{
		echo '11000000 1 0 1 1 1000000 0 4'
		echo '21000000 2 1 2 3 5000000 0 4'
		echo '31000000 1 1 1 1 6000000 0 4'
		echo '41000000 1 1 1 1 41000000 0 4'
		echo '41000000 2 1 1 1 4000000 0 4'
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

# Print the data that gnuplot would get, in one line.
data() {
	innet-plot --script "$@" | sed -n '/EOD$/,/^EOD/p' | grep -v EOD | xargs
}

@test "innet-plot draws ages over time from a capture and from a series alike" {
	[ "$(data age --cluster 2 got.pcap)" = "0 16 20 36" ]
	[ "$(data age --cluster 1 got.pcap)" = "0 10 20 30 20 25 30 35" ]
	[ "$(data age got.pcap)" = "$(data age s.csv)" ]
	innet-plot --script age got.pcap | grep -q "title 'got: cluster 1'"
}

# many N STEP: print a series of two clusters with one update every STEP ns,
# each STEP old when it arrives
many() {
	echo cluster,time_ns,age_ns
	for c in 1 2; do seq "$1" | awk -v c=$c -v s="$2" '{ printf "%d,%.0f,%d\n", c, ($1 + 1) * s, s }'; done
}

@test "many ages are drawn as a mean with the band from the 5th to the 95th percentile" {
	many 3200 1000 >olaf.csv
	many 3200 4000 >fifo.csv
	innet-plot --script age olaf.csv fifo.csv >out
	# a sawtooth between s and 2 s has the mean 1.5 s and the percentiles
	# 1.05 s and 1.95 s
	awk '/EOD$/ { d++ } NF == 4 && /^[0-9.]+ [0-9.]+ [0-9.]+ [0-9.]+$/ { s = d == 1 ? 1 : 4; n[s]++
		if (($2 - 1.5 * s) ^ 2 > 1e-4 * s || ($3 - 1.05 * s) ^ 2 > 1e-4 * s || ($4 - 1.95 * s) ^ 2 > 1e-4 * s) bad++ }
		END { exit n[1] != 100 || n[4] != 100 || bad }' out
	grep -q "^set label 'olaf keeps the model 4.0 times fresher than fifo: 1.50 us old on average, not 6.00 us' at" out
	grep -q "^set label 'line: mean; band: 5th to 95th percentile' at" out
	[ "$(grep -o filledcurves out | wc -l)" -eq 2 ]
	run -0 innet-plot --script age --by cluster olaf.csv fifo.csv
	[ "$(grep -c '^\$d' <<<"$output")" -eq 4 ]
}

@test "units depend on the data: nanoseconds to seconds" {
	while read -r step age time; do
		many 20 "$step" >s.csv
		run -0 innet-plot --script age s.csv
		[[ $output == *"xlabel 'time in $time'"*"ylabel 'Age-of-Model in $age'"* ]]
		[[ $output == *"set yrange [0:$(awk -v s="$step" 'BEGIN { print 2 * s / 1e3 ^ int(log(2.5 * s) / log(1000)) }')]"* ]]
		run -0 innet-plot --script cdf s.csv
		[[ $output == *"xlabel 'Age-of-Model in $age'"* ]]
	done <<-'END'
	20 ns ns
	100 ns us
	2000 us us
	100000 us ms
	3000000 ms ms
	80000000 ms seconds
	2000000000 s seconds
	END
}

@test "a run has one colour in every picture, and its name at the end of its curve" {
	many 20 100 >olaf.csv
	many 20 400 >fifo.csv
	cp log.csv fifo-1.csv
	printf 'load,FIFO,Olaf\n1,4,2\n2,6,2\n' >b.csv
	for plot in 'age olaf.csv fifo.csv' 'cdf fifo.csv olaf.csv' 'rewards --group fifo fifo-1.csv --group olaf log.csv' \
		'bars b.csv' 'age --by cluster fifo.csv olaf.csv'; do
		innet-plot --script $plot >out
		grep -qi "'#0072b2' [^,]*title 'olaf" out
		grep -qi "'#d55e00' [^,]*title 'fifo" out
	done
	grep -q "'#0072b2' title 'olaf: cluster 1'.* dashtype 2 linecolor rgb '#0072b2' title 'olaf: cluster 2'" out
	innet-plot --script rewards --group fifo log.csv >out
	grep -q "^set label 'fifo' at first 40, first 2.5 left .*'#d55e00'" out
	grep -q '^set xrange \[10:40\]' out
	grep -q "^set label 'Mean reward at the end: fifo 2.50'" out
	innet-plot --script bars b.csv | grep -q "^set label 'FIFO is 2.00 to 3.00 times Olaf'"
	# labels of curves that end at the same height do not overlap
	innet-plot --script rewards --group a log.csv --group b log.csv >out
	[ "$(sed -n "s/^set label '[ab]' at first 40, first \([0-9.]*\) .*/\1/p" out | sort -u | wc -l)" -eq 2 ]
}

@test "cdf of ages: one curve for each cluster, or for each run" {
	run -0 innet-plot --script cdf got.pcap
	[ "$(grep -c '^\$d' <<<"$output")" -eq 2 ]
	run -0 innet-plot --script cdf got.pcap s.csv
	[ "$(grep -c '^\$d' <<<"$output")" -eq 2 ]
	[[ $output == *"title 'got', "*"title 's'"* ]]
	[[ $(data cdf --cluster 2 got.pcap) == "16 0 "*" 36 1" ]]
}

@test "cdf of aggregations: innet-plot reads the report of a switch" {
	echo '{"merged_histogram":{"5":1,"1":2,"2":1}}' >r.json
	[ "$(data cdf r.json)" = "0 0 0 0.5 1 0.75 4 1" ]
	run -2 innet-plot --script cdf r.json got.pcap
	[[ $output == *"got.pcap: reports and ages cannot be in one plot" ]]
}

@test "rewards are drawn as a moving mean over steps, episodes or seconds" {
	[ "$(data rewards log.csv)" = "10 1 20 1.5 30 2 40 2.5" ]
	[ "$(data rewards --smooth 2 log.csv)" = "10 1 20 1.5 30 2.5 40 3.5" ]
	[ "$(data rewards --smooth 1 --x seconds log.csv)" = "0.5 1 1 2 1.5 3 2 4" ]
}

@test "innet-plot draws SVG, PNG and text" {
	need_gnuplot
	innet-plot age -w a.svg got.pcap
	head -c 200 a.svg | grep -q '<svg'
	innet-plot cdf got.pcap -w a.png
	head -c 4 a.png | grep -q PNG
	innet-plot rewards log.csv | grep -q 'mean'
	[ "$(find . -name 'a.*' | wc -l)" -eq 2 ]
}

@test "no name can make gnuplot execute commands" {
	n=$'it\'s \'\nsystem "touch owned"\n`touch owned`.csv'
	cp log.csv "$n"
	run -0 innet-plot --script rewards "$n"
	[[ $output == *"title 'it''s ''?system \"touch owned\"?\`touch owned\`'"* ]]
	need_gnuplot
	innet-plot rewards "$n" -w x.svg
	[ ! -e owned ]
	cp log.csv ./-o.csv
	innet-plot --script rewards -- -o.csv >out
	grep -q "title '-o'" out
}

@test "an error names the bad line of a CSV file" {
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
	[ "$output" = "innet-plot: b.csv:1: there is no column 'cluster'" ]
}

@test "errors name damaged reports and empty files" {
	for s in '' '{' '{"merged_histogram":3}' '{"merged_histogram":{"0":1}}' \
		'{"merged_histogram":{"1":"x"}}' '{"merged_histogram":{"1":-1}}'; do
		echo "$s" >r.json
		run -1 innet-plot cdf r.json
		[[ $output == "innet-plot: r.json:"* ]]
	done
	: >e.csv
	run -1 innet-plot age e.csv
	[ "$output" = "innet-plot: e.csv: empty file" ]
	run -1 innet-plot age none.csv
	[ "$output" = "innet-plot: none.csv: No such file or directory" ]
}

@test "input without data is an error, and no output file is left" {
	mkolaf </dev/null >empty.pcap
	run -1 innet-plot age empty.pcap -w x.svg
	[[ $output == *"empty.pcap: contains nothing to draw" ]]
	run -1 innet-plot age --cluster 9 got.pcap -w x.svg
	[ ! -e x.svg ]
}

@test "a truncated capture: innet-plot draws the complete packets, status 1" {
	head -c 400 got.pcap >cut.pcap
	run -1 --separate-stderr innet-plot --script age cut.pcap
	[[ $stderr == *"cut.pcap: packet 4: truncated"* ]]
	[[ $output == *"plot "* ]]
}

@test "without gnuplot, an error names the package, and the old file remains" {
	echo old >x.svg
	run -1 env PATH=/nonexistent "$(command -v innet-plot)" rewards log.csv \
		-w x.svg
	[ "$output" = "innet-plot: gnuplot was not found in PATH; on Debian: apt-get install gnuplot-nox" ]
	[ "$(cat x.svg)" = old ]
	[ "$(find . -name 'x.svg*' | wc -l)" -eq 1 ]
}

@test "if gnuplot fails, the error gives its status, and the old file remains" {
	mkdir bin
	printf '#!/bin/sh\nexit 3\n' >bin/gnuplot
	chmod +x bin/gnuplot
	echo old >x.svg
	PATH=$PWD/bin:$PATH run -1 innet-plot rewards log.csv -w x.svg
	[ "$output" = "innet-plot: gnuplot failed with exit status 3; its messages are above" ]
	[ "$(cat x.svg)" = old ]
	[ "$(find . -name 'x.svg*' | wc -l)" -eq 1 ]
}

@test "an error names an output that cannot be written" {
	need_gnuplot
	run -1 innet-plot rewards log.csv -w no/such.svg
	[[ $output == "innet-plot: no/such.svg: No such file or directory" ]]
}

@test "misuse: status 2 and the word that is wrong" {
	run -2 innet-plot
	run -2 innet-plot age
	run -2 innet-plot pie log.csv
	[[ $output == *"invalid plot 'pie'"* ]]
	run -2 innet-plot rewards log.csv -w x.gif
	[[ $output == *"-w: 'x.gif' must end with"* ]]
	run -2 innet-plot age got.pcap --cluster 65536
	run -2 innet-plot rewards log.csv --smooth 0
}

@test "a long curve is thinned, but its ends and peaks remain" {
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

# Write two runs of one kind with different steps.
two_runs() {
	printf 'step,episode,reward,seconds\n0,1,0,1\n100,2,100,2\n200,3,100,3\n' >a.csv
	printf 'step,episode,reward,seconds\n0,1,10,1\n100,2,60,2\n' >b.csv
}

# at WORD OPTION...: print the first line of the first curve's data that begins
# with WORD
at() { innet-plot --script --smooth 1 rewards "${@:2}" | grep -m 1 "^$1 "; }

@test "a group is drawn as one curve: its mean, with the standard deviation around it" {
	two_runs
	[ "$(at 50 --group g a.csv b.csv)" = "50 42.5 31.8933982822 53.1066017178" ]
	[ "$(at 100 --group g a.csv b.csv)" = "100 80 51.7157287525 108.284271247" ]
	[ "$(at 50 --group g a.csv)" = "50 50 50 50" ]
	innet-plot --script rewards --group g a.csv b.csv >out
	grep -q "title 'g: mean of 2, standard deviation'" out
	[ "$(data rewards --group g a.csv b.csv | wc -w)" -eq $((201 * 4)) ]
}

@test "before the start of a run its first value counts, and after its end the last value" {
	two_runs
	[ "$(at 200 --group g a.csv b.csv --spread range)" = "200 80 60 100" ]
	sed -i 2d b.csv
	[ "$(at 0 --group g a.csv b.csv --spread range)" = "0 30 0 60" ]
	[ "$(at 2 --x seconds --group g a.csv b.csv --spread range)" = "2 80 60 100" ]
	innet-plot --script rewards --spread range --group g a.csv b.csv |
		grep -q "title 'g: mean of 2, lowest to highest'"
}

@test "the last of several points at one place is the value of the run there" {
	printf 'step,episode,reward,seconds\n0,1,1,1\n10,2,5,1\n10,3,9,1\n20,4,9,1\n' >a.csv
	[ "$(at 10 --group g a.csv)" = "10 9 9 9" ]
	[ "$(at 5 --group g a.csv)" = "5 3 3 3" ]
	printf 'step,episode,reward,seconds\n7,1,3,1\n' >a.csv
	[ "$(data rewards --group g a.csv)" = "7 3 3 3" ]
}

@test "rewards are smoothed in each run before the mean of the group is taken" {
	printf 'step,episode,reward,seconds\n0,1,0,1\n200,2,100,2\n' >a.csv
	printf 'step,episode,reward,seconds\n0,1,40,1\n200,2,60,2\n' >b.csv
	[ "$(data rewards --group g a.csv b.csv --spread range --smooth 2 |
		cut -d' ' -f801-)" = "200 50 50 50" ]
}

@test "a figure can have groups and single files, and files with one name form a group" {
	two_runs
	innet-plot --script rewards log.csv --group g a.csv --group h a.csv --group g b.csv >out
	[ "$(grep -c '^\$d' out)" -eq 3 ]
	grep -q "title 'log', .*title 'g: mean of 2, .*title 'h: one run'" out
	[ "$(grep -o filledcurves out | wc -l)" -eq 2 ]
	need_gnuplot
	innet-plot rewards -w g.svg --group g a.csv b.csv
	grep -q '</svg>' g.svg
	innet-plot rewards --group g a.csv b.csv | grep -q 'g: mean of 2'
}

@test "an error names bad input of a group" {
	two_runs
	echo 150,3,1,3 >>a.csv
	run -1 innet-plot rewards --group g b.csv a.csv
	[ "$output" = "innet-plot: a.csv:5: step 150 is less than the value in the row before" ]
	head -n 1 b.csv >e.csv
	run -1 innet-plot rewards --group g e.csv
	[[ $output == *"e.csv: contains no episodes"*"e.csv: contains nothing to draw" ]]
	run -2 innet-plot rewards b.csv --group g
	[ "$output" = "innet-plot: --group g: no files follow it" ]
	run -2 innet-plot age --group g got.pcap
	[ "$output" = "innet-plot: --group applies only to rewards and page" ]
	run -2 innet-plot rewards --spread wide --group g b.csv
	[[ $output == *"invalid spread 'wide'"* ]]
}

@test "bars: rows are groups, columns are series, _sd columns are errors, and empty cells are left out" {
	printf 'load,fifo,olaf_sd,fifo_sd,olaf\n4,10,1,2,-3\n0.3,5,,,\n' >b.csv
	[ "$(data bars b.csv)" = "0 10 2 1 5 0 0 -3 1 1 nan 0" ]
	innet-plot --script bars b.csv --label 'time in s' >out
	grep -q "^set xtics ('4' 0, '0.3' 1)" out
	grep -q "^set xlabel 'load'" out
	grep -q "^set ylabel 'time in s'" out
	grep -q "title 'fifo', .*title 'olaf'" out
	need_gnuplot
	innet-plot bars b.csv -w b.svg
	grep -q '</svg>' b.svg
	innet-plot bars b.csv | grep -q fifo
}

@test "bars: a label can have any character, and all bars can have the same height" {
	printf 'place,a%%,b\n5 %%,7,7\n%%d'"'"'%%s,7,7\n' >b.csv
	innet-plot --script bars b.csv >out
	grep -qF "set xtics ('5 %%' 0, '%%d''%%s' 1)" out
	grep -qF 'set yrange [0:7]' out
	need_gnuplot
	run -0 innet-plot bars -w b.svg b.csv
	[ "$output" = "" ]
	grep -q '>5 %<' b.svg
}

@test "bars: an error names what is wrong with the table" {
	for row in 4,x,1 4,1 4,1,2,3; do
		printf 'load,fifo,olaf\n4,1,2\n%s\n' "$row" >b.csv
		run -1 innet-plot bars b.csv
		[[ $output == "innet-plot: b.csv:3: "* ]]
	done
	printf 'load\n4\n' >b.csv
	run -1 innet-plot bars b.csv
	[[ $output == "innet-plot: b.csv:1: the table has only labels"* ]]
	printf 'load,fifo\n' >b.csv
	run -1 innet-plot bars b.csv
	[ "$output" = "innet-plot: b.csv: contains nothing to draw" ]
	seq -s, 97 >b.csv
	run -1 innet-plot bars b.csv
	[ "$output" = "innet-plot: b.csv:1: more than 96 columns" ]
	run -2 innet-plot bars b.csv log.csv
	[ "$output" = "innet-plot: log.csv: bars can draw only one file" ]
}

@test "lines: a curve for each combination, a panel for each column, with errors and units" {
	cat >sweep.csv <<-'END'
	links[sw].rate,switches[*].queue,switches[*].slots,group,runs,sent,mean_age_ns,mean_age_ns_ci95,loss_percent
	20G,fifo,8,all,3,10,4500000,500000,60.5
	20G,olaf,8,all,3,10,3000000,,0
	40G,fifo,8,all,3,10,4000000,250000,
	40G,olaf,8,all,3,10,2000000,0,0
	END
	innet-plot --script lines --x rate --columns mean_age_ns,loss_percent sweep.csv >out
	[ "$(data lines --x rate --columns mean_age_ns,loss_percent sweep.csv)" = \
	    "20000000000 4.5 4 5 40000000000 4 3.75 4.25 20000000000 60.5 20000000000 3 3 3 40000000000 2 2 2 20000000000 0 40000000000 0" ]
	grep -q "^set multiplot layout 1,2" out
	grep -q "^set ylabel 'mean_age, ms'" out
	grep -q "^set ylabel 'loss_percent'" out
	grep -q "^set xtics ('20G' 20000000000, '40G' 40000000000)" out
	[ "$(grep -c '^plot' out)" -eq 2 ]
	grep -q "with yerrorlines .* '#d55e00' title 'fifo', .* '#0072b2' title 'olaf'" out
	# an x axis of words; a column given by its whole path; and several
	# files
	innet-plot --script lines --x 'switches[*].queue' --columns sent sweep.csv >out
	grep -q "^set xtics ('fifo' 0, 'olaf' 1)" out
	cp sweep.csv again.csv
	innet-plot --script lines --x queue --columns sent sweep.csv again.csv | grep -q "title '20G, sweep'.*title '40G, again'"
	need_gnuplot
	innet-plot lines --x rate --columns mean_age_ns,loss_percent -w two.svg sweep.csv
	grep -q '</svg>' two.svg
	innet-plot lines --x rate --columns mean_age_ns,loss_percent sweep.csv | grep -q loss_percent
}

@test "lines: an error names the values that cannot be drawn" {
	printf 'a.rate,b.rate,name,y\n1,2,x,3\n' >s.csv
	while IFS='|' read -r status options why; do
		run "-$status" innet-plot lines $options s.csv
		[ "$output" = "innet-plot: $why" ]
	done <<-'END'
	2||lines needs --x COLUMN for the horizontal axis
	2|--x rate|s.csv: 'a.rate' and 'b.rate' both end with rate; give the whole name of one
	2|--x none|s.csv: there is no column 'none'
	2|--x a.rate --columns name|s.csv: column 'name' has no numbers to draw
	2|--x a.rate --columns y,b.rate,y|--columns: more than 2 columns
	2|--x a.rate --columns z|s.csv: there is no column 'z'
	END
	printf 'x,y,z,u\n1,2,3,4\n' >s.csv
	run -2 innet-plot lines --x x s.csv
	[ "$output" = "innet-plot: s.csv: more than 2 columns have numbers; choose some with --columns" ]
	run -2 innet-plot bars --columns x s.csv
	[ "$output" = "innet-plot: --columns applies only to lines" ]
}

@test "topology: innet-plot draws nodes, links and the load of each link" {
	scenarios=$share/scenarios
	printf 'switch,runs,busy_percent\nsw1,1,25\nsw2,1,50\nsw3,1,90\nsw3,1,100\n' >busy.csv
	innet-plot --script topology "$scenarios/olaf-figure9.json" busy.csv >out
	[ "$(grep -c '^set arrow' out)" -eq 5 ]
	for label in ps sw1 sw2 sw3 'S1: clusters 1-5, workers 10' '0.5M 25 %' '0.5M 50 %' '1M 95 %'; do
		grep -qF "set label '$label' at" out
	done
	innet-plot --script topology "$scenarios/datacenter.json" | grep -q "set label 'rack x 100' at"
	for f in "$scenarios"/olaf-*.json; do innet-plot --script topology "$f" >out; done
	run -1 innet-plot topology "$scenarios/iswitch-table5.json"
	[[ $output == *"the scenario has no servers; topology cannot draw training jobs or planes" ]]
	echo '{"servers":[{"name":"a"}],"links":[{"from":"b","to":"a"},{"from":"b","to":"b"}]}' >circle.json
	run -1 innet-plot topology circle.json
	[[ $output == *"the links form a loop"* ]]
	need_gnuplot
	innet-plot topology -w t.svg "$scenarios/olaf-figure9.json" busy.csv
	grep -q '</svg>' t.svg
}

@test "verified: innet-plot draws the ages of a schedule that innet-verify found" {
	command -v innet-verify >/dev/null || skip "no innet-verify"
	specs=$share/scenarios/verify
	run -3 innet-verify -q --json --objective 'fair<=3ms' -w v.csv "$specs/urgent-unequal.json"
	echo "$output" >v.json
	for c in 1 2; do
		# the greatest age in the report of the cluster is also the
		# maximum of its curve
		want=$(jq ".run[] | select(.cluster == $c).max_age_ns / 1e6" v.json)
		innet-plot --script age --cluster $c v.json | sed -n '/EOD$/,/^EOD/p' | awk -v want="$want" \
		    'NF == 2 && $2 > most { most = $2 } END { exit (most - want) ^ 2 > 1e-10 }'
	done
	run -1 innet-plot age <(echo '{}') v.json
	echo '{"schedule":7}' >bad.json
	run -1 innet-plot age bad.json
	[ "$output" = "innet-plot: bad.json: the verdict has no schedule; draw the output of innet-verify --json for an objective that fails" ]
	echo '{"fails_up_to_ns":9,"schedule":[{"cluster":70000,"time_ns":1,"fate":"opened"}]}' >bad.json
	run -1 innet-plot age bad.json
	[ "$output" = "innet-plot: bad.json: the schedule contains no update" ]
}

@test "bare packets have the same ages as in innet-aom" {
	printf '10.0.0.0/16,1\n10.1.0.0/16,2\n' >c.csv
	innet-gen -q --format bare --cluster-table c.csv --clusters 2 --workers 2 -c 50 -w b.pcap
	innet-aom -q -r b.pcap --format bare --cluster-table c.csv --series s.csv >out
	innet-plot --script age s.csv | grep -E '^[0-9. -]+$' >want
	innet-plot --script age b.pcap --format bare --cluster-table c.csv |
		grep -E '^[0-9. -]+$' >got
	[ "$(wc -l <want)" -gt 300 ]
	cmp want got
	run -2 --separate-stderr innet-plot age b.pcap --format bare
	[ "$stderr" = "innet-plot: --format bare and --cluster-table must be given together" ]
	run -2 innet-plot rewards b.pcap --format bare --cluster-table c.csv
}

# read_page FILE: check that the page is well-formed XML and loads nothing else,
# and print its tables as lines of words
read_page() {
	python3 - "$1" <<-'END'
	import sys, xml.etree.ElementTree as tree
	text = open(sys.argv[1], encoding='utf-8').read()
	assert '://' not in text, 'it loads something'
	ids = []
	for e in tree.fromstring(text).iter():
	    assert e.tag not in ('script', 'link', 'iframe', 'img', 'object'), e.tag
	    ids += [e.get('id')] if e.get('id') else []
	    for name, value in e.attrib.items():
	        assert not name.startswith('on') and name != 'src', name
	        assert name != 'href' or value.startswith('#'), value
	    if e.tag == 'th':
	        assert e.get('scope') in ('row', 'col')
	    if e.tag == 'svg':
	        assert e[0].tag == 'title' and e[1].tag == 'desc' and e[0].text, 'a picture without words'
	        print('picture', e[0].text)
	    if e.tag == 'table' and e.get('id'):
	        for row in e.iter('tr'):
	            print(e.get('id'), *[(c[0].get('value') if len(c) else c.text) or '-' for c in row], sep='|')
	assert len(ids) == len(set(ids)), 'an id twice'
	END
}

@test "a page loads no other files, and has the same figures as innet-aom" {
	innet-gen -q --arrivals bursts --rate 60G -c 100 -w sent.pcap
	for q in olaf fifo; do
		innet-switch -q --queue $q --rate 20G -r sent.pcap -w $q.pcap --report $q.json
		innet-aom -q -r $q.pcap --json >$q-aom.json
	done
	innet-plot page -w page.html olaf.pcap fifo.pcap olaf.json fifo.json
	read_page page.html >got
	for q in olaf fifo; do
		jq -r "\"figures|$q|\(.cluster)|\(.mean_age_ns)|\(.p50_age_ns)|\(.p95_age_ns)|\(.p99_age_ns)|\(.max_age_ns)\"" $q-aom.json |
			sort >want
		[ "$(wc -l <want)" -eq 10 ]
		grep "^figures|$q|" got | cut -d'|' -f1-8 | sort | cmp - want
		# Jain's index is computed from the means in ns, as in innet-aom
		jq -e --argjson have "$(grep "^figures|$q|all|" got | cut -d'|' -f9)" \
			'select(.cluster == "all") | .jain - $have | fabs < 1e-6' $q-aom.json
	done
	grep -q "^counters|totals.delivered.packets|$(jq .totals.delivered.packets olaf.json)|$(jq .totals.delivered.packets fifo.json)$" got
	# the losses that innet-aom reports go to the same rows
	innet-aom -q -r olaf.pcap --sent sent.pcap --json >olaf-aom.json
	innet-aom -q -r fifo.pcap --sent sent.pcap --csv >fifo.csv
	innet-plot page --group olaf olaf.pcap olaf-aom.json --group fifo fifo.csv >page.html
	read_page page.html >got
	jq -r '"figures|olaf|\(.cluster)|\(.sent)|\(.received)|\(.merged)|\(.lost)|\(.loss_percent)|\(.mean_age_ns)"' olaf-aom.json | sort >want
	grep '^figures|olaf|' got | cut -d'|' -f1-9 | sort | cmp - want
	awk -F, 'NR > 1 { print "figures|fifo|" $1 "|" $4 "|" $2 "|" $3 "|" $5 "|" $6 "|" $9 }' fifo.csv | sort >want
	grep '^figures|fifo|' got | cut -d'|' -f1-9 | sort | cmp - want
	need_gnuplot
	[ "$(grep -c ^picture got)" -eq 4 ]
	grep -q '^picture Updates lost: olaf [0-9.]* %, fifo [0-9.]* %$' got
}

@test "page: innet-plot makes pages of rewards, of a sweep and of a server's report" {
	two_runs
	printf 'links[sw].rate,switches[sw].queue,group,runs,sent,mean_age_ns,loss_percent,other\n20G,olaf,1,3,10,3000000,0,7\n20G,fifo,1,3,10,4500000,60.5,7\n' >net.csv
	echo '{"applied":7,"olaf":{"gate":{"taken":5,"refused":0}},"text":"x","list":[1]}' >ps.json
	innet-plot page -w page.html --group ppo a.csv b.csv --group net net.csv --group ps ps.json --smooth 1
	read_page page.html >got
	grep -q '^figures|net 20G olaf|1|10|0|3000000$' got
	grep -q '^figures|net 20G fifo|1|10|60.5|4500000$' got
	[ "$(grep ^counters got)" = $'counters|counter|ps\ncounters|applied|7\ncounters|olaf.gate.taken|5' ]
	need_gnuplot
	grep -q '^picture Mean reward at the end: ppo 80.0$' got
	[ "$(grep -c ^picture got)" -eq 3 ]
}

@test "names on a page are plain text without effect" {
	n=$'<script>alert(1)\'"&<' m=$'b\xff\x01<title><b>'
	cp s.csv "$n.csv"
	cp got.pcap "$m"
	echo '{"</td><script>":1,"a":{"<b>":2}}' >r.json
	printf 'cluster,mean_age_ns\n<script>,4\n' >'<i>.csv'
	innet-plot page -w page.html "$n.csv" "$m" r.json '<i>.csv'
	read_page page.html >got
	grep -qF "figures|$n|all|" got
	grep -qF 'figures|b??<title><b>|1|' got
	grep -qF 'figures|<i>|<script>|4' got
	grep -qF 'counters|a.<b>|2' got
	run ! grep -qi '<script\|<b>\|<i>' page.html
}

@test "a page does not grow with the captures, and counts the points that it leaves out" {
	innet-gen -q --clusters 300 --workers 1 -c 200 | innet-plot page -w page.html -
	read_page page.html >got
	[ "$(stat -c %s page.html)" -lt 200000 ]
	[ "$(grep -c '^figures|' got)" -eq 42 ]
	grep -q '<p>260 more rows are not shown.</p>' page.html
	need_gnuplot
	[ "$(grep -c ^picture got)" -eq 3 ]
}

@test "without gnuplot, a page has its table, and one line reports the missing program" {
	run -0 --separate-stderr env PATH=/nonexistent "$(command -v innet-plot)" page -w page.html got.pcap
	[ "$stderr" = "innet-plot: gnuplot was not found in PATH; on Debian: apt-get install gnuplot-nox" ]
	[ "$(grep -c 'No pictures: gnuplot is missing' page.html)" -eq 1 ]
	read_page page.html >got
	grep -q '^figures|got|all|' got
	run ! grep -q ^picture got
	mkdir bin
	printf '#!/bin/sh\nexit 3\n' >bin/gnuplot
	chmod +x bin/gnuplot
	PATH=$PWD/bin:$PATH run -1 --separate-stderr innet-plot page -w page.html got.pcap
	[[ $stderr == "innet-plot: gnuplot failed with exit status 3; its messages are above"* ]]
	grep -q 'No picture: gnuplot failed' page.html
}

@test "page: an error names input or options that do not fit a page" {
	echo 'a,b' >bad.csv
	echo '[1]' >bad.json
	printf '%s\n' '{"cluster":1,"mean_age_ns":5}' '{"x":1}' >half.json
	printf '%s\n' '{"cluster":1,"mean_age_ns":5}' '{"x":' >cut.json
	: >empty.csv
	while IFS='|' read -r status words why; do
		run "-$status" innet-plot page -w page.html $words
		[ "$output" = "innet-plot: $why" ]
		[ ! -e page.html ]
	done <<-'END'
	2|got.pcap --script|--script does not apply to page
	2|got.pcap --label x|--label does not apply to page
	2|got.pcap --by run|--by does not apply to page
	2|got.pcap -w page.svg|-w: 'page.svg' must end with .html, or be - for standard output
	2|got.pcap --group got s.csv|two files have ages of 'got'; give one of them another name with --group
	1|bad.csv|bad.csv:1: the first line names no column that a page can show
	1|bad.json|bad.json: this is not a report; a report must be a JSON object
	1|half.json|half.json:2: the line has no figures for a cluster
	1|cut.json|cut.json:2: not valid JSON
	1|empty.csv|empty.csv: empty file
	1|none.csv|none.csv: No such file or directory
	END
}
