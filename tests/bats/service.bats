# Tests of long-running tools: captures and reports can be moved away, and the
# tool starts new ones.
load common

# send N: send N updates of one worker, the first with sequence 1 + $sent
sent=0
send() {
	innet-gen -q --clusters 1 --workers 1 -c "$1" --interval 1ms -w send.pcap
	innet-replay -q -r send.pcap --to "$switch" --topspeed
	sent=$((sent + $1))
}

# arrived N: wait until N updates have arrived at the switch
arrived() {
	for _ in $(seq 500); do
		[ "$(innet-ctl "$switch" stats --json | jq '.counters.arrived // .arrived')" = "$1" ] && return
		sleep 0.02
	done
	return 1
}

# packets FILE...: print the number of packets in the captures
packets() {
	local f n=0
	for f; do n=$((n + $(tcpdump -nr "$f" 2>/dev/null | wc -l))); done
	echo $n
}

# begins FILE: wait until the tool has started a new file
begins() {
	for _ in $(seq 500); do
		[ ! -e "$1" ] || return 0
		sleep 0.02
	done
	return 1
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	pids=''
	command -v tcpdump >/dev/null || skip "no tcpdump"
}

@test "on SIGHUP a tool begins new files for captures that were moved, and writes its report" {
	serve sink innet-ps -q
	serve switch innet-switch -q --upstream "$sink" --slots 64 --write-in in.pcap -w out.pcap --report r.json
	send 10
	sleep 1.2				# the reports are on the disk
	mv in.pcap in.old
	mv out.pcap out.old
	kill -HUP "$switch_pid"
	begins in.pcap
	begins out.pcap
	begins r.json
	jq -e '.totals.arrived.packets == 10' r.json
	send 5
	sleep 0.2
	kill -HUP "$switch_pid"			# the files have not been moved away
	send 5
	sleep 0.2
	finish switch
	[ "$(packets in.old)" -ge 10 ]
	[ "$(dumpolaf in.old | awk '$2 == 1' | wc -l)" -eq 10 ]
	[ "$(dumpolaf in.pcap | awk '$2 == 1' | wc -l)" -eq 10 ]
	jq -e '.totals.arrived.packets == 20' r.json
}

@test "SIGHUP: another user's file is not changed, and no packet is lost" {
	serve sink innet-ps -q
	serve switch innet-switch -q --upstream "$sink" --slots 64 --write-in in.pcap
	send 10
	sleep 0.2
	mv in.pcap in.old
	echo "not ours" >in.pcap
	kill -HUP "$switch_pid"
	await switch.err
	send 10
	sleep 0.2
	finish switch
	grep -x "innet-switch: in.pcap: another file with 9 bytes now has this name; the capture continues in the old file" switch.err
	[ "$(<in.pcap)" = "not ours" ]
	[ "$(dumpolaf in.old | awk '$2 == 1' | wc -l)" -eq 20 ]
}

@test "--rotate SIZE,N: full captures become .1 to .N, and each is complete" {
	serve sink innet-ps -q --write-in got.pcap --rotate 4kB,3
	switch=$sink
	for _ in 1 2 3 4 5 6 7 8; do
		send 10
		sleep 0.1
	done
	finish sink
	[ -e got.pcap.1 ]
	[ -e got.pcap.2 ]
	[ -e got.pcap.3 ]
	[ ! -e got.pcap.4 ]
	for f in got.pcap got.pcap.[123]; do
		tcpdump -nr "$f" >/dev/null 2>err
		run ! grep truncated err
	done
	[ "$(stat -c %s got.pcap.1)" -ge 4000 ]
	[ "$(packets got.pcap got.pcap.1 got.pcap.2)" -ge 20 ]
}

@test "--rotate does not rename devices, and errors explain misuse" {
	serve sink innet-ps -q --write-in /dev/null --rotate 1kB,1
	switch=$sink
	send 20
	finish sink
	[ -c /dev/null ]
	[ ! -e /dev/null.1 ]
	while IFS='|' read -r words why; do
		run -2 --separate-stderr innet-switch --listen :0 --upstream :9 $words
		[ "${stderr_lines[0]}" = "innet-switch: $why" ]
	done <<-'END'
	--rotate 1MB --write-in x|invalid rotation '1MB': without a comma and the number of files to keep, as in 100MB,5
	--rotate 1MB,0 --write-in x|invalid rotation '1MB,0': too small
	--rotate 10,1 --write-in x|invalid rotation '10,1': too small
	--rotate 1MB,2|--rotate needs --write-in or -w, whose captures it rotates
	END
	run -2 --separate-stderr innet-switch --rotate 1MB,2 -r x -w y
	[ "${stderr_lines[0]}" = "innet-switch: --rotate needs a live switch (--listen)" ]
}

@test "SIGHUP: a worker continues in a new capture if the old one was moved, and otherwise ends" {
	for how in '' --async; do
		serve switch innet-switch -q -p iswitch $how -H 1
		rm -f w.pcap w.old
		innet-worker -q -p iswitch $how --worker 0 --switch "$switch" --synthetic 4kB --interval 5ms -w w.pcap 3>&- &
		worker=$!
		pids="$pids $worker"
		sleep 1.5
		mv w.pcap w.old
		kill -HUP $worker
		begins w.pcap
		sleep 1.5
		kill -HUP $worker		# the file has not been moved away
		wait $worker
		[ "$(packets w.old)" -gt 10 ]
		[ "$(packets w.pcap)" -gt 10 ]
		finish switch
	done
}

@test "--allow: packets from other networks are counted and have no other effect" {
	serve switch innet-switch -q -p iswitch -H 1 --allow 127.0.0.2 --report r.json
	run -1 --separate-stderr timeout 20 innet-worker -q -p iswitch --worker 0 --switch "$switch" \
		--synthetic 4kB -c 2 --give-up 1s
	[[ $stderr == *"no answer to a Join"* ]]
	run -1 innet-ctl --give-up 100ms "$switch" jobs
	innet-ctl --bind 127.0.0.2 "$switch" stats --json | jq -e '.counters | .not_allowed > 0 and .taken + .not_allowed == .packets and .refused == 0'
	finish switch
	jq -e '.not_allowed > 0 and .not_allowed + .taken == .packets' r.json
	serve switch innet-switch -q -p iswitch -H 1 --allow ::1,127.0.0.0/8
	innet-worker -q -p iswitch --worker 0 --switch "$switch" --synthetic 4kB -c 2
	serve ps innet-ps -q --allow 192.0.2.0/24
	run -1 --separate-stderr innet-worker -q --switch "$ps" --synthetic 4kB -c 3 --interval 600ms
	[[ $stderr == *"no model has arrived"* ]]
	# the filter makes the same decisions for a capture
	innet-gen -q --clusters 2 --workers 1 -c 10 -w sent.pcap
	innet-switch -q -r sent.pcap -w out.pcap --allow 192.0.2.1 --report r.json
	jq -e '.not_allowed == 20 and .taken == 0' r.json
	innet-switch -q -r sent.pcap -w out.pcap --allow 0.0.0.0/0 --report r.json
	jq -e '.not_allowed == 0 and .taken == 20' r.json
}

@test "--allow: innet-memory serves only these networks" {
	serve memory innet-memory --allow 127.0.0.2,::1 -v
	run timeout 5 bash -c "exec 3<>/dev/tcp/${memory/:/\/}; echo PING >&3; cat <&3"
	[ "$status" -ne 124 ]
	[[ $output != *PONG* ]]		# no message, or that the connection was reset
	grep -q "a client at 127.0.0.1:[0-9]*, which is not in --allow" memory.err
	finish memory
	while IFS='|' read -r list why; do
		run -2 --separate-stderr innet-memory --listen :0 --allow "$list"
		[ "$stderr" = "innet-memory: invalid networks '$list': $why" ]
	done <<-'END'
	10.0.0.1/8|the address has bits set after its prefix
	10.0.0.0/33|the number of bits after / is missing or too large
	10.0.0.0/|the number of bits after / is missing or too large
	localhost|not ADDRESS or ADDRESS/BITS
	::1,|not ADDRESS or ADDRESS/BITS
	END
}
