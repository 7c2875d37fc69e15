#!/bin/bash
# P4: compare the analysis of ages in 2 M frames of 1 kB with tcpdump and tshark
#
# This needs tcpdump, tshark and 2 GB in /dev/shm. Run it from the build folder,
# or name that folder in BUILD. innet and tcpdump take turns; the results are
# medians of ROUNDS (5). tshark takes minutes, so it reads the first twentieth
# once, and its time is multiplied by 20.
#
# shellcheck disable=SC1091,SC2016,SC2154
set -eu
frames=${FRAMES:-2000000}
export PATH="${BUILD:-.}:$PATH" LC_ALL=C
. "$(dirname "$0")/need.bash"
. "$(dirname "$0")/rounds.bash"
need 'P4 aom' innet-aom innet-gen innet-switch tcpdump tshark
dir=$(mktemp -d "${BENCH_DIR:-/dev/shm}/p4.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

# Updates of 960 B in frames of 1,002 bytes that have passed a drop-tail queue.
trace() {
	innet-gen -q --arrivals poisson --rate 30G --payload 960B --clusters 9 --workers 3 \
		-c $((($1 + 26) / 27)) | innet-switch -q --queue fifo --slots 1000 -w -
}

# Print the seconds that a command takes, with six decimals.
clock() {
	begin=$(date +%s%N)
	"$@" >/dev/null 2>&1
	awk -v a="$begin" -v b="$(date +%s%N)" 'BEGIN { printf "%.6f\n", (b - a) / 1e9 }'
}

trace "$frames" >"$dir/all.pcap"
for ((i = 0; i < runs; i++)); do
	take "$dir/innet" clock innet-aom -q -r "$dir/all.pcap" --json
	take "$dir/tcpdump" clock tcpdump --nano -Z root -r "$dir/all.pcap" -w /dev/null
done
row 'P4 aom-tcpdump' s "$dir/innet" "$dir/tcpdump" 0.35

part=$((frames / 20))
head -c $((24 + part * 1018)) "$dir/all.pcap" >"$dir/part.pcap"
take "$dir/part" clock tshark -r "$dir/part.pcap" -T fields -e frame.time_epoch -e udp.length
derive "$dir/part" "$dir/tshark" '20 * $1'
echo "# tshark read a twentieth of the frames, once: its time is 20 times that"
row 'P4 aom-tshark' s "$dir/innet" "$dir/tshark" 0.01
