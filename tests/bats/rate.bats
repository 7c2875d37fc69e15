# Tests of --rate: a vector takes as long as its bytes need at that rate, with
# every program: in the filter, through a socket, and between network
# namespaces.
load plane

PATH=$testbed:$PATH

teardown() { end_all; end_testbed; }

# every COMMAND: run the command for each program and queue; $what has their
# options
every() {
	for what in 'olaf --slots 1000' 'olaf --queue fifo --slots 1000' iswitch 'iswitch --async' \
		'iswitch --queue olaf --slots 1000' dlp; do
		"$@"
	done
}

# Write a vector of a hundred packets, one every $1 us from $begin on.

olaf_vector() {
	awk -v every="$1" -v at="$begin" 'BEGIN { for (k = 0; k < 100; k++)
		printf "%.0f 1 1 1 1 1 1 30000 n=300 following=%d\n", at + k * every * 1000, 99 - k }' |
		mkolaf >vector.pcap
}

iswitch_vector() {
	local mode=sync
	[[ $what != *--async* ]] || mode=async
	{ joins 2 elements=36600 floats=366 mode=$mode
	  awk -v every="$1" -v at="$begin" -v to="$S" 'BEGIN { for (k = 0; k < 200; k++)
		printf "%.0f 10.0.1.%d:5000 %s seg 1 1 %d 1*366\n", at + int(k / 2) * every * 1000,
			k % 2 + 1, to, k / 2 }'; } | mkiswitch >vector.pcap
}

# write the answers to a worker that polls again and again
dlp_vector() {
	awk -v every="$1" -v at="$begin" 'BEGIN { for (k = 0; k < 100; k++)
		printf "%.0f 10.0.1.1:5000 10.255.255.1:1234 udp 0a%058d\n", at + k * every * 1000, 0 }' |
		mkiswitch >vector.pcap
}

# beside BYTES US: write regular traffic to the same host, for 10 ms and at the
# same time as the vector
beside() {
	local to=10.0.1.1:99
	[ "$program" != olaf ] || to=10.255.255.254:99
	awk -v bytes="$1" -v every="$2" -v at="$begin" -v to="$to" 'BEGIN {
		for (k = 0; k < 10000 / every; k++)
			printf "%.0f 10.0.7.1:5 %s udp %0*d\n", at + 1000 + k * every * 1000, to,
				2 * (bytes - 42), 0 }' | mkiswitch >regular.pcap
}

# frames FILE FILTER: print the timestamp (ns since $begin) and the length of
# each frame
frames() {
	tcpdump --nano -ttenr "$1" "$2" 2>/dev/null |
		sed -E 's/^([0-9]+)\.([0-9]+) .*\), length ([0-9]+): .*/\1\2 \3/' |
		awk -v begin="$begin" '{ printf "%.0f %d\n", $1 - begin, $2 }'
}

# vector US: write a vector for the program in $what, and set $begin
vector() {
	program=${what%% *} begin=$(ns 1000)
	[ "$program" != olaf ] || begin=1000000000
	"${program}_vector" "$1"
	case $program in
	olaf) own='ip[1] & 0xfc = 0x2c' ;;
	iswitch) own='src port 46638 and dst host 10.0.1.1 and greater 1000' ;;
	dlp) own='src port 1234' ;;
	esac
}

# last: print the time in ns from the beginning until the vector's last packet
# left
last() { frames out.pcap "$own" | tail -n 1 | cut -d' ' -f1; }

# about A B: check that A is within 3 % of B
about() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0.97 * b && a < 1.03 * b) }'; }

# bytes FILE FILTER: print the number of bytes of all frames
bytes() { frames "$1" "$2" | awk '{ n += $2 } END { print n }'; }

# through_filter MBIT: send the whole vector at once, with and without the
# link's overhead for each frame
through_filter() {
	vector 0
	innet-switch -q -p $what --rate "$1M" -r vector.pcap -w out.pcap
	[ "$(frames out.pcap "$own" | wc -l)" -eq 100 ]
	about "$(last)" $(($(bytes out.pcap "$own") * 8000 / $1))
	innet-switch -q -p $what --rate "$1M" -r vector.pcap -w out.pcap --wire-overhead
	about "$(last)" $((($(bytes out.pcap "$own") + 2400) * 8000 / $1))
}

@test "a vector takes its bytes divided by the rate, for any program and queue" {
	for rate in 10 1000; do every through_filter $rate; done
}

# Results or updates take half of the rate, and regular traffic 0.8 of it. When
# the last result leaves, the link has sent all packets that arrived before it.
shared() {
	local all moved rate=1000 often='1000 10'
	vector 24
	[ "$program" != dlp ] || { rate=40; often='200 50'; }
	beside $often
	innet-switch -q -p $what --rate ${rate}M --regular queued -r vector.pcap -r regular.pcap -w out.pcap
	moved=$(last)
	all=$(($(bytes out.pcap "$own") +
		$(frames regular.pcap udp | awk '$1 <= 99 * 24000 { n += $2 } END { print n }')))
	about "$moved" $((all * 8000 / rate))
	innet-switch -q -p $what --rate ${rate}M -r vector.pcap -r regular.pcap -w out.pcap
	about "$(last)" $((99 * 24000 + 8000 / rate * $(frames out.pcap "$own" | awk 'END { print $2 }')))
	[ $((moved * 10)) -gt $(($(last) * 12)) ]
}

@test "queued regular traffic shares the link with the traffic of the program" {
	every shared
}

# sent N: wait until N datagrams have left the live switch, without its answers
# to this query
sent() {
	for _ in $(seq 500); do
		! innet-ctl "$switch" stats --json | jq -e ".counters | .out + 1 >= $1 + .control" >stats.json || return 0
		sleep 0.02
	done
	return 1
}

# long FILE PORT: print how long the longest datagrams to one port take to leave
long() {
	begin=$(tcpdump --nano -ttnr "$1" -c 1 2>/dev/null | cut -d' ' -f1 | tr -d .)
	frames "$1" 'src port '"${switch#*:}"' and greater 1000 and dst port '"$2" |
		awk 'NR == 1 { t = $1 } END { printf "%.0f\n", $1 - t }'
}

# in_time PROGRAM OPTION...: check that a vector takes a second or more, as in
# the filter, where the time is exact. One of three runs must pass, because a
# busy machine sends late.
in_time() {
	local to
	for _ in 1 2 3; do
		live "$1" --rate 1Mbit "${@:2}"
		"send_$1"
		finish switch
		again "$1" --rate 1Mbit --listen "$switch" "${@:2}"
		to=$(tcpdump -nr again.pcap "src port ${switch#*:} and greater 1000" 2>/dev/null |
			sed -n '1s/.*> [0-9.]*\.\([0-9]*\): .*/\1/p')
		[ "$(long again.pcap "$to")" -gt 1000000000 ]
		! about "$(long out.pcap "$to")" "$(long again.pcap "$to")" || return 0
	done
	return 1
}

send_iswitch() {
	innet-worker -q -p iswitch --worker 0 --switch "$switch" --synthetic 150kB --interval 1ns -c 1 --mtu 1500
}

send_olaf() {
	what=olaf vector 100
	innet-replay -q -r vector.pcap --to "$switch"
	sent 100
}

@test "through a live switch, a vector takes its bytes divided by the rate" {
	in_time iswitch -H 1
	serve ps innet-ps -q
	in_time olaf --queue fifo --slots 1000 --upstream "$ps"
}

# between OPTION...: start a switch in a namespace of its own, whose links have
# the rate $rate
between() {
	rm -f port out.pcap
	testbed.sh exec switch innet-switch -q -p $what --rate "$rate" --slots 1000 \
		--insecure --listen 10.77.0.1:0 --port-file port -w out.pcap "$@" 2>err 3>&- &
	pids="$pids $!" switch_pid=$!
	await port
	switch=10.77.0.1:$(cat port)
}

# aside HOST: send regular traffic from the switch's machine to a host: a
# thousand datagrams of 1 kB in two seconds, which is four times the switch's
# rate
aside() {
	[ -e aside.pcap ] || awk 'BEGIN { for (k = 0; k < 1000; k++)
		printf "%.0f 10.0.7.1:5 10.0.1.1:99 udp %02000d\n", (1 + k * 0.002) * 1e9, 0 }' |
		mkiswitch >aside.pcap
	testbed.sh exec switch innet-replay -q --program all -r aside.pcap --to "$1:99" 3>&- &
	pids="$pids $!"
}

# replayed [COMMAND]: replay the vector from w0 and run COMMAND HOST at the same
# time; all members share one link
replayed() {
	local host=10.77.0.10
	rate=1000000
	vector 100
	case $program in
	olaf) host=10.77.0.2; between --upstream $host ;;
	iswitch) between -H 2 ;;
	dlp) rate=50000; between ;;
	esac
	${1:+"$1" "$host"}
	if [ "$program" = iswitch ]; then	# a worker that joins from another host must answer a challenge
		local mode=
		[[ $what != *--async* ]] || mode=async
		testbed.sh exec w0 python3 -B "$BATS_TEST_DIRNAME/stranger.py" --from $host "$switch" contribute $mode
	else
		testbed.sh exec w0 innet-replay -q --program all -r vector.pcap --to "$switch"
	fi
	left $host 100
	finish switch
	takes $host
}

# left HOST N: wait until the capture has N packets to HOST; it is written once
# a second
left() {
	for _ in $(seq 500); do
		[ "$(tcpdump -nr out.pcap "dst host $1" 2>/dev/null | wc -l)" -lt "$2" ] || return 0
		sleep 0.02
	done
	return 1
}

# takes HOST: check by the departures that the link of a host was as fast as its
# rate. A late departure does not delay the others, so the median over all runs
# of ten packets tells how long a vector takes.
takes() {
	begin=0
	frames out.pcap "dst host $1" | head -n 100 | awk -v rate=$rate '
		{ at[NR] = $1; moved[NR] = (sum += $2) }
		NR > 10 { printf "%.6f\n", (at[NR] - at[NR - 10]) * rate / 8e9 / (moved[NR] - moved[NR - 10]) }' |
		sort -n >tens
	[ "$(wc -l <tens)" -eq 90 ]
	about "$(sed -n 45p tens)" 1
}

@test "between namespaces, a vector takes its bytes divided by the rate, alone and beside other traffic" {
	privileged
	export INNET_TESTBED=$(testbed.sh up rack -n 1 --owner $$)
	every replayed
	every replayed aside
}
