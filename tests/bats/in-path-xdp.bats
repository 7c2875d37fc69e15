# Tests of a switch in the path with AF_XDP sockets.
load common
load in-path

# Build a rack; skip the test if the kernel has no AF_XDP.
has_xdp() {
	rack
	local rc=0
	on switch innet-switch -q --insecure --bridge br0 --backend xdp --duration 1ms 2>why || rc=$?
	[ $rc -eq 0 ] || ! grep -Eq 'no AF_XDP|Function not implemented' why || skip "$(tail -n 1 why)"
	[ $rc -eq 0 ] || { cat why; return 1; }
}

@test "in the path: with AF_XDP updates merge, sums are correct, and nothing remains attached" {
	has_xdp
	in_path -v --backend xdp --port-rate server=10Mbit --report switch.json
	said 'back-end xdp: .*; port server and the ports after it use native XDP, copied, 1 queue'
	[ "$(xdp_attached)" -eq 3 ]
	server
	for w in 0 1; do worker $w --synthetic 4kB --interval 1ms -c 200; done
	join_workers
	end_switch
	end_server 10.77.0.2
	jq -c '.totals.delivered, .interfaces, .deaf_ns' switch.json
	jq -c '{constituents, updates}' ps.json
	jq -e '.totals.aggregated.packets + .totals.superseded.packets > 100 and .models > 10 and .interfaces.no_way == 0' switch.json
	# a switch that was delayed for 100 ms let some frames pass
	jq -n -e --slurpfile s switch.json --slurpfile p ps.json \
		'$p[0].constituents - $s[0].totals.delivered.constituents | . == 0 or (. > 0 and $s[0].deaf_ns > 0)'
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

@test "in the path: with AF_XDP interfaces leave VLAN tags in frames" {
	has_xdp
	tags() { [ "$(innet-frames switch rxvlan w0 w1 server)" = "$1" ]; }
	tags 'on on on'
	in_path -v --backend xdp
	tags 'off off off'
	on switch ip link set w0 nomaster
	said 'w0: left br0'
	tags 'on off off'
	on switch ip link set w0 master br0
	said 'w0: joined br0'
	tags 'off off off'
	end_switch
	tags 'on on on'
	in_path
	tags 'on on on'
	end_switch
}

@test "in the path: with AF_XDP regular traffic queues, all queues are read, and long frames are refused" {
	has_xdp
	in_path -p iswitch -H 1 --backend xdp --port-rate w0=50Mbit --regular queued --report switch.json
	on w0 innet-worker -p iswitch --worker 0 --check 1 --synthetic 157kB --interval 0 -c 20 --switch 10.77.0.1
	end_switch
	jq -e '.jobs["1"].counters.results == 20 * 108 and .regular > 0' switch.json
	on switch ip link add late0 numrxqueues 2 numtxqueues 2 type veth peer name late1 numrxqueues 2 numtxqueues 2
	on switch ip link set late0 up master br0
	on switch ip link set late1 up
	in_path -v --backend xdp
	said 'port late0 and the ports after it use native XDP, copied, 2 queues'
	on switch ip link del late0
	said 'late0: left br0'
	on switch ip link set w0 mtu 9000
	said 'w0: cannot add this port to the path: XDP needs an MTU of at most 3506 bytes'
	[ "$(xdp_attached)" -eq 2 ]
	on switch ip link set w0 mtu 1500
	said 'w0: joined br0'
	[ "$(xdp_attached)" -eq 3 ]
	end_switch
	on w0 ip link set eth0 mtu 9000
	run -1 --separate-stderr on switch innet-switch --insecure --bridge br0 --backend xdp
	[[ $stderr == *'br0: w0: XDP needs an MTU of at most 3506 bytes, on both ends of a veth pair' ]]
	on switch ip link set w0 mtu 9000
	run -1 --separate-stderr on switch innet-switch --insecure --bridge br0 --backend xdp
	[[ $stderr == *'br0: w0: XDP needs an MTU of at most 3506 bytes, on both ends of a veth pair' ]]
	[ "$(xdp_attached)" -eq 0 ]
}

@test "in the path: with AF_XDP frames of all other kinds pass unchanged and in order" {
	has_xdp
	other_kinds --backend xdp
}

@test "in the path: with AF_XDP a killed or hanging switch lets traffic pass, and nothing remains attached" {
	has_xdp
	fails_open --backend xdp
}
