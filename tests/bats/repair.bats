# Tests of loss and loss recovery: innet-iswitch(7), LOSS. The expected figures
# are from another simulator, which shares no code with this one: milliseconds
# per iteration.
bats_require_minimum_version 1.5.0
load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# job WORKERS SEGMENTS LOSS% PROPAGATION ITERATIONS [KEYS]: simulate a job; the
# file f gets its figures
job() {
	jq -n "{ duration: \"none\", wire_overhead: true, trainings: [ { name: \"x\",
		workers: $1, vector: \"$(($2 * 1464))B\", loss: \"$3%\", propagation: \"$4\",
		iterations: $5, rate: \"1G\", compute: \"0ns\", message: \"0ns\",
		switch_delay: \"0ns\", update: \"0ns\" } + { ${6-} } ] }" >s.json
	timeout 100 innet-sim -q --json s.json >f
}

# within MS: check that an iteration takes MS, within a quarter, and that no
# packet was sent needlessly
within() {
	jq -e --argjson ms "$1" '(.iteration_ns / 1e6 / $ms - 1) | fabs < 0.25' f ||
		{ echo "$(jq .iteration_ns f) ns, not $1 ms"; return 1; }
}

@test "synchronous: a lost segment costs one round trip" {
	while read -r n segs loss delay iterations ms; do
		job "$n" "$segs" "$loss" "$delay" "$iterations"
		within "$ms"
		# the switch's own packets carry the sums to the workers, and
		# are not counted here
		jq -e --argjson least $((n * segs * iterations)) --argjson p "$loss" \
			'.packets >= $least and .packets <= $least * 1.1 / (1 - $p / 100)' f
	done <<-'END'
	3 28 0 30us 60 0.417
	3 28 0.1 30us 400 0.425
	3 28 1 30us 200 0.482
	3 28 5 30us 100 0.67
	3 28 20 30us 100 1.78
	3 430 1 30us 30 5.53
	3 430 20 30us 20 13.0
	12 430 5 2500us 20 39.7
	END
}

@test "synchronous, in racks: a lost segment costs one round trip of its tier" {
	while read -r loss ms; do
		job 12 28 "$loss" 30us 60 '"rack": 4'
		within "$ms"
	done <<-'END'
	0 0.50
	1 0.71
	20 4.0
	END
}

@test "synchronous, with a server of whole vectors: loss lengthens an iteration only a little" {
	local none
	job 12 28 0 30us 30 '"approach": "ps"'
	none=$(jq .iteration_ns f)
	for loss in 0.1-1.2 1-2 5-4; do
		job 12 28 ${loss%-*} 30us 30 '"approach": "ps"'
		jq -e --argjson none "$none" --argjson times ${loss#*-} '.iteration_ns < $times * $none' f
	done
}

@test "without loss, workers 20 ms apart send few Probes and no segment twice" {
	job 3 28 0 30us 200 '"compute": "10ms", "compute_shape": "uniform", "compute_spread": 1'
	jq -e '.packets == 3 * 28 * 200 and .helps < 0.1 * .packets' f
}

@test "asynchronous: with loss, rounds still take the time of a gradient" {
	local none
	for keys in '' '"vector": "3.31MB", "rate": "10G", "iterations": 40'; do
		job 4 28 0 30us 100 "\"mode\": \"async\", \"compute\": \"8ms\"${keys:+, $keys}"
		none=$(jq .iteration_ns f)
		for loss in 0.1 1; do
			job 4 28 $loss 30us 100 "\"mode\": \"async\", \"compute\": \"8ms\"${keys:+, $keys}"
			jq -e --argjson none "$none" '.iteration_ns < 1.5 * $none' f
		done
	done
}

@test "live, with 20 % lost in each direction: every sum is correct, and all workers end" {
	serve at innet-switch -q -p iswitch -H 3 --impair loss=20%
	all=''
	for w in 0 1 2; do
		innet-worker -p iswitch --json --switch "$at" --worker $w --synthetic 40kB --check 3 \
			--interval 0 -c 100 --impair loss=20% >w$w.json 3>&- &
		all="$all $!" pids="$pids $!"
	done
	for p in $all; do wait "$p"; done
	finish at
	jq -se 'map(.iterations) == [100, 100, 100] and (map(.retransmitted) | add) > 1000' w?.json
}

@test "a worker resends segments from before the job opened only once" {
	serve at innet-switch --json -p iswitch -H 2
	innet-worker -p iswitch --json --switch "$at" --worker 0 --synthetic 40kB --interval 0 -c 5 >w0.json 3>&- &
	all=$! pids="$pids $!"
	sleep 2
	innet-worker -p iswitch --json --switch "$at" --worker 1 --synthetic 40kB --interval 0 -c 5 >w1.json 3>&- &
	all="$all $!" pids="$pids $!"
	for p in $all; do wait "$p"; done
	finish at
	jq -e '.retransmitted == 28' w0.json
	tail -n 1 at.out | jq -e '.jobs["1"].counters | .early == 28 and .probes < 60'
}

@test "a worker that gives up names the members that have left" {
	serve at innet-switch -q -p iswitch -H 3
	all=''
	for w in 0 1; do
		innet-worker -p iswitch -q --switch "$at" --worker $w --synthetic 4kB --give-up 2s \
			--interval 1ms 2>w$w.err 3>&- &
		all="$all $!" pids="$pids $!"
	done
	innet-worker -p iswitch -q --switch "$at" --worker 7 --synthetic 4kB --interval 1ms -c 20 3>&-
	for p in $all; do wait "$p" && return 1; done
	finish at
	grep -q '3 members are needed, 2 are left; worker 7 (127.0.0.1:[0-9]*) left [0-9.]* s ago$' w0.err w1.err
}

@test "with H below the number of members, a slow worker ends with the others" {
	serve at innet-switch -q -p iswitch -H 3 --keep 200
	all=''
	for w in 0 1 2; do
		innet-worker -p iswitch --json --switch "$at" --worker $w --synthetic 4kB \
			--interval $((w == 2 ? 12 : 4))ms -c 100 >w$w.json 3>&- &
		all="$all $!" pids="$pids $!"
	done
	results "$at" 10
	innet-ctl "$at" set-h 2
	for p in $all; do wait "$p"; done
	finish at
	jq -se 'all(.iterations == 100)' w?.json
}

@test "after a reset during repairs, all sums are correct and all iterations are complete" {
	serve at innet-switch -q -p iswitch -H 3 --impair loss=2%
	all=''
	for w in 0 1 2; do
		innet-worker -p iswitch --json --switch "$at" --worker $w --synthetic 40kB --check 3 \
			--interval 1ms -c 2000 --impair loss=2% >w$w.json 3>&- &
		all="$all $!" pids="$pids $!"
	done
	for n in 1 2 3 4 5; do
		results "$at" 300
		innet-ctl "$at" reset
	done
	for p in $all; do wait "$p"; done
	finish at
	jq -se 'map(.iterations) == [2000, 2000, 2000]' w?.json
}
