# Tests of synchronous workers on an aggregation switch, on loopback.
load common

# job N [OPTION...]: start a switch for N members
job() {
	local n=$1
	shift
	serve switch innet-switch -p iswitch -H "$n" --json "$@"
}

# work W [OPTION...]: start synthetic worker W in the background; wW gets its
# summary
work() {
	local w=$1
	shift
	innet-worker -p iswitch --switch "$switch" --worker "$w" --interval 0 --duration 2min --json "$@" \
		>"w$w" 3>&- &
	pids="$pids $!" works="$works $!"
}

# together N OPTION...: run workers 0 ... N-1 with the same options until they
# end
together() {
	local n=$1 w
	shift
	works=''
	rm -f w[0-9]
	for ((w = 0; w < n; w++)); do work $w "$@"; done
	for w in $works; do wait "$w"; done
}

teardown() {
	local n
	end_all
	for n in ${nets-}; do ip netns del "$n" 2>/dev/null || true; done
}

# fails PID: check that the process exits with status 1
fails() {
	local rc=0
	wait "$1" || rc=$?
	[ $rc -eq 1 ]
}

# sum KEY: print the sum of a figure over the workers' summaries
sum() { tail -qn 1 w[0-9] | jq -s "map(.$1) | add"; }

@test "sums are correct at lengths 1, F-1, F, F+1, and for the four models" {
	for size in 4B 1460B 1464B 1468B 40020B 157520B 3310000B 6410000B; do
		job 4 -q
		together 4 --synthetic $size --check 4 -c 10
		[ "$(sum iterations)" -eq 40 ]
		[ "$(sum missed)" -eq 0 ]
		finish switch
	done
}

@test "sums are correct for 1 to 8 workers, and in the largest packets" {
	for n in 1 2 3 5 8; do
		job $n -q
		together $n --synthetic 20kB --check $n -c 100
		[ "$(sum iterations)" -eq $((n * 100)) ]
		finish switch
	done
	job 2 -q
	together 2 --synthetic 400kB --check 2 -c 50 --floats max
	[ "$(sum segments_sent)" -eq $((2 * 50 * 7)) ]
	finish switch
}

# explained: check that the switch's last summary counts every segment under
# exactly one reason
explained() {
	tail -n 1 switch.out | jq -e '.jobs["1"].counters | .segments == .added + .duplicate + .late + .early +
		.resent + .stale + .mismatched + .halted + .no_memory and .segments > 0'
}

@test "four workers complete 10,000 iterations with loss, repeats and delay in both directions" {
	for loss in 0.1%-10000 1%-10000 5%-2000; do
		bad=loss=${loss%-*},dup=1%,reorder=1%
		job 4 --impair $bad
		n=$(few ${loss#*-})
		together 4 --synthetic 4kB --check 4 -c $n --impair $bad
		[ "$(sum iterations)" -eq $((4 * n)) ]
		[ "$(sum missed)" -eq 0 ]
		[ "$(sum probes_sent)" -gt 0 ]
		finish switch
		explained
	done
}

@test "sums are also correct without UDP_SEGMENT and UDP_GRO" {
	job 3 -q --no-offload --spin 50us
	together 3 --synthetic 100kB --check 3 -c 50 --no-offload --spin 50us
	[ "$(sum iterations)" -eq 150 ]
	finish switch
}

@test "if a worker never joins, the others report this and end" {
	job 3 -q
	works=''
	work 0 --synthetic 4kB -c 10 --give-up 500ms
	run -1 --separate-stderr innet-worker -q -p iswitch --switch "$switch" --worker 1 --synthetic 4kB \
		--give-up 500ms
	[ "$stderr" = "innet-worker: $switch: job 1: no result for segment 0 of iteration 0 in 0.5 s; the job has not started: 2 of 3 members have joined" ]
	fails $works
	finish switch
}

@test "if a worker is killed while it sends a vector, the others name it" {
	job 2 -q
	works=''
	work 7 --synthetic 1MB
	killed=$works
	innet-worker -q -p iswitch --switch "$switch" --worker 1 --synthetic 1MB --interval 0 --give-up 700ms \
		--duration 1min 2>w1.err 3>&- &
	pids="$pids $!" works=$!
	for _ in $(seq 300); do innet-ctl "$switch" --job 1 stats --json 2>&1 | jq -e '.counters.results > 1000' && break; done
	kill -KILL $killed
	fails $works
	[[ $(cat w1.err) == "innet-worker: $switch: job 1: no result for segment "*" in 0.7 s; missing: worker 7 (127.0.0.1:"*"), last heard "*" s ago" ]]
	finish switch
}

@test "workers join a switch that was killed and restarted, and continue" {
	job 3 -q
	port=${switch#*:}
	works=''
	for w in 0 1 2; do work $w --synthetic 40kB --check 3 -c 8000 -w w$w.pcap; done
	for _ in 1 2 3; do
		for ((size = $(stat -c %s w0.pcap 2>/dev/null || echo 0), k = 0; k < 500; k++)); do
			[ "$(stat -c %s w0.pcap 2>/dev/null || echo 0)" -le $((size + 1000000)) ] || break
			sleep 0.02
		done
		kill -KILL "$switch_pid"
		wait "$switch_pid" || true
		innet-switch -q -p iswitch -H 3 --listen "127.0.0.1:$port" 2>/dev/null 3>&- &
		switch_pid=$!
		pids="$pids $!"
	done
	for w in $works; do wait "$w"; done
	[ "$(sum iterations)" -eq 24000 ]
	[ "$(sum joins)" -ge 6 ]
	finish switch
}

@test "without a switch, the error names its address and the request" {
	run -1 --separate-stderr innet-worker -q -p iswitch --worker 0 --switch 127.0.0.1:9 --job 5 --synthetic 64B --give-up 300ms
	[[ $stderr == *"innet-worker: 127.0.0.1:9: job 5: no answer to a Join after 0.3 s; is a switch running there?" ]]
}

@test "a worker with the key works, and a worker without it or with another one has no effect" {
	(umask 077; echo a secret of 16 bytes >key)
	(umask 077; echo another of 16 bytes >wrong)
	job 2 -q --key key
	together 2 --synthetic 4kB --check 2 -c 50 --key key
	run -1 --separate-stderr innet-worker -q -p iswitch --worker 0 --switch "$switch" --synthetic 4kB
	[ "$stderr" = "innet-worker: $switch: job 1: refused: it accepts authenticated messages only; give this side its --key" ]
	run -1 --separate-stderr innet-worker -q -p iswitch --worker 0 --switch "$switch" --synthetic 4kB --key wrong --give-up 300ms
	[[ $stderr == *": job 1: it has another key; give both the same --key" ]]
	finish switch
}

@test "a vector of another length is refused, and the error gives the job's length" {
	job 2 -q
	works=''
	work 0 --synthetic 4kB -w w0.pcap
	await w0.pcap
	run -1 --separate-stderr innet-worker -q -p iswitch --switch "$switch" --worker 1 --synthetic 8kB
	[ "$stderr" = "innet-worker: $switch: job 1: refused: its vectors have 1000 elements, 366 in a segment; the vector of this worker has 2000" ]
	finish switch
}

@test "an error names the mode of the switch and the option that suits it" {
	wrong_mode() {
		run -1 --separate-stderr innet-worker -q -p iswitch $1 --worker 0 --switch "$switch" --synthetic 4kB
		[ "$stderr" = "innet-worker: $switch: job 1: refused: the $2; start innet-worker with${1:+out} --async" ]
	}
	job 2 -q --async
	wrong_mode '' "switch sums asynchronously"
	finish switch
	job 2 -q
	wrong_mode --async "switch sums synchronously"
	finish switch
	serve switch innet-ps -q -p iswitch --async -H 2
	wrong_mode '' "server sums asynchronously"
	finish switch
}

@test "a signal ends the worker, which sends Leave to the switch; its status is 0" {
	job 1
	works=''
	work 0 --synthetic 4kB -w w0.pcap
	await w0.pcap
	kill -TERM $works
	wait $works
	finish switch
	[ "$(tail -1 switch.out | jq '.jobs["1"].counters.leaves')" -eq 1 ]
}

@test "the capture of a worker has all packets: Join, segments, results, Leave" {
	job 1 -q
	together 1 --synthetic 1468B -c 3 -w w.pcap
	finish switch
	tshark -r w.pcap -T fields -e ip.dsfield -e udp.srcport -e udp.length -e data.data 2>/dev/null |
		awk -v s="${switch#*:}" '{ print $1, $2 == s ? "down" : "up", $3, substr($4, 1, 2) }' >got
	diff - <<-E <(awk '$1 != "0x0c" || NR < 3 || $4 == "02"' got)
		0x0c up 39 01
		0x0c down 41 08
		$(for _ in 1 2 3; do printf '%s\n' "0x1c up 1480 00" "0x1c up 20 00" "0x1c down 1480 00" "0x1c down 20 00"; done)
		0x0c up 16 02
	E
}

# Write a child that contributes its own number and prints the sums that it
# gets.
child() {
	cat >child.py <<-'E'
		import json, os, struct, sys, time
		HEAD = struct.Struct('<4sHHIfQII')
		me, n, count, pause = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
		def say(kind, body=b'', iteration=0):
		    size = len(body) if kind == 1 else len(body) // 4
		    sys.stdout.buffer.write(HEAD.pack(b'INET', kind, 0, size, 0, iteration, 1, 0) + body)
		    sys.stdout.buffer.flush()
		def get():
		    head = sys.stdin.buffer.read(32)
		    if len(head) < 32: sys.exit(0)
		    _, kind, flags, size, _, iteration, count, stale = HEAD.unpack(head)
		    return kind, flags, iteration, count, stale, sys.stdin.buffer.read(size if kind == 1 else 4 * size)
		log = open(f'got{me}', 'w')
		say(1, json.dumps({'elements': n}).encode())
		say(4, bytes(4 * n))
		print('hello', json.loads(get()[5])['mode'], file=log, flush=True)
		at = 0
		for _ in range(count):
		    time.sleep(pause)
		    say(2, struct.pack(f'<{n}f', *[me + 1] * n), at)
		    more = True
		    while more:
		        kind, flags, at, contributions, stale, body = get()
		        more = flags & 4
		        print(at, flags, contributions, stale, set(struct.unpack(f'<{n}f', body)), file=log, flush=True)
		say(5)
	E
}

@test "children get the sums in order" {
	job 2 -q
	child
	works=''
	for w in 0 1; do
		innet-worker -q -p iswitch --switch "$switch" --worker $w -- python3 child.py $w 1000 5 0 2>w$w 3>&- &
		works="$works $!" pids="$pids $!"
	done
	for w in $works; do wait "$w"; done
	for w in 0 1; do
		diff got$w - <<-E
			hello sync
			$(for i in 1 2 3 4 5; do echo "$i 0 2 0 {3.0}"; done)
		E
	done
	finish switch
}

@test "a slow child gets every result, with partial ones marked, and its late gradients count as missed" {
	job 2 -q --straggler 5ms
	child
	innet-worker --json -p iswitch --switch "$switch" --worker 1 -- python3 child.py 1 10 4 0.2 >w1 3>&- &
	pids="$pids $!" slow=$!
	await got1
	innet-worker -q -p iswitch --switch "$switch" --worker 0 -- python3 child.py 0 10 100 0.005 2>w0 3>&- &
	pids="$pids $!"
	wait $slow
	# each iteration comes once and in order, and some announce that more
	# will follow
	diff <(tail -n +2 got1 | cut -d' ' -f1) <(seq $(($(wc -l <got1) - 1)))
	grep -q '^[0-9]* 6 1 [0-9]* {1.0}$' got1
	[ "$(jq .missed w1)" -ge 5 ]
	[ "$(jq .partial w1)" -ge 5 ]
	finish switch
}

@test "the agents of a synchronous job keep the same weights, bit for bit" {
	job 3 -q --reduce ordered
	works=''
	for w in 0 1 2; do
		innet-worker -q -p iswitch --switch "$switch" --worker $w -- innet-agent -q --seed $w --init-seed 9 \
			--steps 6400 --save p$w 2>w$w 3>&- &
		works="$works $!" pids="$pids $!"
	done
	for w in $works; do wait "$w"; done
	cmp p0 p1
	cmp p0 p2
	finish switch
}

@test "with --reduce ordered, repeated training runs are the same" {
	for again in a b; do
		job 2 -q --reduce ordered
		works=''
		for w in 0 1; do
			innet-worker -q -p iswitch --switch "$switch" --worker $w -- innet-agent -q --seed $w \
				--init-seed 9 --steps 6400 --log $again$w --save $again 2>w$w 3>&- &
			works="$works $!" pids="$pids $!"
		done
		for w in $works; do wait "$w"; done
		finish switch
	done
	cmp a b
	cmp <(cut -d, -f1-3 a0) <(cut -d, -f1-3 b0)
	cmp <(cut -d, -f1-3 a1) <(cut -d, -f1-3 b1)
}

@test "a worker whose initial weights differ from the job's is refused" {
	job 2 -q
	works=''
	innet-worker -q -p iswitch --switch "$switch" --worker 0 -w w0.pcap -- innet-agent -q --init-seed 1 2>w0 3>&- &
	pids="$pids $!"
	await w0.pcap
	run -1 --separate-stderr innet-worker -q -p iswitch --switch "$switch" --worker 1 -- innet-agent -q --init-seed 2
	[[ $stderr == "innet-worker: $switch: job 1: refused: the other workers began with other weights; give all of them the same seed for the weights"* ]]
	finish switch
}

@test "with --multicast a result leaves once for all workers of the subnet" {
	for trust in '' "--key key"; do
		head -c 32 /dev/urandom >key
		chmod 600 key
		job 4 -q --multicast 239.77.0.2 --report switch.json $trust
		# the last size lands in place
		for size in 4B 40020B 630000B; do
			together 4 --synthetic $size --check 4 -c 60 $trust
			jq -se 'all(.iterations == 60 and .missed == 0 and .bad_proof == 0)' w[0-3]
		done
		finish switch
		# the first results may leave before all have joined the group
		jq -e '.shared > 0.5 * .jobs["1"].counters.results' switch.json
	done
}

@test "with --multicast a worker that is alone gets its own copy" {
	job 1 -q --multicast 239.77.0.2 --report switch.json
	together 1 --synthetic 40kB --check 1 -c 30
	finish switch
	jq -e '.shared == 0' switch.json
}

@test "with --multicast workers outside the subnet get their own copies" {
	[ "$(id -u)" -eq 0 ] || skip 'only root can create network namespaces'
	local n w=0 ns=mc$$ at=10.1.0.1:4000
	nets="${ns}s ${ns}b ${ns}c"
	for n in $nets; do
		ip netns add "$n" || skip 'no network namespaces here'
		ip -n "$n" link set lo up
	done
	for n in b c; do
		ip -n "$ns$n" link add eth0 type veth peer name "to$n" netns "${ns}s"
		ip -n "$ns$n" link set eth0 up
		ip -n "${ns}s" link set "to$n" up
	done
	ip -n "${ns}s" addr add 10.1.0.1/24 dev tob
	ip -n "${ns}s" addr add 10.2.0.1/24 dev toc
	ip -n "${ns}b" addr add 10.1.0.2/24 dev eth0
	ip -n "${ns}c" addr add 10.2.0.2/24 dev eth0
	ip -n "${ns}c" route add default via 10.2.0.1
	ip netns exec "${ns}s" innet-switch -q -p iswitch -H 4 --insecure --listen $at --port-file port \
		--multicast 239.77.0.1 --report switch.json 3>&- &
	pids="$pids $!" switch_pid=$! works='' switch=$at
	await port
	for n in b b c c; do
		ip netns exec "$ns$n" innet-worker -p iswitch --switch $at --worker $w --synthetic 40kB \
			--check 4 --interval 0 -c 100 --json >w$w 3>&- &
		pids="$pids $!" works="$works $!" w=$((w + 1))
	done
	for n in $works; do wait "$n"; done
	finish switch
	jq -se 'all(.iterations == 100 and .missed == 0)' w[0-3]
	jq -e '.shared > 0.5 * .jobs["1"].counters.results' switch.json
}

@test "--multicast is refused where the group has no subnet or waits for links" {
	run -2 innet-switch -p iswitch --insecure --listen 0.0.0.0:0 --multicast 239.1.2.3
	[[ "$output" = *'--multicast needs an address in --listen, as in --listen 10.0.0.1'* ]]
	run -2 innet-switch -p iswitch --listen 127.0.0.1:0 --rate 1M --multicast 239.1.2.3
	[[ "$output" = *'--multicast cannot be used with --rate or --port'* ]]
	run -1 innet-switch -p iswitch --listen '[::1]:0' --multicast '[ff15::77]'
	[[ "$output" = *'the group cannot be reached from [::1]:'* ]]
}
