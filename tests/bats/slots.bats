# Tests of a switch with a limited number of slots for sums. In the traces a
# vector has four segments (elements=8, two floats each). Four slots are a span
# of one segment for the first job, and leave no slot for a second job.
load iswitch

long() { joins "$1" elements=8 "${@:2}"; }

@test "bounded: the switch counts a segment that finds no slot, and no worker misses its result" {
	{ long 2; seg 1 1 1 0 1 1; seg 2 1 1 1 1 1; segs 3 1 0 2; segs 4 1 1 1 2; segs 5 1 2 2 1; } |
		through --slots-of-sums 4
	[ "$(counter no_slot)" -eq 1 ]
	[ "$(counter added)" -eq 6 ]
	[ "$(to 1)" = "$(printf 'seg 1 2 %s\n' '0 3 3' '1 3 3' '2 3 3')" ]
}

@test "bounded: a slot keeps the result of the previous segment, and Help for older ones gets gone" {
	{ long 2; for i in 0 1 2; do segs $i 1 $i 1 2; done
		ask 9 1 help seg=1.0.2; ask 10 1 help seg=1.0.1; ask 11 1 help seg=1.0.0; } | through --slots-of-sums 4
	[ "$(to 1 | tail -n 3 | head -n 2)" = "$(printf 'seg 1 2 %s\n' '2 3 3' '1 3 3')" ]
	[ "$(statuses 1 help)" = "done done gone" ]
}

@test "bounded: iterations use the same slots one after the other, also over the wrap" {
	{ long 1 next=16777215; for t in 16777215 0 1; do
		for i in 0 1 2 3; do seg 1 1 $t $i 1 1; done; done; } | through --slots-of-sums 6 -H 1
	[ "$(counter results)" -eq 12 ]
	[ "$(counter no_slot)" -eq 0 ]
}

@test "bounded: a job gets half of the free slots, and a job that gets none is refused with no-room" {
	{ long 2; JOB=2; join -900 7 elements=8; } | through --slots-of-sums 4
	[[ "$(acks 7 join)" == 'no-room '* ]]
	{ long 2; JOB=2; join -900 7 elements=8; segs 1 1 0 1 2; JOB=2; seg 200 7 1 0 1 1; } | through --slots-of-sums 8
	[ "$(counter added 2)" -eq 1 ]
}

@test "bounded: options that contradict it are misuse, and --dry-run counts slots" {
	for words in --async '--straggler 1ms' '--keep 3'; do
		run -2 --separate-stderr innet-switch -p iswitch --slots-of-sums 8 $words -H 1 -r x
		[[ $stderr == *--slots-of-sums* ]]
	done
	run -2 --separate-stderr innet-switch -p iswitch --slots-of-sums 3 -r x
	run -2 --separate-stderr innet-switch -p iswitch --slots-of-sums 8 --members 2 -r x
	whole=$(innet-switch -p iswitch -H 4 --vector dqn --dry-run --json | jq .bytes)
	innet-switch -p iswitch -H 4 --vector dqn --slots-of-sums 256 --dry-run --json >plan
	jq -e --argjson whole "$whole" '.bytes < $whole / 50' plan
}

# run_job SLOTS [OPTION...]: start a live switch with SLOTS slots; $at gets its
# address
run_job() {
	innet-switch -q -p iswitch -H 2 --listen :0 --port-file port --report r.json --write-in came.pcap --slots-of-sums "$@" 2>switch.err 3>&- &
	switch=$!
	pids="$pids $switch"
	await port
	at=:$(cat port)
}
# member JOB WORKER [OPTION...]: start a member of a job
member() {
	innet-worker -q -p iswitch --job "$1" --worker "$2" --check 2 --switch "$at" --interval 0 "${@:3}" 3>&- &
	pids="$pids $!"
	members="$members $!"
}
setup() {
	cd "$BATS_TEST_TMPDIR" || return
	pids='' members=''
}
teardown() { end_all; }
join_members() { for m in $members; do wait "$m"; done; }

@test "bounded: workers stay within their window, and sums are correct with lost packets" {
	run_job 16 --impair loss=1%
	for w in 0 1; do
		member 1 $w --synthetic 40kB -c 60
		member 2 $w --synthetic 4kB -c 60
	done
	within 20 innet-ctl "$at" stats --job 1
	join_members
	kill "$switch"
	wait "$switch"
	jq -e '.jobs | .["1"].counters.results == 60 * 28 and .["2"].counters.results == 60 * 3
		and all(.[].counters; .no_slot == 0)' r.json
	# the filter makes the same decisions for the packets that arrived
	innet-switch -q -p iswitch -H 2 -r came.pcap --listen "127.0.0.1$at" --slots-of-sums 16 -w /dev/null --report f.json
	diff <(jq -S '.jobs[].counters | {added, no_slot, results}' r.json) \
		<(jq -S '.jobs[].counters | {added, no_slot, results}' f.json)
}

@test "bounded: a worker that is killed during an iteration and restarted continues, and all sums are right" {
	run_job 4 --reduce ordered
	member 1 0 --synthetic 157kB -c 300
	stays=$!
	innet-worker -q -p iswitch --worker 1 --check 2 --switch "$at" --interval 0 --synthetic 157kB 3>&- &
	killed=$!
	for _ in $(seq 500); do
		[ "$(innet-ctl "$at" jobs --json | jq '.jobs[0].iteration // 0')" -lt 20 ] || break
	done
	kill -KILL $killed
	wait $killed || true
	member 1 1 --synthetic 157kB
	wait $stays
	# the message says that the switch has no room for another job
	run -1 --separate-stderr innet-worker -q -p iswitch --job 2 --worker 0 --switch "$at" --synthetic 4kB
	[[ $stderr == *'of its 4 slots of sums are taken'* ]]
}

# tier NAME SLOTS [OPTION...]: start a live switch of two members; $NAME gets
# its process id
tier() {
	innet-switch -q -p iswitch -H 2 --listen 127.0.0.1:0 --port-file "$1.port" --report "$1.json" --slots-of-sums "${@:2}" \
		2>"$1.err" 3>&- &
	declare -g "$1=$!"
	pids="$pids $!"
	await "$1.port"
	at=127.0.0.1:$(cat "$1.port")
}
# racks CORE RACK1 RACK2 [OPTION...]: start a core and two racks of two workers,
# with CORE, RACK1 and RACK2 slots
racks() {
	tier core "$1" "${@:4}"
	local up=$at
	tier rack1 "$2" --number 1 --parent "$up" "${@:4}"
	rack1_at=$at
	tier rack2 "$3" --number 2 --parent "$up" "${@:4}"
}
# job_of_four COUNT: start four workers in two racks, which check their sums
job_of_four() {
	for w in 0 1 2 3; do
		[ $w -lt 2 ] && at=$rack1_at || at=127.0.0.1:$(cat rack2.port)
		member 1 $w --check 4 --synthetic 40kB -c "$1"
	done
}

@test "bounded: a rack and its core have different numbers of slots, and sums are correct with lost packets" {
	for slots in '8 64 16' '64 8 4'; do
		members=''
		# shellcheck disable=SC2086
		racks $slots --impair loss=1%
		job_of_four 60
		within 20 innet-ctl "$rack1_at" stats --job 1
		join_members
		kill "$core" "$rack1" "$rack2"
		wait "$core" "$rack1" "$rack2"
		# every segment was sent with a slot, and at most as many slots are used
		# than exist
		jq -se 'all(.[].jobs["1"].counters; .no_slot == 0 and .results >= 60 * 28)' core.json rack1.json rack2.json
		rm ./*.port ./*.json
	done
}

@test "bounded: a rack explains that its parent has no slots for a job" {
	tier core 4 -H 1
	tier rack1 64 --number 1 -H 1 --parent "$at"
	member 1 0 --check 1 --synthetic 40kB
	for _ in $(seq 500); do
		[ "$(innet-ctl "$at" jobs --json | jq '.jobs[0].iteration // 0')" -lt 2 ] || break
	done
	run -1 --separate-stderr innet-worker -q -p iswitch --job 2 --worker 0 --switch "$at" --synthetic 4kB
	[[ $stderr == *'refused: no room: 2 of its 4 slots of sums are taken at its parent 127.0.0.1:'* ]]
}

@test "bounded: a rack or core that is killed and restarted continues with right sums, and no segment lacks a slot" {
	local who kept
	for who in rack1 core; do
		members=''
		racks 8 64 16 --reduce ordered
		job_of_four 300
		for _ in $(seq 500); do
			[ "$(innet-ctl "$rack1_at" jobs --json | jq '.jobs[0].iteration // 0')" -lt 20 ] || break
		done
		kill -KILL "${!who}"
		wait "${!who}" || true
		at=127.0.0.1:$(cat core.port)
		rm $who.port
		if [ $who = core ]; then
			kept='rack1.json rack2.json'
			tier core 8 --reduce ordered --listen "$at"
		else
			kept='core.json rack2.json'
			tier rack1 12 --reduce ordered --number 1 --parent "$at" --listen "$rack1_at"
		fi
		join_members
		kill "$core" "$rack1" "$rack2"
		wait "$core" "$rack1" "$rack2"
		# except for segments that were in flight, of which there are at
		# most as many as slots
		jq -se 'all(.[].jobs["1"].counters; .no_slot <= 32)' $kept
		rm ./*.port ./*.json
	done
}
