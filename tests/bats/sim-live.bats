# Compare the simulator with the live switch, which runs in network namespaces.
load common

PATH=$testbed:$PATH

teardown() { end_all; end_testbed; }

# on HOST NAME TOOL...: start a live tool on a host; $NAME gets its address
on() {
	local host=$1 name=$2 addr
	shift 2
	addr=$(testbed.sh addr "$host")
	rm -f "$name.port"		# the files of an earlier run
	testbed.sh exec "$host" $ahead "$@" --insecure --listen "$addr:0" --port-file "$name.port" \
		2>"$name.err" 3>&- &
	pids="$pids $!"
	printf -v "${name}_pid" %s "$!"
	await "$name.port"
	printf -v "$name" %s "$addr:$(cat "$name.port")"
}

# End a tool by its process id; its captures are complete after that.
finish() {
	kill -TERM "$1"
	wait "$1"
}

# live QUEUE: run nine workers for 3 s through a link with half the rate that
# they need; live.json gets the ages, and in.pcap the packets that arrived at
# the switch
live() {
	privileged
	export INNET_TESTBED=$(testbed.sh up rack -n 1 --owner $$)
	innet-gen -q --clusters 3 --workers 3 -c 120 --interval 25ms \
		--arrivals poisson -w trace.pcap
	on server ps innet-ps -q --write-in got.pcap
	on switch sw innet-switch -q --queue "$1" --rate 430kbit --slots 6 \
		--upstream "$ps" --write-in in.pcap
	testbed.sh exec w0 $ahead innet-replay -q -r trace.pcap --to "$sw"
	finish "$sw_pid"
	finish "$ps_pid"
	innet-aom -q -r got.pcap --sent in.pcap --end capture --json | jq -s last >live.json
}

# simulated QUEUE: simulate the same arrivals, queue and link
simulated() {
	{
		echo cluster,worker,time_ns,reward
		dumpolaf in.pcap | awk '$2 == 1 { if (!n++) first = $1
			printf "%d,%d,%.0f,%s\n", $3, $4, substr($1, 6) - substr(first, 6), $9 }'
	} >arrivals.csv
	cat >s.json <<-EOF
	{ "duration": "none", "ages_to": "run",
	  "switches": [ { "name": "sw", "queue": "$1", "slots": 6 } ],
	  "servers": [ { "name": "ps", "reply": "none" } ],
	  "links": [ { "from": "sw", "to": "ps", "rate": "430kbit" } ],
	  "workers": [ { "at": "sw", "clusters": 3, "workers": 3, "schedule": "arrivals.csv" } ] }
	EOF
	innet-sim -q --json s.json | jq -s last >sim.json
}

# Check that the mean ages differ by less than 5 %, and the updates received by
# less than 2 %.
close_enough() {
	jq -s 'map([.mean_age_ns, .received])' live.json sim.json
	[ "$(wc -l <arrivals.csv)" -gt 1000 ] && jq -es 'def off($k): (.[0][$k] - .[1][$k] | fabs) / .[0][$k];
		off("mean_age_ns") < 0.05 and off("received") < 0.02' live.json sim.json
}

# agree QUEUE: check that one of three runs agrees; a busy machine delays the
# live tools
agree() {
	for _ in 1 2 3; do
		live "$1"
		simulated "$1"
		! close_enough || return 0
		end_testbed
	done
	return 1
}

@test "Olaf: ages of the live switch and of the simulator differ by less than 5 %" {
	once
	agree olaf
}

@test "drop-tail: ages of the live switch and of the simulator agree, too" {
	once
	agree fifo
}
