#!/bin/bash
# P3: compare the Olaf queue as a filter with tcpdump, which copies the same
# file. The capture has updates of 256 B from 9 clusters of 3 workers with load
# 1.5; the queue has 8 slots, and all files are in tmpfs. Also compare the cost
# of an update at 60,000 clusters with the cost at 9. Run this from the build
# folder, or name that folder in BUILD.
#
# shellcheck disable=SC1091,SC2154
set -eu
build=${BUILD:-.} updates=${UPDATES:-1080000}
export PATH="$build:$PATH" LC_ALL=C TIMEFORMAT=%R
. "$(dirname "$0")/need.bash"
. "$(dirname "$0")/rounds.bash"
need 'P3 olaf' tcpdump
dir=$(mktemp -d -p /dev/shm) && trap 'rm -rf "$dir"' EXIT

# A frame has 298 bytes.  60 Gbit/s for a link of 40 Gbit/s are a load of 1.5.
trace() {
	innet-gen -q --arrivals poisson --rate 60G --payload 256B --clusters "$1" \
		--workers "$2" -c $((updates / ($1 * $2))) -w "$dir/$1.pcap"
}
olaf() {
	local n=$1
	shift
	innet-switch -q -r "$dir/$n.pcap" -w "$dir/out" --rate 40G --slots 8 "$@"
}
copy() { tcpdump --nano -Z root -r "$dir/9.pcap" -w "$dir/out" 2>/dev/null; }
timed() {
	rm -f "$dir/out"
	{ time "$@"; } 2>&1
}

trace 9 3
trace 60000 1
olaf 9 --report "$dir/r"
delivered=$(sed -n '/"delivered"/{n;s/[^0-9]//gp;q}' "$dir/r")
for ((i = 0; i < runs; i++)); do
	take "$dir/a" timed olaf 9
	take "$dir/b" timed copy
	take "$dir/c" timed olaf 60000
done
row "P3 olaf-filter" s "$dir/a" "$dir/b" 0.50
row "P3 olaf-60000-clusters" s "$dir/c" "$dir/a" 1.50
awk -v n="$updates" -v d="$delivered" -v s="$(median "$dir/a")" 'BEGIN {
	printf "# P3 %.2f M updates/s, %.0f %% of them leave as packets\n", n / s / 1e6, 100 * d / n
}'
