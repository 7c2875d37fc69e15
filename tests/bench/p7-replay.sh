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
# shellcheck disable=SC1091
set -eu
build=${BUILD:-.} rounds=${ROUNDS:-7} packets=${PACKETS:-20000} loops=20
export PATH="$build:$build/tests/bench:$PATH" LC_ALL=C
. "$(dirname "$0")/need.bash"
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
await() {
	for ((k = 0; k < 500; k++)); do
		! grep -q "$2" "$1" 2>/dev/null || return 0
		sleep 0.02
	done
	echo "nothing in $1 after 10 s" >&2
	return 1
}
innet() (on 1 $a innet-replay -q -r "$dir/$1" --to "10.77.0.2:$port" --json "${@:2}")
peer() (on 1 $a tcpreplay -q -K -i out "${@:2}" "$dir/$1" 2>&1)
# gaps NAME COMMAND...: write the 99th percentile of the errors of the gaps in
# us to a file
gaps() {
	local name=$1 dump
	shift
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
	sort -n | awk '{ v[NR] = $1 } END { print v[int(NR * 0.99)] / 1e3 }' >>"$dir/$name"
}
median() { sort -g "$dir/$1" | sed -n "$((rounds / 2 + 1))p"; }
row() {
	awk -v name="$1" -v unit="$2" -v a="$3" -v b="$4" -v bar="$5" -v r="$6" 'BEGIN {
		printf "P7 %s innet %.2f %s peer %.2f %s ratio %.2f bar %.2f %s\n",
		    name, a, unit, b, unit, r, bar, r <= bar ? "ok" : "short" }'
}

innet-gen -q --clusters 10 --workers 2 -c $((packets / 20)) --interval 200us \
	--payload 1024B -w "$dir/trace"
on 0 $b innet-ps -q --insecure --listen 10.77.0.2:0 --port-file "$dir/port" 2>"$dir/ps.err" >&2 &
ps=$!
await "$dir/port" .
port=$(cat "$dir/port")
kill -STOP $ps			# its full socket drops the packets
for ((i = 0; i < rounds; i++)); do
	gaps gap.innet innet trace --pps 100000
	gaps gap.peer peer trace --pps 100000
	innet trace --topspeed --loop $loops | sed -E \
		's/.*"packets":([0-9]+).*"elapsed_ns":([0-9]+).*/\1 \2/' |
		awk '{ print $1 / $2 * 1e3 }' >>"$dir/top.innet"
	peer trace -t --loop $loops |
		awk '/^Rated:/ { print $(NF - 1) / 1e6 }' >>"$dir/top.peer"
done
kill -CONT $ps
x=$(median gap.innet) y=$(median gap.peer)
row gap-p99 us "$x" "$y" 0.70 "$(awk -v x="$x" -v y="$y" 'BEGIN { print x / y }')"
x=$(median top.innet) y=$(median top.peer)
row topspeed M/s "$x" "$y" 0.33 "$(awk -v x="$x" -v y="$y" 'BEGIN { print y / x }')"
