# Tests of innet-worker --ranks: H belongs to the job, and the switch tells
# the others when a member leaves.
load common

# sum NAME WORKER [OPTION...]: start a synthetic worker in the background at the
# switch whose address is in $NAME
sum() {
	local at=$1 w=$2
	shift 2
	innet-worker -p iswitch --switch "${!at}" --worker "$w" \
		--synthetic 40kB --interval 5ms "$@" >/dev/null 2>"w$w.err" 3>&- &
	pids="$pids $!"
	printf -v "w$w" %s "$!"
}

# fails WORKER: wait for the end of a worker; its exit status must be 1
fails() {
	local pid=w$1 rc=0
	wait "${!pid}" || rc=$?
	[ "$rc" = 1 ]
}

# two_members: job 2 of the switch has two members
two_members() {
	innet-ctl "$switch" --job 2 members --json |
		jq -e '.members | length == 2'
}

# hundred_results: switch rack1 has had 100 results of job 1 from its parent
hundred_results() {
	innet-ctl "$rack1" --key key --job 1 stats --json |
		jq -e '.counters.from_parent >= 100'
}

@test "--ranks of the workers takes precedence over -H of the switch" {
	serve switch innet-switch -q -p iswitch -H 7
	sum switch 0 --ranks 2 -c 40 --check 2
	sum switch 1 --ranks 2 -c 40 --check 2
	wait "$w0"
	wait "$w1"
	for n in 2 3; do
		sum switch $n --ranks 3 --job 2
	done
	within 10 two_members
	run -1 timeout 20 innet-worker -p iswitch --switch "$switch" --worker 9 \
		--synthetic 40kB --ranks 4 --job 2
	[[ "$output" = *"job 2: refused: it has 3 members, and this worker expects 4"* ]]
}

@test "when a member leaves, the others end at once and name it" {
	serve switch innet-switch -q -p iswitch
	for w in 0 1 2; do sum switch $w --ranks 3; done
	results "$switch" 200
	kill "$w1"
	fails 0
	fails 2
	grep -E 'job 1: worker 1 \(127\.0\.0\.1:[0-9]+\) left 0\.[0-9] s ago, and [12] of 3 members remain' w0.err
	grep -E 'job 1: worker 1 \(127\.0\.0\.1:[0-9]+\) left' w2.err
}

@test "a member that falls silent is named, too; without --ranks, the others wait" {
	serve switch innet-switch -q -p iswitch -H 3 --member-timeout 2s
	for w in 0 1; do sum switch $w --ranks 3; done
	sum switch 2
	results "$switch" 200
	kill -KILL "$w1"
	fails 0
	grep -E 'worker 1 \(127\.0\.0\.1:[0-9]+\) fell silent and was removed' w0.err
	kill -0 "$w2"
}

@test "despite losses, all workers of a hierarchy end and name the member" {
	printf 'a key of sixteen bytes\n' >key
	chmod 600 key
	set -- --key key --impair loss=5%
	serve core innet-switch -q -p iswitch -H 2 "$@"
	for r in 0 1; do
		serve rack$r innet-switch -q -p iswitch -H 2 --parent "$core" \
			--number $r "$@"
	done
	for w in 0 1; do sum rack0 $w --ranks 4 "$@"; done
	for w in 2 3; do sum rack1 $w --ranks 4 "$@"; done
	within 60 hundred_results
	kill "$w1"
	for w in 0 2 3; do
		fails $w
		grep -E 'job 1: worker 1 \(127\.0\.0\.1:[0-9]+\) left' \
			w$w.err || { head w*.err; false; }
	done
}

@test "--ranks needs a synchronous job and a sensible number" {
	run -2 innet-worker -p iswitch --async --switch 127.0.0.1:9 --synthetic 4kB --ranks 2
	[[ "$output" = *"--ranks cannot be used with --program iswitch --async"* ]]
	run -2 innet-worker -p iswitch --switch 127.0.0.1:9 --worker 0 --synthetic 4kB --ranks 0
	run -2 innet-worker -p iswitch --switch 127.0.0.1:9 --worker 0 --synthetic 4kB --ranks auto
	[[ "$output" = *"OMPI_COMM_WORLD_SIZE"* ]]
}
