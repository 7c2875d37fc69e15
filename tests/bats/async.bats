# Tests of live asynchronous workers (iSwitch, Algorithm 1) and of parameter
# servers that sum.
load common

# worker N [OPTION...]: start an asynchronous worker in the background
worker() {
	local n=$1
	shift
	innet-worker --json -p iswitch --async --switch "$at" --worker "$n" --every 10 "$@" \
		>w$n.json 2>w$n.err 3>&- &
	pids="$pids $!" workers="$workers $!"
	printf -v "w${n}_pid" %s "$!"
}

# Wait until all workers have ended, and check that each exits with status 0.
workers_end() {
	for p in $workers; do
		wait "$p"
	done
	workers=''
}

# agree N: check that no two workers report different checksums for a round, and
# that at least N workers report each of 10 rounds or more
agree() {
	cat w?.json | jq -se --argjson n "$1" 'map(select(.round)) | group_by(.round) |
		(map(select(map(.crc) | unique | length > 1)) | length) as $differ |
		(map(select(length >= $n)) | length) as $shared |
		{ $differ, $shared }, ($differ == 0 and $shared >= 10)'
}

sum() { tail -qn 1 w?.json | jq -s "map($1) | add"; }

@test "async: workers have the same weights after each round, even if 1 % of packets is lost" {
	serve at innet-switch -q -p iswitch --async -H 4 --impair loss=1%,dup=1%,reorder=1%
	for n in 0 1 2 3; do
		worker $n --synthetic 40kB --interval 4ms -c 300 --every 1 --impair loss=1%,dup=1%,reorder=1%
	done
	workers_end
	finish at
	agree 3
	[ "$(sum .probes_sent)" -gt 20 ]
	[ "$(sum .early)" -gt 0 ]
	[ "$(sum .duplicate)" -gt 20 ]
	tail -qn 1 w?.json | jq -es 'all(.gradients == 300 and .gradients == .sent + .discarded and
		.sent == .staleness_0 + .staleness_1 + .staleness_2 + .staleness_3)'
}

@test "async: with --staleness 0 workers discard and count every stale gradient" {
	serve at innet-switch -q -p iswitch --async -H 2
	worker 0 --staleness 0 --synthetic 4kB --interval 2ms -c 400
	worker 1 --staleness 0 --synthetic 4kB --interval 5ms -c 200
	workers_end
	finish at
	agree 2
	tail -qn 1 w?.json | jq -es 'all(.sent == .staleness_0 and .gradients == .sent + .discarded) and
		(map(.discarded) | add) > 50 and all(has("staleness_1") | not)'
	run -2 innet-worker -p iswitch --async --switch :1 --synthetic 4B --staleness 256
}

# Check that worker N has reported round R or a later one.
reached() { tail -n 1 "w$1.json" | jq -e ".round >= $2"; }

# Start workers 0 to 2 for up to 100 s, and wait until each has passed round
# 100.
three_at_work() {
	for n in 0 1 2; do
		worker $n --synthetic 40kB --interval 5ms --duration 100s
	done
	for n in 0 1 2; do within 20 reached $n 100; done
}

# counted NAME NUMBER: check a counter of the job on the switch
counted() { innet-ctl "$at" --job 1 stats --json | jq -e ".counters.$1 == $2"; }

@test "async: the others continue when a worker is killed, and a late worker catches up" {
	serve at innet-switch --json -p iswitch --async --member-timeout 2s
	three_at_work
	worker 3 --synthetic 40kB --interval 5ms --duration 100s
	kill -KILL "$w2_pid"
	wait "$w2_pid" || true
	within 30 counted evicted 1
	r=$(tail -n 1 w0.json | jq .round)
	within 30 reached 3 $((r + 400))
	kill -INT "$w0_pid" "$w1_pid" "$w3_pid"
	workers="$w0_pid $w1_pid $w3_pid"
	workers_end
	finish at
	agree 3
	[ "$(tail -n 1 w3.json | jq .probes_sent)" -gt 100 ]
	[ "$(head -n 1 w3.json | jq .round)" -eq 0 ]
	[ "$(tail -n 1 at.out | jq '.jobs["1"].counters.evicted')" -eq 1 ]
}

@test "async: a switch that was stopped for 3 seconds evicts no worker" {
	serve at innet-switch --json -p iswitch --async --member-timeout 1s
	three_at_work
	kill -STOP "$at_pid"
	sleep 3
	kill -CONT "$at_pid"
	r=$(tail -n 1 w0.json | jq .round)
	for n in 0 1 2; do within 30 reached $n $((r + 200)); done
	kill -INT "$w0_pid" "$w1_pid" "$w2_pid"
	workers_end
	finish at
	tail -n 1 at.out |
		jq -e '.deaf_ns > 2e9 and .jobs["1"].counters.evicted == 0'
}

@test "async: --pace holds a vector back, but the worker still sends its last gradient" {
	serve at innet-switch -q -p iswitch --async -H 1
	SECONDS=0
	worker 0 --pace 4M --synthetic 100kB --interval 1ms -c 5
	workers_end
	finish at
	[ "$SECONDS" -ge 1 ]
	[ "$(tail -n 1 w0.json | jq '.sent')" -eq 5 ]
}

@test "async: a worker joins a restarted switch again, from the round that it had reached" {
	serve at innet-switch -q -p iswitch --async -H 1
	worker 0 --synthetic 4kB --interval 2ms --give-up 5s
	results "$at" 60
	kill -KILL $at_pid
	wait $at_pid || true
	innet-switch -q -p iswitch --async -H 1 --listen "$at" 2>again.err 3>&- &
	pids="$pids $!" again=$!
	results "$at" 60
	kill -TERM "$w0_pid"
	wait "$w0_pid"
	kill $again
	wait $again
	tail -n 1 w0.json | jq -e '.joins >= 2 and .rounds > 0'
}

@test "async: the switch refuses a worker with other initial weights or without the key" {
	serve at innet-switch -q -p iswitch --async -H 2
	worker 0 --synthetic 36620B --interval 10ms
	for _ in $(seq 300); do innet-ctl "$at" members 2>&1 | grep -q worker && break; sleep 0.02; done
	run -1 --separate-stderr innet-worker -q -p iswitch --async --switch "$at" --worker 1 -- innet-agent -q
	[[ $stderr == "innet-worker: $at: job 1: refused: the other workers began with other weights; give all of them the same seed for the weights"* ]]
	kill "$w0_pid"
	workers_end
	finish at
	(umask 077; echo a secret of 16 bytes >key)
	serve at innet-switch -q -p iswitch --async --key key
	run -1 --separate-stderr innet-worker -q -p iswitch --async --switch "$at" --synthetic 4B
	[[ $stderr == *"job 1: refused: it accepts authenticated messages only; give this side its --key" ]]
	innet-worker -q -p iswitch --async --switch "$at" --key key --synthetic 4B --interval 1ms -c 10
	finish at
}

@test "async: a worker reports in time that no switch answers, or that no other worker joins" {
	run -1 --separate-stderr innet-worker -q -p iswitch --async --switch 127.0.0.1:9 --synthetic 4B --give-up 500ms
	[[ ${stderr_lines[-1]} == "innet-worker: 127.0.0.1:9: job 1: no answer to a Join after 0.5 s; is a switch running there?" ]]
	serve at innet-switch -q -p iswitch --async -H 2
	run -1 --separate-stderr innet-worker -q -p iswitch --async --switch "$at" --synthetic 4B --interval 10ms --give-up 500ms
	[[ ${stderr_lines[-1]} == "innet-worker: $at: job 1: round 0 of segment 0 did not arrive in 0.5 s; members that have joined: 1, contributions needed: 2" ]]
	finish at
}

@test "async: four agents learn CartPole with S = 3 and end with the same weights" {
	once training
	serve at innet-switch -q -p iswitch --async -H 4
	for n in 0 1 2 3; do
		worker $n --learning-rate 0.1 -- innet-agent -q --seed $((n + 1)) --init-seed 1 \
			--envs 8 --horizon 32 --norm 0.5 --solve --steps 2M --log log$n.csv
	done
	workers_end
	finish at
	agree 3
	for n in 0 1 2 3; do
		tail -n 100 log$n.csv | awk -F, '{ s += $3 } END { exit s / NR < 400 }'
	done
}

@test "ps --async: the server answers each worker separately, with the updates of the others" {
	serve at innet-ps --json -p iswitch --async -H 3
	for n in 0 1 2; do
		worker $n --synthetic 40kB --interval 4ms -c 100
	done
	workers_end
	finish at
	tail -n 1 at.out | jq -e '.jobs["1"].counters.results |
	    . > 200 * 28 and . % 28 == 0'
	tail -qn 1 w?.json | jq -es 'all(.rounds > 50)'
}

@test "ps --async: Help retrieves an answer that was lost" {
	serve at innet-ps -q -p iswitch --async -H 1 --json
	worker 0 --synthetic 4kB --interval 3ms -c 500
	workers_end
	finish at
	[ "$(tail -n 1 w0.json | jq .rounds)" -ge 490 ]
}

@test "ps -p iswitch: sums of whole vectors are correct, even if 1 % of packets is lost" {
	serve at innet-ps --json -p iswitch -H 3
	workers=''
	for n in 0 1 2; do
		innet-worker -q -p iswitch --check 3 --switch "$at" --worker $n --synthetic 40kB \
			--interval 0 -c 40 --impair loss=1% 2>s$n.err 3>&- &
		pids="$pids $!" workers="$workers $!"
	done
	workers_end
	finish at
	tail -n 1 at.out | jq -e '.jobs["1"].counters |
	    .results == 40 * 28 and .probes > 0'
	run -2 innet-ps -p iswitch --gate none
	run -2 innet-ps -H 3
}
