# Tests of innet-replay: the packets that it sends, their times and sources, and
# captures with new timestamps.
load common

# sink: start a parameter server at $sink that captures all packets it receives
# to got.pcap
sink() {
	serve ps innet-ps -q --write-in got.pcap
	sink=$ps
}

# End the sink; its capture is complete after that.
finish() {
	kill -TERM "$ps_pid"
	wait "$ps_pid"
}

# told KEY: print a value of the summary in out.json
told() { jq ".$1" out.json; }

@test "each packet arrives unchanged, and each worker has its own port" {
	innet-gen -q --clusters 3 --workers 4 -c 20 --interval 1ms -w in.pcap
	sink
	innet-replay -q -r in.pcap --to "$sink" --no-stamp --json >out.json
	finish
	[ "$(told packets) $(told flows)" = '240 12' ]
	# compare cluster, worker, sequence number and everything after the
	# timestamps
	diff <(dumpolaf in.pcap | cut -d' ' -f3- | sort) \
		<(dumpolaf got.pcap | cut -d' ' -f3- | sort)
	tcpdump -nr got.pcap "dst port ${sink#*:}" 2>/dev/null |
		awk '{ print $3 }' | sort -u >ports
	[ "$(wc -l <ports)" -eq 12 ]
}

@test "packets are never early, and the reported lateness is right" {
	innet-gen -q --clusters 2 --workers 1 -c 25 --interval 4ms -w in.pcap
	sink
	innet-replay -q -r in.pcap --to "$sink" --json >out.json
	finish
	# relative to the first packet, each packet is at most as late as the
	# worst lateness, and at most as early as the lateness of the first
	# packet; add a millisecond for the receiver
	paste -d' ' <(dumpolaf in.pcap | cut -d' ' -f1) <(dumpolaf got.pcap | cut -d' ' -f1) |
	awk -v worst="$(told late_max_ns)" '
		{ t = $1; g = substr($2, 5) + 0 }
		NR == 1 { a = t; b = g }
		{ d = (g - b) - (t - a); if (d > worst + 1e6 || d < -worst - 1e6) exit 1 }'
	[ "$(told elapsed_ns)" -ge 90000000 ]
}

@test "--speed and --rate change the times in a capture, exact to a nanosecond" {
	printf '%s\n' '5000 1 1 1 1 900 0 4' '8000 1 1 2 1 900 0 4' '9001 1 2 1 1 900 0 4' |
		mkolaf >in.pcap
	stamps() {
		innet-replay -q -r in.pcap -w out.pcap "$@"
		dumpolaf out.pcap | cut -d' ' -f1 | tr '\n' ' '
	}
	[ "$(stamps)" = '5000 8000 9001 ' ]
	[ "$(stamps --speed 2)" = '5000 6500 7000 ' ]
	[ "$(stamps --speed 0.5)" = '5000 11000 13002 ' ]
	[ "$(stamps --pps 1M)" = '5000 6000 7000 ' ]
	[ "$(stamps --loop 2)" = '5000 8000 9001 10002 13002 14003 ' ]
	[ "$(stamps --loop 3 -c 4)" = '5000 8000 9001 10002 ' ]
	[ "$(stamps --duration 3us)" = '5000 ' ]
}

@test "without options, every tool treats a capture with new times like the original" {
	innet-gen -q --clusters 3 --workers 2 -c 50 -w in.pcap
	innet-replay -q -r in.pcap -w out.pcap
	cmp in.pcap out.pcap
}

@test "--stamp sets the generation time of updates to the time of sending and changes nothing else" {
	printf '%s\n' '5000 1 1 1 1 900 0 4' '6000 1 1 0 1 900 0 4 kind=3' |
		mkolaf >in.pcap
	innet-replay -q -r in.pcap -w out.pcap --stamp
	[ "$(dumpolaf out.pcap | cut -d' ' -f8 | tr '\n' ' ')" = '5000 900 ' ]
	tcpdump -vvnr out.pcap 2>/dev/null | grep -c 'udp sum ok' | grep -qx 2
}

@test "innet-replay skips models of olaf, results and Acks of iswitch, and regular traffic of both" {
	printf '%s\n' '1 1 1 1 1 9 0 4' '2 1 1 1 1 9 0 4 kind=2' '3 1 1 1 1 9 0 4 tos=0' \
		'4 1 1 1 1 9 0 4 sum=bad' '5 1 1 1 1 9 0 4 cut=60' | mkolaf >in.pcap
	innet-replay -q -r in.pcap -w out.pcap --json >out.json
	[ "$(jq -cS .skipped out.json)" = '{"checksum":1,"down":1,"other":1,"snaplen":1}' ]
	mkiswitch >in.pcap <<-'EOF'
	1 10.0.1.1 10.255.255.1 join 1 5 type=worker mode=sync worker=1 elements=2
	2 10.255.255.1 10.0.1.1 ack 1 5 join done member=1
	3 10.0.1.1 10.255.255.1 seg 0 1 0 1 2
	4 10.255.255.1 10.0.1.1 seg 0 1 0 1 2
	5 10.0.1.1 10.255.255.1 udp 00
	EOF
	innet-replay -q -r in.pcap -w out.pcap --program iswitch --json >out.json
	[ "$(told packets) $(jq -cS .skipped out.json)" = '2 {"down":2,"other":1}' ]
	innet-replay -q -r in.pcap -w out.pcap --program all --json >out.json
	[ "$(told packets)" -eq 5 ]
	innet-replay -q -r in.pcap -w out.pcap --program all --filter 'src host 10.255.255.1' --json >out.json
	[ "$(told packets) $(told skipped.filtered)" = '2 3' ]
}

@test "live, --to writes the times of sending, and -c and --duration end the replay" {
	local before
	printf '%s\n' '5000 1 1 1 1 900 0 4' '6000 1 1 2 1 900 0 4' '7000 1 1 3 1 900 0 4' \
		'90000007000 1 1 4 1 900 0 4' | mkolaf >in.pcap
	sink
	before=$(date +%s%N)
	timeout 20 innet-replay -q -r in.pcap --to "$sink" -c 2 --json >out.json
	[ "$(told packets)" -eq 2 ]
	timeout 20 innet-replay -q -r in.pcap --to "$sink" --no-stamp --duration 50ms --json >out.json
	[ "$(told packets)" -eq 3 ]
	finish
	# the generation times of the first two are between the start and the
	# arrival
	dumpolaf got.pcap | awk -v before="$before" 'NR <= 2 && !($8 >= before && $8 <= $1) { exit 1 }
		NR > 2 && $8 != 900 { exit 1 } END { exit NR != 5 }'
}

@test "innet-replay leaves out the answers of a switch or server for dlp" {
	innet-replay -q -r "$BATS_TEST_DIRNAME/../data/dlp-avg_agg_udp_bcast-5w.pcapng" \
		-w out.pcap --program dlp --json >out.json 2>err
	[ "$(dlpplay out.pcap | cut -d' ' -f2 | sort | uniq -c | xargs)" = '519 12344' ]
	[ "$(told packets) $(jq -cS .skipped out.json)" = '519 {"down":514}' ]
}

@test "at top speed all packets arrive, in order for each worker, in runs" {
	innet-gen -q --clusters 3 --workers 3 -c 100 -w in.pcap
	sink
	for how in '' --no-offload; do
		innet-replay -q -r in.pcap --to "$sink" --topspeed $how --json >out.json
		[ "$(told packets)" -eq 900 ]
	done
	finish
	dumpolaf got.pcap | awk '{ k = $3 " " $4 }
		$5 != last[k] % 100 + 1 { exit 1 } { last[k] = $5; n++ }
		END { exit n != 1800 }'
}

@test "a live run, captured and replayed through a live switch, has the same ages" {
	innet-gen -q --clusters 3 --workers 3 -c 40 --interval 25ms --arrivals poisson -w in.pcap
	# ages FILE...: send the files through a switch whose link is slow, and
	# write the ages to all.json
	ages() {
		serve ps innet-ps -q --write-in got.pcap
		serve switch innet-switch -q --upstream "$ps" --rate 1Mbit --slots 6 --write-in "$2"
		innet-replay -q -r "$1" --to "$switch" --json >"$3.out"
		kill -TERM "$switch_pid"
		wait "$switch_pid"
		finish
		innet-aom -q -r got.pcap --sent "$2" --json | jq -s 'last' >"$3"
	}
	ages in.pcap first.pcap first
	ages first.pcap again.pcap again
	# the mean ages differ at most by the sum of the lateness of both runs
	jq -es '(.[0].mean_age_ns - .[1].mean_age_ns | fabs) <= .[2].late_max_ns + .[3].late_max_ns' \
		first again first.out again.out
	[ "$(jq .received first)" -gt 100 ]
}

@test "packets whose timestamps go back are sent with the previous packet, with one warning" {
	printf '%s\n' '9000 1 1 1 1 9 0 4' '5000 1 1 2 1 9 0 4' '9500 1 1 3 1 9 0 4' |
		mkolaf >in.pcap
	run -0 --separate-stderr innet-replay -q -r in.pcap -w out.pcap --json
	[ "$(jq .time_backwards <<<"$output")" -eq 1 ]
	[[ $stderr == *"in.pcap: the timestamp of packet 2 is earlier than that of the previous packet"* ]]
	[ "$(dumpolaf out.pcap | cut -d' ' -f1 | tr '\n' ' ')" = '9000 9000 9500 ' ]
}

@test "a truncated capture: innet-replay sends the complete packets, status 1" {
	innet-gen -q --clusters 1 --workers 1 -c 3 -w in.pcap
	head -c 700 in.pcap >cut.pcap
	run -1 --separate-stderr innet-replay -q -r cut.pcap -w out.pcap --json
	[ "$(jq .packets <<<"$output")" -eq 2 ]
	[[ $stderr == *"cut.pcap: packet 3: "* ]]
	run -1 innet-replay -r cut.pcap -w out.pcap
	[[ ${lines[-1]} == *"cut.pcap: packet 3: "* ]]
}

@test "innet-replay -w counts only the packets that it wrote before the year 2106" {
	for later_ns in 5000000000000 4000000000000000000; do
		printf '%s\n' '9000 1 1 1 1 9 0 4' "$later_ns 1 1 2 1 9 0 4" |
			mkolaf >in.pcap
		run -1 --separate-stderr innet-replay -q -r in.pcap -w out.pcap \
			--speed 0.000001 --json
		[ "$(dumpolaf out.pcap | wc -l)" -eq 1 ]
		[ "$(jq .packets <<<"$output")" -eq 1 ]
		[[ $stderr == *"out.pcap: the output is incomplete: a pcap file cannot hold times after the year 2106"* ]]
	done
}

@test "contradictory options, a bad filter or a repeated pipe are misuse, with status 2" {
	touch in.pcap
	for bad in '' '--to 127.0.0.1:1 -w x' '--to 127.0.0.1:1 --pps 5 --topspeed' '-w x --topspeed' \
	    '--to 127.0.0.1:1 --loop 2' '-w x --speed 0' '-w x --program none'; do
		run -2 innet-replay $bad
		[ "${#lines[@]}" -ge 1 ]
	done
	innet-gen -q -c 1 -w in.pcap
	run -2 innet-replay -r in.pcap -w x --filter 'no such'
	[[ $output == *"invalid filter 'no such': "* ]]
}

@test "a signal ends innet-replay, which then reports the packets that it sent" {
	innet-gen -q --clusters 1 --workers 1 -c 2 --interval 100s -w in.pcap
	sink
	innet-replay -r in.pcap --to "$sink" 2>err 3>&- &
	pids="$pids $!" pid=$!
	await got.pcap
	for _ in $(seq 500); do
		kill -USR1 "$ps_pid"
		[ "$(stat -c %s got.pcap)" -lt 100 ] || break
		sleep 0.02
	done
	kill -TERM $pid
	wait $pid
	grep -q '1 packet of 1 five-tuple in' err
}

@test "innet-replay counts packets to a port without a listener and sends the whole trace" {
	innet-gen -q --clusters 1 --workers 1 -c 20 --interval 1ms -w in.pcap
	run -0 --separate-stderr innet-replay -q -r in.pcap --to 127.0.0.1:9 --json
	[ "$(jq .packets <<<"$output")" -eq 20 ]
	[ "$(jq .unreachable <<<"$output")" -ge 1 ]
}

@test "--to stamps updates unless --no-stamp is given; -w stamps them only with --stamp" {
	innet-gen -q --clusters 1 --workers 1 -c 3 --interval 1ms -w in.pcap
	for how in '' --no-stamp; do
		sink
		innet-replay -q -r in.pcap --to "$sink" $how
		finish
		dumpolaf got.pcap | awk '$2 == 1' >"got$how"
		innet-aom -q -r got.pcap --json 2>"err$how" | tail -n 1 >"age$how"
	done
	jq -e '.received == 3 and .max_age_ns < 60e9' age
	jq -e '.received == 3 and .max_age_ns > 1e18' age--no-stamp
	[ ! -s err ]
	grep -q 'the packets may have been replayed with --no-stamp' err--no-stamp
	run -2 innet-replay -r in.pcap -w out.pcap --no-stamp
}
