# Tests of mistakes that users make: after each, the tool ends or continues with
# one line that says what is wrong and what to type.
load common

# says TEXT OPTION...: check that innet-worker prints only a line that matches
# the pattern TEXT, and exits with status 1
says() {
	local text=$1
	shift
	run -1 --separate-stderr timeout 20 innet-worker -q --give-up 15s "$@"
	[[ $stderr == $text ]] || { echo "$stderr"; return 1; }
	[ "${#stderr_lines[@]}" -eq 1 ]
}

# made OPTION...: run a worker with a synthetic gradient of 4 kB
made() { says "$1" --synthetic 4kB -c 30 "${@:2}"; }

# refused WHAT OPTION...: check that the switch or server at $switch refuses the
# worker for the reason WHAT
refused() { made "innet-worker: $switch: $1" --switch "$switch" "${@:2}"; }

@test "a worker explains that another program runs at the other end" {
	local in='-p iswitch --worker 0'
	serve ps innet-ps -q
	switch=$ps refused 'job 1: refused: it runs program olaf, and this side runs iswitch; give both the same --program' $in
	serve olaf innet-switch -q --upstream "$ps"
	switch=$olaf refused 'job 1: refused: it runs program olaf, and this side runs iswitch; give both the same --program' $in
	serve switch innet-switch -q -p iswitch -H 1
	refused 'refused: it runs program iswitch, and this worker runs olaf; give both the same --program'
	serve rack innet-switch -q -p iswitch --parent "$olaf" --number 1
	switch=$rack refused "job 1: refused: it runs program olaf at its parent $olaf, and this side runs iswitch; give both the same --program" $in
}

@test "a worker explains that one side is synchronous and the other asynchronous" {
	serve switch innet-switch -q -p iswitch -H 1
	refused 'job 1: refused: the switch sums synchronously; start innet-worker without --async' \
		-p iswitch --async --worker 0
	serve switch innet-switch -q -p iswitch -H 1 --async
	refused 'job 1: refused: the switch sums asynchronously; start innet-worker with --async' \
		-p iswitch --worker 0
}

@test "a worker explains that its segments, vectors or weights differ from those of the job" {
	serve switch innet-switch -q -p iswitch -H 2
	innet-worker -q -p iswitch --switch "$switch" --worker 0 -w w0.pcap -- \
		innet-agent -q --init-seed 1 2>w0 3>&- &
	pids="$pids $!"
	await w0.pcap
	refused 'job 1: refused: its vectors have 9155 elements, 366 in a segment; the vector of this worker has 1000' \
		-p iswitch --worker 1
	says "innet-worker: $switch: job 1: refused: its segments have 366 floats, and those of this worker 100" \
		--switch "$switch" -p iswitch --worker 1 --floats 100 --synthetic 36620B
	says "innet-worker: $switch: job 1: refused: the other workers began with other weights; give all of them the same seed for the weights" \
		--switch "$switch" -p iswitch --worker 1 -- innet-agent -q --init-seed 2
}

@test "errors explain that a cluster has two vector lengths, or two divisions into packets" {
	serve switch innet-ps -q
	innet-worker -q --switch "$switch" --synthetic 4kB -c 3
	says "innet-worker: $switch: cluster 1 has vectors of 1000 elements, and this worker has 2000; give each vector length its own --cluster" \
		--switch "$switch" --worker 1 --synthetic 8kB
	grep "^innet-ps: .*: cluster 1: vectors of worker 1 have 2000 elements, 2000 in a packet, but those of the cluster have 1000, 1000 in a packet$" switch.err
	refused 'cluster 1 has packets of 1000 elements; give all its workers the same --mtu' --mtu 700
}

@test "errors explain that only one end has a key, or that the keys differ" {
	(umask 077; echo one of 16 bytes >one)
	(umask 077; echo two of 16 bytes >two)
	serve switch innet-switch -q -p iswitch -H 1 --key one
	for more in '' --async; do
		refused 'job 1: refused: it accepts authenticated messages only; give this side its --key' \
			-p iswitch --worker 0 $more
		refused 'job 1: it has another key; give both the same --key' \
			-p iswitch --worker 0 --key two --give-up 300ms $more
	done
	serve switch innet-switch -q -p iswitch -H 1
	refused 'job 1: its answers are not authenticated; give both the same --key' -p iswitch --worker 0 --key one --give-up 300ms
	why='its answers are not authenticated; give both the same --key'
	why="no valid answer to a Join for [0-9.]+ s; $why"
	goes_on "$switch: job 1: $why" -p iswitch --worker 0 \
		--switch "$switch" --key one
}

@test "errors explain that there is no room for a job" {
	serve switch innet-switch -q -p iswitch -H 1 --memory 1MB
	says "innet-worker: $switch: job 1: refused: no room: * MB more than the 1.0 MB that it may take; raise its --memory" \
		--switch "$switch" -p iswitch --worker 0 --synthetic 4MB
}

@test "errors explain that two workers have the same number" {
	serve switch innet-switch -q -p iswitch -H 3
	innet-worker -q -p iswitch --switch "$switch" --worker 5 --synthetic 4kB 2>w0 3>&- &
	pids="$pids $!" first=$!
	for _ in $(seq 200); do innet-ctl "$switch" members --json | jq -e '.members | length == 1' && break; sleep 0.02; done
	innet-worker -q -p iswitch --switch "$switch" --worker 5 --synthetic 4kB 2>w1 3>&- &
	pids="$pids $!"
	if wait $first; then false; fi
	[[ $(tail -n 1 w0) == "innet-worker: $switch: job 1: refused: --worker 5 is also used by 127.0.0.1:"*", which joined later; give each its own number" ]]
}

# goes_on PATTERN OPTION...: check that the worker prints a line that matches
# within two seconds, and that it continues to wait
goes_on() {
	local text=$1
	shift
	innet-worker -q --give-up 15s --synthetic 4kB "$@" 2>waits 3>&- &
	pids="$pids $!" waits=$!
	for _ in $(seq 200); do ! grep -qE "^innet-worker: $text$" waits || break; sleep 0.02; done
	grep -E "^innet-worker: $text$" waits
	kill -0 $waits
	kill $waits
	wait $waits || true
}

@test "errors explain that the parent or the server behind a switch is down" {
	serve switch innet-switch -q -p iswitch -H 1 --parent 127.0.0.1:9 --number 1
	goes_on "$switch: job 1: the parent 127.0.0.1:9 of this switch has not answered for [0-9.]+ s" \
		-p iswitch --worker 0 --switch "$switch"
	serve below innet-switch -q -p iswitch -H 1 --parent "$switch" --number 1
	goes_on "$below: job 1: the parent 127.0.0.1:9 of this switch has not answered for [0-9.]+ s" \
		-p iswitch --worker 0 --switch "$below"
	serve switch innet-switch -q --upstream 127.0.0.1:9
	goes_on "$switch: no model of cluster 1 for [0-9.]+ s; the switch has received none; is the server at its --upstream running\?" \
		--switch "$switch"
}

@test "errors explain that no switch or server answers" {
	goes_on '127.0.0.1:9: job 1: no answer to a Join for [0-9.]+ s; is a switch running there\?' \
		-p iswitch --worker 0 --switch 127.0.0.1:9
	goes_on '127.0.0.1:9: no model of cluster 1 for [0-9.]+ s; is a switch or server running there\?' \
		--switch 127.0.0.1:9
}

@test "errors explain that the other workers have not joined, or hang" {
	serve switch innet-switch -q -p iswitch -H 2
	goes_on "$switch: job 1: no result of iteration 0 for [0-9.]+ s; the job has not started: 1 of 2 members have joined" \
		-p iswitch --worker 0 --switch "$switch"
	finish switch
	serve switch innet-switch -q -p iswitch -H 2
	innet-worker -q -p iswitch --switch "$switch" --worker 3 --synthetic 4kB --interval 1ms 2>w3 3>&- &
	pids="$pids $!" hangs=$!
	( results "$switch" 10; kill -STOP $hangs ) 3>&- &
	goes_on "$switch: job 1: no result of iteration [0-9]+ for [0-9.]+ s; missing: worker 3 \(127.0.0.1:[0-9]+\), last heard [0-9.]+ s ago" \
		-p iswitch --worker 0 --switch "$switch" --interval 1ms
	kill -CONT $hangs
}

@test "errors explain that the hello of a stream declares the opposite direction of gradients" {
	cat >down.py <<-'END'
	import numpy, innet_stream
	with innet_stream.Stream(numpy.zeros(10, 'f4'), gradients='down') as stream:
	    stream.mean(numpy.ones(10, 'f4'))
	END
	serve switch innet-switch -q -p iswitch -H 1 --async
	python numpy
	says "innet-worker: $py: the hello of this command says that gradients point down; leave out --maximize" \
		-p iswitch --async --maximize --worker 0 --switch "$switch" -- "$py" down.py
}

@test "a gradient that is not finite names the likely causes" {
	cat >nan.py <<-'END'
	import numpy, innet_stream
	with innet_stream.Stream(numpy.zeros(10, 'f4')) as stream:
	    stream.mean(numpy.full(10, float('nan'), 'f4'))
	END
	python numpy
	serve switch innet-switch -q -p iswitch -H 1
	says "innet-worker: $py: offset *: a value that is not finite; does training diverge because of its learning rate, or --maximize\?" \
		-p iswitch --worker 0 --switch "$switch" -- "$py" nan.py
}

@test "errors explain that a command writes no gradient stream, or ends before a gradient" {
	serve switch innet-switch -q -p iswitch -H 1
	in="--switch $switch -p iswitch --worker 0"
	says 'innet-worker: sh: offset 0: "Loading data" is not a message of a gradient stream; print such text to standard error' \
		$in -- sh -c 'echo Loading data; exec innet-agent -q'
	says 'innet-worker: sh: offset 0: "hi" is not a message of a gradient stream; print such text to standard error' \
		$in -- sh -c 'echo hi; sleep 1'
	says 'innet-worker: true: nothing was sent, because there was no gradient' $in -- true
	innet-worker -q $in -- innet-agent -q --steps 20
	run -1 --separate-stderr innet-worker -q --switch 127.0.0.1:9 --synthetic 4kB -c 2
	[[ $stderr == *'innet-worker: 127.0.0.1:9: nothing was sent, because no model has arrived' ]]
}

@test "an error explains that a synchronous worker needs its own number" {
	run -2 --separate-stderr innet-worker -p iswitch --switch :9 --synthetic 4B
	[ "$stderr" = "innet-worker: --worker is missing: in a synchronous job give each worker its own number, from 0 on, or auto" ]
}
