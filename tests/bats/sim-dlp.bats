# Compare innet-sim's sessions of DLP with closed forms and with the filter. A
# packet of 30 bytes is a frame of 72 bytes, which takes 72 ns at 8 Gbit/s.
bats_require_minimum_version 1.5.0
load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# session KEYS [OPTION...]: simulate a session with a step of 1 ms and one
# switch; the file f gets its figures
session() {
	jq -n "{ duration: \"none\", trainings: [ { name: \"x\",
		program: \"dlp\", iterations: 20, rate: \"8G\",
		compute: \"1ms\" } + { ${1-} } ] }" >s.json
	timeout 60 innet-sim -q --json "${@:2}" s.json >f
}

# is KEY VALUE: check a figure of the session
is() {
	local got
	got=$(jq ".$1" f)
	[ "$got" = "$2" ] || { echo "$1 is $got, not $2"; return 1; }
}

@test "a step takes two frames, two propagation delays and the switch's delay, for any N" {
	for n in 1 4 32; do
		for how in mean median; do
			session "\"workers\": $n, \"reduce\": \"$how\""
			is aggregation_ns $((2 * 72 + 2 * 1000 + 1000))
			is iteration_ns $((1000000 + 2 * 72 + 3000))
			is packets $((20 * n))
			is repeated 0
			is left_out 0
		done
	done
	session '"switch_delay": "3us", "propagation": "7us", "rate": "80M"'
	is max_aggregation_ns $((2 * 7200 + 2 * 7000 + 3000))
}

@test "longer vectors take longer frames, and have the same results" {
	for how in mean median; do
		session "\"vector\": \"1464B\", \"reduce\": \"$how\""
		is aggregation_ns $((2 * (42 + 8 + 1464) + 2 * 1000 + 1000))
	done
	session '"vector": "28B", "workers": 32, "loss": "2%"'
	is iterations 20
}

@test "lost packets are retransmitted, and every step has all gradients" {
	session '"loss": "5%", "iterations": 100'
	is iterations 100
	is partial_steps 0
	jq -e '.lost > 10 and .repeated > 10 and .max_aggregation_ns > 1e7' f
	cp f g
	session '"loss": "5%", "iterations": 100'
	cmp f g
	session '"loss": "5%", "iterations": 100' --seed 2
	run ! cmp -s f g
}

@test "a step waits for a straggler at most the straggler time-out" {
	session '"compute_shape": "exponential", "iterations": 100'
	is partial_steps 0
	cp f g
	session '"compute_shape": "exponential", "iterations": 100,
		"straggler": "500us"'
	jq -es '.[0].partial_steps > 10 and
		.[0].left_out >= .[0].partial_steps and
		.[0].left_out <= 3 * .[0].partial_steps and
		.[0].iteration_ns < .[1].iteration_ns' f g
}

@test "the suite's scenario: a time-out of 2 ms makes steps shorter, also with loss" {
	innet-sim -q --json "$share/scenarios/dlp-straggler.json" >f
	jq -es 'length == 6 and all(.iterations == 200) and
		([ .[] | select(.training == "all") | .partial_steps ] |
		add == 0) and
		([ .[] | select(.training != "all") | .partial_steps ] |
		min > 10)' f
}

@test "the filter repeats the work of the simulated switch from the capture of a session" {
	for how in mean median; do
		rm -rf out
		session "\"loss\": \"2%\", \"compute_shape\": \"exponential\",
			\"reduce\": \"$how\", \"straggler\": \"500us\"" -w out
		innet-switch -q -r out/x.switch.in.pcap -w filtered.pcap \
			--program dlp --reduce "$how" --straggler 500us --json >c
		jq -es '.[0].partial == .[1].partial_steps and .[0].steps == 20 and
			.[1].partial_steps > 0 and
			.[0].steps * 4 - .[0].gradients == .[1].left_out' c f
		cmp out/x.switch.out.pcap filtered.pcap
	done
}

# refused KEYS WORDS: check that innet-sim refuses a scenario with these keys
# and prints WORDS
refused() {
	run -1 session "$1"
	run -1 innet-sim s.json
	[[ $output == *"$2"* ]] || { echo "$output"; return 1; }
}

@test "the simulator names and refuses keys that the program does not have" {
	for x in '"approach": "ps"' '"mode": "async"' '"rack": 2' \
	    '"payload": "1000B"' '"staleness": 1' \
	    '"barrier": true' '"server_rate": "1G"' '"core_rate": "1G"' \
	    '"message": "1us"' '"messages": 2' '"copy_rate": "1G"'; do
		key=${x#\"}
		refused "$x" "trainings[0].${key%%\"*}: cannot be used with program dlp"
	done
	refused '"program": "iswitch", "reduce": "median"' \
	    "trainings[0].reduce: cannot be used with program iswitch"
	refused '"program": "iswitch", "straggler": "1ms"' \
	    "trainings[0].straggler: cannot be used with program iswitch"
	refused '"vector": "1468B"' \
	    "trainings[0].vector: dlp has at most 366 elements"
	refused '"workers": 33' "trainings[0].workers: a session of dlp has at most 32"
	refused '"iterations": "none"' "trainings[0].iterations: a session"
}

@test "the switch cannot fail and workers cannot be killed, but links can fail" {
	local at='"from": "5ms", "to": "9ms"'
	session ''
	for x in '"switch": "switch"' '"worker": "killed"'; do
		jq ".faults = [ { $x, $at } ]" s.json >t.json
		run -1 innet-sim t.json
		[[ $output == *"session of dlp"* ]]
	done
	jq ".faults = [ { \"link\": \"worker\", \"index\": 1, $at } ]" s.json >t.json
	innet-sim -q --json t.json >f
	is iterations 20
	jq -e '.repeated > 0 and .max_aggregation_ns > 4e6' f
}
