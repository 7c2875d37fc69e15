#!/usr/bin/env bash
# in-path.sh - run a switch in the path between hosts that do not know of it
#
#	share/examples/in-path.sh [--seconds N]
#
# Two workers and a parameter server are network namespaces behind a Linux
# bridge; they learn CartPole together for N seconds (default 20). In the first
# third innet-switch runs inside the bridge and merges updates before a link of
# 2 Mbit/s. Then it is killed, and training continues without it. In the last
# third a new switch merges again. ping and, if it is installed, iperf3 run at
# the same time. The table has a line for each third. This needs root, Linux 6.6
# and jq.
set -eu
[ "${1-}" != -h ] && [ "${1-}" != --help ] || { sed -n '2,/^set /{/^set /!p}' "$0" | sed 's/^# \?//'; exit 0; }
[ "${1-}" != --seconds ] || shift
third=$(((${1:-20} + 2) / 3)) top=$(cd "$(dirname "$0")/../.." && pwd)
[ -x "$top/build/innet-switch" ] && PATH=$top/build:$PATH
PATH=$(cd "$(dirname "$0")/../testbed" && pwd):$PATH
if [ -z "${INNET_TESTBED-}" ]; then exec testbed.sh rack -n 2 --rate 1gbit -- "$0" "$@"; fi
dir=$(mktemp -d) && trap 'kill $(jobs -p) 2>/dev/null || :; wait; rm -rf "$dir"' EXIT && cd "$dir"
on() { exec testbed.sh exec "$@"; }	# exec, so that $! is the program itself
until_ok() {
	local i
	for ((i = 0; i < 300; i++)); do "$@" && return; sleep 0.1; done
	echo "in-path.sh: this failed for 30 s: $*" >&2
	exit 1
}
switch() {
	: >switch.err
	(on switch innet-switch -q --insecure --bridge br0 \
		--port-rate server=2Mbit 2>>switch.err) &
	pid=$!
	until_ok grep -q 'in the path' switch.err
}
came() { testbed.sh exec server innet-ctl 10.77.0.2 stats --json | jq -r '"\(.counters.updates) \(.counters.constituents)"'; }
further() { local n; read -r _ n <<<"$(came)" && [ "$n" -ge $((${was#* } + $1)) ]; }
reward() { tail -qn 25 w?.csv | awk -F, '$3 + 0 { n++; s += $3 } END { printf "%.1f", n ? s / n : 0 }'; }

beside=()
(on server innet-ps -q --insecure --listen 10.77.0.2 --optimizer adam --learning-rate 0.003 2>ps.err) &
switch
for w in 0 1; do
	(on w$w innet-worker -q -p olaf --switch 10.77.0.2 --worker $w --duration $((3 * third + 9))s -- \
		innet-agent -q --algo a2c --seed $w --interval 2ms --log w$w.csv 2>w$w.err) &
done
if command -v iperf3 >/dev/null; then
	(on server iperf3 -s --forceflush) >served 2>&1 &
	until_ok grep -q listening served
	(on w0 iperf3 -c 10.77.0.2 -b 200M -t $((3 * third)) >iperf) & beside+=($!)
fi
! command -v ping >/dev/null || { (on w1 ping -q -i 0.1 -w $((3 * third)) 10.77.0.2 >ping) & beside+=($!); }
printf '%-12s %8s %8s %8s\n' switch packets updates reward
for is in 'in the path' 'killed' 'started'; do
	case $is in killed) kill -9 $pid; wait $pid 2>/dev/null || : ;; started) switch ;; esac
	was=$(came)
	until_ok further 100
	was=$(came)
	sleep $third
	read -r p u q v <<<"$(came) $was"
	printf '%-12s %8d %8d %8s\n' "$is" $((p - q)) $((u - v)) "$(reward)"
done
[ "${#beside[@]}" -eq 0 ] || wait "${beside[@]}"	# not `wait` alone, which waits for all processes
! [ -s ping ] || grep loss ping
! [ -s iperf ] || grep receiver iperf
