# Tests of regular traffic of common programs next to a job whose switch is in
# the path.
load common
load in-path

# needs TOOL...: skip the test with a message if one of these programs is
# missing
needs() {
	local tool
	for tool; do
		command -v "$tool" >/dev/null || skip "no $tool"
	done
}

# jumbo: set an MTU of 9,000 bytes and disable segmentation offload, so that
# frames look as on a wire
jumbo() {
	local h
	for h in w0 w1 server; do
		on $h ip link set eth0 mtu 9000 gso_max_segs 1
		on switch ip link set $h mtu 9000 gso_max_segs 1
	done
	on switch ip link set br0 mtu 9000
	on server ip -6 addr add fd77::2/64 dev eth0 nodad
	on w0 ip -6 addr add fd77::10/64 dev eth0 nodad
}

# capture HOST out|in FILE FILTER: start tcpdump on the host; $tapping gets the
# process ids
capture() {
	testbed.sh exec "$1" $favoured tcpdump -Z root -i eth0 -Q "$2" -B 65536 -s 0 --immediate-mode -U -w "$3" "$4" 2>"$3.err" 3>&- &
	tapping="${tapping-} $!"
	pids="$pids $!"
	within 20 grep -q 'listening on' "$3.err"
}
same() { python3 "$srcdir/tests/bats/frames.py" same "$1.pcap" "$1-came.pcap"; }
# end_capture NAME...: stop the captures once all packets that were sent have
# arrived
end_capture() {
	local name
	for name; do within 20 same $name || same $name; done
	kill -INT $tapping
	wait $tapping
	cat ./*.pcap.err | awk '/dropped by kernel/ && $1 > 0 { print; bad = 1 } END { exit bad }'
}

@test "in the path: iperf3 and ping pass beside a job frame by frame: long frames, fragments, IPv6, innet's codepoints" {
	needs iperf3 ping tcpdump
	rack
	jumbo
	# use one processor: with several, another processor may take over the
	# queue of a veth, and frames of a veth wait on the processor where they
	# were sent
	favoured="$favoured taskset -c $(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')"
	in_path --port-rate server=500Mbit --report switch.json
	server
	worker 1 --synthetic 40kB --interval 2ms
	beyond 20
	mac=$(on w0 cat /sys/class/net/eth0/address)
	# except for packets that a host sends on its own, perhaps before both
	# captures have started
	unasked='ip6[6] == 0 or (ip6[6] == 58 and ip6[40] == 133)'
	capture w0 out there.pcap "(arp or ip or ip6) and not ($unasked)"
	capture server in there-came.pcap "ether src $mac and not ($unasked)"
	capture server out back.pcap "ether dst $mac"
	capture w0 in back-came.pcap "ether src $(on server cat /sys/class/net/eth0/address) and ether dst $mac"
	testbed.sh exec server $favoured iperf3 -s --forceflush >iperf.out 2>&1 3>&- &
	pids="$pids $!"
	within 20 grep -q 'Server listening' iperf.out
	while read -r to tos bytes; do
		on w0 $favoured iperf3 -c $to -S $tos -n 2M -b 50M -J >tcp.json </dev/null
		jq -e '.end.sum_received.bytes > 1e6' tcp.json
		on w0 $favoured iperf3 -c $to -S $tos -u -l $bytes -w 2M -n 500K -b 20M -J >udp.json </dev/null
		jq -e '.end.sum | .packets > 20 and .lost_packets == 0' udp.json
		on w0 $favoured ping -q -M dont -s $bytes -Q $tos -c 10 -i 0.01 $to >ping.out </dev/null
		grep -q ' 0% packet loss' ping.out
	done <<-'END'
	10.77.0.2 0 8900
	10.77.0.2 0x0c 8900
	10.77.0.2 0x1c 8900
	10.77.0.2 0x2c 8900
	10.77.0.2 0x2c 20000
	fd77::2 0 8900
	fd77::2 0x2c 8900
	fd77::2 0x2c 20000
	END
	end_capture there back
	kill $workers
	join_workers
	end_switch
	jq -e '.totals.delivered.packets > 100 and .interfaces.no_way == 0' switch.json
}

@test "in the path: no ping is lost when a switch is killed or hangs" {
	needs ping
	rack
	server
	for signal in KILL STOP; do
		in_path --port-rate server=10Mbit
		worker 1 --synthetic 4kB --interval 2ms
		beyond 20
		testbed.sh exec w0 ping -q -c 1000 -i 0.002 10.77.0.2 >ping.out 3>&- &
		pinging=$!
		pids="$pids $pinging"
		kill -s $signal "$switch"
		beyond $((updates + 100))
		wait $pinging
		grep '1000 packets transmitted, 1000 received' ping.out || { cat ping.out; false; }
		kill $workers
		join_workers
		kill -s CONT "$switch" 2>/dev/null || true
		kill "$switch" 2>/dev/null || true
		wait "$switch" || true
	done
}
