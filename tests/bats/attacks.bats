# Attacks by strangers that no other file tests: forwarding loops, and
# exhaustion of ids.
load common
load stranger
load memory
load in-path

zeros=$(printf '00%.0s' {1..28})
poll=0a02$zeros

# Skip the test if it has no right to forge addresses with raw sockets.
forging() {
	python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)' 2>/dev/null ||
		skip "no raw sockets"
}

# forge FROM TO STATE-AND-NODES: send a packet of DLP with a forged source
# address
forge() { stranger --from "$1" "$2" forge-seg 0 "$3$zeros"; }

# quiet N: check that the two aggregators together have received fewer than N
# packets, and that they have stopped sending
quiet() {
	for _ in 1 2 3; do stranger "$one" dlp 10 >/dev/null; done	# each connection waits for answers
	finish one
	finish two
	jq -s 'map(.packets) | add' one.json two.json
	[ "$(jq -s 'map(.packets) | add' one.json two.json)" -lt "$1" ]
}

@test "one forged CONFIGURE starts no packet exchange between two DLP aggregators" {
	forging
	serve one innet-switch -q -p dlp --report one.json
	serve two innet-switch -q -p dlp --report two.json
	forge "$two" "$one" 0602
	quiet 60
}

@test "a packet exchange between two DLP aggregators that forged SETUPs enrolled in each other ends" {
	forging
	serve one innet-switch -q -p dlp --report one.json
	serve two innet-switch -q -p dlp --report two.json
	for at in "$one" "$two"; do forge 127.0.0.9:7 "$at" 0601; done
	for state in 01 02 02 02; do
		forge "$two" "$one" ${state}01
		forge "$one" "$two" ${state}01
	done
	quiet 100
}

@test "one forged poll starts no packet exchange between a DLP aggregator and a server" {
	forging
	serve sw innet-switch -q -p dlp --report sw.json
	serve ps innet-ps -q -p dlp --report ps.json
	stranger --from "$ps" "$sw" forge-seg 0 "$poll"
	stranger --from "$sw" "$ps" forge-seg 0 "$poll"
	for _ in 1 2 3; do stranger "$sw" dlp 10 >/dev/null; done	# each connection waits for answers
	finish sw
	finish ps
	[ "$(jq -s 'map(.packets) | add' sw.json ps.json)" -lt 40 ]
}

@test "a DLP aggregator does not answer answers, or a SETUP with parameters" {
	serve sw innet-switch -q -p dlp --report sw.json
	for state in 0 3 4 7 8 9; do
		[ "$(stranger "$sw" dlp $state)" = "0 0" ]
	done
	[ "$(stranger "$sw" dlp 1 1 2 3 4 5 6)" = "0 0" ]
	finish sw
	jq -e '.packets == 7 and (.out // 0) == 0' sw.json
}

@test "a DLP aggregator does not answer packets that seem to come from itself" {
	forging
	serve sw innet-switch -q -p dlp --report sw.json
	for state in 01 02 05 06 0a; do forge "$sw" "$sw" ${state}02; done
	stranger "$sw" dlp 10 >/dev/null
	finish sw
	jq -e '.no_request == 5 and .answers == 1' sw.json
}

@test "a switch accepts new members after more Joins and Leaves than there are ids" {
	serve sw innet-switch -q -p iswitch -H 2
	[ "$(stranger "$sw" join 1 4300 10 leave)" = "4300 " ]
	innet-ctl "$sw" join --vector 10 --worker 9999
}

@test "without a key, one forged packet makes the server send at most 64 models to the forged address" {
	beside "--upstream 10.98.0.2:9 --rate 20Mbit" >out <<-'E'
		innet-ps -q --insecure --listen 10.98.0.2:9 & ps=$!
		for w in 1 2; do
			innet-worker -q --worker $w --switch $to --synthetic 40kB --interval 5ms --duration 90s & workers="$workers $!"
		done
		models() { innet-ctl $to stats --json | jq '.counters.models // 0'; }
		for _ in $(seq 600); do [ "$(models)" -lt 20 ] || break; sleep 0.1; done
		was=$(models)
		stranger --from 10.98.0.77 $to olaf 3 1 77 1 0
		for _ in $(seq 600); do [ "$(models)" -lt $((was + 150)) ] || break; sleep 0.1; done
		echo $(($(models) - was))
		kill $workers $ps
		wait $workers $ps || true
	E
	{ read -r n _; read -r models; } <out
	[ "$n" -ge 1 ]
	[ "$n" -le 64 ]
	[ "$models" -ge 150 ]
}

@test "after 200 forged routes, an update triggers one model for an address and at most 64 for a host" {
	beside "--upstream 10.98.0.2:9" >out <<-'E'
		innet-ps -q --insecure --listen 10.98.0.2:9 --port-file port2 & ps=$!
		until [ -s port2 ]; do sleep 0.02; done
		nobody() { awk '/^Udp: [0-9]/ { print $3 }' /proc/net/snmp; }	# packets to ports without a listener
		stranger --from 10.98.0.9:5 $to olaf 3 1 3 0 0 >&2
		n=0
		for how in '' ports; do
			stranger --from 10.98.0.77:4000 $to routes 1 200 $how
			stranger --from 10.98.0.9:5 $to olaf 1 1 3 $((++n)) 1 >&2	# the next packet waits behind them
			was=$(nobody)
			stranger --from 10.98.0.9:5 $to olaf 1 1 3 $((++n)) 1 >&2
			echo $(($(nobody) - was))
		done
		kill $ps
		wait $ps || true
	E
	cat out
	[ "$(sed -n 1p out)" -eq 1 ]
	[ "$(sed -n 2p out)" -ge 1 ]
	[ "$(sed -n 2p out)" -le 64 ]
}

@test "an asynchronous server resends an answer four times, then at most ten times a second" {
	serve ps innet-ps -q -p iswitch --async -H 1 --report ps.json
	got=$(stranger "$ps" served 1000)
	finish ps
	[ "$got" -ge 5 ]
	[ "$got" -lt 200 ]
	jq -e '.jobs["1"].counters | .help >= 900 and .withheld + .help_resent == .help' ps.json
}

@test "a stranger's Fetch creates neither a job nor a socket" {
	beside "-p iswitch --parent 10.98.0.2:9999" >out <<-'E'
		innet-switch -q --insecure -p iswitch --listen 10.98.0.2:9999 & core=$!
		rss() { awk '/VmRSS/ { print $2 }' /proc/$pid/status; }
		before=$(rss)
		stranger --from 10.98.0.9 $to fetch 100 5
		echo grown $(($(rss) - before))
		ls /proc/$pid/fd | wc -l
		stranger --from 10.98.0.9 $to fetch 200 5
		ls /proc/$pid/fd | wc -l
		kill $core; wait $core
	E
	cat out
	[ "$(sed -n 1p out)" = 1:5 ]
	[ "$(sed -n 4p out)" = 1:5 ]
	[ "$(sed -n 3p out)" = "$(sed -n 5p out)" ]
	[ "$(sed -n 's/grown //p' out)" -lt 4000 ]	# kB; before the fix, a socket had 4,200
	jq -e '(.jobs // {}) == {}' r.json
}

@test "a rack refuses a job for which it has no descriptor, and names the limit" {
	serve core innet-switch -q -p iswitch -H 1
	serve rack bash -c 'ulimit -n 32; exec "$@"' - innet-switch -q -p iswitch -H 1 --parent "$core"
	workers=
	for job in $(seq 20); do
		innet-worker -q -p iswitch --job "$job" --worker 0 --switch "$rack" --synthetic 16B --interval 10ms --duration 30s 2>"w$job" & workers="$workers $!"
	done
	pids="$pids $workers"
	room="job .*: refused: no room: its limit on open files leaves room for [0-9]+ jobs; raise its ulimit -n"
	for _ in $(seq 500); do [ "$(cat w* | grep -cE "$room")" -eq 0 ] || break; sleep 0.02; done
	most=$(cat w* | sed -En 's/.*leaves room for ([0-9]+) jobs.*/\1/p' | sort -u)
	[ "$most" -ge 2 ]
	[ "$most" -lt 20 ]
	for _ in $(seq 500); do [ "$(cat w* | grep -cE "$room")" -lt $((20 - most)) ] || break; sleep 0.02; done
	[ "$(cat w* | grep -cE "$room")" -eq $((20 - most)) ]
	[ "$(ls "/proc/$rack_pid/fd" | wc -l)" -lt 32 ]
	kill $workers
	run ! grep 'cannot open' rack.err
}

@test "a rack raises its soft limit on descriptors" {
	serve core innet-switch -q -p iswitch -H 1
	serve rack bash -c 'ulimit -Sn 64; exec "$@"' - innet-switch -q -p iswitch -H 1 --parent "$core"
	awk '/^Max open files/ { exit !($4 == $5 && $4 > 64) }' "/proc/$rack_pid/limits"
}

@test "a stranger cannot halt a job with Fetch, or get the state of a worker" {
	beside "-p iswitch" >out <<-'E'
		for w in 0 1; do
			innet-worker -q -p iswitch --worker $w --switch $to --synthetic 4kB --interval 1ms --duration 60s & workers="$workers $!"
		done
		added() { innet-ctl $to stats 1 --json | jq '.counters.added // 0'; }
		for _ in $(seq 100); do [ "$(added)" -le 100 ] || break; sleep 0.1; done
		for _ in 1 2 3 4 5; do stranger --from 10.98.0.9 $to fetch 1 1 wait; done
		innet-ctl $to stats 1 --json | jq -c '[.halted, .counters.fetches, .counters.halted]'
		kill $workers; wait $workers || true
	E
	cat out
	[ "$(sort -u out | head -n 1)" = 3:1 ]
	jq -e '.jobs["1"] | .counters.fetches == 0 and .counters.chunks == 0 and .counters.halted == 0' r.json
}

@test "number 5: strangers cannot occupy places or memory of innet-memory, or guess passwords for long" {
	python socket
	"$py" -B "$tests/twins/memory_faults.py" strangers
	"$py" -B "$tests/twins/memory_faults.py" guesses
}

@test "number 6: PUT and OPTIONS of HTTP without Host cannot execute a SET" {
	python socket
	"$py" -B "$tests/twins/memory_faults.py" browser
}

@test "number 7: RESTORE obeys maxmemory, and a short payload takes little memory" {
	setup_module
	"$py" -B "$tests/twins/memory_module.py" restore
}

@test "a second innet-ps with the same --save ends, also through a link; after kill -9 the next one starts" {
	serve ps innet-ps -q --save w.ps

	touch w.ps
	ln -s w.ps link
	for name in w.ps link; do
		run -1 innet-ps -q --listen 127.0.0.1:0 --duration 10ms --save $name
		[[ ${lines[-1]} == "innet-ps: $name: another innet-ps saves to this file and has locked "*w.ps.lock* ]]
	done
	kill -9 "$ps_pid"
	wait "$ps_pid" || true
	innet-ps -q --listen 127.0.0.1:0 --duration 10ms --save w.ps
	[ ! -e w.ps.lock ]
}

# Updates to several destinations, as frames.py has them: the last number is the value
four='0,10.77.0.2,46638,1,1 0,10.77.0.3,46638,2,1000 0,10.77.0.2,46639,3,2000
	7,10.77.0.2,46638,4,3000 8,10.77.0.2,46638,5,4000'
six='0,fd00::2,46638,2,1000 0,fd00::3,46638,3,2000 0,fd00::2,46639,4,3000 7,fd00::2,46638,5,4000'

# unmixed FILE DESTINATION...: check that each destination got only its own
# value
unmixed() {
	local file=$1
	shift
	printf '%s\n' "$@" | awk -F, '{ print $1 "," $2 "," $3, $5 }' | sort >wanted
	sort -u "$file" | diff - wanted
}

@test "number 3: the filter never merges updates to several servers or of several VLANs" {
	python
	frames() { python3 -B "$srcdir/tests/bats/frames.py" "$@"; }
	for which in four:10.77.0.0/24 six:fd00::/16; do
		list=${which%%:*}
		frames capture sent.pcap 150 ${!list}
		innet-switch -q --slots 16 --port "${which#*:}:rate=100kbit" -r sent.pcap -w out.pcap --report r.json
		frames inside out.pcap >values
		unmixed values ${!list}
		jq -e '.ignored == {} and (.totals | .aggregated.packets > .arrived.packets / 2 and
			.dropped_full.packets == 0)' r.json
	done
}

# send_to DESTINATION...: send 150 updates to each through one slow port
send_to() {
	innet-frames server send eth0 "$(on w0 cat /sys/class/net/eth0/address)"	# the address of the switch
	rm -f values
	testbed.sh exec server python3 "$srcdir/tests/bats/frames.py" values eth0 2 >values 3>&- &
	receiver=$!
	await values
	innet-frames w0 updates eth0 "$(on server cat /sys/class/net/eth0/address)" 150 "$@"
	wait $receiver
	sed -i 1d values
}

@test "number 3: a switch in the path never merges updates to several servers or VLANs, and the filter agrees" {
	rack
	mkdir taps
	in_path --port-rate server=100kbit --taps taps --report switch.json
	send_to $four
	unmixed values $four
	end_switch
	jq -e '.totals.aggregated.packets > 100' switch.json
	innet-switch -q --slots 1024 --port 10.77.0.0/24:rate=100kbit -r taps/w0-in.pcap -r taps/w1-in.pcap \
		-r taps/server-in.pcap --departures taps/server-out.pcap -w again.pcap --report filter.json
	jq -e '.departures_differ == 0' filter.json
	diff <(jq -S '.totals, .clusters, .ignored' switch.json) <(jq -S '.totals, .clusters, .ignored' filter.json)
	in_path --port-rate server=100kbit --report switch.json
	send_to ${four%% *} $six
	unmixed values ${four%% *} $six
	end_switch
	jq -e '.totals.aggregated.packets > 100' switch.json
}

@test "number 3: a switch keeps two trainings with the same cluster behind one port apart" {
	rack
	(umask 077; printf 'sixteen bytes and more' >key)
	for key in '' key; do
		in_path ${key:+--key "$key"} --port-rate server=200kbit --report switch.json
		servers=''
		for port in 46638 46639; do
			testbed.sh exec server $favoured innet-ps --insecure ${key:+--key "$key"} --listen 10.77.0.2:$port \
				--report ps$port.json 2>ps$port.err 3>&- &
			servers="$servers $!"
			await ps$port.err
		done
		pids="$pids $servers"
		for w in 0 1; do
			worker $w --synthetic 4kB --interval 2ms -c 200 ${key:+--key "$key"}
			worker $w --synthetic 2kB --interval 2ms -c 200 ${key:+--key "$key"} --switch 10.77.0.2:46639
		done
		join_workers
		end_switch
		kill $servers
		wait $servers
		jq -c '[.totals.arrived, .totals.aggregated, .ignored]' switch.json
		jq -e '.totals.aggregated.packets > 0 and .ignored == {}' switch.json
		jq -es 'all(.[]; .ignored == {} and .updates > 0)' ps46638.json ps46639.json
	done
}

@test "number 4: --user with --bridge uses another user, three capabilities, no new privileges, and Landlock" {
	rack
	[ "$(id -u)" -eq 0 ] || skip "only root can be another"
	chmod 777 .
	mkdir -m 777 reports others
	status() { awk -v k="$1:" '$1 == k { print $2 }' /proc/$switch/status; }
	for backend in packet tap; do
		user=nobody
		# only root may open the device in some containers
		[ $backend = packet ] || setpriv --reuid nobody --clear-groups test -w /dev/net/tun || user=root
		in_path -v --backend $backend --user $user --port-rate server=10Mbit --report reports/switch.json
		said "running as $user with "
		[ "$(status Uid)" = "$(id -u $user)" ]
		want=0000008000003000	# the capabilities BPF, NET_RAW and NET_ADMIN
		[ $backend = packet ] || want=0000008000001000
		for set in CapPrm CapEff CapBnd; do [ "$(status $set)" = $want ]; done
		for set in CapInh CapAmb; do [ "$(status $set)" = 0000000000000000 ]; done
		[ "$(status NoNewPrivs)" = 1 ]
		# it opens no file in another folder, even if it were permitted
		if python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(444, None, 0, 1) < 1)'; then
			ln -s ../others/stolen reports/switch.json
			kill -HUP "$switch"
			said 'reports/switch.json: '
			[ ! -e others/stolen ]
			rm reports/switch.json
		fi
		# and it still receives the frames of a port that is added now
		on switch ip link add late type veth peer name later
		on switch ip link set late master br0 up
		on switch ip link set later up
		said 'late: joined br0'
		server
		for w in 0 1; do worker $w --synthetic 4kB --interval 2ms -c 200; done
		join_workers
		on switch ip link del late
		said 'late: left br0'
		kill "$server"
		wait "$server"
		end_switch
		jq -e '.models > 10 and .totals.delivered.packets > 10' reports/switch.json
		[ "$(innet-frames switch attached w0)" -eq 0 ]
		rm -r reports/switch.json switch.err
	done
}

@test "number 4: a switch in the path runs with only the capabilities of its unit" {
	rack
	[ "$(id -u)" -eq 0 ] || skip "only root can be another"
	chmod 777 .
	caps=$(sed -n 's/^AmbientCapabilities=//p' "$share/systemd/innet-bridge.service" | sed 's/CAP_/+/g; s/ /,/g' | tr A-Z a-z)
	[ "$(sed -n 's/^CapabilityBoundingSet=//p' "$share/systemd/innet-bridge.service" | sed 's/CAP_/+/g; s/ /,/g' | tr A-Z a-z)" = "$caps" ]
	testbed.sh exec switch $favoured setpriv --reuid nobody --regid nogroup --clear-groups --no-new-privs \
		--inh-caps=-all,$caps --ambient-caps=-all,$caps --bounding-set=-all,$caps \
		innet-switch --insecure --bridge br0 -v --port-rate server=10Mbit --report switch.json \
		>switch.out 2>switch.err 3>&- &
	switch=$!
	pids="$pids $switch"
	said 'in the path of br0: '
	server
	for w in 0 1; do worker $w --synthetic 4kB --interval 2ms -c 200; done
	join_workers
	kill "$server"
	wait "$server"
	end_switch
	jq -e '.models > 10 and .totals.delivered.packets > 10' switch.json
}
