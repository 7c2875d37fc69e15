# What a stranger can cost: repeated updates, forged routes, cuts and Joins.
load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	pids='' tests=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
	command -v python3 >/dev/null || skip "no python3"
}

# A stranger of this machine: [--from ADDR] HOST:PORT ACTION...
stranger() { python3 -B "$tests/bats/stranger.py" "$@"; }

finish() {
	local pid=${1}_pid
	kill -TERM "${!pid}"
	wait "${!pid}"
}

@test "an update that comes 100 times is applied once" {
	serve ps innet-ps --json --learning-rate 1 --average none --reply worker
	stranger "$ps" olaf 3 1 7 0 0 0 >/dev/null
	[ "$(stranger "$ps" olaf 1 1 7 5 1 1 times=100)" = "1 48" ]
	stranger "$ps" olaf 1 1 7 4 1 1 >/dev/null
	stranger "$ps" olaf 1 1 7 6 1 1 >/dev/null
	finish ps
	jq -e '.applied == 2 and .updates_repeated == 100' ps.out
}

@test "a worker that is started again counts from the beginning, and is heard" {
	serve ps innet-ps --json
	for start in 1000 2000; do	# the weights of the first again count nothing
		stranger "$ps" olaf 3 1 7 0 0 0 stamp=$start >/dev/null
		for sequence in 1 2 3; do
			stranger "$ps" olaf 1 1 7 $sequence 1 1 >/dev/null
		done
	done
	stranger "$ps" olaf 3 1 7 0 0 0 stamp=1000 >/dev/null
	stranger "$ps" olaf 1 1 7 2 1 1 >/dev/null
	finish ps
	jq -e '.applied == 6 and .updates_repeated == 1' ps.out
}

@test "40 bytes to an idle cluster do not make honest updates mismatched" {
	serve ps innet-ps -q
	serve switch innet-switch -q --upstream "$ps" --report r.json
	stranger "$switch" olaf 1 1 9 1 1 1 >/dev/null
	stranger "$switch" olaf 3 1 3 0 0 0 0 >/dev/null
	for sequence in $(seq 10); do
		stranger "$switch" olaf 1 1 3 "$sequence" 1 1 1 >/dev/null
	done
	stranger "$switch" olaf 1 1 9 2 1 1 >/dev/null
	finish switch
	jq -e '.ignored.mismatched == 1 and .totals.arrived.packets == 11' r.json
}

@test "--elements says how long vectors are: a stranger's are not heard" {
	serve ps innet-ps --json --elements 3
	serve switch innet-switch -q --upstream "$ps" --elements 3 --report r.json
	[ "$(stranger "$ps" olaf 3 1 9 0 1)" = "0 0" ]
	stranger "$switch" olaf 1 1 9 1 1 1 >/dev/null
	[ "$(stranger "$switch" olaf 3 1 3 0 0 0 0)" = "1 52" ]
	[ "$(stranger "$switch" olaf 1 1 3 1 1 1 1)" = "1 52" ]
	finish switch
	finish ps
	jq -e '.ignored.mismatched == 1' r.json
	jq -e '.applied == 1 and .weights == 1' ps.out
}

@test "a full disk ends captures, which is said, and not the serving" {
	[ -w /dev/full ] || skip "no /dev/full"
	serve ps innet-ps --json -w /dev/full
	serve switch innet-switch -q --upstream "$ps" --write-in /dev/full
	# more than a buffer, and a second: it has been noticed
	run -1 --separate-stderr innet-worker --json --switch "$switch" --synthetic 4kB \
		--interval 10ms --duration 4s -w /dev/full
	jq -e '.models > 0' <<<"$output"
	[ "$(grep -c '^innet-worker: /dev/full: captures no more: No space left on device$' <<<"$stderr")" -eq 1 ]
	for tool in switch ps; do
		code=0
		finish $tool || code=$?
		[ $code -eq 1 ]
		[ "$(grep -c "^innet-$tool: /dev/full: captures no more: No space left on device$" $tool.err)" -eq 1 ]
		grep -q "^innet-$tool: /dev/full: output is incomplete: No space left on device$" $tool.err
	done
	jq -e '.weights > 0' ps.out
}
