# A switch in the path of a bridge, between hosts that are network namespaces.
load common

PATH=$testbed:$PATH

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	pids=''
}

teardown() {
	end_all
	end_testbed
}

# A rack of two workers and a server; skip where the kernel lacks what it takes.
rack() {
	privileged
	unshare -n innet-switch --bridge none 2>why || true
	export INNET_TESTBED
	INNET_TESTBED=$(testbed.sh up rack -n 2 --rate 1gbit "$@" --owner $$)
	local rc=0
	on switch innet-switch -q --insecure --bridge br0 --duration 1ms 2>why || rc=$?
	[ $rc -le 1 ] || { cat why; return 1; }		# it has crashed
	[ $rc -eq 0 ] || skip "no frames can be taken here: $(tail -n 1 why)"
}

on() { testbed.sh exec "$@"; }
innet-frames() { on "$1" python3 "$srcdir/tests/bats/frames.py" "${@:2}"; }

# in_path OPTION...: a switch at br0, its pid in $switch; favoured, for one that is
# kept waiting for 100 ms lets frames pass
in_path() {
	testbed.sh exec switch $favoured innet-switch --insecure --bridge br0 "$@" >switch.out 2>switch.err 3>&- &
	switch=$!
	pids="$pids $switch"
	said 'in the path of br0: '
}

# Wait until the switch has said so.
said() {
	for _ in $(seq 250); do
		! grep -q "$1" switch.err || return 0
		sleep 0.02
	done
	cat switch.err
	return 1
}

end_switch() {
	kill "$switch"
	wait "$switch"
}

# server OPTION...: a parameter server, and workers that know of no switch
server() {
	testbed.sh exec server innet-ps --insecure --listen 10.77.0.2 --report ps.json "$@" 2>server.err 3>&- &
	server=$!
	pids="$pids $server"
	await server.err
}
worker() {
	local n=$1
	shift
	testbed.sh exec "w$n" innet-worker -p olaf --worker "$n" --switch 10.77.0.2 --json "$@" >"w$n.json" 2>"w$n.err" 3>&- &
	pids="$pids $!"
	workers="${workers-} $!"
}
join_workers() {
	local w
	for w in $workers; do wait "$w"; done
	workers=''
}

# updates ADDRESS: how many the server there has had
updates() { on server innet-ctl "$1" stats --json | jq .counters.updates; }

# end_server ADDRESS: when it has read all that waits for it
end_server() {
	local now='' before
	for _ in $(seq 100); do
		before=$now
		now=$(updates "$1")
		[ "$now" != "$before" ] || break
		sleep 0.2
	done
	kill "$server"
	wait "$server"
}

@test "in the path: without privilege, one line that names what is missing" {
	rack
	run -1 --separate-stderr on switch setpriv --reuid=65534 --clear-groups --bounding-set=-all \
		innet-switch --insecure --bridge br0
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == *'privileges that are missing: CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF' ]]
}

@test "in the path: by tap devices it is the same, and they are taken where packet sockets are not allowed" {
	rack
	in_path -v --backend packet
	said 'back-end packet: .* by '
	end_switch
	rm switch.err
	for backend in tap auto; do
		testbed.sh exec switch $favoured setpriv --bounding-set=-net_raw --inh-caps=-net_raw innet-switch --insecure --bridge br0 -v \
			--backend $backend --port-rate server=10Mbit --report switch.json >switch.out 2>switch.err 3>&- &
		switch=$!
		pids="$pids $switch"
		said 'back-end tap: .* by '
		server
		for w in 0 1; do worker $w --synthetic 4kB --interval 1ms -c 200; done
		join_workers
		end_switch
		kill "$server"
		wait "$server"
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

# How many programs of XDP there are at the switch's ports
xdp_attached() { on switch ip -o link show | grep -c 'prog/xdp' || true; }

# A rack; skip where the kernel has no AF_XDP
has_xdp() {
	rack
	local rc=0
	on switch innet-switch -q --insecure --bridge br0 --backend xdp --duration 1ms 2>why || rc=$?
	[ $rc -eq 0 ] || ! grep -Eq 'no AF_XDP|Function not implemented' why || skip "$(tail -n 1 why)"
	[ $rc -eq 0 ] || { cat why; return 1; }
}

@test "in the path: by AF_XDP it is the same: updates merge, sums are right, and nothing is left attached" {
	has_xdp
	in_path -v --backend xdp --port-rate server=10Mbit --report switch.json
	said 'back-end xdp: .* by native XDP, copied, 1 queue from server on'
	[ "$(xdp_attached)" -eq 3 ]
	server
	for w in 0 1; do worker $w --synthetic 4kB --interval 1ms -c 200; done
	join_workers
	end_switch
	end_server 10.77.0.2
	jq -e '.totals.aggregated.packets + .totals.superseded.packets > 100 and .models > 10 and .interfaces.no_way == 0' switch.json
	jq -n -e --slurpfile s switch.json --slurpfile p ps.json \
		'$s[0].totals.delivered.constituents == $p[0].constituents'
	[ "$(xdp_attached)" -eq 0 ]
	in_path -p iswitch -H 2 --backend xdp --report switch.json
	for w in 0 1; do
		testbed.sh exec w$w innet-worker -p iswitch --worker $w --check 2 --synthetic 157kB --interval 0 -c 100 \
			--switch 10.77.0.1 --json >w$w.json 2>w$w.err 3>&- &
		pids="$pids $!"
		workers="${workers-} $!"
	done
	join_workers
	end_switch
	jq -e '.jobs["1"].counters | .results == 100 * 108 and .partial == 0' switch.json
	jq -e '.interfaces | .frames > 0 and all(.w0, .w1; .kernel == 0 and .send_failed == 0)' switch.json
}

@test "in the path: by AF_XDP regular traffic waits for its link, queues are all read, long frames are refused in a line" {
	has_xdp
	in_path -p iswitch -H 1 --backend xdp --port-rate w0=50Mbit --regular queued --report switch.json
	on w0 innet-worker -p iswitch --worker 0 --check 1 --synthetic 157kB --interval 0 -c 20 --switch 10.77.0.1
	end_switch
	jq -e '.jobs["1"].counters.results == 20 * 108 and .regular > 0' switch.json
	on switch ip link add late0 numrxqueues 2 numtxqueues 2 type veth peer name late1 numrxqueues 2 numtxqueues 2
	on switch ip link set late0 up master br0
	on switch ip link set late1 up
	in_path -v --backend xdp
	said 'native XDP, copied, 2 queues from late0 on'
	on switch ip link del late0
	said 'late0: leaves br0'
	on switch ip link set w0 mtu 9000
	said 'w0: not in the path: XDP carries an MTU of 3506 bytes'
	[ "$(xdp_attached)" -eq 2 ]
	on switch ip link set w0 mtu 1500
	said 'w0: joins br0'
	[ "$(xdp_attached)" -eq 3 ]
	end_switch
	on w0 ip link set eth0 mtu 9000
	run -1 --separate-stderr on switch innet-switch --insecure --bridge br0 --backend xdp
	[[ $stderr == *'br0: w0: XDP carries an MTU of 3506 bytes at most, at both ends of a veth' ]]
	on switch ip link set w0 mtu 9000
	run -1 --separate-stderr on switch innet-switch --insecure --bridge br0 --backend xdp
	[[ $stderr == *'br0: w0: XDP carries an MTU of 3506 bytes at most, at both ends of a veth' ]]
	[ "$(xdp_attached)" -eq 0 ]
}

@test "in the path: by AF_XDP frames of all other kinds come out as they went in, and in order" {
	has_xdp
	other_kinds --backend xdp
}

@test "in the path: by AF_XDP, killed or hung, it fails open, and nothing is left attached" {
	has_xdp
	fails_open --backend xdp
}

@test "in the path: what does not go together is misuse, what is not there is named" {
	run -2 innet-switch -p iswitch --listen :0 --multicast 239.1.2.3
	[[ "$output" = *'--multicast goes with --bridge or --interfaces' ]]
	run -2 innet-switch -p olaf --listen :0 --bridge lo --multicast 239.1.2.3
	[[ "$output" = *'--multicast does not go with --program olaf, whose results go to one host each' ]]
	run -2 innet-switch -p iswitch --listen :0 --bridge lo --multicast 10.1.2.3
	[[ "$output" = *"invalid group '10.1.2.3': not an address of multicast, as 239.1.2.3[:PORT]" ]]
	run -2 innet-switch -p iswitch --listen :0 --bridge lo --multicast '[ff15::1]'
	[[ "$output" = *"--multicast [ff15::1]: the switch's own address is of another family" ]]
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
	[[ $stderr == *"'w9' is no port of br0"* ]]
}

@test "in the path: updates merge on their way, and workers and server know nothing of it" {
	rack
	mkdir taps
	in_path --port-rate server=10Mbit --taps taps --report switch.json
	server
	for w in 0 1; do worker $w --synthetic 4kB --interval 1ms -c 300; done
	join_workers
	on server innet-ctl 10.77.0.1 stats --json >stats.json
	end_switch
	end_server 10.77.0.2
	jq -e '.totals | .aggregated.packets > 100 and .arrived.constituents == .delivered.constituents +
		.superseded.constituents + .dropped_full.constituents + .queued.constituents' switch.json
	jq -e '.models > 100 and .regular == 0' switch.json
	# each packet that left came, and the models told the workers of the queue
	jq -n -e --slurpfile s switch.json --slurpfile p ps.json \
		'$s[0].totals.delivered.constituents == $p[0].constituents'
	jq -e '.models > 100' w0.json
	# the filter makes the same decisions of what came
	innet-switch -q --port 10.77.0.2:rate=10Mbit -r taps/w0-in.pcap -r taps/w1-in.pcap -r taps/server-in.pcap \
		--departures taps/server-out.pcap -w again.pcap --report filter.json
	jq -e '.departures_differ == 0' filter.json
	diff <(jq -S '.totals, .clusters, .models, .weights, .ignored' switch.json) \
		<(jq -S '.totals, .clusters, .models, .weights, .ignored' filter.json)
}

@test "in the path: iSwitch sums at the bridge's address, and every sum is right" {
	rack
	in_path -p iswitch -H 2 --report switch.json
	for w in 0 1; do
		testbed.sh exec w$w innet-worker -p iswitch --worker $w --check 2 --synthetic 157kB --interval 0 -c 200 \
			--switch 10.77.0.1 --json >w$w.json 2>w$w.err 3>&- &
		pids="$pids $!"
		workers="${workers-} $!"
	done
	join_workers
	on switch innet-ctl 10.77.0.1 jobs	# from the switch's own host
	end_switch
	jq -e '.jobs["1"].counters | .results == 200 * 108 and .partial == 0' switch.json
	jq -e '.interfaces.frames > 0' switch.json
}

@test "in the path: DLP is answered at the bridge's address" {
	rack
	mkdir taps
	in_path -p dlp --report switch.json --taps taps
	on w0 innet-worker -p dlp --switch 10.77.0.1 --synthetic 24B --interval 1ms --session nodes=1,iterations=50
	end_switch
	jq -e '.steps >= 50 and .interfaces.frames > 50' switch.json
	# the filter makes the same of what came
	innet-switch -q -p dlp --listen 10.77.0.1:46638 -r taps/w0-in.pcap -r taps/w1-in.pcap -r taps/server-in.pcap \
		--departures taps/w0-out.pcap -w again.pcap --report filter.json
	jq -e '.departures_differ == 0' filter.json
	diff <(jq -S '.steps, .switch, .ignored' switch.json) <(jq -S '.steps, .switch, .ignored' filter.json)
}

# Every result of a switch in captures, by whom it goes to, in order
results() { for f in "$@"; do dumpiswitch "$f"; done | grep ' seg ' | cut -d' ' -f2- | LC_ALL=C sort -s -k2,2; }

@test "in the path: from the captures of all ports the filter sums the same, and sends the same" {
	rack
	mkdir taps
	in_path -p iswitch -H 2 --reduce ordered --report switch.json --taps taps
	for w in 0 1; do
		testbed.sh exec w$w innet-worker -q -p iswitch --worker $w --synthetic 40kB --interval 0 -c 100 \
			--switch 10.77.0.1 2>w$w.err 3>&- &
		workers="${workers-} $!"
	done
	join_workers
	end_switch
	innet-switch -q -p iswitch -H 2 --reduce ordered --listen 10.77.0.1:46638 -r taps/w0-in.pcap \
		-r taps/w1-in.pcap -r taps/server-in.pcap -w again.pcap --report filter.json
	jq -e '.jobs["1"].counters.results == 100 * 28' filter.json
	for f in switch filter; do jq -S '.jobs, .ignored' $f.json >$f.figures; done
	diff switch.figures filter.figures
	results taps/w0-out.pcap taps/w1-out.pcap >lived
	results again.pcap >filtered
	cmp lived filtered
}

# other_kinds OPTION...: frames that no switch takes, without and with one
other_kinds() {
	innet-frames switch attached w0
	mac=$(on server cat /sys/class/net/eth0/address)
	server
	for way in plain path; do
		[ $way = plain ] || in_path --report switch.json "$@"
		[ $way = plain ] || worker 1 --synthetic 40kB --interval 1ms -c 1000
		testbed.sh exec server python3 "$srcdir/tests/bats/frames.py" recv eth0 2 >$way.frames 3>&- &
		receiver=$!
		await $way.frames
		innet-frames w0 send eth0 "$mac"
		wait $receiver
	done
	[ "$(wc -l <plain.frames)" -gt 400 ]
	# what a bridge lets pass the switch does, in each flow in the same order
	for way in plain path; do LC_ALL=C sort -s -k1.1,1.60 $way.frames >$way.flows; done
	diff plain.flows path.flows | head -n 4 >differ
	[ ! -s differ ]
	join_workers
	end_switch
	jq -e '.ignored | add > 0' switch.json
}

@test "in the path: frames of all other kinds come out as they went in, and in order" {
	rack
	other_kinds
}

@test "in the path: streams, datagrams in runs and multicast arrive whole and in order, at an MTU of 9,000 too" {
	rack
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
		# of each codepoint, and of a group, none is lost, damaged or out of its order
		[ "$(grep -c ' 300 of 300, 0 bad$' sunk)" -eq 4 ]
		grep -q '^stream .* bytes, good$' sunk
		join_workers
		end_switch
		kill "$server"
		wait "$server"
		jq -e '.totals.arrived.packets > 20' switch.json
	done
	# updates of 9,000 bytes went as they are
	jq -e '.totals | .arrived.packets < 400 * 6' switch.json
	# and gradients are cut for it
	in_path -p iswitch -H 1 --report switch.json
	on w0 innet-worker -p iswitch --worker 0 --check 1 --synthetic 157kB --interval 0 -c 50 --floats 2241 --switch 10.77.0.1
	end_switch
	jq -e '.jobs["1"].counters.results == 50 * 18' switch.json
}

# beyond N: wait until the server has had more updates, 60 s at most: $updates
beyond() {
	for _ in $(seq 600); do
		updates=$(updates 10.77.0.2)
		[ "$updates" -le "$1" ] || return 0
		sleep 0.1
	done
	echo "$updates updates, not more than $1" >&2
	return 1
}

# fails_open OPTION...: a switch is killed, and one is stopped: updates pass, and its programs go
fails_open() {
	server
	for signal in KILL STOP; do
		in_path "$@"
		[ $(($(innet-frames switch attached w0) + $(xdp_attached))) -gt 0 ]
		worker 0 --synthetic 4kB --interval 2ms
		beyond 20
		kill -s $signal "$switch"
		beyond $((updates + 100))
		kill $workers
		join_workers
		[ $signal != STOP ] || kill -s CONT "$switch"
		kill "$switch" 2>/dev/null || true
		wait "$switch" || true
		[ "$(innet-frames switch attached w0)" -eq 0 ]
		[ "$(xdp_attached)" -eq 0 ]
		[ -z "$(testbed.sh exec switch ip -o link show type tun)" ]
	done
}

@test "in the path: killed or hung, it fails open, and nothing is left attached" {
	rack
	fails_open
}

@test "in the path: ports come, go, go down and up; a second switch is refused; the bridge goes" {
	rack
	in_path
	run -1 --separate-stderr on switch innet-switch --bridge br0 --listen 127.0.0.1:0
	[[ $stderr == *'br0: another innet-switch stands in its path' ]]
	on switch ip link set w1 down
	said 'w1: down'
	on switch ip link set w1 up
	said 'w1: up'
	on switch ip link set w1 nomaster
	said 'w1: leaves br0'
	[ "$(innet-frames switch attached w1)" -eq 0 ]
	on switch ip link set w1 master br0
	said 'w1: joins br0'
	[ "$(innet-frames switch attached w1)" -eq 1 ]
	on switch ip link add late0 type veth peer name late1
	on switch ip link set late0 master br0
	said 'late0: joins br0'
	on switch ip link del br0
	said 'br0: the bridge is gone'
	wait "$switch" && return 1 || [ $? -eq 1 ]
	for port in w0 w1 server late0; do [ "$(innet-frames switch attached $port)" -eq 0 ]; done
}

# The time of a vector of 157 kB behind a link of RATE, as sums come back: round
rounds() {
	on w0 $ahead innet-worker -p iswitch --worker 0 --synthetic 157kB --interval 0 -c 24 \
		--switch 10.77.0.1 --json >w0.json
	jq .round_p50_ns w0.json
}

# within NS BITS RATE: is NS, within 3 %, BITS at RATE bit/s?
within() {
	awk -v ns="$1" -v bits="$2" -v rate="$3" 'BEGIN {
		due = bits / rate * 1e9
		printf "%.2f ms, due %.2f\n", ns / 1e6, due / 1e6
		exit !(ns > due * 0.97 && ns < due * 1.03)
	}'
}

@test "in the path: a vector takes its bytes over the rate, and regular traffic beside it its share" {
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
}

@test "in the path: racks that are bridges sum, and a core that is one sums theirs" {
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

# two pairs of workers, each behind one port of the core, where the switch stands
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

# pairs_six: the core's and the workers' addresses over IPv6, fd77::1 and fd77::1N
pairs_six() {
	on core ip -6 addr add fd77::1/64 dev br0 nodad
	for w in 0 1 2 3; do on w$w ip -6 addr add fd77::1$w/64 dev eth0 nodad; done
}

# pairs_train MEMBERS VECTORS JOB/WORKER...: so many of jobs of so many members
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

# aom FILE...: what all captures together show
aom() { innet-aom -q $(printf -- '-r %s ' "$@") --program iswitch --json; }

@test "in the path: results come once to all who are behind a port together" {
	mkdir taps
	pairs -H 4 --multicast 239.77.0.1 --taps taps
	pairs_train 4 100 1/0 1/1 1/2 1/3
	jq -se 'all(.iterations == 100 and .results >= 100 * 108)' w?.json
	# by two ports, but the first before a worker had joined the group
	jq -e '.interfaces.shared > 150 * 108 and .out < 250 * 108' core.json
	# a result that several hear is a result of each
	aom taps/switch?-*.pcap | head -n 1 | jq -e '.members == 4 and .measured == 100 and .results == 400 * 108'
	aom w0.pcap | head -n 1 | jq -e '.members == 1 and .measured == 100 and .results == 100 * 108'
}

@test "in the path: two jobs behind a port hear their own results alone, behind its queue" {
	pairs -H 2 --multicast 239.77.0.1:5000 --port-rate switch1=200Mbit
	pairs_train 2 30 1/0 2/0 1/1 2/1
	jq -se 'all(.iterations == 30)' w?.json
	jq -e '[.jobs[].counters.results] == [30 * 108, 30 * 108]' core.json
	jq -e '.interfaces.shared == 0' core.json	# one of each job behind each port
	end_testbed
	rm -f w?.json
	pairs -H 2 --multicast 239.77.0.1:5000 --port-rate switch1=200Mbit
	pairs_train 2 30 1/0 1/1 7/0 7/1
	jq -se 'all(.iterations == 30)' w?.json
	jq -e '.interfaces.shared > 40 * 108' core.json
	aom w2.pcap | head -n 1 | jq -e '.job == 7 and .measured == 30'
}

@test "in the path: a group of IPv6 is heard as well" {
	to='[fd77::1]'
	pairs -H 4 --listen "$to" --multicast '[ff15::77]'
	pairs_train 4 30 1/0 1/1 1/2 1/3
	jq -se 'all(.iterations == 30 and .results >= 30 * 108)' w?.json
	jq -e '.interfaces.shared > 20 * 108' core.json
}

# The workers' and the server's addresses over IPv6: fd77::N
six() {
	on server ip -6 addr add fd77::2/64 dev eth0 nodad
	on switch ip -6 addr add fd77::1/64 dev br0 nodad
	for w in 0 1; do on w$w ip -6 addr add fd77::1$w/64 dev eth0 nodad; done
}

@test "in the path: the same over IPv6" {
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
	# who has to wait for the processor sends less
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

@test "in the path: the example merges, goes on without the switch, and merges again" {
	rack
	testbed.sh down "$INNET_TESTBED"
	unset INNET_TESTBED
	"$srcdir/share/examples/in-path.sh" --seconds 6 >table
	cat table
	awk '/^in the path/ { a = $5 > 2 * $4 } /^killed/ { b = $2 > 100 && $3 < 1.2 * $2 }
		/^started/ { c = $3 > 2 * $2 } END { exit !(a && b && c) }' table
}

@test "in the path: between interfaces, without a bridge, all frames pass and updates merge" {
	rack
	run -1 --separate-stderr on switch innet-switch --interfaces w0,w1
	[[ $stderr == *'is a port of a bridge, which --bridge is for' ]]
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

@test "in the path: twelve agents under two tiers learn CartPole, to the same bits as on sockets" {
	once training
	rack
	testbed.sh down "$INNET_TESTBED"
	unset INNET_TESTBED
	for way in '' --in-path; do
		"$srcdir/share/examples/iswitch-cartpole.sh" --hierarchy $way --out "$PWD/out$way" >said$way 2>err 3>&-
	done
	diff <(grep -E '^(iterations|mean reward|CRC)' said) <(grep -E '^(iterations|mean reward|CRC)' said--in-path)
	jq -e '.interfaces.frames > 1000' <(cat out--in-path/1-core.out)
}

@test "in the path: updates with a VLAN tag merge, and leave with it" {
	rack
	in_path --port-rate server=10Mbit --report switch.json
	innet-gen -q --clusters 1 --workers 2 -c 400 -w sent.pcap
	innet-frames server send eth0 "$(on w0 cat /sys/class/net/eth0/address)"	# where it is
	testbed.sh exec server python3 "$srcdir/tests/bats/frames.py" heard eth0 2 >heard 3>&- &
	receiver=$!
	await heard
	innet-frames w0 play eth0 "$(on server cat /sys/class/net/eth0/address)" sent.pcap 7
	wait $receiver
	end_switch
	jq -e '.totals.aggregated.packets > 20' switch.json
	[ "$(grep -c '^7 46638 ' heard)" -eq "$(jq .totals.delivered.packets switch.json)" ]
}
