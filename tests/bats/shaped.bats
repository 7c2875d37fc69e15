# Tests of vectors that are longer than the queues of the links on their path.
load common

PATH=$testbed:$PATH

teardown() { end_all; end_testbed; }

# rack HOST TOOL...: build a rack whose links have 50 Mbit/s and a queue of 0.7
# MB, and start a tool on a host
rack() {
	privileged
	export INNET_TESTBED=$(testbed.sh up rack -n 3 --rate 50mbit --queue 700000 --owner $$)
	local host=$1 addr
	shift
	addr=$(testbed.sh addr "$host")
	testbed.sh exec "$host" "$@" --json -H 3 --insecure --listen "$addr:0" --port-file port \
		2>tool.err >tool.out 3>&- &
	pids=$! tool=$!
	await port
	at=$addr:$(cat port)
}

# workers MODE ROUNDS: run three workers with vectors of 600 kB
workers() {
	local w all=''
	for w in 0 1 2; do
		testbed.sh exec w$w innet-worker --json -p iswitch $1 --switch "$at" \
			--worker $w --synthetic 600kB --interval 0 -c "$2" >w$w.json 3>&- &
		all="$all $!"
	done
	pids="$pids $all"
	for w in $all; do
		wait "$w"
	done
	kill $tool
	wait $tool
	tail -qn 1 w?.json tool.out
}

# each FILTER: check that the filter is true for every worker's summary
each() { tail -qn 1 w?.json | jq -es "all($1)"; }

@test "a server of sums: packets that its queue lost are repaired in runs, not one for each time-out" {
	rack server innet-ps -p iswitch
	workers '' 4
	# at the start three vectors, 1.8 MB, are sent at once: a third or more
	# is lost
	each '.iterations == 4 and .missed == 0 and .timeouts <= 60'
	[ "$(tail -qn 1 w?.json | jq -s 'map(.retransmitted) | add')" -gt 150 ]
	[ "$(tail -n 1 tool.out | jq .send_failed)" -eq 0 ]
}

@test "an asynchronous server: every vector and every answer arrives completely" {
	rack server innet-ps -p iswitch --async
	workers --async 4
	each '.sent == 4 and .rounds >= 3'
	[ "$(tail -n 1 tool.out | jq ".jobs[\"1\"].counters.incomplete")" -eq 0 ]
}

@test "a synchronous switch completes its rounds" {
	rack switch innet-switch -p iswitch
	workers '' 4
	each '.iterations == 4 and .missed == 0 and .send_failed == 0'
}

@test "an asynchronous switch: no worker pushes much faster than rounds complete" {
	rack switch innet-switch -p iswitch --async
	workers --async 12
	each '.sent + .discarded == 12 and .rounds >= 3'
	[ "$(tail -n 1 tool.out | jq '.jobs["1"].counters.early')" -eq 0 ]
}
