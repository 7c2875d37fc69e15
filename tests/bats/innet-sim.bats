# Compare the simulator with closed forms, the filter, the generator and a
# second program, and test its messages about invalid scenarios. SIM_RUNS=1000
# runs more random networks, and SIM_FIRST=N begins at seed N.
bats_require_minimum_version 1.5.0
load common

# scenario RATE SLOTS WORKERS: print a scenario with one switch in front of one
# server, which lasts 2 s
scenario() {
	cat <<-END
	{ "duration": "2s",
	  "switches": [ { "name": "sw", "slots": $2 } ],
	  "servers": [ { "name": "ps" } ],
	  "links": [ { "from": "sw", "to": "ps", "rate": "$1" } ],
	  "workers": [ { "at": "sw", $3 } ] }
	END
}

# sim OPTION...: simulate s.json and print the results as JSON
sim() { innet-sim -q --json "$@" s.json; }

# says WHAT: check that innet-sim refuses s.json with this message, exits with
# status 1 and prints nothing on stdout
says() {
	run -1 --separate-stderr innet-sim s.json
	[ -z "$output" ]
	[ "$stderr" = "innet-sim: s.json: $1" ]
}

@test "one periodic worker: every age is exact" {
	scenario 1M 8 '"frame": "125B", "interval": "10ms", "phase": "aligned"' >s.json
	sim --duration 1s --set 'links[0].propagation=2ms' >out
	jq -se '.[-1] | .sent == 100 and .received == 100 and .mean_age_ns == 7970000 and
	    .max_age_ns == 13000000 and .mean_peak_age_ns == 13000000 and
	    .mean_delay_ns == 3000000 and .queued == 0' out
}

@test "M/D/1: the mean wait agrees with Pollaczek and Khinchine within its confidence interval" {
	scenario 1M 100000 '"frame": "125B", "interval": "1250us", "arrivals": "poisson"' >s.json
	sim --duration 50s --runs 20 --by switch --set 'switches[0].queue=fifo' \
	    --set 'servers[0].reply=none' >out
	jq -e '.mean_wait_ns_ci95 < 1e5 and .mean_wait_ns_ci95 > 1e3 and
	    (.mean_wait_ns - 2e6 | fabs) < .mean_wait_ns_ci95 and
	    (.busy_percent - 80 | fabs) < .busy_percent_ci95' out
}

@test "the filter repeats the decisions of the simulator, exact to a nanosecond" {
	scenario 2M 4 '"clusters": 9, "workers": 3, "arrivals": "poisson", "rewards": "noisy"' >s.json
	for p in olaf fifo; do
		sim --by switch --set "switches[0].queue=$p" \
			--set 'switches[0].reward_threshold=0.1' \
			--set 'servers[0].reply=none' -w $p >$p.json
		over="--reward-threshold 0.1"
		[ $p = olaf ] || over=
		innet-switch -q --queue $p --slots 4 --rate 2M --until 2s -r $p/sw.in.pcap \
			$over -w want.pcap --report report
		cmp want.pcap $p/sw.out.pcap
		jq -s '.[0] as $s | .[1].totals | [.arrived, .delivered, .aggregated, .superseded,
		    .dropped_full, .dropped_reward | .constituents] == [$s.arrived, $s.delivered,
		    $s.aggregated, $s.superseded, $s.dropped_full, $s.dropped_reward]' \
			$p.json report | grep -x true
	done
}

@test "frames of other programs queue as with --regular queued in the filter" {
	scenario 2M 4 '"clusters": 9, "workers": 3, "arrivals": "poisson"' >s.json
	for p in olaf fifo; do
		other=(--set "switches[0].queue=$p" --set 'servers[0].reply=none' --set 'traffic=[
		    {"at": "sw", "rate": "1M"}, {"at": "sw", "rate": "0.3M", "frame": "42B", "arrivals": "onoff"}]')
		sim "${other[@]}" -w $p >$p.json
		innet-switch -q --queue $p --slots 4 --rate 2M --port 0.0.0.0/0:rate=2M --until 2s --regular queued -r $p/sw.in.pcap -w want.pcap
		cmp want.pcap $p/sw.out.pcap
		sim "${other[@]}" --by traffic >traffic.json
		[ "$(tcpdump -nr $p/ps.in.pcap port 9 2>/dev/null | wc -l)" -eq "$(jq -s .[-1].received traffic.json)" ]
		jq -se 'length == 3 and .[2].traffic == "all" and .[0].sent + .[1].sent == .[2].sent and
		    all(.[]; .sent == .received + .dropped_full + .queued and .dropped_full > 10)' traffic.json
	done
	run -2 --separate-stderr sim --by traffic
	[ "${stderr_lines[0]}" = "innet-sim: --by traffic: the scenario has no traffic" ]
}

@test "updates wait behind other frames on their whole path, and a fault ends both" {
	scenario 1M 8 '"frame": "125B", "interval": "10ms", "phase": "aligned", "start": "5ms", "count": 1' >s.json
	other=(--set 'traffic=[{"at": "sw", "rate": "0.8M", "arrivals": "periodic", "stop": "10ms"}]')
	sim "${other[@]}" --seed 5 -w out >/dev/null
	# one packet of 8 ms every 10 ms: the update waits for the packet that
	# is being sent
	came=$(tcpdump --nano -ttnr out/sw.in.pcap port 9 2>/dev/null | cut -d' ' -f1 | cut -c3-)
	sim "${other[@]}" --seed 5 | jq -se --argjson t "$((10#$came))" '.[-1].mean_delay_ns == $t + 8e6 - 5e6 + 1e6'
	sim "${other[@]}" --seed 5 --by traffic --set 'faults=[{"link":"sw","from":"6ms","to":"1s"}]' |
		jq -se '.[-1] | .lost_down == 1 and .sent == 1'
}

@test "the filter treats vectors of several packets like the simulator" {
	scenario 2M 9 '"clusters": 3, "workers": 3, "elements": 150, "control": "urgent"' >s.json
	sim -w out
	innet-switch -q --slots 9 --rate 2M --until 2s -r out/sw.in.pcap -w want.pcap
	cmp <(dumpolaf want.pcap | awk '$2 == 1') <(dumpolaf out/sw.out.pcap)
	innet-aom -q --json --until 2s -r out/ps.in.pcap --from first >aom
	sim --set ages_from=first >s.out
	[ "$(tail -1 aom | jq .mean_age_ns)" = "$(tail -1 s.out | jq .mean_age_ns)" ]
}

@test "ages end as in innet-aom, and a warning is printed if another end changes them" {
	scenario 1M 4 '"clusters": 3, "workers": 2, "count": 9, "speeds": 0.5' >s.json
	sim --set duration=none --by cluster -w out >s.out
	innet-aom -q --json -r out/ps.in.pcap --sent out/sw.in.pcap >aom
	diff <(jq .mean_age_ns s.out) <(jq .mean_age_ns aom)
	sim --set duration=none --set ages_to=run --by cluster >run.out
	innet-aom -q --json -r out/ps.in.pcap --sent out/sw.in.pcap --end capture >aom
	diff <(jq .mean_age_ns run.out) <(jq .mean_age_ns aom)
	run -0 --separate-stderr innet-sim --duration 1h s.json
	[[ $stderr == *'innet-sim: ages are measured until the end of the run; with "ages_to": "cluster" the mean age of all clusters would be '*' % lower' ]]
}

@test "workers send updates at the same times as in innet-gen" {
	for how in periodic poisson onoff lognormal; do
		scenario 1G 8 "\"clusters\": 4, \"workers\": 3, \"count\": 20, \"arrivals\": \"$how\",
		    \"jitter\": \"3ms\", \"speeds\": 0.5" >s.json
		sim --seed 7 --duration 1h --set duration=none -w $how >/dev/null
		innet-gen -q --seed 7 --clusters 4 --workers 3 -c 20 --arrivals $how --jitter 3ms \
			--speeds 0.5 -w gen.pcap
		cmp <(dumpolaf gen.pcap | cut -d' ' -f1-8) \
			<(dumpolaf $how/sw.in.pcap | awk '$2 == 1' | cut -d' ' -f1-8)
	done
}

@test "ages equal those that innet-aom measures in the captures" {
	scenario 0.5M 3 '"clusters": 5, "workers": 4, "control": "fair"' >s.json
	sim --by cluster -w out >sim.out
	innet-aom -q --json --until 2s --sent out/sw.in.pcap -r out/ps.in.pcap >aom.out
	keys='[.mean_age_ns, .p50_age_ns, .p95_age_ns, .p99_age_ns, .max_age_ns, .mean_peak_age_ns, .max_peak_age_ns, .received, .merged]'
	cmp <(jq -c "$keys" sim.out) <(jq -c "$keys" aom.out)
}

@test "a link has captures at both ends, whose times differ by the propagation delay" {
	scenario 1M 4 '"clusters": 3, "workers": 3, "control": "urgent"' >s.json
	sim --set 'links[0].propagation=3ms' --set 'links[0].capture=true' -w out >/dev/null
	cmp out/sw.up.in.pcap out/ps.in.pcap
	cmp out/sw.up.out.pcap out/sw.out.pcap
	cmp <(dumpolaf out/sw.up.in.pcap) <(dumpolaf out/sw.up.out.pcap |
		awk '$1 + 3000000 <= 2000000000 { $1 += 3000000; print }')
	cmp <(dumpolaf out/sw.down.in.pcap) <(dumpolaf out/sw.in.pcap | awk '$2 == 2')
	[ "$(tcpdump -nr out/sw.down.out.pcap 2>/dev/null | grep -c 'UDP, length 264')" -ge 100 ]
	[ "$(tshark -r out/sw.down.out.pcap -o udp.check_checksum:TRUE -T fields \
		-e udp.checksum.status 2>/dev/null | sort -u)" = 1 ]
}

@test "only the capture before a link has the packets that the link loses" {
	scenario 0 8 '"interval": "1ms", "access_rate": "10M", "access_loss": 0.1, "access_capture": true' >s.json
	sim -w out >s.out
	jq -se '.[0].lost_link > 100' s.out
	[ "$(dumpolaf out/worker.1.0.up.out.pcap | wc -l)" -eq "$(jq -s '.[0].sent' s.out)" ]
	[ "$(dumpolaf out/worker.1.0.up.in.pcap | wc -l)" -eq "$(jq -s '.[0].received' s.out)" ]
	innet-aom -q --json --sent out/worker.1.0.up.out.pcap -r out/worker.1.0.up.in.pcap |
		jq -se --slurpfile s s.out '.[-1].lost == $s[0].lost_link'
	scenario 0.1M 8 '"frame": "125B", "workers": 5, "count": 1, "phase": "aligned"' >s.json
	sim --set 'links[0].propagation=15ms' --set 'links[0].capture=true' -w fault \
		--set 'faults=[{"link":"sw","from":"25ms","to":"30ms"}]' >/dev/null
	[ "$(dumpolaf fault/sw.up.out.pcap | cut -d' ' -f1 | paste -sd,)" = 10000000,20000000 ]
	[ "$(dumpolaf fault/sw.up.in.pcap | cut -d' ' -f1)" = "" ]
	# a packet that waits for its link when the run ends has not been sent
	sim --duration 35ms --set 'workers[0].shared=true' --set 'workers[0].access_rate=0.1M' \
		--set 'workers[0].access_capture=true' -w end >/dev/null
	[ "$(dumpolaf end/worker.1.0.up.out.pcap | cut -d' ' -f1 | paste -sd,)" = 10000000,20000000,30000000 ]
}

@test "the link of every worker has a capture, and more than a hundred are refused" {
	scenario 1M 8 '"clusters": 2, "workers": 50, "access_rate": "10M", "access_capture": true' >s.json
	sim -w out >/dev/null
	[ "$(ls out | grep -c '^worker\.[12]\.[0-9]*\.\(up\|down\)\.\(in\|out\)\.pcap$')" -eq 400 ]
	run -1 --separate-stderr innet-sim -w out --set 'links[0].capture=true' s.json
	[ "$stderr" = "innet-sim: -w: at most 100 links can be captured" ]
}

@test "an independent second program gets the same counters, and the same ages to a nanosecond" {
	command -v python3 >/dev/null || skip "no python3"
	timeout 400 python3 -B "$BATS_TEST_DIRNAME/../twins/sim_runs.py" "${SIM_RUNS:-$(few 40)}" "${SIM_FIRST:-1}"
}

@test "innet-ps refuses as many of the same updates as the simulated server" {
	scenario 2M 4 '"clusters": 3, "interval": "20ms", "rewards": "noisy"' >s.json
	for c in 1 2 3; do echo "0 $c 0 0 1 0 0 56 kind=3"; done | mkolaf >weights
	for gate in ema:0.1 last best; do
		rm -rf out
		sim --set "servers[0].gate=${gate%:*}" --set 'links[0].capture=true' -w out >s.out
		serve ps innet-ps --json --gate $gate
		for f in weights out/ps.in.pcap; do innet-replay -q --pps 1000 -r $f --to "$ps"; done
		for _ in $(seq 500); do		# everything that was sent has arrived
			kill -USR1 "$ps_pid"
			grep -q "\"updates\":$(jq -s '.[-1].received' s.out)," ps.out && break
			sleep 0.02
		done
		kill -TERM "$ps_pid"
		wait "$ps_pid"
		grep '^{' ps.out | tail -1 | jq -e --slurpfile s s.out '.gated == $s[-1].gated and .gated > 20'
		# and each update that passed the gate made a new version
		[ "$(dumpolaf out/sw.down.out.pcap | awk '{ v[$3] = $5 } END { print v[1] + v[2] + v[3] - 3 }')" = \
			"$(jq -s '.[-1].received - .[-1].gated' s.out)" ]
	done
}

@test "control: Qmax / N of the updates are sent before the threshold" {
	scenario 10M 8 '"clusters": 16, "workers": 10, "control": "urgent", "threshold": "100s"' >s.json
	sim --duration 20s >out
	jq -se '.[-1] | (.suppressed / .generated - 0.5 | fabs) < 0.01' out
	sim --duration 20s --set 'switches[0].slots=16' | jq -se '.[-1].suppressed == 0'
	sim --duration 20s --set 'switches[0].queue=regular' | jq -se '.[-1].suppressed == 0'
}

@test "workers that wait for a model send an update each interval and round trip, or time-out" {
	scenario 0 8 '"interval": "10ms", "phase": "aligned", "wait": "250ms"' >s.json
	loop() { sim --set 'links[0].propagation=3ms' --set 'servers[0].delay=1ms' "$@" | jq -s .[-1]; }
	loop | jq -e '.generated == 118 and .models == 118 and .timed_out == 0'	# one every 17 ms
	loop --set 'workers[0].wait=7ms' | jq -e '.generated == 118 and .timed_out == 0'
	loop --set 'workers[0].wait=6999999ns' | jq -e '.generated == 118 and .timed_out == 118'
	loop --set 'servers[0].reply=none' | jq -e '.generated == 8 and .timed_out == 7'
	# timers that are no longer needed do not prolong the run: it ends at 41
	# ms
	loop --set duration=none --set ages_to=run --set 'workers[0].count=3' | jq -e '.mean_age_ns == 10134146'
	loop --set 'workers[0].stop=40ms' | jq -e '.generated == 3'
	loop --set 'workers[0].wait=0' | jq -e '.generated == 200 and (has("timed_out") | not)'
}

@test "a link that is down loses packets that arrive, from the first instant to the last" {
	scenario 0 8 '"interval": "10ms", "phase": "aligned"' >s.json
	sim --set 'faults=[{"link":"sw","from":"500ms","to":"1s"}]' |
		jq -se '.[-1] | .lost_down == 50 and .received == 150'
	sim --set 'faults=[{"switch":"sw","from":"500ms","to":"1s"},{"switch":"sw","from":"600ms","to":"1010ms"}]' |
		jq -se '.[-1] | .lost_down == 51 and .received == 149 and .dropped == 51'
}

@test "a link that fails loses packets that wait, are being sent or are in flight" {
	scenario 0.1M 8 '"frame": "125B", "workers": 5, "count": 1, "phase": "aligned"' >s.json
	sim --set 'links[0].propagation=15ms' --set 'switches[0].queue=fifo' \
		--set 'faults=[{"link":"sw","from":"20ms","to":"30ms"}]' |
		jq -se '.[-1] | .lost_down == 5 and .received == 0'
	sim --set 'links[0].propagation=15ms' --set 'switches[0].queue=fifo' \
		--set 'faults=[{"switch":"sw","from":"20500us","to":"30ms"}]' |
		jq -se '.[-1] | .lost_down == 3 and .received == 2'
}

@test "a link with access_loss loses this share of its packets" {
	scenario 0 8 '"interval": "1ms"' >s.json
	sim --duration 100s --set 'links[0].loss=5%' |
		jq -se '.[-1] | (.loss_percent - 5 | fabs) < 0.3 and .lost_link == .dropped'
}

@test "a schedule is played, and a schedule with unknown workers is refused" {
	scenario 0 8 '"clusters": "2-3", "workers": 2, "schedule": "a.csv"' >s.json
	printf '%s\n' cluster,worker,time_ns,reward 2,0,5ms,1 3,1,5ms,1 2,1,7000,0.5 >a.csv
	sim -w out | jq -se '.[-1] | .sent == 3 and .received == 3'
	[ "$(dumpolaf out/sw.in.pcap | awk '$2 == 1 { print $1, $3, $4 }' | paste -sd,)" = \
	    "7000 2 1,5000000 2 0,5000000 3 1" ]
	mkdir sub && mv a.csv s.json sub && innet-sim -q sub/s.json && cd sub
	echo 4,0,5ms,1 >>a.csv
	run -1 --separate-stderr innet-sim s.json
	[ "$stderr" = "innet-sim: a.csv:5: the group has no worker 0 of cluster 4" ]
}

@test "a sweep has a point for each combination, the last path fastest" {
	scenario 1M 8 '"clusters": 2' >s.json
	sed -i 's/^{/{ "sweep": { "links[sw].rate": [ "1M", 2000000 ], "switches[*].slots": [ 1, 2, 3 ] },/' s.json
	innet-sim -q --csv s.json >out
	[ "$(head -1 out | cut -d, -f1-4)" = "links[sw].rate,switches[*].slots,group,runs" ]
	[ "$(grep ,all, out | cut -d, -f1,2 | paste -sd' ')" = \
	    "1M,1 1M,2 1M,3 2000000,1 2000000,2 2000000,3" ]
	sim | jq -se 'length == 12 and .[0].point["links[sw].rate"] == "1M"'
}

@test "a sweep prints one table, with a column for each key that varies and units in the heads" {
	scenario 1M 8 '"clusters": 2' >s.json
	sed -i 's/^{/{ "sweep": { "links[sw].rate": [ "1M", 2000000 ], "switches[*].queue": [ "fifo" ] },/' s.json
	innet-sim -q s.json >out
	[ "$(wc -l <out)" -eq 5 ]
	grep -qE '^rate     group +sent .* mean [mun]?s .* jain$' out
	[ "$(awk '{ print $1, $2 }' out | paste -sd,)" = "rate group,1M 1-2,1M all,2000000 1-2,2000000 all" ]
	innet-sim -q --total --columns jain,mean_age_ns s.json >out
	[ "$(awk '{ print $1, $2, $3 }' out | sed -n '1p')" = "rate group jain" ]
	# the table has the same number as the CSV, to six digits, in the unit
	# of the column's title
	unit=$(awk 'NR == 1 { print $NF }' out)
	innet-sim -q --csv --total --columns jain,mean_age_ns s.json >csv
	[ "$(head -n 1 csv)" = "links[sw].rate,switches[*].queue,group,runs,jain,mean_age_ns" ]
	awk -F'[ ,]+' -v unit="$unit" 'NR == FNR { if (FNR > 1) age[$1] = $4; next }
		FNR > 1 && (d = $6 / (unit == "ms" ? 1e6 : unit == "us" ? 1e3 : 1) / age[$1] - 1) ^ 2 > 1e-10 { bad = 1 }
		END { exit bad || FNR != 3 }' out csv
	innet-sim -q --json --total --columns loss_percent s.json | jq -se 'length == 2 and (.[0] | keys == ["group", "loss_percent", "point", "runs"])'
	run -2 --separate-stderr innet-sim --columns sent,none s.json
	[ "$stderr" = "innet-sim: invalid columns 'sent,none': unknown column 'none'; --csv prints the names of all" ]
	run -2 --separate-stderr innet-sim --total --by switch s.json
	[ "$stderr" = "innet-sim: --total: there is no row that combines all switches" ]
}

@test "--set removes a path from the sweep, however the path is spelled" {
	scenario 1M 8 '"clusters": 2' >base.json
	jq '.sweep = { "links[0].rate": [ "1M", 2000000 ], "switches[*].slots": [ 1, 2, 3 ] }' base.json >s.json
	sim --set 'links[sw].rate=0.5M' | jq -se 'length == 6 and all(.point | has("links[0].rate") | not)'
	sim --set 'switches[0].slots=4' --set 'links[*].rate=0.5M' >out
	cmp out <(innet-sim -q --json <(jq '.switches[0].slots = 4 | .links[0].rate = "0.5M"' base.json))
	cmp <(sim --duration 1s) <(innet-sim -q --json <(jq '.sweep.duration = ["3s", "4s"]' s.json) --duration 1s)
	run -1 --separate-stderr innet-sim --set 'links[0].rate=red' s.json
	[ "$stderr" = "innet-sim: s.json: links[0].rate: 'red': not a number" ]
}

@test "--set refuses a key that is part of a sweep, which would undo it" {
	scenario 1M 8 '"clusters": 2' |
		jq '.switches += [{ name: "s2" }] | .links += [{ from: "s2", to: "ps" }] |
		.sweep = { "switches[*].slots": [ 1, 2 ], workers: [ .workers ] }' >s.json
	refused() {
		run -2 --separate-stderr innet-sim --set "$1=3" s.json
		[ "$output$stderr" = "innet-sim: invalid path '$1': the sweep of '$2' sets the same value" ]
	}
	refused 'switches[s2].slots' 'switches[*].slots'
	refused 'workers[0].clusters' workers
	sim --set 'switches=[{ "name": "sw" }, { "name": "s2" }]' | jq -se 'length == 4'
}

@test "files of -w replace neither each other nor input files" {
	scenario 1M 8 '"clusters": 2' >s.json
	sim -w out >/dev/null
	mv s.json out/sw.in.pcap
	run -2 --separate-stderr innet-sim -w out out/sw.in.pcap
	[ "$output$stderr" = "innet-sim: -w out/sw.in.pcap would overwrite its own input" ]
	ln -s "$PWD/s.json" out/ps.in.pcap -f && mv out/sw.in.pcap s.json
	run -2 --separate-stderr innet-sim -w out s.json
	[ "$stderr" = "innet-sim: -w out/ps.in.pcap would overwrite its own input" ]
	ln -s sw.in.pcap out/ps.in.pcap -f
	run -2 --separate-stderr innet-sim -w out s.json
	[ "$stderr" = "innet-sim: -w and -w both write out/sw.in.pcap" ]
	run -2 bash -c 'innet-sim -w out s.json 2>err >out/sw.out.pcap'
	[ "$(cat err)" = "innet-sim: the results and -w both write out/sw.out.pcap" ]
}

@test "the results are the same on any number of cores, and differ for other seeds" {
	scenario 0.3M 4 '"clusters": 5, "workers": 4, "arrivals": "lognormal"' >s.json
	sim --runs 9 --jobs 1 >one
	sim --runs 9 --jobs 4 >four
	cmp one four
	run ! cmp <(sim --seed 1) <(sim --seed 2)
	[ "$(sim --seed 1 --runs 2 | jq -s .[-1].mean_age_ns)" = "$( (sim --seed 1; sim --seed 2) |
	    jq -s '(.[1].mean_age_ns + .[3].mean_age_ns) / 2')" ]
}

@test "the updates of every cluster reach the server through a tree of switches" {
	scenario 0 8 '"clusters": "1-6", "workers": 2, "interval": "10ms"' |
		sed 's/"name": "sw"/"count": 6, &/
		    s/\[ { "from": "sw", "to": "ps"/[ { "from": "sw", "to": "up" }, { "from": "up", "to": "ps"/
		    s/"switches": \[/& { "name": "up", "count": 1 },/' >s.json
	sim --by cluster | jq -se 'length == 7 and all(.[:6][]; .received == 400 and .models == 800)'
	sim --by switch | jq -se 'length == 7 and .[6].switch == "sw.5" and .[0].arrived == 2400'
}

@test "100,000 workers under three levels of switches run in less than 1 GB" {
	cat >s.json <<-END
	{ "duration": "20ms",
	  "switches": [ { "name": "tor", "count": 1000 }, { "name": "agg", "count": 50 }, { "name": "core", "slots": 1024 } ],
	  "servers": [ { "name": "ps" } ],
	  "links": [ { "from": "tor", "to": "agg", "rate": "10G" }, { "from": "agg", "to": "core", "rate": "25G" },
	    { "from": "core", "to": "ps", "rate": "100G" } ],
	  "workers": [ { "at": "tor", "clusters": 1000, "workers": 100, "access_rate": "10G", "access_propagation": "1us" } ] }
	END
	[ -z "$(nm "$(command -v innet-sim)" | grep -m1 __asan)" ] || skip "a sanitizer takes more"
	(ulimit -v 1000000 && sim >out)
	jq -se '.[-1] | .sent > 19000 and .received > 19000' out
}

@test "an error about an unknown key names the most similar key" {
	scenario 1M 8 '"clusters": 2' | sed 's/"rate"/"rat"/' >s.json
	says "links[0].rat: unknown key; the nearest is 'rate'"
}

@test "errors give the path of an invalid value" {
	bad() {
		scenario 1M 8 '"clusters": 2' >good.json
		innet-sim -q good.json >/dev/null
		jq "$1" good.json >s.json
		says "$2"
	}
	bad '.duration = 10' "duration: '10': a unit is missing (ns, us, ms, s, min, h)"
	bad '.links[0].propagation = "1m"' "links[0].propagation: '1m': unknown unit; use ns, us, ms, s, min or h"
	bad '.links[0].loss = 2' "links[0].loss: '2': too large"
	bad '.links[0] = 7' 'links[0]: is not an object: { ... }'
	bad '.switches[0].slots = 0' "switches[0].slots: '0': too small"
	bad '.switches[0].queue = "red"' "switches[0].queue: 'red': not one of olaf, fifo, regular"
	bad '.switches[0].name = "a/b"' "switches[0].name: 'a/b': may have only letters, digits, '-' and '_'"
	bad 'del(.switches[0].name)' 'switches[0].name: is missing'
	bad '.servers[0].gate = "red"' "servers[0].gate: 'red': not one of none, ema, last, best"
	bad '.links[0].to = "nobody"' "links[0].to: no switch or server is called 'nobody'"
	bad '.links[0].to = "sw"' 'links[0].to: the links form a loop and do not lead to a server'
	bad '.links += .links' "links[1].from: there is a second link from 'sw'; each switch has one"
	bad '.servers += .servers' "servers[1].name: the name 'ps' is used twice"
	bad '.workers += .workers' 'workers[1]: workers[0] has some of the same workers of the same cluster'
	bad '.workers[0].at = "ps"' "workers[0].at: no switch is called 'ps'"
	bad '.workers += .workers | .workers[1] += {first_worker: 1, payload: 40}' \
	    'workers[1]: workers[0] has the same cluster with vectors of another length'
	bad '.duration = "105000h"' "duration: '105000h': too large"
	bad '.workers[0].payload = 37' 'workers[0].payload: the payload must be 32 bytes plus a multiple of 4'
	bad '.workers[0].clusters = "5-2"' "workers[0].clusters: '5-2': the first number is greater than the last"
	bad '.workers[0] += {wait: "1s", arrivals: "bursts"}' \
	    'workers[0].wait: workers with a schedule or with arrivals in bursts cannot wait'
	bad '.workers[0].wai = "1s"' "workers[0].wai: unknown key; the nearest is 'wait'"
	bad '.workers[0].access_capture = true' \
	    'workers[0].access_capture: the group has no access links; give access_rate, access_propagation or access_loss'
	bad '.duration = "none"' 'workers[0].count: must not be none without a duration, or the run would never end'
	bad '.faults = [{"switch": "sw", "training": "x", "from": "1s", "to": "2s"}]' \
	    'faults[0].training: the scenario has no training jobs'
	bad '.traffic = [{"at": "ps", "rate": 1}]' "traffic[0].at: no switch is called 'ps'"
	bad '.workers[0].name = "all"' "workers[0].name: 'all' is reserved for the row of all groups; use another name"
	bad '.traffic = [{"at": "sw", "rate": 1, "name": "all"}]' "traffic[0].name: 'all' is reserved for the row of all traffic; use another name"
	bad '.traffic = [{"at": "sw"}]' 'traffic[0].rate: is missing'
	bad '.traffic = [{"at": "sw", "rate": 0}]' 'traffic[0].rate: must be more than 0'
	bad '.traffic = [{"at": "sw", "rat": 1}]' "traffic[0].rat: unknown key; the nearest is 'at'"
	bad '.traffic = [{"at": "sw", "rate": 1}] | .duration = "none" | .workers[0].count = 1' \
	    'traffic[0].stop: must not be none without a duration, or the run would never end'
	bad '.faults = [{"from": "1s", "to": "2s"}]' 'faults[0]: must have exactly one of link, switch and worker'
	bad '.sweep = {"links[1].rate": [1]}' 'sweep: a path names an item that the list does not have'
	bad '.sweep = {"seed": [1, 2]}' 'sweep: seed and runs cannot be swept'
	bad '.sweep = {"runs": [1, 2]}' 'sweep: seed and runs cannot be swept'
}

@test "an error in the JSON text gives line and column" {
	printf '{ "duration":\n  "1s", ' >s.json
	run -1 --separate-stderr innet-sim s.json
	[[ $stderr == "innet-sim: s.json:2:"*": not valid JSON" ]]
	run -1 --separate-stderr innet-sim no-such.json
	[ "$stderr" = "innet-sim: no-such.json: No such file or directory" ]
	run -2 --separate-stderr innet-sim
	[ "${stderr_lines[0]}" = "innet-sim: no scenario was given; name a JSON file" ]
}

@test "innet-sim reports a full disk" {
	[ -w /dev/full ] || skip "no /dev/full"
	scenario 1M 8 '"clusters": 2' >s.json
	run -1 sh -c 'innet-sim -q --json s.json >/dev/full'
	ln -s /dev/full sw.in.pcap
	run -1 innet-sim -q -w . s.json
}

@test "the manual describes every key of --list-keys" {
	innet-sim --list-keys | while IFS='	' read -r path type preset help; do
		[ -n "$help" ]
		sed -n 's/^\.It//p' "$srcdir/man/innet-scenario.5" | grep -qw -- "${path##*.}"
	done
}

@test "SIGINT ends innet-sim and its child processes" {
	scenario 1M 8 '"interval": "1us", "clusters": 50, "workers": 20' >s.json
	innet-sim -q --runs 8 --jobs 2 --duration 10h s.json >out 3>&- &
	pid=$!
	until [ "$(pgrep -cP $pid)" -eq 2 ]; do sleep 0.02; done
	kill -INT $pid $(pgrep -P $pid)
	rc=0
	wait $pid || rc=$?
	[ $rc -eq 130 ]
	[ ! -s out ]
}
