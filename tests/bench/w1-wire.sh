#!/bin/bash
# W1: compare a switch in the path of a bridge between five namespaces with the
# plain bridge
#
# The two take turns in ROUNDS (5) rounds.  The bench measures: marked runs that pass; regular TCP and pings while a switch runs;
# updates that an Olaf queue accepts; sums at the bridge's address, compared
# with the same switch on a socket; paced runs; and how long frames are delayed
# if a switch is killed or hangs.  This needs root and Linux 6.6, and iperf3 and
# ping for their rows.
# Run this from the build folder, or name that folder in BUILD.
#
# shellcheck disable=SC1091,SC2154
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${BUILD:-.}" && pwd)
export PATH="$build:$build/tests/bench:$PATH" LC_ALL=C
. "$here/need.bash"
. "$here/rounds.bash"
need 'W1 wire' innet-switch innet-worker udp-blast ip jq
dir=$(mktemp -d -p /dev/shm)
ns=innetw1-$$
# shellcheck disable=SC2317	# by the trap
clean() {
	local h
	for h in switch w0 w1 w2 w3; do
		ip netns pids $ns-$h 2>/dev/null | xargs -r kill 2>/dev/null || :
		ip netns del $ns-$h 2>/dev/null || :
	done
	rm -rf "$dir"
}
trap clean EXIT
. "$here/aggregate.bash"	# sizes

# cpu N: print a prefix that binds a command to that processor, if there are two
cpu() { [ "$(nproc)" -lt 2 ] || echo "taskset -c $1"; }
on() { exec ip netns exec "$ns-$1" "${@:2}"; }
ip netns add $ns-switch 2>"$dir/why" || skip 'W1 wire' "$(cat "$dir/why")"
ip -n $ns-switch -batch - <<-END
link set lo up
link add br0 type bridge mcast_snooping 0
address add 10.77.0.1/24 dev br0
link set br0 up
END
for w in 0 1 2 3; do
	ip netns add $ns-w$w
	ip -n $ns-w$w link add eth0 type veth peer name w$w netns $ns-switch
	ip -n $ns-w$w address add 10.77.0.1$w/24 dev eth0
	ip -n $ns-w$w link set eth0 up
	ip -n $ns-switch link set w$w master br0 up
done
(on switch innet-switch -q --insecure --bridge br0 --duration 1ms) 2>"$dir/why" ||
	skip 'W1 wire' "$(tail -n 1 "$dir/why")"

switch=''
start() {	# OPTION...
	: >"$dir/err"		# remove the messages of the previous switch
	# shellcheck disable=SC2086	# words
	(on switch ${at-} innet-switch -q --insecure --bridge br0 "$@" 2>"$dir/err") &
	switch=$!
	until grep -qs 'in the path' "$dir/err"; do
		kill -0 $switch 2>/dev/null || { cat "$dir/err" >&2; exit 1; }
		sleep 0.02
	done
}
stop() {
	[ -z "$switch" ] || { kill $switch && wait $switch; }
	switch=''
}

# Measure packets forwarded in M/s, a stream in Gbit/s, a ping in us.  For runs
# of packets, the receiver gets the processor that is better for it.  With the
# plain bridge it has its own processor.  With a switch, which needs that
# processor, it shares the processor of the sender, which has a lower priority.
forwarded() {
	local receiver=0 sink
	[ -z "$switch" ] || receiver=1
	[ "$(nproc)" -lt 3 ] || receiver=2
	# shellcheck disable=SC2046	# words
	(on w1 $(cpu $receiver) udp-blast :46638 1 sink >"$dir/n") &
	sink=$!
	sleep 0.1
	# shellcheck disable=SC2046	# words
	(on w0 $(cpu 1) nice udp-blast 10.77.0.11 2 9 1464 3) >/dev/null
	wait $sink
	awk '{ print $1 / 1e6 }' "$dir/n"
}
anywhere() {	# the same, on processors that the scheduler chooses
	(cpu() { :; } && forwarded)
}
stream() {
	local server
	(on w1 iperf3 -s -1) >/dev/null 2>&1 &
	server=$!
	sleep 0.2
	(on w0 iperf3 -c 10.77.0.11 -t 1 -J) | jq '.end.sum_received.bits_per_second / 1e9'
	wait $server
}
pings() { (on w0 ping -q -c 300 -i 0.003 10.77.0.11) | awk -F/ '/^rtt/ { print $5 * 1000 }'; }

# MEASUREMENT: append its results to the files NAME.path and NAME.peer
both() {
	take "$dir/$1.peer" "$1"
	at=$([ "$1" != forwarded ] || cpu 0) start
	take "$dir/$1.path" "$1"
	stop
}

# print the share of 800,000 paced segments a second that arrives
paced() {
	local sink sent
	start
	(on w1 udp-blast :46638 3 sink >"$dir/n") &
	sink=$!
	sleep 0.1
	sent=$(on w0 udp-blast 10.77.0.11 1 9 1464 3 800000)
	wait $sink
	stop
	awk -v sent="$sent" '{ print $1 / sent }' "$dir/n"
}

# SIGNAL: print the ms from the signal until updates pass without the
# switch
opens() {
	local blast sink at
	start --port-rate w1=1kbit
	(on w0 udp-blast 10.77.0.11 3 1 1024 1 10000) >/dev/null &
	blast=$!
	sleep 0.5
	(on w1 udp-blast :46638 1 sink) >/dev/null &
	sink=$!
	sleep 0.3
	at=$(date +%s%N)
	kill -s "$1" $switch
	wait $sink
	echo $((($(date +%s%N) - at) / 1000000 - 1000))
	kill -s CONT $switch 2>/dev/null && kill $switch || :
	wait $switch || :
	switch=''
	wait $blast
}

# QUEUE: do P6 in the path.  Print the updates of 1 kB of 60 clusters that a
# queue accepts, in M/s, and the processor time of each in ns.  The link carries
# about half of them.  The switch has one processor, and the sender another.  A
# departure costs far more than an arrival, and the link determines the number
# of departures.  The receiver is stopped, as in P6: a receiver that wakes up
# for each packet would use the switch's time.
taken() {
	local ticks sink
	rm -f "$dir/report"
	begin
	(on w1 udp-blast :46638 60 sink) >/dev/null &
	sink=$!
	at=$(cpu 0) start --queue "$1" --rate 3200M --slots 64 --report "$dir/report"
	kill -STOP $sink
	# shellcheck disable=SC2046	# words
	(on w0 $(cpu 1) udp-blast 10.77.0.11 1 60) >/dev/null
	ticks=$(awk '{ print $14 + $15 }' /proc/$switch/stat)
	stop
	kill -KILL $sink
	wait
	end "$dir/taken-$1" "$dir/cost-$1"
	jq '.totals.arrived.packets / 1e6' "$dir/report" >>"$dir/taken-$1"
	jq --argjson ticks "$ticks" '$ticks * 1e7 / .totals.arrived.packets' "$dir/report" >>"$dir/cost-$1"
	jq '.totals | .delivered.packets * 100 / .arrived.packets' "$dir/report" >>"$dir/leave-$1"
}

# SIZE OPTION...: print the median time in ms of sums of SIZE for four workers
sums() {
	local pids='' w size=$1
	shift
	(on switch innet-switch -q -p iswitch -H 4 "$@" 2>"$dir/err") &
	switch=$!
	until grep -qs 'listening' "$dir/err"; do
		kill -0 $switch 2>/dev/null || { cat "$dir/err" >&2; exit 1; }
		sleep 0.02
	done
	sleep 0.2
	for w in 0 1 2 3; do
		(on w$w timeout 60 innet-worker -q -p iswitch --worker $w --switch 10.77.0.1 \
			--synthetic "${bytes[$size]}B" --interval 0 -c "$count" --json >"$dir/w$w") &
		pids="$pids $!"
	done
	# shellcheck disable=SC2086	# words
	wait $pids
	stop
	jq -s 'map(.round_p50_ns) | sort | .[1] / 1e6' "$dir"/w?
}

rows='forwarded anywhere'
! command -v iperf3 >/dev/null || rows="$rows stream"
! command -v ping >/dev/null || rows="$rows pings"
for ((i = 0; i < runs; i++)); do
	for row in $rows; do both "$row"; done
	taken olaf
	taken fifo
	take "$dir/paced" paced
	take "$dir/killed" opens KILL
	take "$dir/hung" opens STOP
	for size in 157kB 3.31MB; do
		count=$([ $size = 157kB ] && echo 500 || echo 40)
		take "$dir/path-$size" sums $size --insecure --bridge br0
		take "$dir/peer-$size" sums $size --insecure --listen 10.77.0.1
	done
done

row 'W1 runs-forwarded' M/s "$dir/forwarded.path" "$dir/forwarded.peer" 0.60 high
echo "# W1 runs-forwarded where the scheduler puts them:" \
	"$(spread "$dir/anywhere.path") of $(spread "$dir/anywhere.peer") M/s"
for r in 'stream tcp-beside Gbit/s 0.90 high' 'pings ping-beside us 2.00 low'; do
	read -r name title unit bar way <<<"$r"
	if [ -e "$dir/$name.path" ]; then
		row "W1 $title" "$unit" "$dir/$name.path" "$dir/$name.peer" "$bar" "$way"
	else
		tool=${name/stream/iperf3}
		(skip "W1 $title" "no ${tool/pings/ping}" "$(packages "${tool/pings/ping}")")
	fi
done
row 'W1 paced-800k' share "$dir/paced" 1 0.995 high
row 'W1 killed-opens' ms "$dir/killed" 500 1
row 'W1 hung-opens' ms "$dir/hung" 300 1
row 'W1 olaf-in' M/s "$dir/taken-olaf" 0.5 1 high
row 'P6 path-live-in' M/s "$dir/taken-olaf" 1 1 high
row 'P6 path-live-merging' ns "$dir/cost-olaf" "$dir/cost-fifo" 1.15
for q in olaf fifo; do
	echo "# P6 in the path $q: $(spread "$dir/taken-$q") M/s in, $(spread "$dir/leave-$q") % leave"
done
for size in 157kB 3.31MB; do
	row "W1 iswitch-$size" ms "$dir/path-$size" "$dir/peer-$size" 1.5
done
