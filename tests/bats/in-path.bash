# Functions for tests of a switch in the path of a bridge, between hosts that
# are network namespaces. Load them after "load common".

PATH=$testbed:$PATH

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	pids=''
}

teardown() {
	end_all
	end_testbed
}

# rack: build a rack of two workers and a server; skip if the kernel lacks a
# feature that it needs
rack() {
	privileged
	unshare -n innet-switch --bridge none 2>why || true
	export INNET_TESTBED
	INNET_TESTBED=$(testbed.sh up rack -n 2 --rate 1gbit "$@" --owner $$)
	local rc=0
	on switch innet-switch -q --insecure --bridge br0 --duration 1ms 2>why || rc=$?
	[ $rc -le 1 ] || { cat why; return 1; }		# the switch has crashed
	[ $rc -eq 0 ] || skip "no frames can be taken here: $(tail -n 1 why)"
}

on() { testbed.sh exec "$@"; }
innet-frames() { on "$1" python3 "$srcdir/tests/bats/frames.py" "${@:2}"; }

# in_path OPTION...: start a switch at br0; $switch gets its process id. It runs
# with raised priority, because a switch that must wait for 100 ms lets frames
# pass.
in_path() {
	testbed.sh exec switch $favoured innet-switch --insecure --bridge br0 "$@" >switch.out 2>switch.err 3>&- &
	switch=$!
	pids="$pids $switch"
	said 'in the path of br0: '
}

# tapped: check that the captures of the switch's ports contain all packets that
# the switch has taken. If a busy machine delays the switch for 100 ms, frames
# pass it, and packets for its address reach its socket instead.
tapped() {
	local n=0 f
	for f in taps/*-in.pcap; do n=$((n + $(capinfos -TrcM "$f" | cut -f 2))); done
	[ "$(jq .packets switch.json)" -eq $n ] || { echo "of $(jq .packets switch.json) packets $n at ports"; false; }
}

# said WORDS: wait until the switch has printed this message
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

# server OPTION...: start a parameter server for workers that do not know of a
# switch
server() {
	testbed.sh exec server $favoured innet-ps --insecure --listen 10.77.0.2 --report ps.json "$@" 2>server.err 3>&- &
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

# updates ADDRESS: print how many updates the server at ADDRESS has received;
# $key can have its key
updates() { on server innet-ctl ${key:+--key "$key"} "$1" stats --json | jq .counters.updates; }

# end_server ADDRESS: end the server as soon as it has read all waiting updates
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

# xdp_attached: print the number of XDP programs at the switch's ports
xdp_attached() { on switch ip -o link show | grep -c 'prog/xdp' || true; }

# other_kinds OPTION...: send frames that no switch takes, first without and
# then with a switch
other_kinds() {
	innet-frames switch attached w0
	mac=$(on server cat /sys/class/net/eth0/address)
	server
	for way in plain path; do
		[ $way = plain ] || in_path --report switch.json "$@"
		[ $way = plain ] || worker 1 --synthetic 40kB --interval 1ms -c 1000
		testbed.sh exec server python3 "$srcdir/tests/bats/frames.py" recv eth0 2 560 >$way.frames 3>&- &
		receiver=$!
		await $way.frames
		innet-frames w0 send eth0 "$mac"
		wait $receiver
	done
	[ "$(wc -l <plain.frames)" -eq 561 ]	# and one that says "ready"
	# the switch passes the same frames as the bridge, in the same order
	# within each flow
	for way in plain path; do LC_ALL=C sort -s -k1.1,1.60 $way.frames >$way.flows; done
	diff plain.flows path.flows
	join_workers
	end_switch
	jq -e '.ignored | add > 0' switch.json
}

# beyond N: wait up to 60 s until the server has more than N updates; $updates
# gets the number
beyond() {
	for _ in $(seq 600); do
		updates=$(updates 10.77.0.2)
		[ "$updates" -le "$1" ] || return 0
		sleep 0.1
	done
	echo "$updates updates, not more than $1" >&2
	return 1
}

# fails_open OPTION...: check that updates pass a switch that is killed or
# stopped, and that its programs disappear
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
