# Tests of share/examples/iswitch-async.sh: its runs, its rows, its table and
# the sentences below it. Only the whole example, which takes 10 minutes,
# measures the time of an iteration.
load common

example=$share/examples/iswitch-async.sh
head=run,carrier,rate_mbit,vector_bytes,queue,pace_percent,round_ms,iteration_ms,sent_again

@test "the short form: no vector takes less time than its bytes need, with or without a pace" {
	once training
	privileged
	"$example" --quick -o out 2>err 3>&- || { tail -n 5 err; false; }
	[ "$(ls out | xargs)" = 'async.csv async.md' ]
	[ "$(cut -d, -f1-6 out/async.csv | tail -n +2 | xargs)" = \
		'1,switch,20,80000,long,none 1,switch,20,80000,long,92 1,ps,20,80000,long,none' ]
	# 80 kB take 33.1 ms at 20 Mbit/s, and a server's round takes four times
	# as long; the limits are a little lower because links let short bursts
	# pass
	awk -F, 'NR > 1 && !($7 > ($2 == "ps" ? 129 : $6 == 92 ? 34 : 32) && $8 <= $7 && NF == 9) {
		print; bad = 1 } END { exit bad }' out/async.csv
	grep -q '^| ps | 80.00 kB | 20 | long | none | 33.1 | ' out/async.md
}

@test "the table gives medians, and their ratios to the time of the bytes or of another setting" {
	{
		echo $head
		printf '%s,switch,20,1282000,long,none,532,532,0\n' 1 2 3
		printf '%s,switch,20,1282000,long,92,%s,0\n' 1 640,640 2 4000,4000 3 600,600
		printf '%s,switch,20,1282000,short,none,1064,1064,%s\n' 1 100 2 900 3 300
		printf '%s,ps,20,1282000,long,none,2128,532,0\n' 1 2 3
		printf '%s,ps,20,1282000,long,23,4256,1064,0\n' 1 2 3
		printf '%s,switch,100,40020,long,none,6.62,6.62,0\n' 1 2 3
	} >async.csv
	awk -f "${example%.sh}.awk" async.csv >async.md
	grep -qF 'medians of 3 runs, in ms.' async.md
	grep -qxF '| switch | 1.28 MB | 20 | long | 92 % | 530.3 | 640.0 | 640.0 | 0 |' async.md
	grep -qxF '| ps | 1.28 MB | 20 | long | none | 530.3 | 2128.0 | 532.0 | 0 |' async.md
	grep -qF 'an iteration through the switch takes 1.00 times as long as' async.md
	grep -qF 'an iteration through the switch takes 1.20 times as long as without pacing' async.md
	grep -qF '300 lost segments are sent again.' async.md
	grep -qF 'an iteration through the server takes 2.00 times' async.md
	grep -qF 'therefore (4.23 + 1) / 4 = 1.31.' async.md
	grep -qF 'of 40.02 kB, an iteration through the switch takes 2.00 times' async.md
	# the report says nothing about cells that were not run
	run ! grep -q processors async.md
}

@test "without privileges: one error line, status 1; misuse: status 2" {
	drop=''
	[ "$(id -u)" -ne 0 ] || drop='setpriv --reuid=65534 --regid=65534 --clear-groups'
	run -1 --separate-stderr $drop "$example" -o /tmp/nobody/out
	[ -z "$output" ]
	for words in '' '-o' '--quick' '-o out --rounds 0' '-o out --fast 3'; do
		run -2 --separate-stderr "$example" $words
		[[ $stderr == 'iswitch-async: '* ]]
	done
	[ ! -e out ]
}
