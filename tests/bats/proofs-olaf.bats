# Tests of authentication tags (proofs) on Olaf's data: updates, weights and
# models, live and in captures.
load common
load stranger

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	pids=''
	(umask 077; printf 'sixteen bytes and more' >key)
	(umask 077; printf 'another key of sixteen bytes' >other)
	(umask 077; printf 'a secret of thirty-two bytes, so' >secret)
}

# path: start a server and in front of it a switch, whose link is slow so that
# updates merge
path() {
	serve ps innet-ps -q --key key --report ps.json "$@"
	serve sw innet-switch -q --key key --upstream "$ps" --rate 20Mbit --report sw.json "$@"
}

# worker N AT [OPTION...]: run a worker with updates of 40 kB
worker() {
	innet-worker --worker "$1" --switch "$2" --synthetic 40kB --interval 5ms \
		--json "${@:3}" >"w$1.json" 2>"w$1.err" 3>&-
}

# end_worker: end the worker of the function in the background $worker_pid
end_worker() {
	kill "$(pgrep -P "$worker_pid")"
	wait "$worker_pid" || true
}

raw_sockets() {
	python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)' 2>/dev/null ||
		skip "no raw sockets"
}

free() { python3 -c 'import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

stat() { innet-ctl --key key "$1" stats --json | jq ".counters.$2 // 0"; }

# stat_is AT NAME TEST...: check a counter with a test, for example -ge 3
stat_is() { test "$(stat "$1" "$2")" "${@:3}"; }

none_bad() { jq -es '[.. | objects | .bad_proof, .replayed_data | numbers] | add // 0 | . == 0' "$@"; }

@test "with a key, workers, a switch and a server: updates merge, and every proof is valid" {
	path
	worker 1 "$sw" --key key -c 150 & worker 2 "$sw" --key key -c 150
	wait $!
	finish sw
	finish ps
	none_bad w1.json w2.json sw.json ps.json
	jq -e '.totals.aggregated.packets > 0' sw.json
	[ "$(jq .constituents ps.json)" -eq "$(jq .totals.delivered.constituents sw.json)" ]
	jq -es 'all(.[]; .models > 0)' w1.json w2.json
}

@test "a stranger's update or weights have no effect on a switch with a key, or on its server" {
	path
	for at in "$sw" "$ps"; do
		stranger "$at" olaf 3 1 7 0 1 2 >got
		stranger "$at" olaf 1 1 7 1 1 2 >>got
		[ "$(sort -u got)" = "0 0" ]
	done
	finish sw
	finish ps
	jq -e '.ignored.bad_proof == 2 and .totals.arrived.packets == 0 and .weights == 0' sw.json
	jq -e '.ignored.bad_proof == 2 and .weights == 0' ps.json
}

@test "neither replayed nor changed packets have an effect" {
	raw_sockets
	serve ps innet-ps -q --key key --report ps.json
	serve sw innet-switch -q --key key --upstream "$ps" --write-in in.pcap -w out.pcap --report sw.json
	worker 1 "$sw" --key key --synthetic 400B --duration 60s &
	worker_pid=$! pids="$pids $!"
	within 10 stat_is "$sw" models -ge 20
	within 10 eval '[ "$(stranger 127.0.0.1:${sw#*:} data in.pcap 0x4c flip)" -ge 10 ]'
	free=$(innet-ctl --key key --job 1 "$sw" members --json | jq '.members[0].port')
	bad=$(stat "$sw" bad_proof)
	cp in.pcap some.pcap
	n=$(stranger --from 127.0.0.1:$free "$sw" data some.pcap 0x4c kind=1 most=30 raw)
	more=$(stranger --from "$ps" "$sw" data some.pcap 0x4c kind=2 most=30 raw)	# the messages of the server
	within 10 stat_is "$sw" replayed_data -ge $((n + more))
	[ "$(stat "$sw" bad_proof)" -eq "$bad" ]
	stranger --from 127.0.0.1:$free "$sw" data some.pcap 0x4c kind=1 most=30 raw flip >/dev/null
	within 10 stat_is "$sw" bad_proof -eq $((bad + n))
	cp out.pcap some.pcap			# models that claim to be from the switch
	stranger --from "$sw" 127.0.0.1:$free data some.pcap 0x4c most=30 raw >models
	stranger --from "$sw" 127.0.0.1:$free data some.pcap 0x4c most=30 raw flip >/dev/null
	end_worker
	finish sw
	finish ps
	n=$(cat models)
	[ "$n" -gt 10 ]
	jq -e ".replayed_data >= $n and .bad_proof >= $n" w1.json
	[ "$(jq .updates ps.json)" -eq "$(jq .totals.delivered.packets sw.json)" ]
}

@test "a worker explains that the switch has another key, no key, or another --auth" {
	path
	run -1 worker 1 "$sw" --key other --give-up 2s
	[[ $(cat w1.err) == *"no model of cluster 1 arrived after"*"; it has another key; give both the same --key"* ]]
	run -1 worker 1 "$sw" --give-up 2s
	[[ $(cat w1.err) == *"; it accepts authenticated messages only; give this side its --key"* ]]
	run -1 worker 1 "$sw" --key key --auth control --give-up 2s
	[[ $(cat w1.err) == *"; it has dropped data without authentication tags; give both the same --auth, and the same --key if any"* ]]
	serve few innet-ps -q --key key --auth control
	run -1 worker 1 "$few" --key key
	[[ $(cat w1.err) == *"refused: it accepts data without authentication tags; give both the same --auth, and the same --key if any"* ]]
	worker 1 "$few" --key key --auth control -c 20
	serve iswitch innet-switch -q -p iswitch --key key
	run -1 worker 1 "$iswitch" --key key
	[[ $(cat w1.err) == *"refused: it runs program iswitch, and this worker runs olaf"* ]]
}

@test "data continues after a switch or a server is restarted" {
	at=$(free)
	start() {
		rm -f port
		"$@" --listen 127.0.0.1:$at --port-file port 3>&- &
		last=$! pids="$pids $!"
		await port
	}
	start innet-ps -q --key key
	serve sw innet-switch -q --key key --upstream 127.0.0.1:$at
	worker 1 "$sw" --key key --duration 60s &
	worker_pid=$! pids="$pids $!"
	within 10 stat_is "$sw" models -ge 20
	kill -KILL $last
	start innet-ps -q --key key
	within 20 stat_is 127.0.0.1:$at models_sent -ge 20
	end_worker
	finish sw
	serve ps innet-ps -q --key key
	at=$(free)
	start innet-switch -q --key key --upstream "$ps"
	worker 1 127.0.0.1:$at --key key --duration 60s &
	worker_pid=$! pids="$pids $!"
	within 10 stat_is 127.0.0.1:$at models -ge 20
	kill -KILL $last
	start innet-switch -q --key key --upstream "$ps"
	within 20 stat_is 127.0.0.1:$at models -ge 20
	end_worker
}

@test "--auth all without a key: tokens work through several switches" {
	serve ps innet-ps -q --auth all --report ps.json
	serve b innet-switch -q --auth all --upstream "$ps" --report b.json
	serve a innet-switch -q --auth all --upstream "$b" --report a.json
	worker 1 "$a" --auth all -c 100
	stranger "$ps" olaf 1 1 1 99 1 2 >/dev/null
	for s in a b ps; do finish $s; done
	none_bad w1.json a.json b.json
	jq -e '.applied > 10 and .ignored.bad_proof == 1' ps.json
}

# payloads FILE: print the destination port and the payload of each packet
payloads() { tshark -r "$1" -T fields -e udp.dstport -e udp.payload 2>/dev/null | sort; }

@test "with --key and --secret a trace of the input sends the same bytes as the live switch" {
	command -v tshark >/dev/null || skip "no tshark"
	serve ps innet-ps -q --key key
	set -- -q --key key --secret secret --upstream "$ps" --rate 20Mbit
	serve sw innet-switch "$@" --write-in in.pcap -w out.pcap
	worker 1 "$sw" --key key -c 150 & worker 2 "$sw" --key key -c 150
	wait $!
	stranger "$sw" olaf 1 1 7 0 1 2 >/dev/null
	finish sw
	innet-switch "$@" --listen "$sw" -r in.pcap -w again.pcap --departures out.pcap --report again.json
	[ "$(payloads out.pcap | wc -l)" -gt 60 ]
	cmp <(payloads out.pcap) <(payloads again.pcap)
	jq -e '.ignored.bad_proof == 1 and .departures_differ == 0' again.json
	innet-aom -r out.pcap --json | jq -es 'any(.[]; .received > 10)'
	# without the secret the filter cannot check the proof, so it decides as
	# the live switch did
	innet-switch -q --key key --upstream "$ps" --listen "$sw" -r in.pcap -w again.pcap --report again.json
	jq -e '.ignored.bad_proof == 1 and .totals.arrived.packets > 60' again.json
}
