# Tests of innet-sim --chaos: it runs random trainings with faults and checks
# their invariants.
bats_require_minimum_version 1.5.0
load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

@test "some hundred trainings under faults keep all invariants" {
	run -0 --separate-stderr timeout 300 innet-sim --json --chaos 1 --runs 200
	[ -z "$stderr" ]
	jq -e '.runs == 200 and .findings == 0 and .seeds == []' <<<"$output"
	jq -e '[.lost, .bursts, .twice, .late, .partitions, .flaps, .kills,
		.pauses, .deaths] | all(. > 0)' <<<"$output"
}

@test "trainings under faults with a key keep all invariants, with seals alone and with proofs of all data" {
	innet-sim --json --chaos 3000 --runs 100 | jq -r .results >plain
	for auth in control all; do
		run -0 --separate-stderr timeout 300 innet-sim --json --chaos 3000 --runs 100 --auth $auth
		[ -z "$stderr" ]
		jq -e --argjson plain "$(cat plain)" '.findings == 0 and .kills > 0 and .deaths > 0 and
			.results > 0.95 * $plain and .results < 1.05 * $plain' <<<"$output"
	done
	run -2 innet-sim --auth all x.json
	[[ "$output" = *"--auth needs --chaos; in a scenario, give each training job the key 'auth'"* ]]
	run -2 innet-sim --chaos 1 --auth some
}

@test "asynchronous trainings continue after their racks are killed" {
	run -0 --separate-stderr timeout 300 innet-sim --json --chaos 1 --runs 100 --kill-racks
	[ -z "$stderr" ]
	jq -e '.runs == 100 and .findings == 0 and .kills > 20 and .deaths == 0' <<<"$output"
	run -2 innet-sim --kill-racks x.json
	[[ "$output" = *"--kill-racks needs --chaos"* ]]
}

@test "vectors of any length are summed in a ring, also if switches are killed" {
	for auth in none all; do
		run -0 --separate-stderr timeout 300 innet-sim --json --chaos 1 --runs 150 --ring --auth $auth
		[ -z "$stderr" ]
		jq -e '.runs == 150 and .findings == 0 and .kills > 30 and .deaths == 0' <<<"$output"
	done
	run -0 --separate-stderr timeout 300 innet-sim --json --chaos 1 --runs 60 --ring --severe
	[ -z "$stderr" ]
	jq -e '.runs == 60 and .findings == 0 and .kills > 20' <<<"$output"
	run -2 innet-sim --ring x.json
	[[ "$output" = *"--ring needs --chaos"* ]]
	run -2 innet-sim --chaos 1 --ring --kill-racks
	[[ "$output" = *"--ring and --kill-racks exclude each other"* ]]
}

@test "severe faults: several at a time, and workers of asynchronous jobs die" {
	for auth in none all; do
		run -0 --separate-stderr timeout 300 innet-sim --json --chaos 1 --runs 60 --severe --auth $auth
		[ -z "$stderr" ]
		jq -e '.runs == 60 and .findings == 0 and .kills > 5 and .deaths > 5' <<<"$output"
		run -0 --separate-stderr timeout 300 innet-sim --json --chaos 1 --runs 60 --severe --kill-racks --auth $auth
		[ -z "$stderr" ]
		jq -e '.runs == 60 and .findings == 0 and .kills > 20 and .deaths > 5' <<<"$output"
	done
	# many faults begin at the same time
	innet-sim -qv --chaos 1 --runs 60 --severe --jobs 1 >drawn
	jq -se 'map(.faults | length > 1) | all' drawn
	jq -se 'map(select((.faults | map(.from) | unique | length) < (.faults | length))) | length > 20' drawn
	run -2 innet-sim --severe x.json
	[[ "$output" = *"--severe needs --chaos"* ]]
}

@test "faults that --chaos once found remain fixed" {
	# Faults found so far: a Probe that the next push overtook; a state
	# transfer from a worker with an old state; workers that join a
	# restarted switch only when no member can send a state; and a worker
	# that lacks more kept results than its limit on resends had saved up.
	for seed in 23104081 23039737 21000974 24059493 60007920 60001104; do
		innet-sim -q --chaos $seed
	done
	# Faults found with few slots: a rack that had forgotten results which
	# its core no longer keeps, also one iteration behind it; a worker that
	# assumed wrongly that the switch had forgotten it; a worker that went
	# back to resend segments without a slot, and resent such segments
	# endlessly; an old state that was transferred again and again; a window
	# that grew through Help alone until no slot was left; and a rack's sum
	# that its core requested before it had a slot.
	for seed in 1899 2200 7639 7778 9453 12424 15981 187; do
		innet-sim -q --chaos $seed
	done
	# Faults found later: a rack that was restarted and gave segments again
	# that had no slot; and a worker that was killed, restarted at the same
	# port, and asked for results before the job's first iteration.
	# The last seed has four slots, and loses more than a third of all packets.
	for seed in 2010043904 3010013224 3030014875; do
		innet-sim -q --chaos $seed
	done
	# Faults found with killed racks: two workers that asked each other for
	# a state; a lost Probe for a push that was never repeated; and workers
	# that waited for rounds to which none of them pushed.
	for seed in 3020000265 3020004932 3020007690; do
		innet-sim -q --chaos $seed --kill-racks
	done
	# Faults found with killed racks, later: a worker whose segments were
	# never at the same round could not send its state; and two restarted
	# racks that stayed closed until a worker with such a state joined.
	for seed in 3020016558 5230009334 5230000090 4110003012; do
		innet-sim -q --chaos $seed --kill-racks
	done
	# Seeds in which a state crosses links that lose a third of all packets,
	# or a worker is paused for seconds.
	for seed in 5240004591 5240006216 5240007628 3040003705 3040015719 3040015807; do
		innet-sim -q --chaos $seed --kill-racks --auth all
	done
	# A member that was challenged kept the tags of its old cookie.
	innet-sim -q --chaos 8800026244 --auth all
	# Faults found with a key: a switch that had forgotten a rack, which
	# then sent results as sums; a challenge that another challenge had
	# overtaken; and a result that was sent to the parent.
	for seed in 50004059 50011831 50000434 50012520; do
		innet-sim -q --chaos $seed --auth all
	done
	# A member that had used up its repeated results sent a Probe for each
	# STATE; and a late copy of a result was counted twice.
	for seed in 9510982980 9540280415; do
		innet-sim -q --chaos $seed
	done
	# A rack waited for an iteration that no member needed; and a state that
	# was too old was sent again and again.
	for seed in 9540040368 9570141212; do
		innet-sim -q --chaos $seed --severe
	done
	# A rack that joined its parent again used other numbers of pushes; and
	# a member came back with weights that did not belong to the job.
	innet-sim -q --chaos 9520797139 --severe --kill-racks --auth all
	innet-sim -q --chaos 9530091060 --severe --kill-racks
	# A worker counted the time that refusals may take from its first Fetch,
	# which had had no answer for two seconds.
	innet-sim -q --chaos 9570043264 --severe
	innet-sim -q --chaos 9590847819 --severe --auth all
}

@test "a seed gives the same run, independent of the other seeds" {
	innet-sim --json --chaos 10 --runs 8 --jobs 3 | jq 'del(.seconds)' >all
	for s in 10 11 12 13 14 15 16 17; do innet-sim --json --chaos $s; done |
		jq -s '[.[].packets] | add' >sum
	jq .packets all | diff - sum
	innet-sim --json --chaos 10 --runs 8 --jobs 1 | jq 'del(.seconds)' | diff all -
}

@test "-v prints the drawn scenario as JSON" {
	innet-sim -qv --chaos 5 --runs 2 --jobs 1 >drawn
	jq -se 'map(.seed) == [5, 6] and all(.trainings[0].workers > 0)' drawn
}

@test "--chaos refuses a scenario file, and options that change a scenario" {
	run -2 --separate-stderr innet-sim --chaos 1 s.json
	[[ $stderr == 'innet-sim: --chaos generates its own scenarios and can be used only with '* ]]
	run -2 innet-sim --chaos 1 --seed 2
	run -2 --separate-stderr innet-sim --chaos x
	[[ $stderr == "innet-sim: invalid seed 'x': "* ]]
}

@test "live trainings keep all invariants when workers, racks and servers are killed or cut off" {
	once training
	privileged
	run bash "$srcdir/tests/chaos/live.sh" 21 22 19 1
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(grep -c ' faults: no finding$' <<<"$output")" -eq 4 ]
}

@test "a soak test of ten seconds: keyed jobs with loss, a queue, a replay memory" {
	once training
	python numpy
	BUILD=$(dirname "$(command -v innet-switch)") bash "$srcdir/tests/chaos/soak.sh" 10 log 3>&- ||
		{ cat log; false; }
	[ "$(grep -c ' iterations, the longest ' log)" -eq 10 ]
	# a run that takes longer than the limit is reported
	BUILD=$(dirname "$(command -v innet-switch)") LONGEST=0.000001 run -1 \
		bash "$srcdir/tests/chaos/soak.sh" 2 3>&-
	grep -q '^finding: an iteration took longer than 0.000001 s' <<<"$output"
}
