#!/bin/bash
# L2: the rate that links of the testbed carry, against the rate that they have.
#
# Plain senders send runs of 44 datagrams as fast as they can, on one link and
# on six links at the same time.  The kernel's counter of each link gives the
# rate over a second; medians of ROUNDS (5).  The rows are about one link, up to
# 1 Gbit/s.  The comments compare with a bucket that holds only the bytes of 250
# us, and give the slowest of six links.  From 2.5 Gbit/s on, the testbed uses
# such a bucket, so there is nothing to compare.  Needs root.
#
# shellcheck disable=SC1091,SC2154
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
export PATH="$here/../../share/testbed:$PATH" LC_ALL=C
. "$here/need.bash"
. "$here/rounds.bash"
need 'L2 links' ip python3

# sent LINKS: print the bytes that each link has sent
sent() {
	local i
	for ((i = 0; i < $1; i++)); do
		testbed.sh exec "w$i" tc -s qdisc show dev eth0 |
			sed -n 's/^ Sent \([0-9]*\) .*/\1/p' | sed q
	done
}

# blast: send runs for 2.3 s
blast() {
	python3 - "$(testbed.sh addr switch)" <<-'END'
	import socket, sys, time
	s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	s.setsockopt(socket.IPPROTO_UDP, 103, 1472)	# UDP_SEGMENT
	run, end = bytes(44 * 1472), time.monotonic() + 2.3
	while time.monotonic() < end:
	    s.sendto(run, (sys.argv[1], 9))
	END
}

if [ "${1-}" = inside ]; then
	links=$2
	export -f blast
	for ((i = 0; i < links; i++)); do
		testbed.sh exec "w$i" bash -c blast 2>/dev/null &
	done
	sleep 0.7
	begin=$(date +%s%N) first=$(sent "$links")
	sleep 1
	end=$(date +%s%N) last=$(sent "$links")
	wait
	paste <(echo "$first") <(echo "$last") | sort -n |
		awk -v ns=$((end - begin)) '{ print ($2 - $1) * 8000 / ns }' | sort -n | sed q
	exit
fi

why=$(testbed.sh list 2>&1 >/dev/null) || skip 'L2 links' "$why"
kept=$(mktemp -d -p /dev/shm) && trap 'rm -rf "$kept"' EXIT
rates=${RATES:-20 100 200 400 1000 2500 5000 10000}
for ((k = 0; k < runs; k++)); do
	for rate in $rates; do
		short=$((rate * 1000000 / 32000))
		((short >= 3028)) || short=3028
		for links in 1 6; do
			take "$kept/$rate.$links" testbed.sh rack -n 6 --rate "${rate}mbit" -- \
				bash "$0" inside $links
			((short < 70000)) || continue
			take "$kept/$rate.$links.short" testbed.sh rack -n 6 --rate "${rate}mbit" \
				--burst $short -- bash "$0" inside $links
		done
	done
done
for rate in $rates; do
	if ((rate <= 1000)); then
		row "L2 link-of-$rate" Mbit/s "$kept/$rate.1" "$rate" 0.95 high
	fi
	for links in 1 6; do
		line="# L2 $rate Mbit/s: the slowest link of $links $(spread "$kept/$rate.$links")"
		[ ! -e "$kept/$rate.$links.short" ] ||
			line+=", with a bucket of 250 us $(spread "$kept/$rate.$links.short")"
		echo "$line$(others "$kept/$rate.$links" "$kept/$rate.$links.short")"
	done
done
