# Tests of authentication tags (proofs) on data: --auth all, which --key
# implies, live and in captures.
load common
load stranger

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	pids=''
	(umask 077; printf 'sixteen bytes and more' >key)
	(umask 077; printf 'another key of sixteen bytes' >other)
}

# worker N AT [OPTION...]: run a worker for 12 iterations of 4 kB
worker() {
	innet-worker -p iswitch --worker "$1" --switch "$2" --synthetic 4kB \
		--interval 0 -c 12 --json "${@:3}" >"w$1.json" 2>"w$1.err" 3>&-
}

# workers N AT...: run N workers with the options in $with; they use the
# addresses in turn
workers() {
	local n=$1 at=("${@:2}") k w=''
	for ((k = 0; k < n; k++)); do
		worker $k "${at[k % ${#at[@]}]}" --check "$n" $with & w="$w $!"
	done
	for k in $w; do wait "$k"; done
}

# forged AT: check that the switch has counted two forged segments
forged() { [ "$(innet-ctl "$1" stats --job 1 --json | jq .counters.bad_proof)" = 2 ]; }

bad() { jq -s '[.. | .bad_proof? // empty] | add // 0' "$@"; }

@test "with a key, two racks below a root: sums are exact, and every proof is valid" {
	serve root innet-switch -q -p iswitch -H 2 --key key --report root.json
	serve a innet-switch -q -p iswitch -H 2 --key key --parent "$root" --number 1 --report a.json
	serve b innet-switch -q -p iswitch -H 2 --key key --parent "$root" --number 2 --report b.json
	with='--key key' workers 4 "$a" "$b"
	for s in a b root; do finish $s; done
	[ "$(jq -s 'map(.iterations) | unique == [12]' w?.json)" = true ]
	[ "$(bad root.json a.json b.json w?.json)" -eq 0 ]
}

@test "the worker explains that the switch refuses another --auth" {
	serve all innet-switch -q -p iswitch -H 1 --key key
	serve few innet-switch -q -p iswitch -H 1 --key key --auth control
	run -1 worker 0 "$all" --key key --auth control
	[[ $(cat w0.err) == *"it sends data with authentication tags; give both the same --auth, and the same --key if any"* ]]
	run -1 worker 0 "$few" --key key
	[[ $(cat w0.err) == *"it sends data without authentication tags; give both the same --auth, and the same --key if any"* ]]
	worker 0 "$few" --key key --auth control --check 1
}

@test "--auth all without a key: packets to the parent carry the nonce of its pass" {
	python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)' 2>/dev/null ||
		skip "no raw sockets"
	serve at innet-switch -q -p iswitch -H 2 --auth all --report s.json
	for w in 0 1; do
		innet-worker -p iswitch --worker $w --switch "$at" --synthetic 4kB --check 2 --auth all --interval 10ms \
			--json >w$w.json 3>&- &
		members="${members-} $!" pids="$pids $!"
	done
	until [ "$(innet-ctl "$at" members --json | jq '.members | length')" = 2 ]; do sleep 0.02; done
	free=$(innet-ctl "$at" members --json | jq '.members[0].port')
	stranger --from 127.0.0.1:$free "$at" forge-seg 0x3c 0000000001000000000000000000000000007149
	stranger --from 127.0.0.1:$free "$at" forge-seg 0x1c 000000000100000000007149
	within 30 forged "$at"
	kill $members
	for w in $members; do wait "$w"; done
	finish at
	[ "$(bad w?.json)" -eq 0 ]
	jq -e '.jobs["1"].counters | .bad_proof == 2 and .results > 0' s.json
}

@test "--auth control needs a key, and --auth none must have no key" {
	run -2 innet-worker -p iswitch --worker 0 --switch :1 --synthetic 4B --auth control
	[[ $output == *"--auth control needs --key"* ]]
	run -2 innet-switch -p iswitch --listen 127.0.0.1:0 --auth control
	[[ $output == *"--auth control needs --key"* ]]
	run -2 innet-worker -p iswitch --worker 0 --switch :1 --synthetic 4B --key key --auth none
	[[ $output == *"--auth none cannot be used with --key"* ]]
	run -2 innet-switch -p dlp --auth all --listen 127.0.0.1:0
	[[ $output == *"--auth all cannot be used with program dlp, whose data has no authentication tags"* ]]
	run -2 innet-switch -p iswitch --auth some --listen 127.0.0.1:0
}

@test "authentication tags are valid with asynchronous switches and servers of whole vectors too" {
	serve async innet-switch -q -p iswitch --async -H 2 --key key --report s.json
	serve sums innet-ps -q -p iswitch -H 2 --key key --report p.json
	serve each innet-ps -q -p iswitch --async -H 2 --key key --report q.json
	worker 0 "$async" --async --key key & worker 1 "$async" --async --key key
	wait $!
	with='--key key' workers 2 "$sums"
	worker 2 "$each" --async --key key & worker 3 "$each" --async --key key
	wait $!
	for s in async sums each; do finish $s; done
	[ "$(bad s.json p.json q.json w?.json)" -eq 0 ]
	jq -es 'all(.[].jobs["1"].counters; .added >= 24 and .bad_proof == 0)' s.json p.json q.json
}

@test "lost packets are retransmitted with authentication tags, too" {
	serve at innet-switch -q -p iswitch -H 2 --key key --impair loss=0.05 --seed 3 --report sw.json
	with='--key key --impair loss=0.05' workers 2 "$at"
	finish at
	[ "$(bad sw.json w?.json)" -eq 0 ]
	jq -e '.jobs["1"].counters | .added == 12 * 2 * 3' sw.json
}

@test "innet-aom measures a capture of a job with a key without this key, and the filter sums it again" {
	serve at innet-switch -q -p iswitch -H 2 --key key -w live.pcap --write-in in.pcap
	with='--key key' workers 2 "$at"
	finish at
	innet-aom -p iswitch -r live.pcap --json >aom.json
	[ "$(jq -s 'map(select(.iterations == 12)) | length > 0' aom.json)" = true ]
	innet-switch -q -p iswitch -H 2 --key key --listen "$at" -r in.pcap -w again.pcap --report again.json
	jq -e '.jobs["1"].counters | .added == 72 and .results == 36 and .bad_proof == 0' again.json
}
