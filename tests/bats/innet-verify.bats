# Tests of innet-verify: its verdicts on the settings in share/scenarios,
# counterexamples replayed by the other tools, an enumeration of all runs, and
# bad input.
load common

specs=$share/scenarios/verify

setup() {
	command -v innet-verify >/dev/null || skip "no Z3"
	cd "$BATS_TEST_TMPDIR" || return
}

# The setting of Olaf, section 6, with two clusters and p/C = 2 ms. Each line
# has the objective, the setting, the horizon, and the exit status: 0 if the
# objective holds, and 3 if it fails. Builds of CI after the first check only a
# few lines.
table() {
	sed -n "${INNET_TESTS_ONCE:+2~4}p" <<-END
	fair<=0.1 equal 1s 0
	fair<=0.1 equal 2s 0
	fair<=0.1 equal 4s 0
	fair<=0.1s equal 2s 0
	fair<=2ms equal 2s 0
	fair<=0.1ms equal 2s 3
	fair<=0.1 unequal 3s 3
	fair<=0.1s unequal 3s 3
	fair<=0.1ms unequal 3s 3
	fair<=0.7 unequal 3s 0
	fair<=0.1 jitter 500ms 0
	fair<=0.1 jitter 1s 0
	fair<=0.1 jitter 2s 0
	fair<=2ms jitter 1s 3
	fair<=0.1 fixed 30s 0
	no-loss one-slot 1s 3
	no-loss two-slots 1s 0
	fair<=0.1 urgent 1500ms 3
	fair<=0.1 urgent-unequal 1500ms 3
	peak<=2s urgent 3s 3
	peak<=710ms urgent-apart 1500ms 0
	peak<=702ms urgent-apart 1500ms 0
	peak<=701ms urgent-apart 1500ms 3
	peak<=710ms urgent-unequal-apart 1500ms 3
	peak<=1010ms urgent-unequal-apart 2500ms 0
	peak<=1010ms fair-apart 2500ms 3
	END
}

@test "the verdicts on the paper's clusters are those of an independent model" {
	while read -r what spec horizon status; do
		run -"$status" innet-verify --objective "$what" \
			--horizon "$horizon" "$specs/$spec.json"
		echo "# $what $spec: ${lines[0]}" >&3
	done < <(table)
}

# broken WHAT SPEC HORIZON: find a run that violates the objective; run.csv gets
# the run, and said the messages. It runs only once for all tests.
broken() {
	local kept="$BATS_FILE_TMPDIR/$1-$2-$3"
	if [ ! -e "$kept" ]; then
		innet-verify -q --json -w "$kept.csv" --objective "$1" \
			--horizon "$3" "$specs/$2.json" >said || [ $? -eq 3 ]
		cp said "$kept"
	fi
	cp "$kept" said
	cp "$kept.csv" run.csv
}

@test "the tools measure the same failure in a run that innet-verify found, exact to a nanosecond" {
	while read -r what spec horizon status; do
		[ "$status" -eq 3 ] || continue
		broken "$what" "$spec" "$horizon"
		innet-gen -q --schedule run.csv --payload "$(jq .payload_bytes said)" |
			innet-switch -q --slots "$(jq .slots said)" -w out.pcap \
				--rate "$(jq .rate_bps said)" --report report
		jq -c '.run[] | [.cluster, .dropped, .delivered,
			if .peaks == 0 then 0
			else (.peak_sum_ns / .peaks + 0.5 | floor) end]' said >want
		innet-aom -q --json -r out.pcap | jq -c --slurpfile r report '
			select(.cluster != "all") | [.cluster,
			$r[0].clusters[.cluster | tostring].dropped_full.packets,
			.received, .mean_peak_age_ns // 0]' >is
		diff <(grep -v ',0,0]$' want) is
	done < <(table)
}

@test "innet-sim measures the same failure in a run that innet-verify found" {
	while read -r what spec horizon status; do
		[ "$status" -eq 3 ] || continue
		broken "$what" "$spec" "$horizon"
		jq '{ duration: "1min", ages_from: "first",
			switches: [{ name: "sw", slots }], servers: [{ name: "ps" }],
			links: [{ from: "sw", to: "ps", rate: .rate_bps }],
			workers: [{ at: "sw", clusters: "1-2", workers: 1,
				payload: .payload_bytes, schedule: "run.csv" }] }' said >s.json
		diff <(jq -c '[.run | map(.sent), map(.dropped), map(.delivered) | add]' said) \
			<(innet-sim -q --json --by switch s.json | tail -1 |
			jq -c '[.arrived, .dropped_full, .delivered]')
	done < <(table)
}

@test "an enumeration of all runs gives the same verdicts, 20 times" {
	once
	python3 "$srcdir/tests/twins/verify_twin.py" 1 20
}

@test "another solver gives the same verdict for the formulas of --emit-smt2" {
	once
	command -v z3 >/dev/null || skip "no z3"
	while read -r what spec horizon status; do
		innet-verify --emit-smt2 --objective "$what" --horizon \
			"$horizon" "$specs/$spec.json" >q.smt2
		[ "$(timeout 60 z3 q.smt2)" = "$([ "$status" -eq 0 ] &&
			echo unsat || echo sat)" ]
	done < <(table)
}

@test "innet-verify writes a schedule only if an objective fails" {
	run -3 --separate-stderr innet-verify --objective no-loss "$specs/one-slot.json"
	[ "${lines[0]}" = cluster,worker,time_ns,reward ]
	innet-verify -q --objective no-loss -w none.csv "$specs/two-slots.json" >out
	[ ! -s out ]
	[ ! -e none.csv ]
	run -1 innet-verify -q --objective no-loss -w /dev/full "$specs/one-slot.json"
	[ "$output" = "innet-verify: /dev/full: No space left on device" ]
}

@test "each verdict says which inputs were free and which were fixed" {
	run -0 --separate-stderr innet-verify --objective 'peak<=710ms' "$specs/urgent-apart.json"
	[[ ${stderr_lines[0]} == "innet-verify: peak<=710ms holds up to 1.5s ("* ]]
	[ "${stderr_lines[1]}" = "innet-verify: free: cluster 1: offset 0 to 40ms, every choice of transmission control; cluster 2: offset 50ms to 90ms, every choice of transmission control" ]
	[ "${stderr_lines[2]}" = "innet-verify: fixed: service time 2ms, 1 slot, ACK delay 0; cluster 1: period 100ms, control urgent, threshold 400ms; cluster 2: period 100ms, control urgent, threshold 400ms" ]
	run -0 innet-verify -q --objective 'peak<=710ms' "$specs/urgent-apart.json"
	[ -z "$output" ]
}

@test "an unknown verdict gives the horizon that was decided, and has its own status" {
	run -4 --separate-stderr innet-verify --json --give-up 4s --horizon 8s -w part.csv \
		--objective 'fair<=3ms' "$specs/jitter.json"
	[[ $stderr == *"fair<=3ms is unknown: up to "*"s not decided, up to "*"s it fails: average peak ages are "*" ms of cluster "*" ("* ]]
	jq -e '.verdict == "unknown" and .steps[0].verdict == "fails" and
		.steps[-1].verdict == "unknown" and .horizon_ns > 1e9 and
		.fails_up_to_ns == .steps[-2].horizon_ns' <<<"$output"
	# run the schedule of the part that is decided with the other tools
	read -r slots payload rate until < <(jq -r '[.slots, .payload_bytes, .rate_bps, .fails_up_to_ns] | join(" ")' <<<"$output")
	innet-gen -q --schedule part.csv --payload "${payload}B" -w part.pcap
	innet-switch -q --slots "$slots" --rate "$rate" -r part.pcap |
		innet-aom -q --sent part.pcap --until "${until}ns" --json --columns mean_peak_age_ns |
		jq -se '[.[] | select(.cluster != "all").mean_peak_age_ns] | max - min > 3e6'
}

@test "on a terminal, innet-verify shows the current step and removes the line afterwards" {
	script -qec "innet-verify --objective no-loss $specs/two-slots.json" /dev/null >out </dev/null
	grep -q $'\rinnet-verify: up to .*: [0-9]* updates ...\033\[K\r\033\[Kinnet-verify: no-loss holds' out
	innet-verify --objective no-loss "$specs/two-slots.json" 2>out
	run ! grep -q $'\r' out
}

@test "a cluster that is never served violates a bound on its age" {
	cat >s.json <<-END
	{ "service_time": "2ms", "slots": 1, "horizon": "3s", "clusters": [
	  { "id": 1, "period": "100ms", "offset": "0" },
	  { "id": 2, "period": "100ms", "offset": "1ms" } ] }
	END
	run -3 innet-verify --objective 'peak<=2s' s.json
	[[ $output == *"cluster 2 reaches an age of "* ]]
}

@test "fairness fails if a cluster has no average to compare" {
	# with one slot, cluster 1 occupies it whenever an update of cluster 2
	# arrives, except at the end
	run -3 --separate-stderr innet-verify --objective 'fair<=0.1' "$specs/2ms-one-slot-fixed-equal.json"
	[[ ${stderr_lines[0]} == *"fails: up to 3s no second delivery of cluster 2: nothing to compare ("* ]]
	# if another run has averages that are too far apart, innet-verify shows
	# that run
	run -3 --separate-stderr innet-verify --objective 'fair<=0.1' "$specs/periods-two-slots-free-unequal.json"
	[[ ${stderr_lines[0]} == *"average peak ages are "* ]]
}

# refused WHY WHAT: check that a good specification with the change WHAT is
# refused with one line, which says WHY
refused() {
	jq "$2" "$specs/one-slot.json" >bad.json
	run -1 --separate-stderr innet-verify --objective no-loss bad.json
	[ "$stderr" = "innet-verify: bad.json: $1" ]
	[ -z "$output" ]
}

@test "errors in a specification give the place, the reason and the most similar key" {
	refused "slot: unknown key; the nearest is 'slots'" '.slot = 1'
	refused "clusters[1].perod: unknown key; the nearest is 'period'" '.clusters[1].perod = "1s"'
	refused "clusters[0].offset: the first number is greater than the last" '.clusters[0].offset = ["2s", "1s"]'
	refused "clusters[0].offset: '-1s': not a number" '.clusters[0].offset = "-1s"'
	refused "clusters[1]: id 1 is that of clusters[0]" '.clusters[1].id = 1'
	refused "slots: '0': too small" '.slots = 0'
	refused "slots: '1.5': not a whole number" '.slots = 1.5'
	refused "service_time: '5s': too large" '.service_time = "5s"'
	refused "horizon: '99999999999999999999s': too large" '.horizon = "99999999999999999999s"'
	refused "horizon: '2': a unit is missing (ns, us, ms, s, min, h)" '.horizon = 2'
	refused "horizon: more than 10000 updates arrive before this time, which is too many to decide about" '.horizon = "10min"'
	refused "clusters: is missing" 'del(.clusters)'
	refused "clusters: the list has 65 entries; it must have 1 to 64" '.clusters = [range(65) | {id: ., period: "1s", offset: "0"}]'
	refused "clusters[0].control.v: 'slow': not one of urgent, fair" '.clusters[0].control = {v: "slow", threshold: "1s"}'
	refused "clusters[0]: the jitter must be less than the period, or updates would overtake each other" '.clusters[0].jitter = "100ms"'
}

@test "a specification that allows no schedule is refused as empty" {
	refused "horizon: no update can arrive before this time, so there is no schedule to check" \
		'.clusters[].offset = "1s"'
}

@test "a specification with too many pairs of updates is refused, with their number" {
	jq '.service_time = "4s" | .slots = 9 | .clusters[].period = "1ms" | .horizon = "2s"' \
		"$specs/one-slot.json" >bad.json
	run -1 innet-verify --objective no-loss bad.json
	[[ $output == *" pairs of updates can meet in the queue, but at most "*" can be verified; lower the horizon" ]]
}

@test "misuse: the error names the accepted forms, with status 2" {
	run -2 innet-verify --objective 'peak<=7' x
	[ "$output" = "innet-verify: invalid objective 'peak<=7': a unit is missing" ]
	run -2 innet-verify --objective 'fair<=1.5' x
	run -2 innet-verify --objective loss x
	[[ $output == *"not fair<=SHARE, fair<=TIME, peak<=TIME or no-loss" ]]
	run -2 innet-verify x
	run -2 innet-verify --objective no-loss
	run -2 innet-verify --objective no-loss --emit-smt2 --json x
}
