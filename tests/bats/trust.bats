# Tests of the senders that may send each message: cookies and MACs, live, with
# attackers that overhear or forge messages.
load common
load stranger

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	pids=''
	command -v python3 >/dev/null || skip "no python3"
	(umask 077; head -c 32 /dev/urandom >key)
	(umask 077; head -c 32 /dev/urandom >other)
	(umask 077; head -c 32 /dev/urandom >secret)
}

# Start a switch with a key and a member at port $free, and capture a Halt, a
# Resume and the switch's packets.
overheard() {
	serve switch innet-switch -q -p iswitch -H 1 --key key --write-in in.pcap -w out.pcap --report r.json "$@"
	free=$(python3 -c 'import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	ctl join --vector 1000 --bind :$free >/dev/null
	ctl halt
	ctl resume
	for _ in $(seq 100); do	# captures are written to disk once a second
		[ "$(stranger 127.0.0.1:9 again in.pcap 16)" = "0 0 0" ] || return 0
		sleep 0.1
	done
	return 1
}

ctl() { innet-ctl --key key "$switch" "$@"; }

halted() { ctl members --json | jq .halted; }

@test "a recorded Halt has no effect from another address, or a second time" {
	overheard
	[[ "$(stranger "$switch" again in.pcap 7)" == [1-9]* ]]
	[ "$(halted)" = false ]
	ctl stats --json | jq -e '.counters | .challenged + .unproved + .bad_mac > 0'
}

@test "messages of the switch have no effect when sent back to it, unchanged or with a cookie" {
	overheard
	[[ "$(stranger "$switch" again out.pcap 7)" == [1-9]* ]]
	[[ "$(stranger "$switch" again out.pcap 7 pass)" == [1-9]* ]]
	[ "$(halted)" = false ]
}

@test "forged source addresses of the switch or of the member itself have no effect" {
	python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)' 2>/dev/null ||
		skip "no raw sockets"
	overheard
	for from in "$switch" "127.0.0.1:$free"; do
		for file in in.pcap out.pcap; do
			stranger --from "$from" "$switch" again $file 7 raw
		done
	done
	[ "$(halted)" = false ]
	finish switch
	jq -e '.switch | .reflected == 3 and .bad_mac + .challenged + .unproved > 0' r.json
}

@test "with 100,000 strangers, a recorded Halt has no effect, memory does not grow, and clients can join" {
	beside "-p iswitch -H 1 --key $PWD/key --write-in in.pcap" >out <<-'E'
		ctl() { innet-ctl --key key $to "$@"; }
		ctl join --vector 1000 >/dev/null
		ctl halt; ctl resume
		until [ "$(stranger 10.98.0.1:9 again in.pcap 16)" != "0 0 0" ]; do sleep 0.1; done
		rss() { sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\).*/\1/p' /proc/$pid/status; }
		was=$(rss)
		began=$(date +%s)
		stranger --from 10.98.1.0 $to flood 100000 & flood=$!
		ctl join --vector 1000 --worker 1 >/dev/null
		wait $flood
		took=$(($(date +%s) - began + 1))
		stranger $to again in.pcap 7 >/dev/null
		echo $(($(rss) - was)) $(ctl members --json | jq '.halted, (.members | length)') $took
	E
	read -r grown halted members took <out
	[ "$halted $members" = "false 2" ]
	[ "$grown" -lt 4096 ]
	# a slow switch loses some packets in its socket
	jq -e ".switch.challenged > 0 and .switch.challenged <= 1100 + 20000 * $took and
		.switch.challenged + .switch.unproved + .kernel > 90000" r.json
}

@test "without a key a remote client needs a cookie, and only members can give commands" {
	beside "-p iswitch -H 1" >out <<-'E'
		innet-ctl $to join --vector 1000 --bind 10.98.0.5:7000 >/dev/null
		stranger --from 10.98.0.6 $to control 7 1		# Halt
		stranger --from 10.98.0.6 $to control 18 1 0000		# Stats
		stranger --from 10.98.0.6 $to command 7 1
		innet-ctl $to members --json | jq .halted
		stranger --from 10.98.0.6 $to command 2 1 00000000	# remove worker 0
		innet-ctl --bind 10.98.0.5:7000 $to halt
		innet-ctl $to members --json | jq '.halted, (.members | length)'
	E
	[ "$(xargs <out)" = "0 0 0 0 4 false 4 true 1" ]
	jq -e '.switch | .unproved == 2' r.json
}

@test "two forged Joins and a Halt start no packet exchange between two switches" {
	beside "-p iswitch -H 1" >out <<-'E'
		innet-switch -q --insecure -p iswitch -H 1 --port-file port2 --listen 10.98.0.2:0 --report r2.json &
		other=$!
		until [ -s port2 ]; do sleep 0.02; done
		at=10.98.0.2:$(cat port2) join=01000000000000000000000a000000000000000000000000
		stranger --from $at $to forge 1 1 $join
		stranger --from $to $at forge 1 1 $join
		stranger --from 10.98.0.7:9 $to forge 7 1
		stranger --from 10.98.0.7:9 $at forge 7 1
		for i in 1 2 3; do innet-ctl $to jobs --json >/dev/null; done
		kill $other; wait $other
	E
	[ "$(jq -s 'map(.packets) | add' r.json r2.json)" -lt 30 ]
}

@test "--command-key: a client that has only --key cannot give commands" {
	serve switch innet-switch -q -p iswitch -H 1 --key key --command-key other
	ctl join --vector 1000 >/dev/null
	for verb in halt resume reset "set-h 2" "fbcast 0:0" "leave 0"; do
		run -1 --separate-stderr ctl $verb
		[[ $stderr == *": refused" ]]
	done
	innet-ctl --command-key other "$switch" halt
	[ "$(halted)" = true ]
	innet-ctl --command-key other "$switch" members --json | jq -e '.members | length == 1'
	run -1 --separate-stderr innet-ctl --command-key key --give-up 200ms "$switch" resume
	[[ $stderr == *"it has another key" ]]
	run -2 innet-switch -p iswitch --listen 127.0.0.1:0 --command-key other
	[[ $output == *"--command-key needs --key"* ]]
}

@test "workers join a restarted switch again, with the same secret or with another one" {
	port=$(python3 -c 'import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	start() {
		rm -f port
		innet-switch -q -p iswitch -H 1 --key key --listen 127.0.0.1:$port --port-file port "$@" 3>&- &
		switch_pid=$!
		await port
	}
	start
	innet-worker -p iswitch --worker 0 --switch 127.0.0.1:$port --key key --synthetic 4kB --interval 20ms \
		-c 150 --check 1 --json >w.json 3>&- &
	worker=$!
	pids="$pids $worker"
	for more in "--secret secret" "--secret secret" ""; do
		n=0
		for _ in $(seq 500); do
			n=$(innet-ctl --key key --job 1 127.0.0.1:$port stats --json 2>/dev/null | jq '.counters.results // 0') || true
			[ "${n:-0}" -lt 20 ] || break
			sleep 0.02
		done
		[ "${n:-0}" -ge 20 ]
		kill -KILL $switch_pid
		wait $switch_pid || true
		# shellcheck disable=SC2086
		start $more
	done
	wait $worker
	kill $switch_pid
	jq -e '.iterations == 150' w.json
}

@test "--parent and --upstream with the own address of a switch are refused" {
	unshare -rn true 2>/dev/null || skip "no network namespaces here"
	for at in "127.0.0.1 127.0.0.1" "0.0.0.0 127.0.0.9" "0.0.0.0 10.98.0.1" ":: ::1"; do
		read -r own above <<<"${at//::1/[::1]}"
		for above in "-p iswitch --parent $above" "--upstream $above"; do
			run ! --separate-stderr unshare -rn bash -c "ip link set lo up; ip addr add 10.98.0.1/32 dev lo
				exec timeout 20 innet-switch -q --insecure $above:7000 --listen '${own/::/[::]}:7000'"
			[[ $stderr == *"own address"* ]] || { echo "$at: $stderr"; return 1; }
		done
	done
}

# payloads FILE: print the destination port and the payload of each packet
payloads() { tshark -r "$1" -T fields -e udp.dstport -e udp.payload 2>/dev/null | sort; }

@test "with --secret a trace of the input sends the same bytes as the live switch" {
	command -v tshark >/dev/null || skip "no tshark"
	set -- -q -p iswitch -H 2 --key key --secret secret
	serve switch innet-switch "$@" --write-in in.pcap -w out.pcap
	innet-worker -q -p iswitch --switch "$switch" --worker 0 --key key --synthetic 4kB --check 2 -c 30 --interval 0 3>&- &
	pids="$pids $!"
	innet-worker -q -p iswitch --switch "$switch" --worker 1 --key key --synthetic 4kB --check 2 -c 30 --interval 0
	wait $!
	ctl stats >/dev/null
	run -1 innet-ctl "$switch" halt
	run -1 innet-ctl --key other --give-up 100ms "$switch" halt
	finish switch
	innet-switch "$@" --listen "$switch" -r in.pcap -w again.pcap
	[ "$(payloads out.pcap | wc -l)" -gt 180 ]
	diff <(payloads out.pcap) <(payloads again.pcap)
	(umask 077; head -c 31 secret >short)
	run -1 innet-switch -p iswitch --listen 127.0.0.1:0 --secret short
	[[ $output == *"short: the file has 31 bytes"* ]]
}

# Commands that read a key from a file, with @ in its place.
keyed='innet-switch -q -p iswitch --listen :0 --duration 10ms --key @
innet-switch -q -p iswitch --listen :0 --duration 10ms --key key --command-key @
innet-switch -q -p iswitch --listen :0 --duration 10ms --secret @
innet-switch -q -r in.pcap -w out.pcap --key @
innet-ps -q --listen :0 --duration 10ms --key @
innet-ps -q --listen :0 --duration 10ms --key key --command-key @
innet-ps -q --listen :0 --duration 10ms --secret @
innet-worker -q --switch :9 --synthetic 4B --key @
innet-ctl --key @ :9 stats
innet-ctl --command-key @ :9 halt'

@test "a key file that others can read, or that is all zero, is refused" {
	head -c 32 /dev/urandom >open
	(umask 077; head -c 32 /dev/zero >zero)
	while read -r c; do
		chmod 604 open
		run -1 --separate-stderr ${c//@/open}
		[ "$stderr" = "${c%% *}: open: other users can read or write this file; run chmod 600 open" ]
		chmod 602 open
		run -1 --separate-stderr ${c//@/open}
		[ "$stderr" = "${c%% *}: open: other users can read or write this file; run chmod 600 open" ]
		run -1 --separate-stderr ${c//@/zero}
		[ "$stderr" = "${c%% *}: zero: all bytes of the file are zero; make a key with head -c 32 /dev/urandom" ]
	done <<<"$keyed"
}

@test "a key that its group can read, and a key from a pipe, are accepted" {
	innet-gen -q -c 20 -w in.pcap
	for mode in 400 440 600 640; do
		chmod $mode key
		innet-switch -q -r in.pcap -w out.pcap --key key
	done
	innet-switch -q -r in.pcap -w out.pcap --key <(cat key)
	innet-switch -q -r in.pcap -w out.pcap --key /dev/stdin <key
	cat key | innet-switch -q -r in.pcap -w out.pcap --key /dev/stdin
}

# renew: put another key into the file key, and the former one into old
renew() {
	mv key old
	(umask 077; head -c 32 /dev/urandom >key)
}

# made N: check that the switch has made more than N results of job 1
made() { [ "$(ctl --job 1 stats --json | jq '.counters.results // 0')" -gt "$1" ]; }

# hangup PID FILE TEXT: check that the program prints that line after SIGHUP
hangup() {
	kill -HUP "$1"
	within 20 grep -qF "$3" "$2" || { cat "$2"; return 1; }
}

@test "SIGHUP changes the key of a switch and of its worker while they run" {
	local said='key: the key was read again; the former key is used for another 60 s and accepted for another 120 s'
	serve switch innet-switch -q -p iswitch -H 1 --key key --report r.json
	innet-worker -q -p iswitch --worker 0 --switch "$switch" --key key --synthetic 4kB --check 1 \
		--interval 10ms --duration 60s 2>w.err 3>&- &
	worker=$!
	within 20 made 50
	renew
	run -1 innet-ctl --key key --give-up 100ms "$switch" stats
	hangup "$switch_pid" switch.err "innet-switch: $said"
	for k in old key; do innet-ctl --key $k "$switch" stats; done
	hangup $worker w.err "innet-worker: $said"
	n=$(innet-ctl --key key --job 1 "$switch" stats --json | jq .counters.results)
	within 20 made $((n + 50))
	kill -INT $worker
	wait $worker || true
	finish switch
	[ "$(jq '.counters.bad_proof // 0' r.json)" -eq 0 ]
	[ "$(wc -l <w.err)" -eq 1 ]
}

@test "SIGHUP changes the keys of innet-ps" {
	serve ps innet-ps -q --key key --command-key other --report r.json
	renew
	hangup "$ps_pid" ps.err "innet-ps: key: the key was read again"
	for k in old key; do innet-ctl --key $k "$ps" stats; done
	cp -p secret other
	hangup "$ps_pid" ps.err "innet-ps: other: the key was read again"
	[ "$(grep -c ': key: ' ps.err)" -eq 1 ]
}

@test "the key stays if its file cannot be used at SIGHUP" {
	serve switch innet-switch -q -p iswitch --key key
	cp -p key mine
	chmod 644 key
	hangup "$switch_pid" switch.err "innet-switch: key: other users can read or write this file; run chmod 600 key; the key was not changed"
	(umask 077; rm key; echo short >key)
	hangup "$switch_pid" switch.err "innet-switch: key: the file has 6 bytes, but it must have at least 16; the key was not changed"
	rm key
	hangup "$switch_pid" switch.err "innet-switch: key: No such file or directory; the key was not changed"
	innet-ctl --key mine "$switch" stats
}

@test "SIGHUP ends a worker whose key is the same" {
	serve switch innet-switch -q -p iswitch -H 1 --key key
	innet-worker -q -p iswitch --worker 0 --switch "$switch" --key key --synthetic 4kB \
		--interval 10ms --duration 60s 2>w.err 3>&- &
	worker=$!
	within 20 made 5
	kill -HUP $worker
	within 20 eval '! kill -0 $worker'
	wait $worker
	[ ! -s w.err ]
}
