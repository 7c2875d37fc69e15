# Faults of a live aggregation switch: it reports them and continues.
load common

@test "the switch survives 10,000 Joins: it accepts as many as fit, and its jobs continue" {
	serve switch innet-switch -q -p iswitch -H 2 --duration 2min
	for w in 0 1; do
		innet-worker -p iswitch --switch "$switch" --job 2 --worker $w --synthetic 4kB --check 2 -c 3000 \
			--interval 0 --json >w$w 3>&- &
		pids="$pids $!" works="$works $!"
	done
	python3 - "${switch#*:}" <<-'E'
		import socket, struct, sys
		to, done, full = ('127.0.0.1', int(sys.argv[1])), 0, 0
		s = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(50)]
		for k in s:
		    k.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0x0c)
		    k.settimeout(10)
		for w in range(10000):
		    k = s[w % 50]
		    k.sendto(struct.pack('>BBHIBBHIIHII', 1, 0, 1, w + 1, 1, 0, 0, w, 100, 0, 0, 0), to)
		    while True:
		        a = k.recv(1500)
		        if struct.unpack('>I', a[4:8])[0] == w + 1:
		            break
		    done += a[9] == 0
		    full += a[9] == 2
		assert done + full == 10000 and done >= 4096, (done, full)
	E
	for w in $works; do wait "$w"; done
	[ "$(jq -s 'map(.iterations) | add' w0 w1)" -eq 6000 ]
	innet-ctl "$switch" --job 1 stats --json | jq -e '.gauges.members <= 4096'
}

@test "the switch refuses a job that exceeds its memory, and the other jobs continue" {
	serve switch innet-switch -q -p iswitch -H 1 --memory 1MB --duration 1min
	run -1 --separate-stderr innet-worker -q -p iswitch --worker 0 --switch "$switch" --job 2 --synthetic 1MB -c 1
	[[ $stderr == "innet-worker: $switch: job 2: refused: no room"* ]]
	innet-worker -q -p iswitch --worker 0 --switch "$switch" --job 3 --synthetic 100kB -c 10 --interval 0 --check 1
}

@test "the switch evicts silent members, and the rest continue" {
	serve switch innet-switch -q -p iswitch --member-timeout 1s --duration 2min
	for w in 0 1 2; do
		innet-worker -p iswitch --switch "$switch" --worker $w --synthetic 40kB --interval 1ms -c 4000 --json \
			>w$w 3>&- &
		pids="$pids $!"
		[ $w -gt 0 ] && works="$works $!" || dies=$!
	done
	until innet-ctl "$switch" --job 1 stats --json 2>/dev/null | jq -e '.counters.results > 1000' >/dev/null; do :; done
	kill -KILL $dies
	for w in $works; do wait "$w"; done
	[ "$(jq -s 'map(.iterations) | add' w1 w2)" -eq 8000 ]
}

@test "the switch counts datagrams of random bytes, which disturb no worker" {
	serve switch innet-switch -p iswitch -H 1 --json --duration 1min
	python3 - "${switch#*:}" <<-'E'
		import random, socket, sys
		r = random.Random(1)
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		for k in range(3000):
		    s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, r.choice((0, 0x0c, 0x1c, 0x2c, 0x0f)))
		    p = r.randbytes(r.choice((0, 1, 7, 8, 12, 30, 1400)))
		    if p and r.random() < .7:
		        p = bytes((r.randrange(20),)) + p[1:]
		    s.sendto(p, ('127.0.0.1', int(sys.argv[1])))
	E
	innet-worker -q -p iswitch --worker 0 --switch "$switch" --job 9 --synthetic 4kB -c 10 --interval 0 --check 1
	kill -TERM "$switch_pid"
	wait "$switch_pid"
	tail -n 1 switch.out | jq -e '.switch.bad_control > 0 and .switch.bad_segment > 0 and .regular > 0'
}

@test "if two workers have the same number, the first one ends and names the address of the other" {
	for mode in '' --async; do
		serve switch innet-switch -q -p iswitch $mode -H 2 --duration 2min
		# shellcheck disable=SC2086	# one word or none
		set -- -q -p iswitch $mode --switch "$switch" --synthetic 4kB --interval 1ms
		run_first() { innet-worker "$@" --worker 1 -c 100000 2>first; }
		run_first "$@" 3>&- &
		first=$!
		until innet-ctl "$switch" members --json 2>/dev/null | jq -e '.members[0]'; do :; done
		# if both join within a second, the switch cannot tell which one was killed
		sleep 1.1
		innet-worker "$@" --worker 1 -c 300 3>&- &
		pids="$pids $!" second=$!
		until innet-ctl "$switch" --job 1 stats --json | jq -e '.counters.joins == 2'; do :; done
		innet-worker "$@" --worker 2 -c 300
		wait "$second"
		status=0
		wait "$first" || status=$?
		[ "$status" -eq 1 ]
		[[ $(tail -n 1 first) == "innet-worker: $switch: job 1: refused: --worker 1 is also used by 127.0.0.1:"*", which joined later; "* ]]
	done
}
