# Tests of innet's workers with twins of the published programs of DLP.
load common
load dlp

twins=$BATS_TEST_DIRNAME/../twins

# twin KIND WORKERS STEPS [WORD...]: start a twin at $to; it writes its counts
# to twin.json when it ends
twin() {
	local kind=$1
	shift
	rm -f twin.port
	python3 -B "$twins/dlp_twin.py" "$kind" twin.port "$@" >twin.json 3>&- &
	twin=$!
	pids="$pids $twin"
	await twin.port
	to=127.0.0.1:$(cat twin.port)
}

# crew N [OPTION...]: run N synthetic workers; worker K writes wK.json, and
# worker 1 gets the options in $lead
crew() {
	local n=$1 w crew=''
	shift
	for w in $(seq "$n"); do
		innet-worker --json -p dlp --switch "$to" --synthetic 24B --interval 1ns --seed "$w" \
			--give-up 10s $([ "$w" -gt 1 ] || echo "${lead-}") "$@" >"w$w.json" 2>"w$w.err" 3>&- &
		crew="$crew $!"
	done
	pids="$pids $crew"
	for w in $crew; do
		wait "$w" || { tail -n 3 w?.err; return 1; }
	done
	wait "$twin"
}

# answers_are SUM: check that the answers to step i are i times SUM
answers_are() {
	local x i
	for x in 1 2 3 4 40; do
		for i in 1 2 3 4; do echo "of $(($1 * i)) -$(($1 * i))"; done |
			diff - <(sed -n 's/^step .*: 5 //p' "child-$x")
	done
}

# family [OPTION...]: run children with the factors 1, 2, 3, 4 and, after a
# delay, 40
family() {
	local x crew=''
	child
	for x in 1 2 3 4 40; do
		innet-worker -q -p dlp --switch "$to" --give-up 10s "$@" $([ "$x" -gt 1 ] || echo "${lead-}") -- \
			python3 child.py "$x" 4 "$([ "$x" -eq 40 ] && echo 0.15 || echo 0)" 2>"child-$x" 3>&- &
		crew="$crew $!"
	done
	pids="$pids $crew"
	for x in $crew; do wait "$x"; done
	wait "$twin"
}

@test "the twin of the published server gives the captured answers, byte for byte" {
	local data=$BATS_TEST_DIRNAME/../data
	twin server 5 100 linger
	dlpplay "$data/dlp-avg_agg_udp_bcast-5w.pcapng" 12344 "$to" >out
	[ "$(cat out)" = "519 sent, 514 answers as captured" ]
	twin server 5 100 median late linger
	dlpplay "$data/dlp-med_agg_udp_tmout-5w.pcapng" 12344 "$to" >out
	[ "$(cat out)" = "926 sent, 921 answers as captured" ]
}

@test "each of five workers gets a place at the published server, and all learn" {
	for how in '' median late 'median late'; do
		twin server 5 30 $how
		crew 5 $([[ $how != median* ]] || echo --reduce median)
		jq -e '.places == 5 and .steps == 30 and .gradients == 150' twin.json
		jq -se 'length == 5 and all(.results == 30 and .sessions == 1) and
			(map(.worker) | sort == [0, 1, 2, 3, 4])' w?.json
	done
}

@test "the published server answers with the mean or the median, even if one worker is slow" {
	twin server 5 4
	family
	answers_are 50
	twin server 5 4 median
	family --reduce median
	answers_are 15
}

@test "the published switch answers CONFIGURE, and each worker gets one place" {
	lead='--session nodes=5,iterations=30'
	for how in '' late; do
		twin switch 0 0 $how
		crew 5
		jq -e '.places == 5 and .steps == 30 and .gradients == 150 and .twice == 0' twin.json
		jq -se 'all(.results == 30) and (map(.worker) | sort == [0, 1, 2, 3, 4])' w?.json
	done
}

@test "a worker that gives up says how many workers are missing, as far as it knows" {
	twin server 3 30
	run -1 --separate-stderr innet-worker -q -p dlp --switch "$to" --synthetic 4B --give-up 400ms
	[[ $stderr == *"the last packet had state 1 (SETUP) and step 0, 1 of 3 workers" ]]
	run -1 --separate-stderr innet-worker -q -p dlp --switch "$to" --synthetic 4B --give-up 400ms
	[[ $stderr == *"the last packet had state 1 (SETUP) and step 0, 2 of 3 workers" ]]
}

@test "the published switch counts no gradient twice, whatever the waiting time" {
	lead='--session nodes=5,iterations=4'
	twin switch 0 0
	family
	jq -e '.gradients == 20 and .twice == 0' twin.json
	answers_are 50
}

@test "a worker refuses more than six elements before it joins a published aggregator" {
	twin server 1 3
	run -1 --separate-stderr innet-worker -q -p dlp --switch "$to" --synthetic 7
	[ "$stderr" = "innet-worker: $to: a published aggregator takes 6 elements, not 7" ]
}
