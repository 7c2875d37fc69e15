# Tests of a switch in the path of a bridge, between hosts that are network
# namespaces.
load common
load in-path

@test "in the path: without privileges, one line names the missing ones" {
	rack
	run -1 --separate-stderr on switch setpriv --reuid=65534 --clear-groups --bounding-set=-all \
		innet-switch --insecure --bridge br0
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == *'also needs these privileges: CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF' ]]
}

@test "in the path: a switch can use tap devices, and uses them where packet sockets are not allowed" {
	rack
	in_path -v --backend packet
	said 'back-end packet: .* use '
	end_switch
	rm switch.err
	for backend in tap auto; do
		testbed.sh exec switch $favoured setpriv --bounding-set=-net_raw --inh-caps=-net_raw innet-switch --insecure --bridge br0 -v \
			--backend $backend --port-rate server=10Mbit --report switch.json >switch.out 2>switch.err 3>&- &
		switch=$!
		pids="$pids $switch"
		said 'back-end tap: .* use '
		server
		for w in 0 1; do worker $w --synthetic 4kB --interval 1ms -c 200; done
		join_workers
		end_switch
		end_server 10.77.0.2
		jq -e '.totals.aggregated.packets + .totals.superseded.packets > 100 and .models > 10 and .interfaces.no_way == 0' switch.json
		jq -n -e --slurpfile s switch.json --slurpfile p ps.json \
			'$s[0].totals.delivered.constituents == $p[0].constituents'
		[ "$(innet-frames switch attached w0)" -eq 0 ]
		[ -z "$(on switch ip -o link show type tun)" ]
	done
	in_path -p iswitch -H 1 --backend tap --port-rate w0=50Mbit --regular queued --report switch.json
	on w0 innet-worker -p iswitch --worker 0 --check 1 --synthetic 157kB --interval 0 -c 20 --switch 10.77.0.1
	end_switch
	jq -e '.jobs["1"].counters.results == 20 * 108 and .interfaces.frames > 0' switch.json
}

@test "in the path: options that exclude each other are misuse, and missing interfaces are named" {
	run -2 innet-switch -p iswitch --multicast 239.1.2.3 -r /dev/null
	[[ "$output" = *'--multicast needs --listen, --bridge or --interfaces' ]]
	run -2 innet-switch -p olaf --listen :0 --bridge lo --multicast 239.1.2.3
	[[ "$output" = *'--multicast cannot be used with --program olaf, which sends each result to one host' ]]
	run -2 innet-switch -p iswitch --listen :0 --bridge lo --multicast 10.1.2.3
	[[ "$output" = *"invalid group '10.1.2.3': not a multicast address, such as 239.1.2.3 or 239.1.2.3:PORT" ]]
	run -2 innet-switch -p iswitch --listen :0 --bridge lo --multicast '[ff15::1]'
	[[ "$output" = *"--multicast [ff15::1]: the group and the address of the switch must both be IPv4 or both IPv6" ]]
	for words in '--port-rate p=1M -r x' '--taps . -r x' '--bridge lo -r x' '--bridge lo --port 1.1.1.1:rate=1M' \
	    '--bridge lo --upstream :9' '--bridge lo --propagation 1ms' '--bridge , --rate 1M' \
	    '--bridge averyveryverylongname' '--bridge lo --port-rate x' '--interfaces a' \
	    '--interfaces a,b -p iswitch' '--interfaces a,b --rate 1M --regular queued' '--backend tap -r x' \
	    '--bridge lo --backend x' '--interfaces a,b --backend tap' '--interfaces a,b --backend xdp'; do
		run -2 --separate-stderr innet-switch $words
		[ -n "$stderr" ]
	done
	run -1 --separate-stderr innet-switch --bridge none
	[ "$stderr" = "innet-switch: --bridge: no interface 'none'" ]
	rack
	run -1 --separate-stderr on switch innet-switch --insecure --bridge w0
	[[ $stderr == *"'w0' is not a bridge" ]]
	run -1 --separate-stderr on switch innet-switch --insecure --bridge br0,w9
	[[ $stderr == *"'w9' is not a port of br0"* ]]
}

@test "in the path: updates merge without any configuration of workers and server" {
	rack
	mkdir taps
	in_path --port-rate server=4Mbit --taps taps --report switch.json
	server
	for w in 0 1; do worker $w --synthetic 4kB --interval 1ms -c 600; done
	join_workers
	on server innet-ctl 10.77.0.1 stats --json >stats.json
	end_switch
	end_server 10.77.0.2
	jq -c .totals switch.json
	jq -e '.totals | .aggregated.packets > 100 and .arrived.constituents == .delivered.constituents +
		.superseded.constituents + .dropped_full.constituents + .queued.constituents' switch.json
	jq -e '.models > 100 and .regular == 0' switch.json
	# each packet that left the switch arrived, and models told the workers
	# the queue's status
	jq -n -e --slurpfile s switch.json --slurpfile p ps.json \
		'$s[0].totals.delivered.constituents == $p[0].constituents'
	jq -e '.models > 100' w0.json
	# the filter makes the same decisions for the packets that arrived
	innet-switch -q --port 10.77.0.2:rate=4Mbit -r taps/w0-in.pcap -r taps/w1-in.pcap -r taps/server-in.pcap \
		--departures taps/server-out.pcap -w again.pcap --report filter.json
	jq -e '.departures_differ == 0' filter.json
	diff <(jq -S '.totals, .clusters, .models, .weights, .ignored' switch.json) \
		<(jq -S '.totals, .clusters, .models, .weights, .ignored' filter.json)
}

@test "in the path: with a key, updates with proofs merge, and each side has its own proofs" {
	rack
	mkdir taps
	(umask 077; printf 'sixteen bytes and more' >key)
	(umask 077; printf 'a secret of thirty-two bytes, so' >secret)
	key=key
	in_path --key key --secret secret --port-rate server=10Mbit --taps taps --report switch.json
	server --key key
	for w in 0 1; do worker $w --synthetic 4kB --interval 1ms -c 300 --key key; done
	join_workers
	end_switch
	end_server 10.77.0.2
	jq -e '.totals.aggregated.packets > 100 and .models > 100 and .ignored == {}' switch.json
	jq -e '.ignored == {}' ps.json
	jq -n -e --slurpfile s switch.json --slurpfile p ps.json \
		'$s[0].totals.delivered.constituents == $p[0].constituents'
	jq -es 'all(.[]; .models > 100 and .bad_proof == 0 and .replayed_data == 0)' w0.json w1.json
	# the filter sends the same packets
	innet-switch -q --key key --secret secret --port 10.77.0.2:rate=10Mbit -r taps/w0-in.pcap -r taps/w1-in.pcap \
		-r taps/server-in.pcap --departures taps/server-out.pcap -w again.pcap --report filter.json
	jq -e '.departures_differ == 0' filter.json
	diff <(jq -S '.totals, .clusters, .models, .weights, .ignored' switch.json) \
		<(jq -S '.totals, .clusters, .models, .weights, .ignored' filter.json)
	# except that it may tell models another status of the queue
	payloads() { for f in "$@"; do tshark -r $f -Y 'ip.dst == 10.77.0.2 || ip.dsfield.dscp == 3' -T fields -e ip.dst -e udp.payload 2>/dev/null; done | sort; }
	! command -v tshark >/dev/null || cmp <(payloads taps/*-out.pcap) <(payloads again.pcap)
}

@test "in the path: updates wait in drop-tail queues" {
	rack
	in_path --queue fifo --port-rate server=10Mbit --report switch.json
	server
	worker 0 --synthetic 4kB --interval 2ms -c 200
	join_workers
	end_server 10.77.0.2
	end_switch
	jq -e '.totals.arrived.packets > 150 and .totals.aggregated.packets == 0' switch.json
}

@test "in the path: iSwitch sums at the bridge's address, and every sum is correct" {
	rack
	in_path -p iswitch -H 2 --report switch.json
	for w in 0 1; do
		testbed.sh exec w$w innet-worker -p iswitch --worker $w --check 2 --synthetic 157kB --interval 0 -c 200 \
			--switch 10.77.0.1 --json >w$w.json 2>w$w.err 3>&- &
		pids="$pids $!"
		workers="${workers-} $!"
	done
	join_workers
	on switch innet-ctl 10.77.0.1 jobs	# from the host of the switch
	end_switch
	jq -e '.jobs["1"].counters | .results == 200 * 108 and .partial == 0' switch.json
	jq -e '.interfaces.frames > 0' switch.json
}

@test "in the path: DLP gets answers at the bridge's address" {
	rack
	mkdir taps
	for _ in 1 2 3; do
		in_path -p dlp --report switch.json --taps taps
		on w0 innet-worker -p dlp --switch 10.77.0.1 --synthetic 24B --interval 1ms --session nodes=1,iterations=50
		end_switch
		! tapped || break
	done
	jq -e '.steps >= 50 and .interfaces.frames > 50' switch.json
	# the filter makes the same decisions for the packets that arrived
	innet-switch -q -p dlp --listen 10.77.0.1:46638 -r taps/w0-in.pcap -r taps/w1-in.pcap -r taps/server-in.pcap \
		--departures taps/w0-out.pcap -w again.pcap --report filter.json
	jq -e '.departures_differ == 0' filter.json
	diff <(jq -S '.taken, .steps, .switch, .ignored' switch.json) \
		<(jq -S '.taken, .steps, .switch, .ignored' filter.json) ||
		{ jq -c . switch.json filter.json; capinfos -Tmc taps/*.pcap; false; }
}

# Print every result of a switch in the captures, ordered by receiver.
results() { for f in "$@"; do dumpiswitch "$f"; done | grep ' seg ' | cut -d' ' -f2- | LC_ALL=C sort -s -k2,2; }

@test "in the path: from the captures of all ports, the filter computes the same sums and packets" {
	rack
	mkdir taps
	for _ in 1 2 3; do
		in_path -p iswitch -H 2 --reduce ordered --report switch.json --taps taps
		for w in 0 1; do
			testbed.sh exec w$w innet-worker -q -p iswitch --worker $w --synthetic 40kB --interval 0 -c 100 \
				--switch 10.77.0.1 2>w$w.err 3>&- &
			workers="${workers-} $!"
		done
		join_workers
		end_switch
		! tapped || break
	done
	innet-switch -q -p iswitch -H 2 --reduce ordered --listen 10.77.0.1:46638 -r taps/w0-in.pcap \
		-r taps/w1-in.pcap -r taps/server-in.pcap -w again.pcap --report filter.json
	jq -e '.jobs["1"].counters.results == 100 * 28' filter.json
	for f in switch filter; do jq -S '.jobs, .ignored' $f.json >$f.figures; done
	diff switch.figures filter.figures
	results taps/w0-out.pcap taps/w1-out.pcap >lived
	results again.pcap >filtered
	cmp lived filtered
}

@test "in the path: frames of all other kinds pass unchanged and in order" {
	rack
	other_kinds
}

@test "in the path: streams, runs of datagrams and multicast arrive complete and in order, also at an MTU of 9,000" {
	rack --queue 8000000	# for a while, datagrams and updates are more than the server's link can carry
	first=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
	favoured="$favoured taskset -c $first"
	for mtu in 1500 9000; do
		for h in w0 w1 server; do
			on $h ip link set eth0 mtu $mtu
			on switch ip link set $h mtu $mtu
		done
		on switch ip link set br0 mtu $mtu
		in_path --report switch.json --port-rate server=500Mbit
		server
		worker 1 --synthetic 40kB --interval 1ms -c 400
		testbed.sh exec server python3 "$srcdir/tests/bats/flows.py" sink 10.77.0.2 $mtu >sunk 3>&- &
		sink=$!
		await sunk
		on w0 python3 "$srcdir/tests/bats/flows.py" send 10.77.0.2 $mtu
		wait $sink
		cat sunk
		# for each codepoint, and for multicast, no packet is lost,
		# damaged or out of order
		[ "$(grep -c ' 300 of 300, 0 bad$' sunk)" -eq 4 ]
		grep -q '^stream .* bytes, good$' sunk
		join_workers
		end_switch
		kill "$server"
		wait "$server"
		jq -e '.totals.arrived.packets > 20' switch.json
	done
	# updates of 9,000 bytes were sent unchanged
	jq -e '.totals | .arrived.packets < 400 * 6' switch.json
	# and gradients are cut to that size
	in_path -p iswitch -H 1 --report switch.json
	on w0 innet-worker -p iswitch --worker 0 --check 1 --synthetic 157kB --interval 0 -c 50 --floats 2241 --switch 10.77.0.1
	end_switch
	jq -e '.jobs["1"].counters.results == 50 * 18' switch.json
}

@test "in the path: a killed or hanging switch lets traffic pass, and nothing remains attached" {
	rack
	fails_open
}

@test "in the path: ports come and go, a second switch is refused, and the switch ends with its bridge" {
	rack
	in_path
	run -1 --separate-stderr on switch innet-switch --bridge br0 --listen 127.0.0.1:0
	[[ $stderr == *'br0: another innet-switch runs at this bridge' ]]
	on switch ip link set w1 down
	said 'w1: down'
	on switch ip link set w1 up
	said 'w1: up'
	on switch ip link set w1 nomaster
	said 'w1: left br0'
	[ "$(innet-frames switch attached w1)" -eq 0 ]
	on switch ip link set w1 master br0
	said 'w1: joined br0'
	[ "$(innet-frames switch attached w1)" -eq 1 ]
	on switch ip link add late0 type veth peer name late1
	on switch ip link set late0 master br0
	said 'late0: joined br0'
	on switch ip link del br0
	said 'br0: the bridge was removed'
	wait "$switch" && return 1 || [ $? -eq 1 ]
	for port in w0 w1 server late0; do [ "$(innet-frames switch attached $port)" -eq 0 ]; done
}

# Print how long a vector of 157 kB takes behind a link of a given rate until
# its sum returns.
rounds() {
	on w0 $ahead innet-worker -p iswitch --worker 0 --synthetic 157kB --interval 0 -c 24 \
		--switch 10.77.0.1 --json >w0.json
	jq .round_p50_ns w0.json
}

# within NS BITS RATE: check that NS is within 3 % of the time that BITS take at
# RATE bit/s
within() {
	awk -v ns="$1" -v bits="$2" -v rate="$3" 'BEGIN {
		due = bits / rate * 1e9
		printf "%.2f ms, due %.2f\n", ns / 1e6, due / 1e6
		exit !(ns > due * 0.97 && ns < due * 1.03)
	}'
}

@test "in the path: a vector takes its bytes divided by the rate, and regular traffic gets its share" {
	rack
	in_path -p iswitch -H 1 --port-rate w0=20Mbit --regular queued --report switch.json
	# 157,000 bytes in segments of 366 floats: 107 of 1,514 bytes and the rest
	bits=$((8 * (157000 + 108 * 50)))
	alone=$(rounds)
	testbed.sh exec w1 $ahead python3 "$srcdir/tests/bats/frames.py" load 10.77.0.10 5e6 >load 3>&- &
	pids="$pids $!"
	await load
	beside=$(rounds)
	end_switch
	within "$alone" $bits 20e6
	within "$beside" $bits 15e6
	jq -e '.regular > 200 and .regular_dropped == 0' switch.json
	# the report counts both: 48 vectors of the job, and regular frames of
	# at most 514 bytes
	jq -e --argjson own $((48 * bits / 8)) '.regular as $n | .interfaces.w0 | .own_bytes >= $own and .own_bytes < $own * 1.1
		and .regular_bytes > 200 * 500 and .regular_bytes <= $n * 514
		and .regular_permille == (.regular_bytes * 1000 / (.own_bytes + .regular_bytes) | floor)' switch.json
	jq -e '.interfaces.w1 | has("own_bytes") | not' switch.json
}

@test "in the path: a TCP stream shares its link with a job, and the report counts both" {
	rack
	in_path -p iswitch -H 1 --port-rate w0=20Mbit --regular queued --report switch.json
	if command -v iperf3 >/dev/null; then
		testbed.sh exec w0 iperf3 -s -1 >iperf.out 2>&1 3>&- &
		pids="$pids $!"
		until on w0 ss -ltn | grep -q ':5201 '; do :; done
		testbed.sh exec w1 iperf3 -c 10.77.0.10 -t 4 -J >sent.out 3>&- &
	else
		testbed.sh exec w0 python3 "$srcdir/tests/bats/flows.py" sink 10.77.0.10 1500 >sunk 3>&- &
		pids="$pids $!"
		await sunk
		testbed.sh exec w1 python3 "$srcdir/tests/bats/flows.py" send 10.77.0.10 1500 >sent.out 3>&- &
	fi
	stream=$!
	pids="$pids $stream"
	rounds >alone
	wait $stream
	end_switch
	cat alone
	# neither is starved in the shared queue: the job gets all its sums, and
	# TCP continues
	jq -e '.jobs["1"].counters.results == 24 * 108' switch.json
	jq -e '.interfaces.w0 | .own_bytes > 24 * 157000 and .regular_bytes > 1e6 and .regular_permille > 100' switch.json
	# the link's queue sent the bytes that the receiver of the stream
	# reports, plus headers, except for frames that passed while the switch
	# waited for the processor
	! command -v iperf3 >/dev/null || jq -n -e --slurpfile i sent.out --slurpfile s switch.json \
		'$i[0].end.sum_received.bytes as $came | $s[0].interfaces.w0.regular_bytes |
			$s[0].deaf_ns > 0 or (. > $came and . < 1.3 * $came)'
}

@test "in the path: racks in a bridge sum vectors, and a core in a bridge sums theirs" {
	rack
	testbed.sh down "$INNET_TESTBED"
	INNET_TESTBED=$(testbed.sh up two-racks -n 4 --rate 1gbit --owner $$)
	for s in core switch1 switch2; do
		parent='--parent 10.77.0.1'
		[ $s != core ] || parent=''
		testbed.sh exec $s innet-switch -p iswitch -H 2 --insecure --bridge br0 $parent --report $s.json >$s.out 2>switch.err 3>&- &
		pids="$pids $!"
		said 'in the path'
	done
	for w in 0 1 2 3; do
		testbed.sh exec w$w innet-worker -p iswitch --worker $w --check 4 --synthetic 157kB --interval 0 -c 100 \
			--switch 10.77.0.$((w < 2 ? 3 : 4)) --json >w$w.json 2>w$w.err 3>&- &
		workers="${workers-} $!"
	done
	join_workers
	end_all
	jq -se 'all(.jobs["1"].counters.results >= 100 * 108 and .interfaces.frames > 0)' core.json switch1.json switch2.json
}

# Build two pairs of workers, each behind one port of the core, whose bridge has
# the switch.
pairs() {
	rack
	testbed.sh down "$INNET_TESTBED"
	INNET_TESTBED=$(testbed.sh up two-racks -n 4 --rate 1gbit --owner $$)
	[ "${to-}" != '[fd77::1]' ] || pairs_six
	testbed.sh exec core innet-switch -q -p iswitch --insecure --bridge br0 --report core.json "$@" 2>switch.err 3>&- &
	switch=$!
	pids="$pids $switch"
	said 'in the path'
}

# pairs_six: add the IPv6 addresses of the core and the workers, fd77::1 and
# fd77::1N
pairs_six() {
	on core ip -6 addr add fd77::1/64 dev br0 nodad
	for w in 0 1 2 3; do on w$w ip -6 addr add fd77::1$w/64 dev eth0 nodad; done
}

# pairs_train MEMBERS VECTORS JOB/WORKER...: run the workers JOB/WORKER, each for
# VECTORS vectors, in jobs of MEMBERS members
pairs_train() {
	local members=$1 vectors=$2 w
	shift 2
	for w in 0 1 2 3; do
		testbed.sh exec w$w innet-worker -p iswitch --worker ${1#*/} --job ${1%/*} --check $members --synthetic 157kB \
			--interval 0 -c $vectors --switch ${to-10.77.0.1} -w w$w.pcap --json >w$w.json 2>w$w.err 3>&- &
		workers="${workers-} $!"
		shift
	done
	join_workers
	end_switch
}

# aom FILE...: analyse all captures together
aom() { innet-aom -q $(printf -- '-r %s ' "$@") --program iswitch --json; }

@test "in the path: the switch sends a result once to all members behind a port" {
	mkdir taps
	pairs -H 4 --multicast 239.77.0.1 --taps taps
	pairs_train 4 100 1/0 1/1 1/2 1/3
	jq -se 'all(.iterations == 100 and .results >= 100 * 108)' w?.json
	# the switch sends it at two ports, but the first sums went out before a
	# worker had joined the group
	jq -e '.interfaces.shared > 50 * 108 and .interfaces.shared <= 200 * 108' core.json
	# a result that several members hear counts once for each member
	aom taps/switch?-*.pcap | head -n 1 | jq -e '.members == 4 and .measured > 90 and .results == 400 * 108'
	aom w0.pcap | head -n 1 | jq -e '.members == 1 and .measured > 90 and .results == 100 * 108'
}

@test "in the path: two jobs behind a port receive only their own results, also through a queue" {
	pairs -H 2 --multicast 239.77.0.1:5000 --port-rate switch1=200Mbit
	pairs_train 2 30 1/0 2/0 1/1 2/1
	jq -se 'all(.iterations == 30)' w?.json
	jq -e '[.jobs[].counters.results] == [30 * 108, 30 * 108]' core.json
	jq -e '.interfaces.shared == 0' core.json	# one worker of each job at each port
	end_testbed
	rm -f w?.json
	pairs -H 2 --multicast 239.77.0.1:5000 --port-rate switch1=200Mbit
	pairs_train 2 30 1/0 1/1 7/0 7/1
	jq -se 'all(.iterations == 30)' w?.json
	jq -e '.interfaces.shared > 10 * 108' core.json
	aom w2.pcap | head -n 1 | jq -e '.job == 7 and .measured > 20'
}

@test "in the path: workers also receive results from an IPv6 multicast group" {
	to='[fd77::1]'
	pairs -H 4 --listen "$to" --multicast '[ff15::77]'
	pairs_train 4 30 1/0 1/1 1/2 1/3
	jq -se 'all(.iterations == 30 and .results >= 30 * 108)' w?.json
	jq -e '.interfaces.shared > 10 * 108' core.json
}

# Add the IPv6 addresses of the workers and the server, fd77::N.
six() {
	on server ip -6 addr add fd77::2/64 dev eth0 nodad
	on switch ip -6 addr add fd77::1/64 dev br0 nodad
	for w in 0 1; do on w$w ip -6 addr add fd77::1$w/64 dev eth0 nodad; done
}

@test "in the path: updates merge over IPv6, too" {
	rack
	six
	in_path --port-rate server=10Mbit --report switch.json
	testbed.sh exec server innet-ps --insecure --listen '[fd77::2]' --report ps.json 2>server.err 3>&- &
	server=$!
	pids="$pids $server"
	await server.err
	for w in 0 1; do
		testbed.sh exec w$w innet-worker -p olaf --worker $w --switch '[fd77::2]' --synthetic 4kB --interval 4ms -c 500 3>&- &
		workers="${workers-} $!"
	done
	join_workers
	end_switch
	end_server '[fd77::2]'
	# a worker that waits for the processor sends fewer
	jq -e '.totals.aggregated.packets > 10 and .models > 5' switch.json
	jq -n -e --slurpfile s switch.json --slurpfile p ps.json \
		'$s[0].totals.delivered.constituents == $p[0].constituents'
	in_path -p iswitch -H 2 --listen '[fd77::1]'
	for w in 0 1; do
		testbed.sh exec w$w innet-worker -p iswitch --worker $w --check 2 --synthetic 40kB --interval 0 -c 100 \
			--switch '[fd77::1]' 2>w$w.err 3>&- &
		workers="${workers-} $!"
	done
	join_workers
	end_switch
}

@test "in the path: the example merges, continues without the switch, and merges again after its restart" {
	rack
	testbed.sh down "$INNET_TESTBED"
	unset INNET_TESTBED
	$favoured "$share/examples/in-path.sh" --seconds 6 >table
	cat table
	awk '/^in the path/ { a = $5 > 2 * $4 } /^killed/ { b = $2 > 100 && $3 < 1.2 * $2 }
		/^started/ { c = $3 > 2 * $2 } END { exit !(a && b && c) }' table
}

@test "in the path: between two interfaces with a key, updates with proofs merge, and others pass" {
	rack
	(umask 077; printf 'sixteen bytes and more' >key)
	on switch ip link del br0
	for p in w0 w1 server; do on switch ip link set $p up; done
	testbed.sh exec switch $favoured innet-switch --interfaces w0,w1,server --key key --port-rate server=10Mbit \
		--report switch.json >switch.out 2>switch.err 3>&- &
	switch=$!
	pids="$pids $switch"
	said 'in the path of w0,w1,server: '
	server --key key
	for w in 0 1; do worker $w --synthetic 4kB --interval 1ms -c 200 --key key; done
	on w0 python3 -B "$srcdir/tests/bats/stranger.py" --from 10.77.0.10 10.77.0.2:46638 olaf 1 1 7 0 1 2 >/dev/null
	join_workers
	end_switch
	kill "$server"
	wait "$server"
	jq -e '.totals.aggregated.packets + .totals.superseded.packets > 100 and .models > 50 and .ignored == {}' switch.json
	jq -e '.ignored == { "bad_proof": 1 }' ps.json	# those of the unknown sender, at the server
	jq -n -e --slurpfile s switch.json --slurpfile p ps.json \
		'$s[0].totals.delivered.constituents == $p[0].constituents'
}

@test "in the path: between two interfaces without a bridge, all frames pass and updates merge" {
	rack
	run -1 --separate-stderr on switch innet-switch --interfaces w0,w1
	[[ $stderr == *'is a port of a bridge; use --bridge' ]]
	on switch ip link del br0
	for p in w0 w1 server; do on switch ip link set $p up; done
	testbed.sh exec switch $favoured innet-switch --interfaces w0,w1,server --port-rate server=10Mbit \
		--report switch.json >switch.out 2>switch.err 3>&- &
	switch=$!
	pids="$pids $switch"
	said 'in the path of w0,w1,server: '
	server
	for w in 0 1; do worker $w --synthetic 4kB --interval 1ms -c 200; done
	innet-frames w1 send eth0 "$(on server cat /sys/class/net/eth0/address)"
	join_workers
	end_switch
	kill "$server"
	wait "$server"
	jq -e '.totals.aggregated.packets + .totals.superseded.packets > 100 and .regular > 400 and .interfaces.no_way == 0' switch.json
	jq -n -e --slurpfile s switch.json --slurpfile p ps.json \
		'$s[0].totals.delivered.constituents == $p[0].constituents'
}

@test "in the path: twelve agents under two tiers learn CartPole to the same bits as over sockets" {
	once training
	rack
	testbed.sh down "$INNET_TESTBED"
	unset INNET_TESTBED
	for way in '' --in-path; do
		"$share/examples/iswitch-cartpole.sh" --hierarchy $way --out "$PWD/out$way" >said$way 2>err 3>&-
	done
	diff <(grep -E '^(iterations|mean reward|CRC)' said) <(grep -E '^(iterations|mean reward|CRC)' said--in-path)
	jq -e '.interfaces.frames > 1000' <(cat out--in-path/1-core.out)
}

@test "in the path: iterations wrap at 2^24, and late workers begin at the current iteration" {
	python numpy
	rack
	testbed.sh down "$INNET_TESTBED"
	unset INNET_TESTBED
	BUILD=$builddir FIRST=16777100 bash "$srcdir/tests/chaos/hour.sh" 4 >hour 3>&- || { cat hour; false; }
	cat hour
	grep -q 'job 1 up to number [0-9]*, which passed 2^24 1 times' hour
}

@test "in the path: updates with a VLAN tag merge and keep the tag" {
	rack
	in_path --port-rate server=10Mbit --report switch.json
	innet-gen -q --clusters 1 --workers 2 -c 400 -w sent.pcap
	innet-frames server send eth0 "$(on w0 cat /sys/class/net/eth0/address)"	# the address of the switch
	testbed.sh exec server python3 "$srcdir/tests/bats/frames.py" heard eth0 2 >heard 3>&- &
	receiver=$!
	await heard
	innet-frames w0 play eth0 "$(on server cat /sys/class/net/eth0/address)" sent.pcap 7
	wait $receiver
	end_switch
	jq -e '.totals.aggregated.packets > 20' switch.json
	[ "$(grep -c '^7 46638 ' heard)" -eq "$(jq .totals.delivered.packets switch.json)" ]
}
