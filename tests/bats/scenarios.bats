# Tests of share/scenarios: innet-sim reads and runs every file, and the
# counters of each run add up.
load common

scenarios=$share/scenarios

@test "each scenario runs for 20 ms, and all sent updates are accounted for" {
	for f in "$scenarios"/olaf-*.json "$scenarios"/datacenter.json; do
		innet-sim -q --runs 1 --duration=20ms --json "$f" >rows
		jq -es 'all(.merged + .superseded + .dropped + .queued == .sent) and
			any(.sent > 0)' rows ||
			{ echo "$f" >&2; return 1; }
	done
}

@test "each scenario of trainings runs for 100 ms" {
	for f in $(compgen -G "$scenarios/iswitch-*.json"); do
		innet-sim -q --runs 1 --duration=100ms --json "$f" >rows
		jq -es 'length > 1' rows || { echo "$f" >&2; return 1; }
	done
}

@test "the file name of a scenario gives its kind, and the README lists it" {
	for f in "$scenarios"/*.json; do
		jq -e '.name | length > 10' "$f"
	done
	for f in table1 figure6 figure7 figure9 figure10; do
		grep -q "^olaf-$f.json" "$scenarios/README"
	done
	grep -q '^datacenter.json' "$scenarios/README"
}

@test "innet-sim and innet-switch apply the times for frames and merges alike" {
	cat >s.json <<-'END'
	{ "duration": "none", "wire_overhead": true,
	  "switches": [ { "name": "sw", "merge_time": "40us" } ],
	  "servers": [ { "name": "ps", "reply": "none" } ],
	  "links": [ { "from": "sw", "to": "ps", "rate": "10M", "frame_time": "70us" } ],
	  "workers": [ { "at": "sw", "clusters": 9, "workers": 3, "count": 50,
	    "interval": "5ms", "arrivals": "poisson" } ] }
	END
	innet-sim -q --json --by=switch -w cap s.json | tail -n 1 >is
	innet-switch -q -r cap/sw.in.pcap -w out.pcap --rate 10M --wire-overhead \
		--frame-time 70us --merge-time 40us --report want
	cmp cap/ps.in.pcap out.pcap
	[ "$(jq .aggregated is)" -gt 100 ]
	[ "$(jq .aggregated is)" = "$(jq .totals.aggregated.constituents want)" ]
	# true is 24 bytes, false none, and a size itself
	for w in '"24B"' true; do
		jq ".wire_overhead = $w" s.json | innet-sim -q --json - >"now"
		diff now <(innet-sim -q --json s.json)
	done
	run -1 innet-sim <(jq '.wire_overhead = "70kB"' s.json)
	[[ $output == *"wire_overhead: '70kB': too large"* ]]
	run -1 innet-sim <(jq '.wire_overhead = "much"' s.json)
}

@test "a cluster meets its goal when the server has received that number of its updates" {
	cat >s.json <<-'END'
	{ "duration": "1s",
	  "switches": [ { "name": "sw" } ], "servers": [ { "name": "ps" } ],
	  "links": [ { "from": "sw", "to": "ps", "propagation": "3ms" } ],
	  "workers": [ { "at": "sw", "clusters": 2, "workers": 2,
	    "phase": "aligned", "interval": "100ms", "goal": 5 } ] }
	END
	innet-sim -q --json s.json | jq -es 'all(.goal_ns == 403000000)'
	innet-sim -q --json --set 'workers[0].goal=50' s.json | jq -es 'all(.goal_ns == null)'
	innet-sim -q --json --set 'workers[0].goal=0' s.json | jq -es 'all(.goal_ns == null)'
}
