# Tests of live workers, a switch and a server on loopback.
load common

# synth CLUSTER WORKER [OPTION...]: start a synthetic worker in the background
synth() {
	local c=$1 w=$2
	shift 2
	innet-worker -q --switch "$switch" --cluster "$c" --worker "$w" "$@" 2>w$c$w.err 3>&- &
	pids="$pids $!" synths="$synths $!"
}

# finish NAME: end a live tool as a user would
finish() {
	local pid=${1}_pid
	kill -TERM "${!pid}"
	wait "${!pid}"
}

# load4 QUEUE: run nine workers that send four times the rate of the link
load4() {
	serve ps innet-ps -q --write-in ps.pcap
	serve switch innet-switch -q --queue "$1" --upstream "$ps" --rate 5Mbit --slots 6 \
		--write-in in.pcap -w out.pcap --report live.json
	synths=''
	for c in 1 2 3; do for w in 0 1 2; do
		synth $c $w --synthetic 1kB --interval 4ms -c 1112
	done; done
	wait $synths
	finish switch
	finish ps
}

# same_counters A B: check that all counters of two reports are equal, for every
# cluster
same_counters() {
	diff <(jq -S '[.totals, .clusters, .merged_histogram]' "$1") \
		<(jq -S '[.totals, .clusters, .merged_histogram]' "$2")
}

# close_counters A B: check that deliveries, merges and drops differ by less
# than 2 % of the arrivals
close_counters() {
	jq -se 'map(.totals) | .[0].arrived.constituents as $n | [.[0], .[1]] |
		[("delivered", "aggregated", "dropped_full") as $k |
		map(.[$k].packets) | (.[0] - .[1]) / $n | fabs] | max < 0.02' "$1" "$2"
}

@test "Olaf: from the captures, the filter repeats the work of the live switch" {
	load4 olaf
	[ "$(count live.json arrived)" -gt 5000 ]
	innet-switch -q -r in.pcap -w a.pcap --rate 5Mbit --slots 6 --departures out.pcap --report a.json
	same_counters live.json a.json
	innet-switch -q -r in.pcap -w b.pcap --rate 5Mbit --slots 6 --report b.json
	close_counters live.json b.json
	[ "$(jq .departures_differ a.json)" -eq 0 ]
	[ "$(dumpolaf ps.pcap | grep -c ' 1 [123] ')" -gt 0 ]
}

@test "FIFO: the filter repeats the work of the live switch, which drops about three quarters" {
	load4 fifo
	innet-switch -q --queue fifo -r in.pcap -w a.pcap --rate 5Mbit --slots 6 --departures out.pcap --report a.json
	same_counters live.json a.json
	innet-switch -q --queue fifo -r in.pcap -w b.pcap --rate 5Mbit --slots 6 --report b.json
	close_counters live.json b.json
	jq -e '.totals | .dropped_full.constituents / .arrived.constituents | . > 0.6 and . < 0.85' live.json
}

@test "the filter repeats runs of packets that arrive and leave, update by update" {
	serve ps innet-ps -q
	serve switch innet-switch -q --upstream "$ps" --rate 1G --slots 64 \
		--write-in in.pcap -w out.pcap --report live.json
	synths=''
	for w in 0 1 2; do
		synth 1 $w --synthetic 80kB --mtu 1500 --interval 2ms -c 300
		synth 2 $w --synthetic 90kB --mtu 1500 --interval 2ms -c 300
	done
	for w in $synths; do	# on a busy machine a worker may get no model
		wait "$w" || grep -h 'nothing was sent' w??.err
	done
	finish switch
	finish ps
	[ "$(count live.json arrived)" -gt 10000 ]
	innet-switch -q -r in.pcap -w a.pcap --rate 1G --slots 64 --departures out.pcap --report a.json
	same_counters live.json a.json
	[ "$(jq .departures_differ a.json)" -eq 0 ]
	diff <(dumpolaf out.pcap | awk '$2 == 1') <(dumpolaf a.pcap | awk '$2 == 1')
}

@test "packets leave the live switch with correct checksums and its address" {
	serve ps innet-ps -q --write-in ps.pcap
	serve switch innet-switch -q --upstream "$ps" --write-in in.pcap -w out.pcap
	innet-worker -q --switch "$switch" --synthetic 40kB --interval 5ms -c 100
	finish switch
	finish ps
	[ "$(tshark -r out.pcap -o udp.check_checksum:TRUE -T fields -e udp.checksum.status 2>/dev/null | sort -u)" = 1 ]
	[ "$(tshark -r ps.pcap -T fields -e udp.srcport 2>/dev/null | sort -u)" = "$(cat switch.port)" ]
	[ "$(dumpolaf ps.pcap | awk '$2 == 1' | wc -l)" -ge 2 ]
}

@test "a vector that is larger than a packet travels in ranges and arrives complete" {
	serve ps innet-ps -q --write-in ps.pcap
	serve switch innet-switch -q --upstream "$ps" --slots 64
	innet-worker --json --switch "$switch" --synthetic 200kB --interval 10ms -c 60 >w.json
	finish switch
	finish ps
	[ "$(jq .without_model w.json)" -lt 60 ]
	[ "$(dumpolaf ps.pcap | awk '$2 == 3 && $7 == 3' | wc -l)" -ge 1 ]
	[ "$(jq .ignored w.json)" -eq 0 ]
}

@test "a worker reports once that a queue has fewer slots than its vector has packets" {
	serve ps innet-ps -q
	serve switch innet-switch -q --upstream "$ps"
	innet-worker -q --switch "$switch" --mtu 1500 --synthetic 20kB --interval 10ms -c 60 2>w.err
	[ "$(grep -c . w.err)" -eq 1 ]
	grep -qx "innet-worker: $switch: a queue on the path has 8 slots, but a vector has 14 packets, so part of each vector is lost; give that switch more --slots" w.err
	innet-worker -q --switch "$switch" --cluster 2 --mtu 1500 --synthetic 11kB --interval 10ms -c 60 2>w.err
	[ ! -s w.err ]
	finish switch
	finish ps
}

@test "-v prints how packets pass the kernel, and --no-offload avoids offloads" {
	serve ps innet-ps -q -v
	serve switch innet-switch -q -v --upstream "$ps" --no-offload
	innet-worker -q -v --no-offload --switch "$switch" --synthetic 200kB --interval 5ms -c 60 2>w.err
	innet-worker -q --switch "$switch" --cluster 2 --synthetic 200kB --interval 5ms -c 60
	finish switch
	finish ps
	grep -qE '^innet-ps: sends by (UDP_SEGMENT, 44 segments of 1472 bytes in a call|sendmmsg, no UDP_SEGMENT here .*); receives by (UDP_GRO|recvmmsg, no .*); buffers [0-9.]* MB out, [0-9.]* MB in$' ps.err
	grep -q '^innet-switch: sends by sendmmsg; receives by recvmmsg; buffers ' switch.err
	grep -q '^innet-worker: sends by sendmmsg; receives by recvmmsg; buffers ' w.err
	run -2 innet-switch --no-offload
	run -2 innet-switch --spin 50us
	[[ "$output" = *"--spin"* ]]
	run -2 timeout 10 innet-switch --listen 127.0.0.1:0 --spin 2s
}

@test "a dozen workers at full speed on one switch all get service" {
	serve ps $ahead innet-ps -q
	serve switch $ahead innet-switch -q --upstream "$ps" --slots 16 --report r.json
	synths=''
	for c in 1 2 3 4 5 6 7 8 9 10 11 12; do
		nice -n 8 innet-worker --json --switch "$switch" --cluster $c \
			--synthetic 1kB --interval 1ns --duration 2s >w$c.json 3>&- &
		pids="$pids $!" synths="$synths $!"
	done
	wait $synths
	finish switch
	finish ps
	for c in 1 2 3 4 5 6 7 8 9 10 11 12; do
		jq --argjson sent "$(jq .sent w$c.json)" ".clusters[\"$c\"].arrived.packets / \$sent" r.json
	done >shares
	jq -se 'length == 12 and min > 0 and max < 4 * min' shares
}

@test "the switch, the server and a worker use IPv6" {
	ip -6 addr show dev lo 2>/dev/null | grep -q '::1' || skip "no ::1 on this machine"
	innet-ps -q --listen '[::1]:0' --port-file ps.port --write-in ps.pcap 2>ps.err 3>&- &
	pids=$!
	await ps.port
	innet-worker -q --switch "[::1]:$(cat ps.port)" --synthetic 1kB --interval 5ms -c 100
	kill $pids
	wait $pids
	pids=''
	[ "$(dumpolaf ps.pcap | awk '$2 == 1' | wc -l)" -ge 5 ]
}

@test "models reach every worker of the cluster, or only the one that is answered" {
	for reply in cluster worker; do
		serve ps innet-ps -q --reply $reply
		synths=''
		switch=$ps
		innet-worker --json --switch "$ps" --worker 7 --synthetic 64B --interval 1h \
			--duration 3s >idle.json 3>&- &
		pids="$pids $!" synths=$!
		synth 1 8 --synthetic 64B --interval 10ms -c 50
		wait $synths
		finish ps
		if [ $reply = cluster ]; then
			[ "$(jq .models idle.json)" -ge 40 ]
		else
			[ "$(jq .models idle.json)" -le 3 ]
		fi
	done
}

@test "a worker that gets no answer gives up and says what it waited for" {
	run -1 --separate-stderr innet-worker -q --switch 127.0.0.1:9 --synthetic 64B --give-up 500ms
	[[ ${stderr_lines[-1]} == "innet-worker: 127.0.0.1:9: no model of cluster 1 arrived after "*" tries in 0.5 s; is a switch or server running there?" ]]
}

@test "a worker names a child that is silent, sends an invalid stream or fails" {
	serve ps innet-ps -q
	run -1 --separate-stderr innet-worker -q --switch "$ps" --give-up 300ms -- sleep 20
	[[ ${stderr_lines[0]} == "innet-worker: sleep: sent no hello in 0.3 s" ]]
	run -1 --separate-stderr innet-worker -q --switch "$ps" -- echo hello, this is no gradient stream at all
	[[ $stderr == *"innet-worker: echo: offset 0: \"hello, this is no gradient stream at all\" is not a message of a gradient stream; print such text to standard error"* ]]
	run -1 --separate-stderr innet-worker -q --switch "$ps" -- sh -c 'exit 3'
	[[ $stderr == *"innet-worker: sh: exited with status 3"* ]]
	run -1 --separate-stderr innet-worker -q --switch "$ps" -- no-such-program
	[ "$stderr" = "innet-worker: no-such-program: No such file or directory" ]
	finish ps
}

@test "a worker notices that a child died although its pipe is open, and names a silent child" {
	serve ps innet-ps -q
	run -1 --separate-stderr innet-worker -q --switch "$ps" -- \
		sh -c 'sleep 30 & echo $! >held; kill -KILL $$'
	run ! kill -0 "$(cat held)"	# the grandchild ends with the child, and the worker reports the signal
	[[ $stderr == *"innet-worker: sh: ended by signal 9"* ]]
	cat >quiet.py <<-E
		import struct, sys
		def say(kind, elements, body):
		    sys.stdout.buffer.write(struct.pack('<4sHHIfQII', b'INET', kind, 0, elements, 0, 0, 1, 0) + body)
		say(1, 14, b'{"elements":1}')
		say(4, 1, struct.pack('<f', 1))
		sys.stdout.flush()
		sys.stdin.read()
	E
	run -1 --separate-stderr innet-worker -q --switch "$ps" --silence 500ms -- python3 quiet.py
	[[ $stderr == *"innet-worker: python3: sent no gradient for 0.5 s"* ]]
	finish ps
}

@test "a worker stops a child that only sends and refuses NaN from a child" {
	serve ps innet-ps -q
	cat >child.py <<-E
		import struct, sys
		def say(kind, elements, body):
		    sys.stdout.buffer.write(struct.pack('<4sHHIfQII', b'INET', kind, 0, elements, 0, 0, 1, 0) + body)
		say(1, 18, b'{"elements":10000}')
		v = struct.pack('<10000f', *[1e-9] * 10000)
		say(4, 10000, v)
		if len(sys.argv) > 1:
		    say(2, 10000, v[4:] + struct.pack('<f', float('nan')))
		while True:
		    say(2, 10000, v)
	E
	run -1 --separate-stderr timeout -k 1 15 innet-worker -q --switch "$ps" --duration 500ms -- python3 child.py
	[[ $stderr == *"python3: killed, because it was still running 5.0 s after the end of its input"* ]]
	run -1 --separate-stderr innet-worker -q --switch "$ps" -- python3 child.py nan
	[[ $stderr == *"python3: offset 40082: a value that is not finite"* ]]
	finish ps
}

@test "all messages that a child sent before its end count" {
	serve ps innet-ps -q
	cat >burst.py <<-E
		import struct, sys
		def say(kind, elements, body):
		    sys.stdout.buffer.write(struct.pack('<4sHHIfQII', b'INET', kind, 0, elements, 0, 0, 1, 0) + body)
		say(1, 14, b'{"elements":1}')
		say(4, 1, struct.pack('<f', 1))
		for i in range(1000):
		    say(2, 1, struct.pack('<f', 1))
	E
	python3 burst.py >burst
	innet-worker --json --switch "$ps" -- cat burst >w.json
	[ "$(jq .generated w.json)" -eq 1000 ]
	finish ps
}

@test "a worker with synthetic gradients faster than the machine still ends on time" {
	serve ps innet-ps -q
	run -0 timeout -k 1 10 innet-worker -q --switch "$ps" --synthetic 40kB --interval 1ns --duration 2s
	finish ps
}

@test "a server without updates does not change the saved weights" {
	echo precious >w.ps
	serve ps innet-ps -q --save w.ps
	finish ps
	[ "$(cat w.ps)" = precious ]
	run -1 innet-ps --listen :0 --save no/such/place
}

@test "a worker kills and names a child that does not end" {
	serve ps innet-ps -q
	SECONDS=0
	run -1 --separate-stderr innet-worker -q --switch "$ps" --duration 100ms -- \
		sh -c 'exec 1>&-; exec sleep 60'
	[[ $stderr == *"sh: killed, because it was still running 5.0 s after the end of its input"* ]]
	finish ps
}

@test "processes that a child started end with the child, and the worker names them" {
	serve ps innet-ps -q
	run -1 --separate-stderr innet-worker -q --switch "$ps" --duration 100ms -- \
		sh -c 'sleep 60 & echo $! >held; exec cat >/dev/null'
	run ! kill -0 "$(cat held)"
	[[ $stderr == *"sh: processes that it had started were still running and were ended"* ]]
	finish ps
}

@test "a child fails if it ends within a message or sends nothing" {
	serve ps innet-ps -q
	for p in olaf iswitch dlp; do
		run -1 --separate-stderr innet-worker -q -p $p --worker 0 --switch "$ps" -- true
		[ "$stderr" = "innet-worker: true: nothing was sent, because there was no gradient" ]
		for held in '' 'sleep 30 &'; do
			run -1 --separate-stderr innet-worker -q -p $p --worker 0 --switch "$ps" -- sh -c "$held printf INETxxxx"
			[[ $stderr == *"sh: offset 0: the stream ends within a message"* ]]
		done
	done
	finish ps
}

@test "a child that sent bye may take time to end" {
	serve ps innet-ps -q
	cat >child.py <<-E
		import struct, sys, time
		for kind, n, body in (1, 14, b'{"elements":2}'), (4, 2, bytes(8)), (5, 0, b''):
		    sys.stdout.buffer.write(struct.pack('<4sHHIfQII', b'INET', kind, 0, n, 0, 0, 1, 0) + body)
		sys.stdout.flush()
		time.sleep(6)	# other children may take 5 s
		open('saved', 'w').write('all')
	E
	innet-worker -q --switch "$ps" -- python3 child.py
	[ -s saved ]
	finish ps
}

@test "the switch counts packets to a dead upstream, warns and continues" {
	serve switch innet-switch --upstream 127.0.0.1:9 --json
	innet-worker -q --switch "$switch" --synthetic 64B --give-up 1500ms 2>/dev/null || true
	finish switch
	[ "$(grep -c 'unreachable; ' switch.err)" -ge 1 ]
	[ "$(grep -c 'unreachable; ' switch.err)" -le 3 ]
	tail -n 1 switch.out | jq -e '.weights >= 2'
}

@test "--impair loses, repeats and delays the given shares of packets" {
	serve ps innet-ps -q
	serve switch innet-switch --upstream "$ps" --impair loss=20%,dup=10%,delay=1ms
	innet-worker -q --switch "$switch" --synthetic 64B --interval 2ms -c 500
	finish switch
	finish ps
	lost=$(sed -n 's/.* \([0-9]*\) lost by --impair.*/\1/p' switch.err)
	[ "$lost" -gt 100 ]
	[ "$(sed -n 's/.* \([0-9]*\) duplicated.*/\1/p' switch.err)" -gt 10 ]
}

@test "--impair of a worker loses, repeats and delays its packets; -w captures all of them" {
	serve ps innet-ps -q
	innet-worker --json --switch "$ps" --seed 5 --synthetic 64B --interval 1ms -c 1500 \
		--impair loss=30%,dup=10%,reorder=10%,delay=1ms -w w.pcap >w.json
	finish ps
	jq -e '.impaired_lost > 100 and .impaired_dup > 10 and .impaired_reordered > 10' w.json
	[ "$(dumpolaf w.pcap | awk '$2 == 1' | wc -l)" -eq "$(jq .sent w.json)" ]
	run -2 innet-worker --switch :1 --synthetic 8B --impair loss=2
}

@test "weights survive a restart of the server, which notices a damaged file" {
	serve ps innet-ps -q --learning-rate 1 --save w.ps
	innet-worker -q --switch "$ps" --synthetic 64B --interval 2ms -c 500
	finish ps
	sum=$(tail -c +9 w.ps | cksum)
	serve ps innet-ps -q --load w.ps --save w2.ps
	finish ps
	[ "$(tail -c +9 w2.ps | cksum)" = "$sum" ]
	printf X | dd of=w.ps bs=1 seek=60 conv=notrunc status=none
	run -1 --separate-stderr innet-ps --listen :0 --load w.ps
	[ "$stderr" = "innet-ps: w.ps: is damaged: its CRC is wrong" ]
	head -c 50 w2.ps >cut.ps
	run -1 innet-ps --listen :0 --load cut.ps
	run -1 innet-ps --listen :0 --load "$BATS_TEST_FILENAME"
}

@test "a server that lost its weights gets them again from its workers" {
	serve ps innet-ps -q
	innet-worker --json --switch "$ps" --synthetic 64B --interval 5ms --duration 4s >w.json 3>&- &
	pids="$pids $!" worker=$!
	sleep 0.5
	kill -KILL $ps_pid
	wait $ps_pid || true
	innet-ps --json --listen "$ps" >again.out 2>again.err 3>&- &
	again=$!
	pids="$pids $again"
	wait $worker
	kill $again
	wait $again
	tail -n 1 again.out | jq -e '.weights >= 1 and .applied > 50'
}

@test "a server refuses an update that would damage the model, and names the sender" {
	serve ps innet-ps --learning-rate 1e9 --average none
	cat >huge.py <<-E
		import struct, sys, time
		def say(kind, elements, body):
		    sys.stdout.buffer.write(struct.pack('<4sHHIfQII', b'INET', kind, 0, elements, 0, 0, 1, 0) + body)
		    sys.stdout.buffer.flush()
		say(1, 14, b'{"elements":1}')
		say(4, 1, struct.pack('<f', 1))
		for i in range(20):
		    say(2, 1, struct.pack('<f', 3e38))
		    time.sleep(0.02)
	E
	innet-worker -q --switch "$ps" --worker 4 -- python3 huge.py
	finish ps
	grep -q ': cluster 1: worker 4: update [0-9]* was refused, because a weight would no longer be finite' ps.err
	run ! grep -q ' 0 refused_nonfinite' ps.err
}

@test "after SIGUSR1, a tool prints its counters; at the end its status is 0" {
	serve ps innet-ps
	kill -USR1 $ps_pid
	for _ in $(seq 200); do grep -q updates ps.err && break; sleep 0.02; done
	grep -q 'innet-ps: 0 updates' ps.err
	finish ps
}

@test "--worker auto uses the launcher's rank, or an error lists the variables that it looked for" {
	serve ps innet-ps -q --write-in ps.pcap
	SLURM_PROCID=0 OMPI_COMM_WORLD_RANK=5 innet-worker -q --switch "$ps" --worker auto --synthetic 8B --interval 1ms -c 100
	finish ps
	[ "$(dumpolaf ps.pcap | cut -d' ' -f4 | sort -u)" = 5 ]
	for name in PMIX_RANK PMI_RANK SLURM_PROCID; do
		export $name=x
		run -2 innet-worker --switch :1 --worker auto --synthetic 8B
		[[ $output == *"invalid $name 'x'"* ]]
		unset $name
	done
	run -2 innet-worker --switch :1 --worker auto --synthetic 8B
	[[ $output == *"none of OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK and SLURM_PROCID is set"* ]]
}

@test "a capture that cannot be written ends the tool with status 1" {
	serve ps innet-ps -q
	run -1 innet-worker --switch "$ps" --synthetic 40kB --interval 1ms --duration 10s -w /dev/full
	[[ $output == *"/dev/full: the output is incomplete: No space left on device"* ]]
	finish ps
}
