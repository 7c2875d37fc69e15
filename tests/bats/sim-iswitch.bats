# Compare innet-sim's trainings with closed forms of iSwitch's approaches and
# with the filter. At 8 Gbit/s a byte takes 1 ns. A full frame, L, has 1514
# bytes, and a vector of 14640 bytes takes ten of them.
bats_require_minimum_version 1.5.0
load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# training KEYS [OPTION...]: simulate a training of 4 workers with ten frames;
# the file f gets its figures
training() {
	jq -n "{ duration: \"none\", trainings: [ { name: \"x\",
		vector: \"14640B\", iterations: 1, rate: \"8G\",
		compute: \"1ms\" } + { ${1-} } ] }" >s.json
	timeout 60 innet-sim -q --json "${@:2}" s.json >f
}

# is KEY VALUE: check a figure of the training
is() {
	local got
	got=$(jq ".$1" f)
	[ "$got" = "$2" ] || { echo "$1 is $got, not $2"; return 1; }
}

# near KEY VALUE SHARE: check that a figure is within this share of VALUE
near() {
	jq -e "(.$1 - $2) / $2 | fabs < $3" f
}

@test "a switch adds segments as they arrive: a vector's time and one frame's, for any N" {
	for n in 1 4 100; do
		training "\"workers\": $n"
		is aggregation_ns $((11 * 1514 + 2 * 1000 + 1000))
	done
	training '"switch_delay": "3us", "propagation": "7us"'
	is aggregation_ns $((11 * 1514 + 2 * 7000 + 3000))
	is iteration_ns $((1000000 + 11 * 1514 + 2 * 7000 + 3000))
}

@test "with slots for W segments, W are sent each round trip, or as many as the link carries" {
	trip=$((2 * 1514 + 2 * 1000 + 1000))
	training '"slots_of_sums": 4'			# the window is 1
	is aggregation_ns $((10 * trip))
	training '"slots_of_sums": 8'			# the window is 2
	is aggregation_ns $((5 * trip + 1514))
	training '"slots_of_sums": 16'			# the window is 4, and 4 L is more than a round trip
	is aggregation_ns $((11 * 1514 + 3000))
	for keys in '"approach": "ps"' '"mode": "async"' '"program": "dlp"'; do
		run -1 training "\"slots_of_sums\": 4, $keys"
		run -1 training "\"core_slots_of_sums\": 4, $keys"
		[[ $output == *'.core_slots_of_sums: '* ]]
	done
}

@test "a ring of segments sums a short vector as fast as a job of that length, also with losses" {
	for n in 1 4; do
		training "\"workers\": $n, \"ring_of_segments\": \"1MB\""
		is aggregation_ns $((11 * 1514 + 2 * 1000 + 1000))
	done
	keys='"workers": 4, "rate": "100M", "propagation": "50us", "vector": "40kB", "loss": "5%", "iterations": 300'
	training "$keys"
	jq .max_aggregation_ns f >whole
	training "$keys, \"ring_of_segments\": \"3MB\""
	jq .max_aggregation_ns f >ring
	# without notices about the end of a piece, the ring took 3 times as long
	[ "$(cat ring)" -lt $((2 * $(cat whole))) ]
	[ "$(cat ring)" -lt 20000000 ]
	for keys in '"approach": "ps"' '"mode": "async"' '"program": "dlp", "iterations": 3'; do
		run -1 training "\"ring_of_segments\": \"1MB\", $keys"
		[[ $output == *'.ring_of_segments: '* ]]
	done
}

@test "racks and their core have separate numbers of slots" {
	# W = 1 in the racks: a segment returns from the core before the next
	# one is sent
	for core in '"same"' 4 64 '"none"'; do
		training "\"rack\": 2, \"slots_of_sums\": 4, \"core_slots_of_sums\": $core"
		is aggregation_ns $((10 * (4 * 1514 + 7000)))
	done
	# W = 1 in the core: a segment only goes from the rack to the core and
	# back before the next one
	for racks in 64 '"none"'; do
		training "\"rack\": 2, \"slots_of_sums\": $racks, \"core_slots_of_sums\": 4"
		is aggregation_ns $((10 * (2 * 1514 + 4000) + 2 * 1514 + 3000))
	done
	training '"rack": 2, "slots_of_sums": "none", "core_slots_of_sums": "none"'
	cp f whole
	training '"rack": 2'
	cmp f whole
}

@test "a proof takes the place of two floats of a segment, and no computing time" {
	training '"auth": "all", "vector": "14560B"'	# ten segments of 364 floats
	is aggregation_ns $((11 * 1514 + 2 * 1000 + 1000))
	training '"auth": "control", "vector": "14640B"'
	is aggregation_ns $((11 * 1514 + 2 * 1000 + 1000))
	training '"auth": "all", "mode": "async", "vector": "14560B", "iterations": 4'
	is iterations 4
	training '"auth": "all", "rack": 2, "vector": "14560B", "iterations": 4'
	is iterations 4
	for keys in '"approach": "ring"' '"program": "dlp"' '"payload": "16B"'; do
		run -1 training "\"auth\": \"all\", $keys"
	done
}

@test "racks cost two frames more, and their own propagation delays and processing times" {
	# while workers check for losses, the rack's STATE of 76 bytes is sent
	# between the results
	for n in 4 6 9 12; do
		training "\"rack\": 3, \"workers\": $n"
		is aggregation_ns $((13 * 1514 + 76 + 4 * 1000 + 3 * 1000))
	done
	training '"rack": 2, "core_rate": "4G"'		# the frames take 2 L
	is aggregation_ns $(((2 * 10 + 1 + 2 + 1) * 1514 + 4 * 1000 + 3 * 1000))
	training '"rack": 9'				# all workers in one rack, without a core
	is aggregation_ns $((11 * 1514 + 2 * 1000 + 1000))
}

@test "the link of a server carries N vectors in and N out" {
	for n in 1 4 9; do
		training "\"approach\": \"ps\", \"workers\": $n"
		is latency_ns $((2 * (10 * n + 1) * 1514 + 4 * 1000 + 2 * 1000))
		# the first worker gets its answer N - 1 vectors earlier
		is aggregation_ns $(((15 * n + 7) * 1514 + 6000))
	done
	# a frame takes 151 ns at the server, so the workers' links are the
	# bottleneck
	training '"approach": "ps", "server_rate": "80G"'
	is latency_ns $((20 * 1514 + (4 + 31) * 151 + 4 * 1000 + 2 * 1000))
}

@test "a ring takes 2 (N - 1) steps of an Nth of the vector" {
	for n in 2 5 10; do
		training "\"approach\": \"ring\", \"workers\": $n"
		is aggregation_ns $((2 * (n - 1) * ((10 / n + 1) * 1514 + 3000)))
		is packets $((2 * (n - 1) * 10))
	done
	# without the cost of a step the time is 2 (N - 1) / N of the time for
	# the vector's bytes
	training '"approach": "ring", "vector": "14640kB", "workers": 10'
	near aggregation_ns $((2 * 9 * 10000 * 1514 / 10)) 0.003
}

# The cost of a message in the tests below: 10 us, and 14640 bytes at 8 Gbit/s.
cost='"message": "10us", "copy_rate": "8G"'
r=$((10000 + 14640))

@test "the hosts' cost of a message is added before and after the transfer" {
	training "$cost"
	is aggregation_ns $((2 * r + 11 * 1514 + 3000))
	is network_ns $((11 * 1514 + 3000))
	training "$cost, \"messages\": 3, \"update\": \"1us\""
	is aggregation_ns $((2 * (r + 20000) + 11 * 1514 + 3000))
	is iteration_ns $((1001000 + 2 * (r + 20000) + 11 * 1514 + 3000))
	# with two workers the parts of a ring are half a vector
	training "$cost, \"approach\": \"ring\", \"workers\": 2"
	is aggregation_ns $((2 * (2 * (10000 + 14640 / 2) + 6 * 1514 + 3000)))
}

@test "a server reads N vectors one after the other, and writes N answers one after the other" {
	training "$cost, \"approach\": \"ps\", \"update\": \"5us\""
	# the first vector is complete after 38 frames of all four workers;
	# writing an answer takes longer than sending it
	is latency_ns $((r + 1514 + 37 * 1514 + 3000 + 4 * r + 5000 +
		4 * r + 11 * 1514 + 3000 + r))
}

@test "with a barrier, every worker waits for the last one's result" {
	training '"approach": "ps", "iterations": 10'	# a worker continues at once
	jq -e ".aggregation_ns < 60 * 1514" f
	training '"approach": "ps", "iterations": 10, "barrier": true'
	is aggregation_ns $((82 * 1514 + 6000))
	is iteration_ns $((1000000 + 82 * 1514 + 6000))
	is max_aggregation_ns $((82 * 1514 + 6000))
}

@test "a host handles packets one by one while its link sends" {
	training '"packet": "100ns"'		# this is shorter than a frame, and adds twice to the time
	is aggregation_ns $((11 * 1514 + 3000 + 2 * 100))
	training '"packet": "2us"'		# this is longer, and so it is the bottleneck
	is aggregation_ns $((10 * 2000 + 2 * 1514 + 3000 + 2000))
}

@test "synchronous workers wait for the slowest: exponential times give C H_N" {
	training '"iterations": 400, "compute": "10ms",
		"compute_shape": "exponential"' --runs 10
	jq -e '(.iteration_ns - 10e6 * 25 / 12 - 19654 | fabs) <
		2 * .iteration_ns_ci95' f
	near compute_ns 10e6 0.02
	near latency_ns 19654 0.001		# Help for slow workers also uses the links
}

@test "approaches with the same seed have the same computing times" {
	for shape in uniform lognormal exponential; do
		jq -n "{ duration: \"none\", trainings: [ \"switch\", \"ps\", \"ring\" |
			{ approach: ., iterations: 30, compute_shape: \"$shape\",
			  speeds: \"20%\" } ] }" >s.json
		innet-sim -q --json s.json >f
		[ "$(jq .compute_ns f | sort -u | wc -l)" -eq 1 ]
		innet-sim -q --json --seed 2 s.json | jq .compute_ns >g
		[ "$(cat g <(jq .compute_ns f) | sort -u | wc -l)" -eq 2 ]
	done
}

@test "asynchronous: computing hides the switch's time, so an update takes a gradient's time" {
	training '"mode": "async", "iterations": 100, "compute": "1ms"'
	is duration_ns $((100 * 1000000 + 19654))
	is aggregation_ns 19654
	is staleness_0 4		# the first gradient of each worker
	is staleness_1 396		# computed while the sum arrived
	# or a link is the bottleneck: an iteration takes a push and the round
	# trip of the Probe that ends it
	training '"mode": "async", "iterations": 1000, "compute": "1us"'
	near iteration_ns $((15140 + 4590)) 0.001
}

@test "workers do not send gradients that are too stale" {
	training '"mode": "async", "iterations": 300, "compute": "1ms",
		"compute_shape": "exponential", "staleness": 0'
	jq -e '.discarded > 100 and .staleness_1 == 0 and .staleness_0 > 100' f
	training '"mode": "async", "iterations": 300, "compute": "1ms",
		"compute_shape": "exponential", "staleness": 2'
	jq -e '.staleness_2 > 0 and .staleness_3 == 0 and
		.staleness_0 + .staleness_1 + .staleness_2 <=
		.gradients - .discarded' f
}

@test "an asynchronous server: N updates in a round of a worker, with staleness N - 1" {
	training '"approach": "ps", "mode": "async", "iterations": 4000,
		"compute": "100ms"'
	# the workers drift apart in the first round; after that they do not
	# delay each other
	near iteration_ns $(((100000000 + 22 * 1514 + 6000) / 4)) 0.0001
	near mean_staleness 3 0.01
}

@test "the filter repeats the decisions of the simulated switches, exact to a nanosecond" {
	for mode in sync async; do
		training "\"mode\": \"$mode\", \"rack\": 2, \"iterations\": 20,
			\"compute_shape\": \"exponential\", \"loss\": \"1%\"" -w $mode
		[ "$(jq .lost f)" -gt 0 ]
		async=''
		[ $mode = sync ] || async=--async
		set -- -q --program iswitch -H 2 $async
		innet-switch "$@" -r $mode/x.switch.in.pcap -w core.pcap
		innet-switch "$@" --listen 10.255.255.3 --parent 10.255.255.1 --number 2 \
			-r $mode/x.rack1.in.pcap -w rack.pcap
		diff <(dumpiswitch core.pcap) <(dumpiswitch $mode/x.switch.out.pcap)
		diff <(dumpiswitch rack.pcap) <(dumpiswitch $mode/x.rack1.out.pcap)
		[ "$(dumpiswitch rack.pcap | grep -c ' seg ')" -gt 400 ]
	done
}

@test "the filter does so, too, where racks and core have different numbers of slots" {
	while read -r racks core; do
		training "\"rack\": 2, \"iterations\": 20, \"loss\": \"1%\", \"compute_shape\": \"exponential\",
			\"slots_of_sums\": $racks, \"core_slots_of_sums\": $core" -w "out$racks"
		[ "$(jq .lost f)" -gt 0 ]
		set -- -q --program iswitch -H 2
		innet-switch "$@" --slots-of-sums "$core" -r "out$racks/x.switch.in.pcap" -w core.pcap --report core.json
		innet-switch "$@" --slots-of-sums "$racks" --listen 10.255.255.3 --parent 10.255.255.1 --number 2 \
			-r "out$racks/x.rack1.in.pcap" -w rack.pcap
		diff <(dumpiswitch core.pcap) <(dumpiswitch "out$racks/x.switch.out.pcap")
		diff <(dumpiswitch rack.pcap) <(dumpiswitch "out$racks/x.rack1.out.pcap")
		jq -e '.jobs["1"].counters | .results == 200 and .no_slot == 0' core.json
	done <<-'END'
	16 4
	4 12
	END
}

@test "workers ask for lost packets, and every sum has the contributions that it gives" {
	for keys in '' '"rack": 3, "workers": 7' '"mode": "async"' \
		'"approach": "ps"' '"approach": "ps", "mode": "async"'; do
		training "\"iterations\": 20, \"loss\": \"2%\" ${keys:+, $keys}"
		jq -e '.iterations >= 20 and .lost > 10 and .helps + .lost > 20' f
	done
}

@test "a worker resends a push if the server received nothing of it" {
	training '"iterations": 200, "vector": "1kB", "loss": "2%", "approach": "ps", "mode": "async"'
	jq -e '.iterations >= 200 and .lost > 10 and .max_aggregation_ns < 1e6' f
}

@test "captures before and after each link differ by the lost packets" {
	training '"iterations": 9, "loss": "2%", "rack": 2, "capture": true' -w out
	packets() { for f; do tcpdump -nr "$f" 2>/dev/null; done | wc -l; }
	[ "$(ls out/*.out.pcap | grep -c 'x\.\([0-3]\|rack[01]\)\.\(up\|down\)')" -eq 12 ]
	is lost $(($(packets out/*.up.out.pcap out/*.down.out.pcap) -
		$(packets out/*.up.in.pcap out/*.down.in.pcap)))
}

@test "captures of two trainings with the same name are refused: the files would be the same" {
	jq -n '[{ vector: "14640B", iterations: 2, rate: "8G", compute: "1ms" }] |
		{ duration: "none", trainings: (. + .) }' >s.json
	run -1 innet-sim -q -w out s.json
	[[ $output == "innet-sim: -w: two training jobs have a node 'switch."*"' and would write the same files; give each training job a name" ]]
	[ ! -e out ]
	jq '.trainings[0].name = "other"' s.json | innet-sim -q -w out - >f
	[ -e out/other.switch.in.pcap ] && [ -e out/switch.switch.in.pcap ]
}

# failing KEYS FAULTS: simulate a training like above, for 30 iterations, with
# these faults
failing() {
	jq -n "{ duration: \"none\", trainings: [ { name: \"x\", vector: \"14640B\", iterations: 30,
		rate: \"8G\", compute: \"1ms\" } + { $1 } ], faults: [ $2 ] }" >s.json
	timeout 60 innet-sim -q --json s.json >f 2>err
}

@test "workers request packets that a fault lost, and the training ends normally" {
	for k in '' '"rack": 2' '"mode": "async"' '"mode": "async", "rack": 2' '"approach": "ps"'; do
		failing "$k" '{ link: "worker", index: 1, from: "10ms", to: "12500us" }'
		jq -e '.iterations == 30 and .lost > 10 and .helps > 10 and .duration_ns > 31e6' f
	done
	failing '"rack": 2' '{ link: "rack", from: "10ms", to: "20ms" }'
	jq -e '.iterations == 30 and .lost > 10 and .max_aggregation_ns > 10e6' f
	failing '"approach": "ps"' '{ link: "server", from: "10ms", to: "20ms" }'
	jq -e '.iterations == 30 and .lost > 10 and .max_aggregation_ns > 10e6' f
}

@test "a switch that restarts has no state, and all workers join it again" {
	failing '' '{ switch: "switch", from: "10010us", to: "30ms" }'
	jq -e '.iterations == 30 and .lost > 10 and .max_aggregation_ns > 20e6' f
	failing '"rack": 2' '{ switch: "rack", index: 1, from: "10ms", to: "20ms" }'
	jq -e '.iterations == 30 and .lost > 10 and .max_aggregation_ns > 10e6' f
	# its members have done the same rounds, and the switch shows each of
	# them that it is up to date
	failing '"rack": 2, "mode": "async"' '{ switch: "rack", index: 1, from: "10ms", to: "20ms" }'
	jq -e '.iterations == 30 and .lost > 10 and .max_aggregation_ns > 10e6' f
}

@test "the training continues if a core restarts when only one rack has its results" {
	failing '"rack": 2' '{ link: "rack", index: 1, from: "10255us", to: "20ms" },
		{ switch: "switch", from: "12ms", to: "15ms" }'
	jq -e '.iterations == 30 and .lost > 10 and .max_aggregation_ns > 9e6' f
}

@test "a rack that returns on a slow link requests only as much as the link can carry" {
	failing '"workers": 3, "rack": 2, "rate": "100M", "vector": "626592B", "iterations": 3, "compute": "100us"' \
		'{ switch: "rack", index: 0, from: "45ms", to: "300ms" }'
	jq -e '.iterations == 3 and .helps < 400 and .duration_ns < 2e9' f
}

@test "a worker that is killed and restarted takes over the state of another worker" {
	local death='{"worker":"killed","index":1,"from":"31ms","to":"40ms"}'
	local more='{"switch":"switch","from":"32ms","to":"39ms"}' by faults

	for by in switch ps both; do
		faults=$death
		[ $by != both ] || faults=$death,$more
		run -0 --separate-stderr innet-sim -q --json - <<-END
			{"duration":"none","faults":[$faults],"trainings":[{"workers":3,
			"approach":"${by/both/switch}","vector":"40kB","iterations":60,
			"compute":"1ms"}]}
		END
		[ -z "$stderr" ]
		jq -e '.iterations == 60' <<<"$output"
	done
	for bad in '"mode":"async"' '"approach":"ring"' '"barrier":true'; do
		run -1 --separate-stderr innet-sim - <<-END
			{"faults":[$death],"trainings":[{"workers":3,$bad}]}
		END
		[[ $stderr == *'faults[0].worker: '* ]]
	done
}

@test "a fault while no packet is in flight changes nothing, and affects only its own training" {
	training '"iterations": 30'
	cp f want
	failing '' '{ link: "worker", from: "5100us", to: "5900us" }, { switch: "switch", from: "9s", to: "10s" },
		{ training: "y", link: "worker", from: "10ms", to: "15ms" }' || true
	[ "$(cat err)" = "innet-sim: s.json: faults[2].link: no training job called y has a link called 'worker'" ]
	failing '' '{ link: "worker", from: "5100us", to: "5900us" }, { switch: "switch", from: "9s", to: "10s" }'
	cmp want f
}

@test "a training that cannot continue names the worker and the result that it waits for" {
	ends() {
		local rc=0
		failing "$1" "$2" || rc=$?
		[ $rc -eq 1 ] && [ ! -s f ] && [ "$(cat err)" = "innet-sim: $3" ] || { cat err; false; }
	}
	ends '' '{ link: "worker", index: 0, from: "10ms", to: "200s" }' \
		'x.0: job 1: no result for segment 0 of iteration 10 in 30.0 s'
	ends '"mode": "async", "give_up": "5s"' '{ link: "worker", from: "10ms", to: "9s" }' \
		'x.0: job 1: round 9 of segment 0 did not arrive in 5.0 s; members that have joined: 4, contributions needed: 4'
	ends '"approach": "ring"' '{ switch: "switch", from: "10010us", to: "30ms" }' \
		'x.0: this worker waits for step 1 of iteration 10, which was lost; a ring does not retransmit'
	failing '"give_up": "none"' '{ link: "worker", index: 0, from: "10ms", to: "200s" }'
	jq -e '.iterations == 30 and .duration_ns > 200e9' f
}

@test "without loss, every segment is sent once" {
	training '"iterations": 30, "workers": 7, "rack": 3,
		"compute_shape": "lognormal"'
	is packets $((30 * 7 * 10))
	is iterations 30
	training '"iterations": 30, "approach": "ps"'
	is packets $((30 * 2 * 4 * 10))		# gradients and answers
	training '"iterations": 30, "approach": "ps", "rate": "100M"'
	is packets $((30 * 2 * 4 * 10))
	# the round trip is longer than the first time-out; this holds as soon
	# as the round trip time is known
	training '"iterations": 100, "approach": "ps", "rate": "20M"'
	jq -e '.packets < 100 * 2 * 4 * 10 * 1.02' f
}

@test "a worker that waits for slower workers seldom sends a needless Help to a server" {
	training '"iterations": 300, "approach": "ps", "compute": "20ms",
		"compute_shape": "lognormal"'
	# a time-out measured from answers of ten segments would send 7,500
	jq -e '.helps < 1500 and .packets < 24060' f
}

@test "the delay of a server does not grow with the number of lost packets" {
	training '"iterations": 100, "approach": "ps", "loss": "1%"'
	# some of the 80 segments are lost in each direction, and some of those
	# a second time
	jq -e '.iteration_ns < 30e6 and .lost > 200' f
}

@test "duration ends a training whose iterations are unlimited" {
	training '"iterations": "none"' --duration 10ms
	# each iteration takes 1 ms and 19.654 us; the Joins come before the
	# first
	is iterations 9
}

@test "a seed gives the same results again, on any number of cores" {
	training '"compute_shape": "exponential", "loss": "1%", "iterations": 50' --runs 4 --jobs 1
	mv f one
	training '"compute_shape": "exponential", "loss": "1%", "iterations": 50' --runs 4 --jobs 4
	cmp one f
	training '"compute_shape": "exponential", "loss": "1%", "iterations": 50' --runs 4 --seed 2
	run ! cmp -s one f
}

@test "a sweep can vary a training, whose results are rows of CSV" {
	training ''
	jq '.sweep = { "trainings[x].workers": [ 2, 3 ], "trainings[0].approach": [ "switch", "ring" ] }' s.json >w.json
	innet-sim -q --csv w.json >out.csv
	[ "$(cut -d, -f1-3 out.csv | tr '\n' ' ')" = \
		"trainings[x].workers,trainings[0].approach,training 2,switch,x 2,ring,x 3,switch,x 3,ring,x " ]
}

# refused KEYS WHY...: check that innet-sim refuses a training with these keys
# and prints WHY
refused() {
	jq -n "{ duration: \"none\", trainings: [ { iterations: 1 } + { $1 } ] }" >s.json
	run -1 --separate-stderr timeout 60 innet-sim s.json
	[ "$stderr" = "innet-sim: s.json: trainings[0]$2" ] || { echo "$stderr"; return 1; }
}

@test "errors in a training give the path of the wrong value" {
	refused '"vectr": "1kB"' ".vectr: unknown key; the nearest is 'vector'"
	refused '"compute": 10' ".compute: '10': a unit is missing (ns, us, ms, s, min, h)"
	refused '"approach": "tree"' ".approach: 'tree': not one of switch, ps, ring"
	refused '"approach": "ring", "mode": "async"' ".mode: a ring is always synchronous; use mode sync"
	refused '"mode": "async", "barrier": true' ".barrier: needs mode sync"
	refused '"approach": "ring", "workers": 1' ".workers: a ring has at least two"
	refused '"approach": "ring", "loss": "1%"' ".loss: a ring does not retransmit and cannot have losses"
	refused '"loss": "60%"' ".loss: must be at most half, or the training job would not end"
	refused '"mode": "async", "compute": 0' ".compute: must be more than 0, or the training job would not end"
	refused '"iterations": "none", "compute": 0' ".compute: must be more than 0, or the training job would not end"
	refused '"workers": 5000' ".workers: '5000': too large"
	refused '"vector": "12B"' ".vector: must have at least one float for each worker"
	refused '"payload": "1470B"' ".payload: the payload must be 8 bytes plus a multiple of 4"
	refused '"iterations": "none"' ".iterations: must not be none without a duration, or the run would never end"
}

@test "a scenario needs either trainings or switches, and not both" {
	training '"iterations": 1'
	jq '.switches = [ { "name": "sw" } ]' s.json >b.json
	run -1 --separate-stderr innet-sim b.json
	[ "$stderr" = "innet-sim: b.json: switches: this list cannot be used with training jobs" ]
	echo '{ "trainings": [ ] }' >b.json
	run -1 --separate-stderr innet-sim b.json
	[ "$stderr" = "innet-sim: b.json: switches: is missing" ]
	run -2 --separate-stderr innet-sim --by switch s.json
	[[ $stderr == *"--by cannot be used with training jobs, each of which has one row" ]]
}

@test "planes: innet-sim and the filter process a capture alike, with any program" {
	innet-gen -q --program iswitch --clusters 1 --workers 4 --vector ppo -c 3 -w seg.pcap
	innet-gen -q --program dlp -c 20 -w dlp.pcap
	innet-gen -q --rate 60G -c 50 -w olaf.pcap
	while IFS='|' read -r input options; do
		jq -n --arg o "$options" --arg r $input '{planes: [{name: "sw", options: $o, read: $r}]}' >s.json
		innet-sim -q --json -w out s.json >sim.json
		innet-switch $options -r $input -w want.pcap --json >filter.json
		cmp want.pcap out/sw.out.pcap
		diff <(jq -S 'del(.plane)' sim.json) <(jq -S 'del(.time_backwards, .departures_differ)' filter.json)
	done <<-'END'
	seg.pcap|-p iswitch --members 4 --rate 1G --propagation 1us
	seg.pcap|-p iswitch --async -H 2 --members 4
	dlp.pcap|-p dlp --answer-early --impair loss=10% --seed 3
	olaf.pcap|--rate 20G --slots 4
	olaf.pcap|--queue fifo --rate 20G --port 10.0.0.0/8:rate=1G
	END
}

@test "planes: a rack under a core sends each result once up and once down its link" {
	innet-gen -q --program iswitch --clusters 1 --workers 4 --vector ppo -c 3 -w seg.pcap
	cat >s.json <<-'END'
	{ "planes": [
	  { "name": "core", "options": "-p iswitch --listen 10.9.9.9 -H 1 --rate 10G --propagation 1us" },
	  { "name": "rack", "options": "-p iswitch --parent 10.9.9.9 --members 4 --rate 10G --propagation 1us",
	    "read": "seg.pcap" } ] }
	END
	innet-sim --json -w out s.json >sim.json
	jq -se 'all(.[]; .jobs["1"].counters.results == 84) and .[0].taken == 85 + .[0].jobs["1"].counters.probes and
		.[1].jobs["1"].counters.sent_up == 84 and .[1].jobs["1"].counters.from_parent == 84' sim.json
	# the sums equal those of a single switch
	innet-switch -q -p iswitch --members 4 -r seg.pcap -w flat.pcap
	diff <(dumpiswitch flat.pcap | grep ' seg ' | cut -d' ' -f3- | sort) \
		<(dumpiswitch out/rack.out.pcap | grep ' seg ' | grep -v 10.9.9.9 | cut -d' ' -f3- | sort)
}

@test "planes: an error names its switch" {
	bad() {
		jq -n "$1" >s.json
		run -"$2" --separate-stderr innet-sim s.json
		[ "${stderr_lines[0]}" = "innet-sim: $3" ]
	}
	bad '{planes: [{name: "a", options: "-p iswitch --slots 3"}]}' 2 \
		'planes[0].options: --slots needs --rate: without a rate no packet waits'
	bad '{planes: [{name: "a", options: "-p dlp"}, {name: "b", options: "-p iswitch -w x"}]}' 2 \
		"planes[1].options: unknown option '-w'"
	bad '{planes: [{name: "a", options: "-p iswitch"}, {name: "b", options: "-p iswitch"}]}' 2 \
		'planes[1].options: another switch has the same address; give this switch a different --listen'
	bad '{planes: [{name: "a", options: "-p olaf", read: "none.pcap"}]}' 1 'none.pcap: No such file or directory'
	bad '{planes: [], workers: []}' 1 's.json: switches: is missing'
	bad '{planes: [{name: "a", options: ""}], workers: []}' 1 's.json: planes[0].options: '"'': empty"
	bad '{planes: [{name: "a", options: "-p dlp"}], workers: []}' 1 's.json: workers: this key cannot be used with planes'
	bad '{planes: [{name: "a", options: "-p dlp"}, {name: "a", options: "-p dlp"}]}' 1 \
		"s.json: planes[1].name: the name 'a' is used twice"
}
