#!/usr/bin/env bash
# iswitch-async.sh - measure how long an asynchronous iteration takes
#
#	share/examples/iswitch-async.sh -o DIR [--rounds N] [--quick]
#
# Four workers in a rack of namespaces push synthetic vectors as fast as they
# can over links of 100 Mbit/s. The vectors have the sizes of DQN, PPO and DDPG
# in iSwitch's Table 1. Other runs send a fifth of DQN's vector over 20 Mbit/s.
# This vector takes the same time on the wire, and the processors have a fifth
# of the work. The runs vary:
#
#   carrier   a switch, or a parameter server on a host of its own (ps)
#   queue     room in the queue of each link: a quarter of a vector (short), or
#             six vectors (long)
#   pace      rate limit of each worker: 92 % of the link with a switch, 23 % (a
#             worker's share of the server's link) with a server; or none
#
# DIR/async.csv gets a row for each run: the median time of a round and of an
# iteration, and the number of segments that were sent again. With a server each
# gradient is an iteration, so a round has four iterations. --rounds sets how
# often each setting runs (default 3). DIR/async.md has the medians and
# conclusions. --quick does three runs of 3 to 5 s with short vectors. This
# needs root and jq, and takes ten minutes.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
say() { printf 'iswitch-async: %s\n' "$*" >&2; }
misuse() { say "$*"; exit 2; }
out='' rounds=3 N=4 quick=''
while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=1 rounds=1; shift; continue ;;
	-h|--help) sed -n '2,/^set /{/^set /!p}' "$0" | sed 's/^# \?//'; exit 0 ;;
	esac
	[ $# -ge 2 ] || misuse "$1 is unknown, or its value is missing"
	case $1 in
	-o) out=$2 ;;
	--rounds) rounds=$2 ;;
	*) misuse "unknown option '$1'" ;;
	esac
	shift 2
done
[ -n "$out" ] || misuse 'use -o DIR to name a folder for the results'
[[ $rounds =~ ^[1-9][0-9]?$ ]] || misuse "--rounds '$rounds' is not 1 to 99"
[ -x "$top/build/innet-switch" ] && PATH=$top/build:$PATH
PATH=$PATH:$here/../testbed
for tool in innet-switch innet-ps innet-worker jq; do
	command -v $tool >/dev/null || { say "$tool is missing"; exit 1; }
done

server='' workers='' testbed=''
end() {
	# shellcheck disable=SC2086	# words
	[ -z "$server$workers" ] || kill $server $workers 2>/dev/null
	[ -z "$testbed" ] || testbed.sh down "$testbed"
	wait
}
trap end EXIT
trap 'exit 1' INT TERM

# Print all runs, one a line: carrier, Mbit/s, bytes, queue, pace, seconds.
plan() {
	[ -z "$quick" ] || cat <<-END
	switch 20 80000 long none 3
	switch 20 80000 long 92 3
	ps 20 80000 long none 5
	END
	[ -n "$quick" ] || cat <<-END
	switch 20 1282000 long none 15
	switch 20 1282000 long 92 15
	switch 20 1282000 short none 15
	ps 20 1282000 long none 30
	ps 20 1282000 long 23 30
	ps 20 1282000 short 23 30
	switch 100 6410000 long none 15
	ps 100 6410000 long none 30
	switch 100 157520 long none 4
	ps 100 157520 long none 4
	switch 100 40020 long none 4
	ps 100 40020 long none 4
	END
}

# serve: start the switch or the server, and set $at to its address
serve() {
	local host=switch what=innet-switch
	[ "$carrier" = switch ] || { host=server; what=innet-ps; }
	at=$(testbed.sh addr $host)
	testbed.sh exec $host $what -p iswitch --async --json -H $N --insecure --listen "$at:0" \
		--port-file port >server.json 2>server.err &
	server=$!
	for _ in {1..500}; do
		[ ! -s port ] || { at=$at:$(cat port); return 0; }
		kill -0 $server 2>/dev/null || break
		sleep 0.02
	done
	return 1
}

# push: run the workers until they end, then end the switch or the server
push() {
	local k pid how=''
	[ "$pace" = none ] || how="--pace $((pace * rate))0k"
	for ((k = 0; k < N; k++)); do
		# shellcheck disable=SC2086	# words
		testbed.sh exec w$k innet-worker --json -p iswitch --async --switch "$at" --worker $k \
			--synthetic ${bytes}B --interval 0 --duration ${length}s $how >w$k.json 2>w$k.err &
		workers="$workers $!"
	done
	for pid in $workers; do
		wait "$pid" || return 1
		workers=${workers/ $pid/}
	done
	kill $server && wait $server
	server=''
}

# work: do the run of $carrier $rate $bytes $queue $pace $length, and write its
# row
work() {
	local gradients=1 room=$((6 * bytes))
	[ "$queue" = long ] || room=$((bytes / 4))
	[ "$carrier" = switch ] || gradients=$N
	rm -f port w?.json
	testbed=$(testbed.sh up rack -n $N --rate "${rate}mbit" --queue $room --owner $$) || return 1
	export INNET_TESTBED=$testbed
	serve && push || return 1
	testbed.sh down "$testbed"
	testbed=''
	tail -qn 1 w?.json | jq -se 'all(.round_p50_ns > 0)' >/dev/null || {
		say "$key: no round in $length s: $(tail -qn 1 w?.err server.err)"
		return 1
	}
	tail -qn 1 w?.json | jq -rs --slurpfile s <(tail -n 1 server.json) --arg key "$key" \
		--argjson gradients $gradients '
		(map(.round_p50_ns) | add / length / 1e6) as $ms | $s[0].jobs["1"].counters as $c |
		[$key, ($ms * 10 | round / 10), ($ms / $gradients * 10 | round / 10),
		(map(.resent) | add) + $c.resent + $c.help_resent] | map(tostring) | join(",")' >>async.csv
}

mkdir -p "$out/run" && cd "$out/run" || exit 1
echo run,carrier,rate_mbit,vector_bytes,queue,pace_percent,round_ms,iteration_ms,sent_again >async.csv
for ((r = 1; r <= rounds; r++)); do
	while read -r carrier rate bytes queue pace length <&3; do
		key=$r,$carrier,$rate,$bytes,$queue,$pace
		say "$key"
		work || { say "$key failed; see $PWD"; exit 1; }
	done 3< <(plan)
done
awk -f "$here/iswitch-async.awk" async.csv >../async.md && mv async.csv .. && cd .. && rm -r run
