# Compare a live switch in the path with the filter: given the packets that
# arrived at all ports, the filter must make the same decisions and send the
# same packets. This is tested with every back-end and program.
load common
load in-path

# by_each TEST...: run a test with every back-end that this machine supports,
# each in its own folder
by_each() {
	local rc
	for backend in packet tap xdp; do
		mkdir $backend
		cd $backend || return
		rc=0
		on switch innet-switch -q --insecure --bridge br0 --backend $backend --duration 1ms 2>why || rc=$?
		[ $rc -eq 0 ] || [ $backend = xdp ] || { cat why; return 1; }
		if [ $rc -eq 0 ]; then "$@"; else tail -n 1 why; fi
		cd ..
	done
}

# captured NAME: print the options of a switch that captures all packets it
# receives, in the order in which it decides about them, and all packets it
# sends
captured() { echo "--write-in $1-in.pcap -w $1-out.pcap --report $1.json"; }

# filter NAME OPTION...: run the filter on the captured input, and check that
# $figures of both reports are equal
filter() {
	innet-switch -q "${@:2}" -r "$1-in.pcap" -w again.pcap --report filter.json
	diff <(jq -S "$figures" "$1.json") <(jq -S "$figures" filter.json)
}

# Print every result of a switch in the captures, ordered by receiver.
results() { for f; do dumpiswitch "$f"; done | grep ' seg ' | cut -d' ' -f2- | LC_ALL=C sort -s -k2,2; }

# sums MEMBERS WORKER[=SWITCH]...: start workers that sum 60 vectors of 40 kB
sums() {
	local w
	for w in "${@:2}"; do
		testbed.sh exec w${w%=*} innet-worker -q -p iswitch --worker ${w%=*} --check "$1" --synthetic 40kB --interval 0 -c 60 \
			--switch "${w#*=}" 2>w${w%=*}.err 3>&- &
		pids="$pids $!"
		workers="${workers-} $!"
	done
	join_workers
}

merges() {
	in_path --backend $backend --port-rate server=2Mbit $(captured switch)
	server
	for w in 0 1; do worker $w --synthetic 4kB --interval 1ms -c 600; done
	join_workers
	end_switch
	end_server 10.77.0.2
	jq -c '.totals, .models' switch.json
	jq -e '.totals.aggregated.packets > 20 and .models > 10' switch.json
	figures='.totals, .clusters, .models, .weights, .ignored'
	filter switch --port 10.77.0.2:rate=2Mbit --departures switch-out.pcap
	jq -e '.departures_differ == 0' filter.json
}

@test "in the path: the filter merges the same updates from the captures, with every back-end" {
	rack
	by_each merges
}

sums_rightly() {
	in_path --backend $backend -p iswitch -H 2 --reduce ordered $(captured switch)
	sums 2 0=10.77.0.1 1=10.77.0.1
	end_switch
	figures='.jobs, .ignored'
	filter switch -p iswitch -H 2 --reduce ordered --listen 10.77.0.1:46638
	jq -e '.jobs["1"].counters.results == 60 * 28' filter.json
	cmp <(results switch-out.pcap) <(results again.pcap)
}

@test "in the path: the filter computes the same sums from the captures, with every back-end" {
	rack
	by_each sums_rightly
}

answers() {
	in_path --backend $backend -p dlp $(captured switch)
	on w0 innet-worker -q -p dlp --switch 10.77.0.1 --synthetic 24B --interval 1ms --session nodes=1,iterations=50
	end_switch
	figures='.steps, .switch, .ignored'
	filter switch -p dlp --listen 10.77.0.1:46638 --departures switch-out.pcap
	jq -e '.steps >= 50 and .departures_differ == 0' filter.json
}

@test "in the path: the filter gives the same answers for dlp, with every back-end" {
	rack
	by_each answers
}

sums_beside() {
	in_path --backend $backend -p iswitch -H 2 --reduce ordered --port-rate w0=50Mbit --regular queued $(captured switch)
	testbed.sh exec w1 $ahead python3 "$srcdir/tests/bats/frames.py" load 10.77.0.10 5e6 >load 3>&- &
	pids="$pids $!"
	await load
	sums 2 0=10.77.0.1 1=10.77.0.1
	end_switch
	figures='.jobs, .regular, .regular_dropped'
	filter switch -p iswitch -H 2 --reduce ordered --listen 10.77.0.1:46638 \
		--port 10.77.0.10:rate=50Mbit --regular queued
	jq -e '.regular > 10' filter.json
	cmp <(results switch-out.pcap) <(results again.pcap)
}

@test "in the path: the filter does the same as the switch if regular traffic queues with results" {
	rack
	by_each sums_beside
}

# two_racks NAME...: build a testbed of two racks with switches in the path
two_racks() {
	rack
	testbed.sh down "$INNET_TESTBED"
	INNET_TESTBED=$(testbed.sh up two-racks -n 4 --rate 1gbit --owner $$)
}

@test "in the path: the filter repeats the work of the racks and the core of two tiers" {
	two_racks
	for s in core switch1 switch2; do
		parent="--parent 10.77.0.1 --number ${s#switch}"
		[ $s != core ] || parent=''
		testbed.sh exec $s innet-switch -q -p iswitch -H 2 --reduce ordered --insecure --bridge br0 $parent \
			$(captured $s) >$s.out 2>switch.err 3>&- &
		pids="$pids $!"
		switches="${switches-} $!"
		said 'in the path'
	done
	sums 4 0=10.77.0.3 1=10.77.0.3 2=10.77.0.4 3=10.77.0.4
	kill $switches
	for s in $switches; do wait "$s"; done
	figures='.jobs, .ignored'
	for s in core switch1 switch2; do
		set -- --listen 10.77.0.1:46638
		[ $s = core ] || set -- --listen 10.77.0.$((${s#switch} + 2)):46638 --parent 10.77.0.1 --number ${s#switch}
		filter $s -p iswitch -H 2 --reduce ordered "$@"
		jq -e '.jobs["1"].counters.results >= 60 * 28' filter.json
		cmp <(results $s-out.pcap) <(results again.pcap)
	done
}

@test "in the path: the filter repeats results that several members receive at once" {
	two_racks
	testbed.sh exec core innet-switch -q -p iswitch -H 4 --reduce ordered --multicast 239.77.0.1 --insecure --bridge br0 \
		$(captured core) 2>switch.err 3>&- &
	switch=$!
	pids="$pids $switch"
	said 'in the path'
	sums 4 0=10.77.0.1 1=10.77.0.1 2=10.77.0.1 3=10.77.0.1
	end_switch
	jq -e '.interfaces.shared > 28' core.json
	figures='.jobs, .ignored'
	filter core -p iswitch -H 4 --reduce ordered --listen 10.77.0.1:46638
	jq -e '.jobs["1"].counters.results == 60 * 28' filter.json
	cmp <(results core-out.pcap | cut -d' ' -f3- | LC_ALL=C sort -u) <(results again.pcap | cut -d' ' -f3- | LC_ALL=C sort -u)
}
