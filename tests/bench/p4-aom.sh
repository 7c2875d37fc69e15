#!/bin/sh
# P4: age analysis of 2 M frames of 1 kB, against tcpdump and tshark
#
# Needs innet-aom and mkolaf in PATH, tcpdump, tshark and 2 GB in /dev/shm.
# innet and tcpdump take turns, medians of ROUNDS (7); tshark, which takes
# minutes, reads the first twentieth once, and innet the same in turn.
set -eu
frames=${FRAMES:-2000000} rounds=${ROUNDS:-7}
for tool in innet-aom mkolaf tcpdump tshark; do
	command -v "$tool" >/dev/null || { echo "P4 aom skipped: no $tool" >&2; exit 0; }
done
dir=$(mktemp -d "${BENCH_DIR:-/dev/shm}/p4.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

# 9 clusters of 3; 200 ns apart, delivered up to 10 us after generation.
trace() {
	awk -v n="$1" 'BEGIN {
		srand(4)
		for (i = 1; i <= n; i++)
			print i * 200 + 100000, i % 9, i % 3, i, 1 + i % 3,
			    i * 200 + 100000 - int(rand() * 10000), 0.5, 232
	}' | mkolaf
}

# Seconds that a command takes, to the microsecond.
clock() {
	begin=$(date +%s%N)
	"$@" >/dev/null 2>&1
	awk -v a="$begin" -v b="$(date +%s%N)" 'BEGIN { printf "%.6f\n", (b - a) / 1e9 }'
}

median() {
	sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# verdict NAME INNET PEER BAR
verdict() {
	awk -v name="$1" -v a="$2" -v b="$3" -v bar="$4" 'BEGIN {
		printf "P4 %s innet %.2f s peer %.2f s ratio %.3f bar %.2f %s\n",
		    name, a, b, a / b, bar, a / b <= bar ? "ok" : "short"
	}'
}

trace "$frames" >"$dir/all.pcap"
i=0
while [ $((i += 1)) -le "$rounds" ]; do
	clock innet-aom -q -r "$dir/all.pcap" --json >>"$dir/innet"
	clock tcpdump --nano -Z root -r "$dir/all.pcap" -w /dev/null >>"$dir/tcpdump"
done
verdict aom-tcpdump "$(median "$dir/innet")" "$(median "$dir/tcpdump")" 0.50

part=$((frames / 20))
head -c $((24 + part * 1018)) "$dir/all.pcap" >"$dir/part.pcap"
i=0
while [ $((i += 1)) -le "$rounds" ]; do
	clock innet-aom -q -r "$dir/part.pcap" --json >>"$dir/innet-part"
done
clock tshark -r "$dir/part.pcap" -T fields -e frame.time_epoch -e udp.length >"$dir/tshark"
echo "# tshark read $part of $frames frames, once; so did innet, $rounds times" >&2
verdict aom-tshark "$(median "$dir/innet-part")" "$(median "$dir/tshark")" 0.01
