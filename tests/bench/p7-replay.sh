#!/bin/bash
# P7: compare innet-replay with tcpreplay over a pair of interfaces between two
# network namespaces
#
# At 100,000 packets a second the gaps between packets should be 10 us.  The
# bench measures the error of the gaps by the kernel's timestamps at the
# receiver.  It also compares the packets per second at top speed that each
# program reports.  This needs root.
# Run this from the build folder, or name that folder in BUILD.
#
# shellcheck disable=SC1091,SC2154
set -eu
build=${BUILD:-.} packets=${PACKETS:-20000} loops=20
export PATH="$build:$build/tests/bench:$PATH" LC_ALL=C
. "$(dirname "$0")/need.bash"
. "$(dirname "$0")/rounds.bash"
need 'P7 replay' ip tcpreplay
why=$(unshare -n true 2>&1) || skip 'P7 replay' "$why"
dir=$(mktemp -d -p /dev/shm)
a=replay-a-$$ b=replay-b-$$ ps=''
trap '[ -z "$ps" ] || kill -KILL $ps || :; ip netns del $a; ip netns del $b; rm -rf "$dir"' EXIT

ip netns add $a
ip netns add $b
ip -n $a link add out type veth peer name in netns $b
ip -n $a addr add 10.77.0.1/24 dev out
ip -n $b addr add 10.77.0.2/24 dev in
for n in $a/out $b/in; do
	ip -n "${n%/*}" link set "${n#*/}" up
done

# on N NAMESPACE COMMAND...: become the command in that namespace, on the N-th
# processor
on() {
	local n=$1 ns=$2
	shift 2
	[ "$(nproc)" -lt 2 ] || set -- taskset -c "$n" "$@"
	exec ip netns exec "$ns" "$@"
}
innet() (on 1 $a innet-replay -q -r "$dir/$1" --to "10.77.0.2:$port" --json "${@:2}")
peer() (on 1 $a tcpreplay -q -K -i out "${@:2}" "$dir/$1" 2>&1)
# gaps COMMAND...: print the 99th percentile of the errors of the gaps in us
gaps() {
	local dump
	on 0 $b tcpdump -i in -s 64 -B 65536 --time-stamp-precision=nano \
		-w "$dir/dump" 'udp and ip[1] & 0xfc == 0x2c' 2>"$dir/dump.err" &
	dump=$!
	await "$dir/dump.err" listening
	"$@" >/dev/null
	for ((k = 0; k < 50; k++)); do		# until the file is complete
		[ "$(stat -c %s "$dir/dump")" -lt $((packets * 80)) ] || break
		sleep 0.02
	done
	kill -TERM $dump
	wait $dump || :
	tcpdump -ttnr "$dir/dump" --time-stamp-precision=nano 2>/dev/null |
	awk '{ split($1, t, "."); now = t[1] % 1000 * 1e9 + t[2] }
		NR > 1 { d = now - last - 10000; print d < 0 ? -d : d } { last = now }' |
	sort -n | awk '{ v[NR] = $1 } END { print v[int(NR * 0.99)] / 1e3 }'
}
# innet_top, peer_top: print the packets per second at top speed, in millions
innet_top() {
	innet trace --topspeed --loop $loops | sed -E \
		's/.*"packets":([0-9]+).*"elapsed_ns":([0-9]+).*/\1 \2/' |
		awk '{ print $1 / $2 * 1e3 }'
}
peer_top() {
	peer trace -t --loop $loops | awk '/^Rated:/ { print $(NF - 1) / 1e6 }'
}

innet-gen -q --clusters 10 --workers 2 -c $((packets / 20)) --interval 200us \
	--payload 1024B -w "$dir/trace"
on 0 $b innet-ps -q --insecure --listen 10.77.0.2:0 --port-file "$dir/port" 2>"$dir/ps.err" >&2 &
ps=$!
await "$dir/port"
port=$(cat "$dir/port")
kill -STOP $ps			# its full socket drops the packets
for ((i = 0; i < runs; i++)); do
	take "$dir/gap.innet" gaps innet trace --pps 100000
	take "$dir/gap.peer" gaps peer trace --pps 100000
	take "$dir/top.innet" innet_top
	take "$dir/top.peer" peer_top
done
kill -CONT $ps
row 'P7 gap-p99' us "$dir/gap.innet" "$dir/gap.peer" 0.70
row 'P7 topspeed' M/s "$dir/top.innet" "$dir/top.peer" 0.33 inverse
