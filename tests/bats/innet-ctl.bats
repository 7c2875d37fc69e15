# Tests of innet-ctl with tests/bats/fake-switch.py, which loses packets, sends
# wrong answers and sends too many, and with a live switch.
load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	pids='' tests=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
	command -v python3 >/dev/null || skip "no python3"
	(umask 077; printf 'a key of 16 bytes\n' >key)
}

# fake [OPTION...]: start a fake switch at $at
fake() {
	rm -f fake.port
	python3 -B "$tests/bats/fake-switch.py" --port-file fake.port --log log "$@" 3>&- &
	pids="$pids $!"
	await fake.port
	at=127.0.0.1:$(cat fake.port)
}

# refuses REGEX COMMAND...: check that the command prints nothing on stdout and
# one line that matches on stderr, and exits with status 1
refuses() {
	local want="^innet-ctl: 127.0.0.1:[0-9]+: $1\$"
	shift
	run -1 --separate-stderr "$@"
	[ -z "$output" ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	grep -qE "$want" <<<"$stderr" || { echo "$stderr"; return 1; }
}

@test "each verb sends the bytes of innet-wire(5) and prints the answer" {
	fake
	run -0 innet-ctl $at join --job 7 --type switch --async --cluster 2 --worker 3 --vector 10000 --floats 366 --next 12
	[ "$output" = "member 3 of 4, h 4, next iteration 12, 10000 elements, 366 floats in a segment, removed after 10 s of silence" ]
	[ -z "$(innet-ctl $at leave)$(innet-ctl $at reset)$(innet-ctl $at halt)$(innet-ctl $at resume)" ]
	[ "$(innet-ctl $at set-h 3)" = "h was 4" ]
	[ "$(innet-ctl $at fbcast 12:3)" = "2 contributions" ]
	[ "$(innet-ctl $at help 0x00000c0001000000)" = "12:0: sent, 4 contributions, 3 floats" ]
	[ "$(innet-ctl $at help 12:1)" = "12:1: not complete; the switch has requested the missing contributions" ]
	innet-ctl $at members >members
	innet-ctl $at stats >stats
	innet-ctl $at stats --job 7 >stats
	innet-ctl $at jobs >jobs
	[ -z "$(innet-ctl $at regroup 3/7=9)$(innet-ctl $at regroup 3/7=9/258)" ]
	sed 's/^\(........\)......../\1/' log >got	# without the xid, which differs
	cat >want <<-END
	01000007020100020000000300002710016e0000000c00000000
	02000001
	03000001
	07000001
	10000001
	040000010003
	0500000100000c0000000003
	0600000100000c0001000000
	0600000100000c0000000001
	110000010000
	12000001000001
	12000007000000
	140000010000
	1500000300000007000900000007
	1500000300000007000900000102
	END
	diff want got
}

@test "members prints a table, also for a job without members" {
	fake
	innet-ctl $at members >got
	cat >want <<-END
	4 members, all heard within 1 s
	job 1, h 4, follows, open, iteration 12
	id  worker  address          type    parent  heard ms  late  missing  lag
	 0       1  127.0.0.1:40001  worker  -              0     -        0
	 1       2  127.0.0.1:40002  worker  -             12     -        1  ####
	 2       3  127.0.0.1:40003  worker  -             24     -        2  #######
	 3       4  127.0.0.1:40004  worker  -             36     -        3  ##########
	END
	diff want got
	echo '{"members":[]}' >empty
	fake --members empty
	[ "$(innet-ctl $at members | head -n 2 | xargs)" = "no members -" ]
}

@test "members prints the state of the job first, and lists the workers that left" {
	# is FIRST-LINE JSON: check the first line that "members" prints for
	# this answer of a switch
	is() {
		echo "$2" >said
		fake --members said
		[ "$(innet-ctl $at members | head -n 1)" = "$1" ]
	}
	here='{"id":0,"worker":0,"address":"127.0.0.1","port":9,"type":"worker","last_heard_ms":20,"missing":0}'
	late='{"id":1,"worker":1,"address":"127.0.0.2","port":8,"type":"worker","last_heard_ms":3040,"missing":28}'
	left='{"worker":2,"address":"127.0.0.3","port":7,"type":"worker","evicted":false,"gone_ms":900,"last_heard_ms":950}'
	out='{"worker":3,"address":"127.0.0.4","port":6,"type":"worker","evicted":true,"gone_ms":5000,"last_heard_ms":15000}'
	is "waiting for worker 1 (127.0.0.2:8), last heard 3.0 s ago" "{\"h\":2,\"open\":true,\"members\":[$here,$late]}"
	is "waiting for members: 1 of 3 have joined" "{\"h\":3,\"open\":false,\"members\":[$here]}"
	is "halted; innet-ctl resume continues it" "{\"h\":1,\"open\":true,\"halted\":true,\"members\":[$here]}"
	is "stalled: 3 members needed, 1 left; worker 2 (127.0.0.3:7) left 0.9 s ago" "{\"h\":3,\"open\":true,\"members\":[$here],\"gone\":[$out,$left]}"
	[ "$(innet-ctl $at members | tail -n 2 | xargs)" = \
	    "- 3 127.0.0.4:6 worker - 15000 - - removed 5.0 s ago - 2 127.0.0.3:7 worker - 950 - - left 0.9 s ago" ]
	is "2 members, worker 1 (127.0.0.2:8) last heard 3.0 s ago" "{\"members\":[$(sed 's/28/0/' <<<$late),$here]}"
	is "2 members, all heard within 1 s" "{\"h\":2,\"open\":true,\"halted\":false,\"members\":[7,\"x\"],\"gone\":[1,{}]}"
}

@test "innet-ctl prints counters that are zero only with -v" {
	echo '{"counters":{"a":0,"b":2,"c":0},"gauges":{"d":0}}' >stats
	fake --stats stats
	[ "$(innet-ctl $at stats | xargs)" = "counter total b 2 gauge value d 0" ]
	[ "$(innet-ctl $at stats -v | xargs)" = "counter total a 0 b 2 c 0 gauge value d 0" ]
	[ "$(innet-ctl $at watch -v -c 1 | grep -c '^[ac] ')" -eq 2 ]
	run -2 innet-ctl $at jobs -v
	[[ $output == *"--verbose applies only to stats and watch"* ]]
}

@test "innet-ctl repeats a request with the same xid if the answer is lost" {
	fake --lose 2
	[ "$(innet-ctl --give-up 250ms $at set-h 3)" = "h was 4" ]
	[ "$(wc -l <log)" -eq 3 ]
	[ "$(sort -u log | wc -l)" -eq 1 ]
}

@test "without an answer, innet-ctl gives the request, the number of tries and the time, and exits with status 1" {
	fake --lose 1000
	refuses "halt: no answer within 60 ms to 5 requests" innet-ctl --give-up 60ms $at halt
	[ "$(wc -l <log)" -eq 5 ]
	kill $pids; wait $pids || true
	refuses "leave: no answer within 60 ms to 5 requests; no program listens there" \
		innet-ctl --give-up 60ms $at leave
}

@test "innet-ctl ignores wrong xids, jobs, senders and actions, and stray packets" {
	fake --noise --key key
	[ "$(innet-ctl --key key $at set-h 3)" = "h was 4" ]
	[ "$(innet-ctl --key key $at stats --job 1 --json | jq .counters.added)" -eq 110 ]
	[ "$(innet-ctl --key key $at help 5:0)" = "5:0: sent, 4 contributions, 3 floats" ]
}

@test "innet-ctl seals its requests with a key; without the right key they have no effect, and an error says so" {
	fake --key key
	(umask 077; printf 'a key of 16 bytes' >other)
	[ "$(innet-ctl --key key $at set-h 3)" = "h was 4" ]
	refuses "set-h: refused: bad MAC" innet-ctl $at set-h 5
	refuses "set-h: no answer within 100 ms to 5 requests; it has another key" \
		innet-ctl --give-up 100ms --key other $at set-h 5
	[ "$(innet-ctl --key key $at set-h 3)" = "h was 3" ]
	fake
	refuses "set-h: no answer .*; [1-5] answers arrived without a MAC of our key" \
		innet-ctl --give-up 100ms --key key $at set-h 5
}

@test "an error names a file that is not a key file" {
	umask 077
	: >empty
	head -c 4097 /dev/urandom >long
	head -c 15 /dev/urandom >short
	for f in none empty long short; do
		run -1 --separate-stderr innet-ctl --key $f :9 halt
		[[ $stderr == "innet-ctl: $f: "* && $stderr != *chmod* ]]
	done
}

@test "a refusal gives the reason, also as an object with --json, and status 1" {
	fake --status 6
	refuses "halt: refused: not ready, or halted" innet-ctl $at halt
	refuses "members: refused: not ready, or halted" innet-ctl $at members
	run -1 --separate-stderr innet-ctl --json $at set-h 3
	[ "$(jq -c '[.job, .verb, .status, .reason]' <<<"$output")" = '[1,"set-h",6,"not ready, or halted"]' ]
	fake --status 4
	refuses "fbcast: refused" innet-ctl $at fbcast 1:2
	fake --status 5
	refuses "join: refused: bad value: the job sums synchronously, with vectors of 10000 elements and 366 floats in a segment" \
		innet-ctl $at join --vector 9
	fake --status 200
	refuses "reset: refused: unknown status 200" innet-ctl $at reset
	refuses "help: refused: gone: older than what is kept" innet-ctl $at help 1:2
}

@test "--json prints one object a line for every answer" {
	fake
	for v in "join --vector 9" leave "set-h 3" "fbcast 1:2" "help 1:0" "help 1:1" members stats; do
		innet-ctl --json $at $v >out
		[ "$(wc -l <out)" -eq 1 ]
		jq -e 'type == "object"' out
	done
}

@test "innet-ctl joins the pages of a long text, also if the text changes meanwhile" {
	fake --page-bytes 7
	innet-ctl --json $at members | jq -e '.members | length == 4'
	fake --page-bytes 400 --changing 2
	innet-ctl --json $at members | jq -e '.members | length == 4'
	fake --page-bytes 400 --changing 1000
	refuses "stats: the answer changed while its pages were read, 5 times" innet-ctl $at stats
	fake --page-off 1
	refuses "stats: asked for page 0 of the answer, but got page 1 of 1" innet-ctl $at stats
	fake --page-bytes 9000
	python3 -c 'print("{\"counters\":{}%s}" % (" " * 2000))' >long
	fake --page-bytes 9000 --stats long
	refuses "stats: page 0 of the answer has 20.. bytes, more than 1400" innet-ctl $at stats
}

@test "members prints 70,000 members" {
	python3 -c 'import json; print(json.dumps({"members": [{"id": i} for i in range(70000)]}))' >many
	fake --members many
	[ "$(innet-ctl $at members | tail -n 1 | awk '{ print $1 }')" -eq 69999 ]
}

@test "innet-ctl refuses other JSON and never crashes" {
	while IFS= read -r text; do
		printf '%b' "$text" >text
		fake --members text --stats text
		refuses "members: .*" innet-ctl $at members
		refuses "stats: .*" innet-ctl $at stats
	done <<-'END'
	{"counters":{"a":NaN},"members":[NaN]}
	{"counters":{},"members":[]} more
	{"counters":{},"members":[]}\x00
	{"counters":{"a\nb":1},"members":["a\nb"]}
	{"counters":[],"members":{}}
	{"gauges":[1],"counters":{}}
	[]
	7
	\x00
	
	END
	python3 -c 'print("[" * 10000 + "]" * 10000)' >deep
	fake --members deep --stats deep
	refuses "members: the answer, of 20001 bytes, is not a JSON object" innet-ctl $at members
	refuses "stats: the answer, of 20001 bytes, is not a JSON object" innet-ctl $at stats
}

@test "impossible values are printed as a dash, and no text can disturb a terminal" {
	cat >text <<-'END'
	{"program":"a\u001b[2J\"\\\u009b\nz","job":{}, "jobs":[{"job":"\u001b[2J\u009b"}], "members":[7, [], {"id":"0","port":1e999,"address":"\u001b[2J\u00e9","missing":-1.5}],
	 "counters":{"\u001b[2J":1,"big":1e300,"text":"x","a b":3,"a-b":4,"null":null}}
	END
	fake --members text --stats text --jobs text
	for v in members jobs stats "stats --job 7 --prometheus"; do
		innet-ctl $at $v >out
		[ -z "$(tr -d ' -~\n' <out)" ]
	done
	[ "$(grep -c '^innet_job_a_b_total' out)" -eq 1 ]
	grep -qF 'program="a?[2J\"\\???z"' out
	[ "$(innet-ctl $at members | tail -n 1 | tr -s ' ')" = " - - ?[2J??:- - - - - -1.5" ]
}

@test "--prometheus prints only types and samples, with all digits" {
	fake
	innet-ctl $at stats --prometheus --job 7 >out
	run ! grep -vE '^(# TYPE [a-z_]+ (counter|gauge)|[a-z_]+\{job="7",program="iswitch"\} -?[0-9]+)$' out
	grep -q '^innet_job_added_total{job="7",program="iswitch"} 110$' out
	grep -q '^innet_job_not_a_name_total{.*} 9007199254740991$' out
	grep -q '^innet_job_filling{.*} -2$' out
}

@test "--prometheus without --job prints the counters of the switch and of each job" {
	fake
	innet-ctl $at stats --prometheus >out
	grep -q '^innet_switch_packets_total{program="iswitch"} 1000$' out
	[ "$(grep -c '^innet_job_added_total{' out)" -eq 2 ]
	grep -q '^innet_switch_up{program="iswitch"} 1$' out
	grep -q '^innet_switch_jobs{program="iswitch"} 2$' out
	[ -z "$(grep '^# TYPE' out | sort | uniq -d)" ]
	# all samples of a metric follow each other, below the line with its
	# type
	awk '/^# TYPE/ { name = $3; next } { sub(/\{.*/, ""); if ($0 != name) exit 1 }' out
}

@test "jobs prints a table of the keys that the program sends" {
	fake
	innet-ctl $at jobs >out
	[ "$(head -n 1 out)" = "iswitch, 2 jobs" ]
	[ "$(sed -n 2p out | xargs)" = "job kind h open present" ]
	[ "$(sed -n 4p out | xargs)" = "7 job 4 no 7" ]
	jq -n '{program: "toy", jobs: [[range(10) | {key: "k\(.)", value: (. + 1)}] | from_entries]}' >jobs
	fake --jobs jobs
	[ "$(innet-ctl $at jobs | tail -n 1 | xargs)" = "1 2 3 4 5 6 7 8 9 10" ]
}

@test "watch prints a block at each interval, with rates from the second block on" {
	fake
	start=$(date +%s%N)
	innet-ctl $at watch --job 1 -c 3 --interval 100ms >out
	took=$(($(date +%s%N) - start))
	[ "$(grep -c '^job 1, ' out)" -eq 3 ]
	[ "$(grep -c 'per s' out)" -eq 2 ]
	# 20 segments are added between two reports; the rate shows how many
	# seconds passed between them
	awk -v most=$took '$1 == "added" && NF == 3 { s += 20 / $3 }
		END { exit !(s > 0.099 && s < 1.01 * most / 1e9) }' out
	innet-ctl $at watch --json --job 1 -c 2 --interval 1ms | jq -s -e 'map(.stats.counters.added) | length == 2 and .[0] < .[1] '
	innet-ctl $at watch --json -c 2 --interval 1ms | jq -s -e 'map(.stats.counters.packets) | length == 2 and .[0] < .[1]'
	innet-ctl $at watch -c 1 | grep -q '^iswitch, 2 jobs$'
}

@test "watch redraws on a terminal, and ends with status 0 after an interrupt" {
	fake
	script -qc "innet-ctl $at watch -c 2 --interval 10ms" /dev/null >out </dev/null
	[ "$(grep -c $'\033\[H' out)" -eq 2 ]
	innet-ctl $at watch --interval 1h >again 3>&- &
	pids="$pids $!"
	await again
	kill -INT $!
	wait $!
}

@test "watch exits with status 1 if the switch dies; an interrupt ends a request by the signal" {
	fake
	innet-ctl --give-up 20ms $at watch --interval 1ms >out 2>err 3>&- &
	watch=$!
	await out
	kill $pids
	rc=0; wait $watch || rc=$?
	[ $rc -eq 1 ]
	grep -q 'no answer within 20 ms to 5 requests' err
	fake --lose 1000
	innet-ctl $at halt 3>&- &
	await log
	kill -TERM $!
	rc=0; wait $! || rc=$?
	[ $rc -eq 143 ]
}

@test "misuse is reported in one line, with status 2" {
	while IFS='|' read -r words why; do
		run -2 --separate-stderr innet-ctl $words
		[ -z "$output" ]
		[[ ${stderr_lines[0]} == "innet-ctl: $why"* ]]
	done <<-'END'
	|HOST:PORT is missing
	-|invalid address '-'
	:9|a verb is missing after :9; give one, such as jobs or stats
	:0 halt|:0: port 0 is not valid
	:9 dance|invalid verb 'dance': not one of jobs, members
	:9 ack|invalid verb 'ack'
	:9 set-h|set-h needs N
	:9 set-h 65536|invalid threshold '65536': too large
	:9 halt now|unexpected argument 'now'
	:9 set-h 3 4 5 6|unexpected argument '4'
	:9 help 12|invalid segment '12': not ITERATION:INDEX
	:9 help 16777216:0|invalid segment '16777216:0': too large
	:9 help 0:16777216|invalid segment '0:16777216': too large
	:9 help 0x12|invalid segment '0x12': not 0x and 16
	:9 fbcast :|invalid segment ':': not a number
	:9 join|join needs --vector
	:9 join --vector 9 --type queen|invalid type 'queen': not one of worker
	:9 halt --worker 1|--worker applies only to join
	:9 jobs --job 3|--job cannot be used with jobs
	:9 regroup 1|invalid worker '1': not CLUSTER/WORKER=CLUSTER
	:9 regroup 1/2=65536|invalid worker '1/2=65536': too large
	:9 members --prometheus|--prometheus applies only to stats
	:9 stats -c 1|--count applies only to watch
	:9 stats --json --prometheus|give --json or --prometheus, not both
	:9 halt --job 65536|invalid job '65536'
	:9 halt --give-up 0|invalid time '0'
	:9 halt --bind [::1]:0|--bind and HOST:PORT must both be IPv4
	END
}

@test "innet-ctl works over IPv6" {
	fake --v6
	[ "$(innet-ctl "[::1]:${at#*:}" set-h 3)" = "h was 4" ]
}

@test "innet-ctl reports a full disk" {
	[ -w /dev/full ] || skip "no /dev/full"
	fake
	for v in members stats "watch -c 1" "set-h 3"; do
		run -1 sh -c "innet-ctl $at $v >/dev/full"
		[[ $output == "innet-ctl: standard output: "* ]]
	done
}

@test "innet-ctl joins a job on a live switch, prints its state, sets H and leaves" {
	serve switch innet-switch -q -p iswitch -H 2 --key key
	ctl() { innet-ctl --key key "$switch" "$@"; }
	free=$(python3 -c 'import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	[[ $(ctl join --vector 1000 --bind :$free) == "member 0 of 1, h 2, next iteration 0, 1000 elements, "* ]]
	[[ $(ctl join --vector 1000 --worker 1) == "member 1 of 2, "* ]]
	ctl members --json | jq -e ".open and (.members | length == 2) and .members[0].port == $free"
	[ "$(ctl set-h 1)" = "h was 2" ]
	[ "$(ctl help 0:2 --bind :$free)" = "0:2: not complete; the switch has requested the missing contributions" ]
	ctl leave --bind :$free
	ctl members --json | jq -e '.members | length == 1 and .[0].worker == 1'
	run -1 --separate-stderr innet-ctl "$switch" reset
	[[ $stderr == *": reset: refused: bad MAC" ]]
	ctl stats --prometheus | grep -q '^innet_job_leaves_total{job="1",program="iswitch"} 1$'
}

@test "innet-ctl lists the clusters of a running queue, and moves a worker to another cluster and back" {
	serve ps innet-ps -q --write-in ps.pcap
	serve sw innet-switch -q --queue olaf --upstream "$ps" --rate 5Mbit
	for w in 7 8; do
		innet-worker -q --json --cluster 3 --worker $w --switch "$sw" --synthetic 1kB --interval 4ms --duration 60s >$w.json 3>&- &
		pids="$pids $!" workers="${workers-} $!"
	done
	clusters() { innet-ctl "$sw" jobs --json | jq -c '[.jobs[].job]'; }
	# models CLUSTER: wait until the server has updates of the cluster and
	# sends models
	models() { innet-ctl "$ps" jobs --json | jq -e --argjson c "$1" 'any(.jobs[]; .job == $c)'; }
	within 20 models 3
	[ "$(clusters)" = '[3]' ]
	run -1 --separate-stderr innet-ctl "$sw" regroup 3/7=3/8	# a model has been sent
	[ -z "$(innet-ctl "$sw" regroup 3/7=9/258)" ]
	within 20 models 9
	[ "$(clusters)" = '[3,9]' ]
	[ -z "$(innet-ctl "$sw" regroup 3/7=3)" ]
	kill $workers
	for w in $workers; do wait "$w"; done
	finish sw
	finish ps
	# models of the server's other cluster came back to the worker, under
	# the worker's own cluster
	jq -se 'all(.models > 0)' 7.json 8.json
	dumpolaf ps.pcap | awk '$2 == 1 { n[$3 "/" $4]++ } END { exit !(n["3/7"] && n["3/8"] && n["9/258"]) }'
}

@test "the switch answers an innet-ctl or a worker that reuses the port of an earlier one" {
	why=$(unshare -n ip link set lo up 2>&1) || skip "no namespace of our own: $why"
	cat >script <<-'END'
	ip link set lo up
	innet-switch -q -p iswitch $how -H 1 --listen :0 --port-file port &
	trap "kill $!" EXIT
	until [ -s port ]; do sleep 0.02; done
	at=:$(cat port)
	echo 40000 40003 >/proc/sys/net/ipv4/ip_local_port_range
	for i in 1 2 3 4 5 6; do
		innet-worker -q -p iswitch $how --worker 0 --switch $at --synthetic 40B --interval 1ms -c 1
		innet-ctl $at members >members
	done
	innet-ctl $at stats --json | jq -e '.counters.old_xid == 0'
	END
	how='' timeout 60 unshare -n bash -e script 3>&-
	rm port
	how=--async timeout 60 unshare -n bash -e script 3>&-
}

@test "set-h has the limits of -H" {
	serve switch innet-switch -q -p iswitch -H 5 --reduce trimmed:2
	innet-ctl "$switch" join --vector 9
	for h in 60000 4097 4; do
		refuses "set-h: refused: bad value: H must be at most 4096, and at least 2 N \+ 1 with --reduce trimmed:N" \
			innet-ctl "$switch" set-h $h
	done
	[ "$(innet-ctl "$switch" set-h 4096)" = "h was 5" ]
	run -2 innet-switch -p iswitch -H 4097
}
