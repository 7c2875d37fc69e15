# The simulator against the live switch, in namespaces of their own.
load common

PATH=$testbed:$PATH

teardown() { end_all; end_testbed; }

# on HOST NAME TOOL...: a live tool on a host, its address in $NAME
on() {
	local host=$1 name=$2 addr
	shift 2
	addr=$(testbed.sh addr "$host")
	rm -f "$name.port"		# of a run before
	testbed.sh exec "$host" $ahead "$@" --insecure --listen "$addr:0" --port-file "$name.port" \
		2>"$name.err" 3>&- &
	pids="$pids $!"
	printf -v "${name}_pid" %s "$!"
	await "$name.port"
	printf -v "$name" %s "$addr:$(cat "$name.port")"
}

# End it; its captures are whole then.
finish() {
	kill -TERM "$1"
	wait "$1"
}

# live QUEUE: nine workers through a link half as wide as they need, for 3 s;
# the ages into live.json and what came to the switch into in.pcap
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

# simulated QUEUE: the same arrivals, the same queue and link
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

# Ages within 5 %, and updates received within 2 %.
close_enough() {
	jq -s 'map([.mean_age_ns, .received])' live.json sim.json
	[ "$(wc -l <arrivals.csv)" -gt 1000 ] && jq -es 'def off($k): (.[0][$k] - .[1][$k] | fabs) / .[0][$k];
		off("mean_age_ns") < 0.05 and off("received") < 0.02' live.json sim.json
}

# agree QUEUE: they do in one of three runs; a busy machine delays what is live
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

@test "drop-tail: the simulator agrees with live runs too" {
	once
	agree fifo
}
