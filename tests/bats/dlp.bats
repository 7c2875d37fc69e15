# Tests of DLP with the traffic of the published workers and with innet's own
# workers.
load common
load dlp

data=$BATS_TEST_DIRNAME/../data
mean=$data/dlp-avg_agg_udp_bcast-5w.pcapng
median=$data/dlp-med_agg_udp_tmout-5w.pcapng

# answers FILE: print the packets sent to each worker, sorted by worker and then
# by time
answers() { dlpplay "$1" | grep '^12344 ' | sort -s -k2,2; }

# as_captured FILE [OPTION...]: run FILE through the filter, and check that it
# sends the answers that were captured
as_captured() {
	local file=$1
	shift
	innet-switch -q --program dlp --behave-like server --udp-port 12344 "$@" -r "$file" \
		-w out.pcap --report r.json 2>/dev/null
	diff <(answers "$file") <(answers out.pcap)
}

@test "the filter gives every answer of the captured session with mean and broadcast, byte for byte" {
	as_captured "$mean"
	[ "$(answers out.pcap | wc -l)" -eq 514 ]
	jq -e '.gradients == 500 and .steps == 100 and .answers == 514 and .own == 514 and
		.polled == 9 and .setup == 5 and .not_open == 5 and .time_backwards == 3' r.json
}

@test "the filter gives the same answers for the captured session with median and late answers" {
	as_captured "$median" --reduce median --answer-early
	[ "$(answers out.pcap | wc -l)" -eq 921 ]
	jq -e '.gradients == 500 and .wrong_step == 403 and .time_backwards == 1' r.json
	diff <(dlpplay "$median" | grep '^12344 ') <(dlpplay out.pcap)
}

@test "live, the switch and the server answer the packets of the published workers as captured" {
	serve ps innet-ps -q -p dlp
	dlpplay "$mean" 12344 "$ps" >out
	[ "$(cat out)" = "519 sent, 514 answers as captured" ]
	serve switch innet-switch -q -p dlp --behave-like server --reduce median --answer-early
	dlpplay "$median" 12344 "$switch" >out
	[ "$(cat out)" = "926 sent, 921 answers as captured" ]
}

@test "an answer has the question's addresses, swapped, its timestamp, and correct checksums" {
	innet-switch -q -p dlp --behave-like server -r "$mean" -w out.pcap 2>/dev/null
	dlp_fields='-T fields -e frame.time_epoch -e ip.src -e udp.srcport -e ip.dst -e udp.dstport'
	tshark -r "$mean" -c 2 $dlp_fields 2>/dev/null >in
	tshark -r out.pcap -c 1 $dlp_fields 2>/dev/null >out
	[ "$(awk 'NR == 1 { print $1, $4, $5, $2, $3 }' in)" = "$(tr '\t' ' ' <out)" ]
	[ "$(tshark -r out.pcap -o udp.check_checksum:TRUE -T fields -e udp.checksum.status 2>/dev/null | sort -u)" = 1 ]
}

@test "packets to another port are regular traffic and pass unchanged" {
	innet-switch -q -p dlp -r "$mean" -w out.pcap --report r.json 2>/dev/null
	jq -e '.regular == 1033 and .answers == 0' r.json
	diff <(dlpplay "$mean") <(dlpplay out.pcap)
}

@test "invalid packets are ignored and counted by reason" {
	innet-switch -q -p dlp --behave-like server -r "$mean" -w sound.pcap -c 40 2>/dev/null
	editcap -F pcap -s 60 "$mean" cut.pcap
	innet-switch -q -p dlp --behave-like server -r cut.pcap -w out.pcap --report r.json 2>/dev/null
	jq -e '.ignored == {"snaplen": 519} and .answers == 0' r.json
	at 1 1 0 1 dport=1234 | mkolaf >long.pcap
	at 1 1 0 1 dport=1234 short=29 | mkolaf >short.pcap
	at 1 1 0 1 dport=1234 sum=bad | mkolaf >bad.pcap
	at 1 1 0 1 dport=1234 lie | mkolaf >lie.pcap
	innet-switch -q -p dlp -r long.pcap -r short.pcap -r bad.pcap -r lie.pcap -w out.pcap --report r.json
	jq -e '.long == 1 and .short == 1 and .ignored == {"checksum": 1, "length": 1}' r.json
}

@test "a damaged capture: the filter answers the complete packets and exits with status 1" {
	head -c 20000 "$mean" >cut.pcapng
	run -1 --separate-stderr innet-switch -q -p dlp --behave-like server -r cut.pcapng -w out.pcap
	[[ $stderr == *"cut.pcapng: packet "* ]]
	[ "$(dlpplay out.pcap | wc -l)" -gt 50 ]
	run -1 innet-switch -p dlp -r "$mean" -w /dev/full
}

@test "options of another program, and unknown words and ports, are misuse" {
	run -2 --separate-stderr innet-switch -p dlp --slots 8
	[[ ${stderr_lines[0]} == "innet-switch: --slots needs --rate: without a rate no packet waits" ]]
	run -2 --separate-stderr innet-switch --answer-early
	[[ ${stderr_lines[0]} == "innet-switch: --answer-early cannot be used with --program olaf" ]]
	# the old names are accepted, but --help does not list them
	run -2 --separate-stderr innet-switch --late
	[[ ${stderr_lines[0]} == "innet-switch: --late cannot be used with --program olaf" ]]
	run -2 innet-switch -p dlp --as router
	[ "$(innet-switch --help | grep -cE -- '--(as|late)\b')" = 0 ]
	run -2 innet-switch -p dlp --upstream :1
	run -2 innet-switch -p dlp --reduce sum
	run -2 innet-switch -p dlp --behave-like router
	run -2 innet-switch -p dlp --udp-port 0
	run -2 innet-switch -p dlp --session nodes=33
	run -2 innet-ps --answer-early
	run -2 innet-ps -p dlp --learning-rate 1
}

# crew N [OPTION...]: run N synthetic workers at $to, the first of which leads;
# worker K writes wK.json
crew() {
	local n=$1 w
	shift
	crew=''
	for w in $(seq "$n"); do
		innet-worker --json -p dlp --switch "$to" --synthetic 24B --interval 1ns \
			--seed "$w" $([ "$w" -gt 1 ] || echo "$lead") "$@" >"w$w.json" 2>"w$w.err" 3>&- &
		crew="$crew $!"
	done
	pids="$pids $crew"
	for w in $crew; do wait "$w"; done
}

# finish NAME: end a live tool as a user would
finish() {
	local pid=${1}_pid
	kill -TERM "${!pid}"
	wait "${!pid}"
}

# filter_agrees NAME OPTION...: check that the filter decides as the live run
# did
filter_agrees() {
	local name=$1
	shift
	innet-switch -q -p dlp --udp-port "$(cat "$name.port")" "$@" -r in.pcap -w again.pcap
	diff <(dlpplay out.pcap) <(dlpplay again.pcap)
}

@test "innet's workers train with innet's switch: mean and median, broadcast and late" {
	lead='--session nodes=4,iterations=50,scale=10000'
	for reduce in mean median; do for late in '' --answer-early; do
		serve to innet-switch --json -p dlp --reduce $reduce $late --write-in in.pcap -w out.pcap
		crew 4 --reduce $reduce
		finish to
		tail -n 1 to.out | jq -e '.steps == 50 and .sessions == 1 and .gradients == 200 and
			.foreign == 0 and .configured >= 1'
		jq -se 'length == 4 and all(.results == 50 and .sessions == 1 and .saturated == 0)' w?.json
		filter_agrees to --reduce $reduce $late
	done; done
}

@test "innet's workers train with innet's server: mean and median, broadcast and late" {
	lead=''
	for reduce in mean median; do for late in '' --answer-early; do
		serve to innet-ps --json -p dlp --reduce $reduce $late -w in.pcap \
			--session nodes=4,iterations=50,scale=10000
		crew 4 --reduce $reduce
		finish to
		tail -n 1 to.out | jq -e '.steps == 50 and .sessions == 1 and .gradients == 200'
		jq -se 'all(.results == 50)' w?.json
	done; done
}

@test "a worker that waits for a session takes part when another worker configures it again" {
	serve to innet-ps --json -p dlp --write-in in.pcap
	lead='' crew=''
	for w in 1 2; do
		innet-worker --json -p dlp --switch "$to" --synthetic 24B --interval 1ns >w$w.json 3>&- &
		crew="$crew $!"
	done
	pids="$pids $crew"
	for _ in $(seq 200); do
		innet-ctl --json "$to" jobs 2>/dev/null | grep -q '"members":2' && break
		sleep 0.02
	done
	innet-worker -q -p dlp --switch "$to" --synthetic 24B --interval 1ns --session nodes=3,iterations=9
	for w in $crew; do wait "$w"; done
	jq -se 'all(.results == 9)' w1.json w2.json
	finish to
	tail -n 1 to.out | jq -e '.steps == 9 and .sessions == 1 and .foreign == 0'
}

@test "every step completes in spite of losses, repeats and reordering" {
	lead='--session nodes=4,iterations=50'
	for late in '' --answer-early; do
		serve to innet-switch --json -p dlp $late --write-in in.pcap -w out.pcap \
			--impair loss=10%,dup=5%,reorder=2%,delay=100us
		crew 4
		finish to
		tail -n 1 to.out | jq -e '.steps == 50 and .gradients == 200 and .impaired_lost > 5 and
			.repeated + .finished > 5'
		jq -se 'all(.results == 50) and (map(.repeated) | add > 5)' w?.json
		filter_agrees to $late
	done
}

@test "32 workers complete one session after another" {
	lead='--session nodes=32,iterations=10'
	serve to innet-switch --json -p dlp
	crew 32 -c 20
	finish to
	tail -n 1 to.out | jq -e '.steps == 20 and .sessions == 2 and .gradients == 640'
}

@test "the switch and the server accept vectors of up to 366 elements" {
	for n in 7 366; do for what in innet-switch innet-ps; do
		serve to $what --json -p dlp --reduce median --write-in in.pcap -w out.pcap \
			--session nodes=3,iterations=20
		lead=$([ $what = innet-ps ] || echo --session nodes=3,iterations=20)
		crew 3 --reduce median --synthetic $n
		finish to
		tail -n 1 to.out | jq -e '.steps == 20 and .gradients == 60 and .mismatched == 0'
		jq -se 'length == 3 and all(.results == 20)' w?.json
		[ $what = innet-ps ] || filter_agrees to --reduce median
		innet-aom -q -p dlp --udp-port "$(cat to.port)" -r in.pcap \
			-r out.pcap --total --json |
			jq -e '.steps == 20 and .measured == 20 and .missing == 0'
	done; done
}

@test "a child gets the sum of its 100 elements" {
	python numpy
	cat >long.py <<-'EOF'
	import sys
	import numpy
	from innet_stream import Stream
	up = numpy.arange(1, 101, dtype='f4')
	with Stream(up) as s:
	    print(abs(s.exchange(up * float(sys.argv[1])).vector - 6 * up).max() < 1e-3, file=sys.stderr)
	EOF
	serve to innet-switch -q -p dlp --session nodes=3,iterations=1
	lead='--session nodes=3,iterations=1' crew=''
	for x in 1 2 3; do
		PYTHONPATH=$share/python innet-worker -q -p dlp --switch "$to" $lead -- \
			"$py" long.py $x 2>child-$x 3>&- &
		crew="$crew $!" lead=''
	done
	pids="$pids $crew"
	for x in $crew; do wait "$x"; done
	[ "$(cat child-?)" = $'True\nTrue\nTrue' ]
}

@test "a worker with another number of elements reports that and ends" {
	crew=''
	serve to innet-switch -q -p dlp
	lead='--session nodes=2,iterations=9'
	for n in 40 50; do
		innet-worker -q -p dlp --switch "$to" $lead --synthetic $n --give-up 2s 2>$n.err 3>&- &
		pids="$pids $!" crew="$crew $!" lead=''
	done
	for w in $crew; do wait "$w" && return 1; done
	[ "$(cat 40.err 50.err | grep -c "the session's vectors have [45]0 elements, not [45]0$")" -eq 1 ]
	[ "$(cat 40.err 50.err | grep -c 'no result of step 0 after 2.0 s; without worker [01]$')" -eq 1 ]
	run -2 innet-worker -p dlp --switch "$to" --synthetic 367
}

# family REDUCTION OPTION...: run children with the factors 0.125, 0.25 and 8
family() {
	local x
	serve to innet-switch -q -p dlp --reduce "$@"
	crew=''
	lead='--session nodes=3,iterations=3,eta-scale=7,scale=1000'
	for x in 0.125 0.25 8; do
		innet-worker -q -p dlp --reduce "$1" --switch "$to" $lead -- python3 child.py $x 3 0 2>child-$x 3>&- &
		crew="$crew $!" lead=''
	done
	pids="$pids $crew"
	for x in $crew; do wait "$x"; done
	finish to
}

@test "the child's result divided by the contributions is the mean or the median" {
	child
	family mean
	for x in 0.125 0.25 8; do
		[ "$(grep step child-$x)" = $'step 0: 3 of 8.375 -8.375\nstep 1: 3 of 16.75 -16.75\nstep 2: 3 of 25.125 -25.125' ]
		jq -e '.mode == "dlp" and .members == 3 and .iterations == 3 and .eta_scale == 7 and
			.scale == 1000 and .worker < 3' <(head -n 1 child-$x)
	done
	family median
	[ "$(grep step child-8)" = $'step 0: 3 of 0.75 -0.75\nstep 1: 3 of 1.5 -1.5\nstep 2: 3 of 2.25 -2.25' ]
	family mean --answer-early
	[ "$(grep step child-8)" = $'step 0: 3 of 0 0\nstep 1: 3 of 8.375 -8.375\nstep 2: 3 of 16.75 -16.75' ]
}

@test "--straggler: a dead worker delays no other worker; the switch names and counts it" {
	lead='--session nodes=3,iterations=20'
	serve to innet-switch --json -p dlp --straggler 200ms
	innet-worker -q -p dlp --switch "$to" --synthetic 24B --interval 1ns -c 1 3>&- &
	pids="$pids $!"
	crew 2
	jq -se 'all(.results == 20)' w?.json
	innet-ctl --json "$to" members --job 1 | jq -e '[.members[].missed] | max == 19'
	finish to
	tail -n 1 to.out | jq -e '.steps == 20 and .partial == 19 and .too_few == 0'
	grep -q ': step [0-9]* completed without worker [0-2] (127\.0\.0\.1:[0-9]*)$' to.err
}

@test "--straggler: the mean is over the workers that contributed, and a late worker catches up" {
	child
	sed -i 's/time.sleep(seconds)/time.sleep(3 if i == 1 and factor > 5 else 0)/' child.py
	family mean --straggler 1s
	[ "$(grep step child-0.125)" = "$(grep step child-0.25)" ]
	grep -q '^step 0: 3 of 0.563 -0.563$' child-0.125
	[ "$(grep step child-8 | head -n 1)" = 'step 0: 3 of 0.563 -0.563' ]
	[ "$(grep -c step child-8)" -eq 3 ]
	run -2 innet-switch -p dlp --straggler 0
}

@test "values outside the range of 32 bits are saturated and counted" {
	child
	serve to innet-switch -q -p dlp --json
	innet-worker --json -p dlp --switch "$to" --session nodes=1,iterations=3,scale=2000000000 -- \
		python3 child.py 2 3 0 >w.json 2>w.err
	grep -q 'step 0: 1 of 1.07374 -1.07374' w.err
	[ "$(jq .saturated w.json)" -eq 6 ]
	grep -q ': step 0: an element of a gradient was reduced to 1.07374, the largest value possible with scale=2000000000; a smaller scale= avoids this$' w.err
	finish to
}

@test "an aggregate that exceeds 32 bits becomes NaN, and the worker reports it" {
	child
	lead='--session nodes=3,iterations=3,scale=1000000000'
	serve to innet-switch -q -p dlp --reduce median
	crew=''
	for x in 0.5 1 2; do
		innet-worker -q -p dlp --reduce median --switch "$to" $lead -- python3 child.py $x 3 0 2>child-$x 3>&- &
		crew="$crew $!" lead=''
	done
	for x in $crew; do wait "$x"; done
	finish to
	[ "$(grep step: child-1)" = '' ]
	[ "$(grep '^step' child-1)" = $'step 0: 3 of 3 -3\nstep 1: 3 of 3.22123 -3.22123\nstep 2: 3 of 3.22123 -3.22123' ]
	grep -q ': step 1: an element of a gradient was reduced to 1.07374, the largest value possible with scale=1000000000 and a median; a smaller scale= avoids this$' child-1
	lead='--session nodes=3,iterations=3,scale=1000000000'
	serve to innet-switch -q -p dlp
	crew=''
	for x in 1 1 2; do
		innet-worker -q -p dlp --switch "$to" $lead -- python3 child.py $x 3 0 2>child-$x 3>&- &
		crew="$crew $!" lead=''
	done
	for x in $crew; do wait "$x"; done
	finish to
	[ "$(grep '^step 0' child-1)" = 'step 0: 3 of nan nan' ]
	grep -q ': step 0: an element of an aggregate does not fit into 32 bits and became NaN; a smaller scale= avoids this$' child-1
}

@test "a worker that gives up names what it waited for and what it received last" {
	run -1 --separate-stderr innet-worker -q -p dlp --switch 127.0.0.1:9 --synthetic 4B --give-up 300ms
	[[ ${stderr_lines[-1]} == "innet-worker: 127.0.0.1:9: no session to take part in after 0.3 s; no packet was received" ]]
	serve to innet-switch -q -p dlp
	run -1 --separate-stderr innet-worker -q -p dlp --switch "$to" --synthetic 4B --give-up 300ms
	[[ $stderr == *": no session to take part in after 0.3 s; the last packet had state 0 (WAITING) and step 0" ]]
	run -1 --separate-stderr innet-worker -q -p dlp --switch "$to" --synthetic 4B --give-up 300ms --session nodes=2
	[[ $stderr == *": no session with all its workers after 0.3 s; without worker 1" ]]
	finish to
}

@test "errors name the worker that left and the step that misses it; RESET ends the old session" {
	serve to innet-switch -q -p dlp
	innet-worker -q -p dlp --switch "$to" --synthetic 4B --interval 1ns -c 1 --session nodes=2 3>&- &
	pids="$pids $!"
	run -1 --separate-stderr innet-worker -q -p dlp --switch "$to" --synthetic 4B --interval 1ns --give-up 2500ms
	[[ $stderr == *": no result of step 1 after 2.5 s; without worker "[01] ]]
	for _ in $(seq 200); do grep -q "step 1 waits" to.err && break; sleep 0.02; done
	[[ $(cat to.err) == *"innet-switch: step 1 waits for worker "[01]" (127.0.0.1:"*")"* ]]
	run -1 --separate-stderr innet-worker -q -p dlp --switch "$to" --synthetic 4B --give-up 300ms --session nodes=1
	[[ $stderr == *": no session that can be configured after 0.3 s; the last packet had state 2 (LEARNING) and step 1" ]]
	innet-worker --json -p dlp --switch "$to" --synthetic 4B --interval 1ns --reset --session nodes=1,iterations=5 >w.json
	[ "$(jq .results w.json)" -eq 5 ]
	finish to
}

@test "a worker names a child that sends no elements or more than 366, and refuses it" {
	serve to innet-switch -q -p dlp
	say() { printf "import struct,sys\nsys.stdout.buffer.write(struct.pack('<4sHHIfQII',b'INET',$1,0,$3,0,0,1,0)+b'$2')\nsys.stdout.flush()\nsys.stdin.read()\n" >c.py; }
	say 1 '{"elements":367}' 16
	run -1 --separate-stderr innet-worker -q -p dlp --switch "$to" -- python3 c.py
	[ "$stderr" = "innet-worker: python3: offset 0: hello with more than the 366 elements that --program dlp can carry" ]
	say 1 '{"elements":0}' 14
	run -1 --separate-stderr innet-worker -q -p dlp --switch "$to" -- python3 c.py
	[[ $stderr == *"hello without a valid number of elements" ]]
	say 2 '' 0
	run -1 --separate-stderr innet-worker -q -p dlp --switch "$to" -- python3 c.py
	[[ $stderr == *"offset 0: a message before the hello" ]]
	run -1 --separate-stderr innet-worker -q -p dlp --switch "$to" --give-up 300ms -- cat
	[ "$stderr" = "innet-worker: cat: sent no hello in 0.3 s" ]
	run -2 --separate-stderr innet-worker -p dlp --switch "$to" --synthetic 1468B
	[[ $stderr == *"--synthetic: more than the 366 elements that --program dlp can carry" ]]
	run -2 innet-worker -p dlp --switch "$to" --control fair -- true
	run -2 innet-worker --switch "$to" --reset -- true
	run -2 --separate-stderr innet-worker -p olaf --switch "$to" --reduce mean -- true
	[ "${stderr_lines[0]}" = "innet-worker: --reduce cannot be used with --program olaf" ]
	finish to
}

@test "a worker with --impair completes the session; its capture contains all its packets" {
	serve to innet-switch -q -p dlp --write-in in.pcap
	lead='--session nodes=2,iterations=50'
	crew 2 -v --no-offload --impair loss=10%,dup=5%,delay=100us -w w.pcap
	finish to
	grep -q 'sends by sendmmsg; receives by recvmmsg' w1.err
	jq -se 'all(.results == 50 and .repeated > 1) and (map(.worker) | sort == [0, 1]) and
		all(has("cluster") | not)' w?.json
	jq -e '.impaired_lost > 1' w2.json
}

@test "-w of a worker captures all packets in both directions, and SIGUSR1 prints the counters" {
	serve to innet-switch -q -p dlp
	innet-worker --json -p dlp --switch "$to" --session nodes=1,iterations=9 --synthetic 8B \
		--interval 1ns -w w.pcap >w.json
	[ "$(dlpplay w.pcap | wc -l)" -eq $(($(jq .sent w.json) * 2)) ]
	innet-worker -v --json -p dlp --switch "$to" --synthetic 4B >w.json 2>w.err 3>&- &
	pids="$pids $!"
	await w.err
	kill -USR1 $!
	await w.json
	jq -e '.results == 0 and .sessions == 0' w.json
	finish to
}

@test "a child may be silent before its session starts, but not afterwards" {
	child
	sed -i 's/^for i/sys.stdin.read()\nsys.exit()\n&/' child.py
	serve to innet-switch -q -p dlp
	innet-worker -q -p dlp --switch "$to" --silence 2s -- python3 child.py 0 0 0 2>w.err 3>&- &
	silent=$!
	pids="$pids $silent"
	sleep 2.5
	kill -0 $silent
	innet-worker -q -p dlp --switch "$to" --session nodes=2 --synthetic 4B 3>&- &
	pids="$pids $!"
	wait $silent && false
	grep -qx "innet-worker: python3: sent no gradient for 2.0 s; raise --silence if a gradient takes longer" w.err
}

@test "SIGUSR1 prints the counters of a live session, and the report is complete" {
	serve to innet-switch --json -p dlp --report r.json
	kill -USR1 $to_pid
	for _ in $(seq 200); do grep -q WAITING to.err && break; sleep 0.02; done
	sed -n 1p to.out | jq -e '.state == "WAITING" and .packets == 0'
	finish to
	jq -e '.answers == 0' r.json
}

@test "innet-gen generates a session that the filter completes" {
	innet-gen -q --program dlp --workers 32 -c 50 --jitter 99ms --seed 7 -w s.pcap
	innet-switch -q -p dlp --reduce median -r s.pcap -w a.pcap --report r.json
	jq -e '.configured == 1 and .setup == 32 and .steps == 50 and .sessions == 1 and
		.gradients == 1600 and .answers == 1665 and .time_backwards == 0' r.json
	innet-gen -q --program dlp --workers 32 -c 50 --jitter 99ms --seed 7 | cmp - s.pcap
	[ "$(innet-gen --program dlp --workers 1 -c 1 --json -w /dev/null)" = '{"packets":4,"workers":1,"steps":1}' ]
	run -2 innet-gen --program dlp --workers 33
	run -2 innet-gen --program dlp --jitter 100ms
	run -2 --separate-stderr innet-gen --program dlp --vector ppo
	[ "$stderr" = "innet-gen: --vector: 10005 elements are too many; a DLP vector has at most 366" ]
	run -1 innet-gen --program dlp --interval 2000h -c 1000000 -w /dev/null
	run -1 innet-gen --program dlp -w /dev/full
}
