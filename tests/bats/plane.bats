# Tests of the data plane, which is written once and must work the same with
# every program.
load plane

# departures FILE: print the length and the timestamp of each packet, by its
# destination and its number there
departures() {
	tshark -r "$1" -T fields -e udp.dstport -e udp.length -e frame.time_epoch \
		"udp.srcport == ${switch#*:}" 2>/dev/null |
		awk '{ print $1 "." ++n[$1], $2, $3 }' | sort
}

# never_early N: check that at least N packets have left the live switch, each
# with the length that the filter gives it and none before the time that the
# filter gives it
never_early() {
	departures out.pcap >live.out
	departures again.pcap | command join -a 1 live.out - |
		awk '$2 != $4 || $3 "" < $5 "" { print; bad = 1 } END { exit bad || NR < '"$1"' }'
}

# own_counters FILE: print the counters, without those of the kernel and of
# impairments
own_counters() {
	jq -S 'with_entries(select(.key | IN("kernel", "unreachable", "send_failed",
		"latest_departure_ns", "deaf_ns", "time_backwards", "departures_differ") or
		startswith("impaired_") | not))' "$1"
}

@test "--rate and --wire-overhead limit a live switch of any program" {
	for more in '' --wire-overhead; do
		live iswitch --rate 1Mbit $more -H 2
		lead='' crew iswitch --synthetic 12kB --interval 0 -c 3
		finish switch
		again iswitch --rate 1Mbit $more -H 2 --listen "$switch"
		never_early 54
		live dlp --rate 100k $more
		lead='--session nodes=2,iterations=20,scale=1000'
		crew dlp --synthetic 24B --interval 1ns
		finish switch
		again dlp --rate 100k $more --udp-port "${switch#*:}"
		never_early 40
		serve ps innet-ps -q
		live olaf --queue fifo --slots 1000 --rate 2Mbit $more --upstream "$ps"
		lead='' crew olaf --synthetic 1kB --interval 3ms -c 200
		finish switch
		finish ps
		again olaf --queue fifo --slots 1000 --rate 2Mbit $more --upstream "$ps" --listen "$switch"
		never_early 40
	done
}

@test "a switch with --upstream sends updates from its own address, also in a trace" {
	at 1 1 0 1 dport=9 | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --listen 10.255.255.254:9 --upstream 10.8.8.8 --report r.json
	[ "$(tcpdump -nr out.pcap 2>/dev/null | cut -d' ' -f3,5)" = "10.255.255.254.9 10.8.8.8.46638:" ]
	[ "$(count r.json delivered)" -eq 1 ]
}

# set_clock SECONDS: set $set, a prefix for a command; from the tenth message
# on, the wall clock of the tool is SECONDS ahead
set_clock() {
	[[ $COMPILE != *-fsanitize* ]] || skip "a sanitizer is to be loaded first"
	[ -e set-clock.so ] || (cd "$builddir" && $COMPILE -shared -fPIC -o "$OLDPWD/set-clock.so" \
		"$BATS_TEST_DIRNAME/set-clock.c" -ldl)
	set="env LD_PRELOAD=$PWD/set-clock.so SET_CLOCK=10:$1"
}

# live_set PROGRAM [OPTION...]: do the same as live, but set the clock during
# the run
live_set() {
	serve switch $set innet-switch -q -p "$1" --write-in in.pcap -w out.pcap \
		--report live.json "${@:2}"
}

# went_on NAME: check that the clock was set and that the captures do not show
# it
went_on() {
	finish switch
	grep -qx 'the clock is set' switch.err
	for f in in out; do
		tshark -r $f.pcap -T fields -e frame.time_epoch 2>/dev/null >$f.stamps
		sort -c $f.stamps
		awk 'NR == 1 { t = $1 } END { exit $1 - t > 1800 }' $f.stamps
	done
}

@test "a live switch of any program continues when the wall clock is set" {
	for by in -3600 -5 3600; do
		set_clock $by
		live_set iswitch -H 3 --straggler 50ms
		innet-ctl "$switch" join --worker 9 --vector 1000 >joined
		lead='' crew iswitch --synthetic 4kB --interval 0 -c 20
		went_on
		# steps are partial only after a time-out; while a worker waits
		# for one, it can miss some steps
		[ "$(jq '.jobs["1"].counters.partial' live.json)" -ge 30 ]
		again iswitch -H 3 --straggler 50ms --listen "$switch"
		diff <(own_counters live.json) <(own_counters again.json)
		live_set dlp --rate 1M
		lead='--session nodes=2,iterations=50,scale=1000'
		crew dlp --synthetic 24B --interval 1ns
		went_on
		[ "$(jq -s 'map(.results) | add' w?.json)" -eq 100 ]
		serve ps $set innet-ps -q
		live_set olaf --rate 2Mbit --upstream "$ps"
		lead='' crew olaf --synthetic 1kB --interval 3ms -c 200
		went_on
		finish ps
		grep -qx 'the clock is set' ps.err
		[ "$(awk "\$1 > $(sed -n 100p in.stamps)" out.stamps | wc -l)" -gt 5 ]
	done
}

# node NAME [OPTION...]: start a live switch of a tree
node() {
	serve "$1" innet-switch -q -p iswitch --rate 50Mbit --write-in "$1.in.pcap" -w "$1.out.pcap" \
		--report "$1.json" "${@:2}"
}

# repeats NAME [OPTION...]: check that the filter, given the captures of switch
# NAME, makes the same decisions
repeats() {
	innet-switch -q -p iswitch --rate 50Mbit --listen "${!1}" -r "$1.in.pcap" -w "$1.again.pcap" \
		--departures "$1.out.pcap" --report "$1.again.json" "${@:2}"
	diff <(own_counters "$1.json") <(own_counters "$1.again.json")
	[ "$(jq .departures_differ "$1.again.json")" -eq 0 ]
	# and that it sends the same segments, byte by byte; control messages
	# contain random numbers
	diff <(sums "$1.out.pcap") <(sums "$1.again.pcap")
}

# sums FILE: print every segment in a capture with its timestamp and destination
sums() { dumpiswitch "$1" | grep ' seg ' | sort; }

@test "a tree of three levels: from its captures, the filter repeats the work of each live switch" {
	node root -H 2
	node mid -H 2 --parent "$root"
	node a -H 2 --number 1 --parent "$mid" --impair loss=1%
	node b -H 1 --number 2 --parent "$mid"
	all=''
	for w in a1 a2 b3 root4; do
		innet-worker -p iswitch --json --switch "$(eval "echo \$${w%?}")" --worker "${w#"${w%?}"}" --synthetic 12kB \
			--interval 0 -c 50 --impair loss=1% >$w.w 3>&- &
		all="$all $!"
	done
	pids="$pids $all"
	for w in $all; do wait "$w"; done
	for n in a b mid root; do finish $n; done
	[ "$(jq -s 'map(.iterations) | add' ./*.w)" -eq 200 ]
	repeats root -H 2
	repeats mid -H 2 --parent "$root"
	repeats a -H 2 --number 1 --parent "$mid"
	repeats b -H 1 --number 2 --parent "$mid"
	[ "$(jq '.jobs["1"].counters.added' mid.json)" -ge 900 ]
}

# packets FILE: print the number of packets in a capture
packets() { tcpdump -nr "$1" 2>/dev/null | wc -l; }

@test "a live switch reports its packets and parents correctly" {
	node root -H 1
	node mid -H 2 --parent "$root"
	lead='' switch=$mid crew iswitch --synthetic 12kB --interval 0 -c 5
	for _ in 1 2 3; do echo stray >"/dev/udp/127.0.0.1/${mid#*:}"; done
	innet-ctl "$mid" join --worker 9 --vector 3000 >joined
	innet-ctl "$mid" members --json >members.json
	jq -e --arg root "$root" --arg mid "$mid" '.parent == $root and (.members | length) == 1 and
		.members[0].parent == $mid' members.json
	innet-ctl "$root" members --json | jq -e --arg root "$root" '.parent == "" and
		(.members | map(.type + .parent)) == ["switch" + $root]'
	innet-ctl "$mid" stats --json >stats.json
	finish mid
	finish root
	# two workers send nine segments each and get as many sums, five times;
	# the three strays are regular packets
	jq -e '.counters | .packets >= 135 and .taken == .packets - 3 and .regular == 3 and .out >= 135' stats.json
	for n in mid root; do
		jq -e --argjson in "$(packets $n.in.pcap)" --argjson out "$(packets $n.out.pcap)" \
			'.packets == $in and .out + .queued == $out and
			.packets == .taken + .regular + ([.ignored[]] | add // 0)' $n.json
	done
	jq -se '.[0].counters as $s | .[1] | .packets >= $s.packets and .taken >= $s.taken and
		.out >= $s.out and .regular == $s.regular' stats.json mid.json
}

@test "truncated packets keep their original length in queues and in propagation" {
	{ at 1 9 0 1; at 2 1 0 2 tos=0 cut=60; at 3 1 0 3 tos=0 cut=50; } | mkolaf >in.pcap
	want=$(tshark -r in.pcap -T fields -e frame.len -e frame.cap_len 'frame.len != frame.cap_len' 2>/dev/null)
	[ "$(wc -l <<<"$want")" -eq 2 ]
	for o in '--regular queued' '--propagation 1ms' '--regular queued --propagation 1ms'; do
		innet-switch -q -r in.pcap -w out.pcap --rate $SLOW $o
		[ "$(tshark -r out.pcap -T fields -e frame.len -e frame.cap_len \
			'frame.len != frame.cap_len' 2>/dev/null)" = "$want" ]
	done
	# and each packet takes the time for its original length
	innet-switch -q -r in.pcap -w out.pcap --rate $SLOW --regular queued
	[ "$(tshark -r out.pcap -T fields -e frame.time_epoch 2>/dev/null | tail -n 1)" = 0.031000000 ]
}

# The switch reads the updates that arrived while it was stopped in batches of
# 64 or more. A fast link sends them in time, although the queue has room for
# only half of them.
@test "a live link continues to send while the switch examines a batch" {
	for k in $(seq 600); do at 0 1 1 "$k"; done | mkolaf >in.pcap
	serve ps innet-ps -q
	serve switch innet-switch -q --queue fifo --slots 40 --rate 1000G --upstream "$ps" --report live.json
	kill -STOP "$switch_pid"
	innet-replay -q -r in.pcap --to "$switch"
	kill -CONT "$switch_pid"
	finish switch
	[ "$(count live.json arrived packets)" -gt 200 ]
	[ "$(count live.json delivered)" -eq "$(count live.json arrived)" ]
}

# A packet that has left the queue waits to be sent together with others, while
# another packet already uses its slot.
@test "a live queue that sends in runs sends every packet that arrived, once and in order" {
	python
	for k in $(seq 600); do at 0 1 1 "$k"; done | mkolaf >in.pcap
	tshark -r in.pcap -T fields -e udp.payload 2>/dev/null | tr -d : >sent
	cat >sink.py <<-'END'
		import socket
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
		s.bind(("127.0.0.1", 0))
		open("port.new", "w").write("%d\n" % s.getsockname()[1])
		__import__("os").rename("port.new", "port")
		while True:
		    p = s.recv(65536)
		    if p == b"end":
		        break
		    print(p.hex(), flush=True)
	END
	"$py" sink.py >got 3>&- &
	pids="$pids $!"
	sink=$!
	await port
	serve switch innet-switch -q --queue fifo --slots 40 --rate 1000G \
		--upstream "127.0.0.1:$(cat port)" --report live.json
	kill -STOP "$switch_pid"
	innet-replay -q -r in.pcap --to "$switch"
	kill -CONT "$switch_pid"
	finish switch
	printf end >"/dev/udp/127.0.0.1/$(cat port)"
	wait "$sink"
	[ "$(wc -l <got)" -gt 200 ]
	[ "$(count live.json delivered)" -eq "$(wc -l <got)" ]
	# except for the generation time, which innet-replay replaces
	awk '{ $0 = substr($0, 1, 32) substr($0, 49) }
		NR == FNR { at[$0] = FNR; next }
		!($0 in at) || at[$0] <= last { print "wrong: " FNR, $0; exit 1 }
		{ last = at[$0] }' sent got
}

@test "in a trace, a switch answers from the address to which the request was sent" {
	S=10.9.9.9:1234
	ask 1 1 jobs page=0 | mkiswitch >in.pcap
	innet-switch -q -p dlp -r in.pcap -w out.pcap
	[ "$(dumpiswitch out.pcap | cut -d' ' -f2-4)" = "$S 10.0.1.1:5000 ack" ]
}

@test "--port without a rate is misuse" {
	run -2 --separate-stderr innet-switch -p iswitch --port 10.0.0.1:slots=4
	[ "$stderr" = "innet-switch: --port needs a rate, because without a rate no packet waits; give rate= in the rule, or --rate" ]
	joins 1 | mkiswitch >in.pcap
	innet-switch -q -p iswitch -r in.pcap -w out.pcap --port 10.0.0.1:rate=1M,slots=4
}

# strangers N GAP_NS: write a trace of N hosts that ask for counters, one after
# the other
strangers() {
	awk -v n="$1" -v gap="$2" -v at="$(ns 0)" -v to="$S" 'BEGIN { for (k = 0; k < n; k++)
		printf "%.0f 10.%d.%d.%d:5000 %s stats 1 1\n", at + k * gap, 1 + int(k / 65536),
			int(k / 256) % 256, k % 256, to }' | mkiswitch >in.pcap
}

@test "strangers take only as many ports as --memory allows; the switch counts packets without a port" {
	strangers 5000 1000000
	innet-switch -q -p iswitch -r in.pcap -w out.pcap --rate 100Mbit --memory 2MB --report r.json
	jq -e '.packets == 5000 and .out == 5000 and .no_port == 0' r.json
	strangers 5000 0
	innet-switch -p iswitch -r in.pcap -w out.pcap --rate 100Mbit --memory 2MB --report r.json 2>err
	jq -e '.out + .dropped + .queued + .no_port == 5000 and .no_port > 4900' r.json
	grep -q "$(jq .no_port r.json) without a port" err
	innet-switch -q -p iswitch -r in.pcap -w out.pcap --rate 100Mbit --report r.json
	jq -e '.out == 5000 and .no_port == 0' r.json
}

@test "packets that wait for one stranger take at most the memory of --memory" {
	awk -v at="$(ns 0)" -v to="$S" 'BEGIN { for (k = 0; k < 20000; k++)
		print at, "10.0.0.1:5000", to, "stats 1", k + 1 }' | mkiswitch >in.pcap
	innet-switch -q -p iswitch -r in.pcap -w out.pcap --rate 1Mbit --memory 2MB --report r.json
	jq -e '.out + .dropped + .queued == 20000 and .dropped > 15000 and .no_port == 0' r.json
}
