# Tests of captures in which a frame contains several packets, or only part of
# one.
load common

# joined NAME ARG...: write a trace of innet-gen twice: unchanged, and with
# packets joined as offloads show them
joined() {
	local name=$1
	shift
	innet-gen -q "$@" -w $name.pcap
	mkgso <$name.pcap >$name-joined.pcap
	mkgso -s <$name.pcap >$name-stamped.pcap
	run ! cmp -s $name-joined.pcap $name-stamped.pcap
}

# several N ELEMENTS WORD...: print N updates of a cluster in one frame, with a
# time of 2 s
several() {
	for s in $(seq "$1"); do
		echo "2000000000 1 1 $s 1 $((1000000000 + s)) 0 $2 ${*:3}" \
			"$([ "$s" -eq 1 ] || echo behind)"
	done
}

@test "the filter of each program treats joined frames like separate datagrams" {
	joined olaf -c 20 --clusters 2 --vector 20kB --rate 1G
	joined iswitch --program iswitch -c 4 --workers 1 --clusters 1 --vector 100kB
	joined dlp --program dlp -c 20 --workers 1
	for p in olaf iswitch dlp; do
		innet-switch -p $p -r $p-joined.pcap -w got.pcap --json >got.json
		innet-switch -p $p -r $p-stamped.pcap -w want.pcap --json >want.json
		cmp got.pcap want.pcap
		diff <(jq -S 'del(.split_frames, .split_datagrams)' got.json) \
			<(jq -S 'del(.split_frames, .split_datagrams)' want.json)
		jq -e '.split_datagrams > 20 and .split_frames > 0' got.json
	done
	run -0 innet-switch -p dlp -r dlp-joined.pcap -w got.pcap
	[[ $output == *", 1 frame of 23 datagrams split" ]]
}

@test "datagrams that the filter only forwards leave in separate frames with correct checksums" {
	joined iswitch --program iswitch -c 4 --workers 1 --clusters 1 --vector 100kB
	innet-switch -q -r iswitch-joined.pcap -w got.pcap
	cmp got.pcap iswitch-stamped.pcap
	tcpdump -nvvr got.pcap | grep -c 'udp sum ok' | grep -qx 277
}

@test "innet-replay sends the datagrams of one frame one by one" {
	joined olaf -c 20 --clusters 2 --vector 20kB --rate 1G
	for k in joined stamped; do
		innet-replay -r olaf-$k.pcap -w $k.pcap --json >$k.json
	done
	cmp joined.pcap stamped.pcap
	[ "$(jq .packets stamped.json)" = 1680 ]
	jq -e '.packets == 1680 and .split_frames == 120 and
		.split_datagrams == 1680' joined.json
	innet-replay -q -r olaf-joined.pcap -w none.pcap --filter 'port 9' --json |
		jq -e '.packets == 0 and .skipped == { filtered: 1680 }'
}

@test "innet-aom measures the age of each update in a joined frame with the timestamp of the frame" {
	joined olaf -c 20 --clusters 2 --vector 20kB --rate 1G
	innet-aom -r olaf-stamped.pcap --sent olaf.pcap --csv >want 2>/dev/null
	run -0 --separate-stderr innet-aom -r olaf-joined.pcap --sent olaf.pcap --csv
	[ "$output" = "$(cat want)" ]
	[[ $stderr == *"; 120 frames split into 1680 datagrams; ignored 0" ]]
	several 3 4 | mkolaf >one.pcap	# frames with checksums of their own
	run -0 innet-aom -r one.pcap --csv
	[[ $output == *"0 updates of 0 constituents; ignored 1: 1 length"* ]]
}

@test "innet-aom warns about a capture of several hops, and a filter selects one hop" {
	printf '%d000 1 1 %d 1 %d00 0 4 dport=%d\n' 1 1 1 46638 2 1 1 46700 \
		3 2 2 46638 4 2 2 46700 | mkolaf >hops.pcap
	printf '%d000 1 1 %d 1 %d00 0 4\n' 1 1 1 3 2 2 | mkolaf >sent.pcap
	want="innet-aom: hops.pcap: more updates arrived than were sent; if the capture has each packet at several hops or interfaces, "
	run -0 --separate-stderr innet-aom -q -r hops.pcap --sent sent.pcap
	[[ $stderr == "$want"* ]]
	run -0 --separate-stderr innet-aom -q -r hops.pcap --filter 'dst port 46700' --json --total
	[ "$(jq .received <<<"$output")" -eq 2 ]
	[ -z "$stderr" ]
}

@test "a joined frame may give its length as 0 or as that of the first update" {
	several 9 4 sum=pseudo | mkolaf >want.pcap
	for w in 'lengths=zero' 'lengths=first' 'lengths=zero v6' \
		'lengths=first v6' 'sum=none'; do
		several 9 4 $w | mkolaf >l.pcap
		run -0 --separate-stderr innet-aom -r l.pcap --csv
		[ "$output" = "$(innet-aom -q -r want.pcap --csv)" ]
		[[ $stderr == *": 9 updates of 9 constituents; 1 frame split into 9 datagrams"* ]]
	done
}

@test "every tool counts and reports frames that it cannot split" {
	{ at 1 1 0 1; at 2 2 0 1 extra=70 sum=pseudo; } | mkolaf >odd.pcap
	want="odd.pcap: packet 2: one frame contains several datagrams that cannot be separated (number of such frames: 1); switch off offloads before you capture (see ethtool -K)"
	run -0 innet-aom -r odd.pcap --csv
	[[ $output == *"innet-aom: $want"*"ignored 1: 1 super_datagram"* ]]
	run -0 innet-switch -r odd.pcap -w out.pcap --report r.json
	[[ $output == *"innet-switch: $want"* ]]
	[ "$(jq -c .ignored r.json)" = '{"super_datagram":1}' ]
	run -0 innet-replay -v -r odd.pcap -w out.pcap
	[[ $output == *"innet-replay: $want"*"left out 1 packet; the reason is 'super_datagram'"* ]]
}

@test "an update with a truncated vector has an age, because its header is complete" {
	printf '%d000 1 1 %d 1 %d00 0 400 %s\n' 1 1 1 '' 2 2 2 nan 3 3 3 v6 |
		mkolaf >whole.pcap
	for n in 94 95 1000; do
		editcap -F nsecpcap -s $n whole.pcap cut.pcap
		run -0 --separate-stderr innet-aom -r cut.pcap --csv
		[[ $stderr == *": 3 updates of 3 constituents; 3 cut short but usable; ignored 0" ]]
		[[ ${lines[1]} == 1,3,3,* ]]
	done
	editcap -F nsecpcap -s 60 whole.pcap cut.pcap
	run -0 innet-aom -r cut.pcap --csv
	[[ $output == *"0 updates of 0 constituents; ignored 3: 3 snaplen"* ]]
}

@test "innet-aom uses the updates of a truncated frame whose headers are complete" {
	several 9 4 sum=pseudo | mkolaf >whole.pcap
	editcap -F nsecpcap -s $((42 + 3 * 48 + 32)) whole.pcap cut.pcap
	run -0 innet-aom -r cut.pcap --csv
	[[ $output == *"4 updates of 4 constituents; 1 frame split into 9 datagrams; 1 cut short but usable; ignored 5: 5 snaplen"* ]]
	innet-switch -q -r cut.pcap -w out.pcap --report r.json
	[ "$(jq -c .ignored r.json)" = '{"snaplen":6}' ]
	several 9 4 following=3 sum=pseudo | sed 's/0 4 follow/0 400 n=4 follow/' |
		mkolaf >whole.pcap
	editcap -F nsecpcap -s 80 whole.pcap cut.pcap
	run -0 innet-aom -r cut.pcap --csv
	[[ $output == *"0 updates of 0 constituents; ignored 1: 1 snaplen"* ]]
}

@test "every tool refuses or questions bare packets in joined frames, which do not give their length" {
	printf '10.0.0.0/8,1\n' >t.csv
	several 3 4 bare lengths=zero | mkolaf >sure.pcap
	several 3 4 bare lengths=first | mkolaf >first.pcap
	several 3 4 bare sum=pseudo | mkolaf >doubt.pcap
	bare=(--format bare --cluster-table t.csv)
	for c in sure first; do
		want="$c.pcap: packet 1: one frame contains several datagrams that cannot be separated (number of such frames: 1); switch off offloads before you capture (see ethtool -K)"
		run -0 innet-aom -r $c.pcap "${bare[@]}" --csv
		[[ $output == *"innet-aom: $want"*": 1 super_datagram"* ]]
		run -0 innet-aom -r $c.pcap --sent $c.pcap --format match --csv
		[[ $output == *"innet-aom: $want"*"1 super_datagram"* ]]
		run -0 innet-switch -r $c.pcap -w out.pcap "${bare[@]}" --report r.json
		[[ $output == *"innet-switch: $want"* ]]
		[ "$(jq -c .ignored r.json)" = '{"super_datagram":1}' ]
		run -0 innet-replay -v -r $c.pcap -w out.pcap
		[[ $output == *"innet-replay: $want"*"left out 1 packet; the reason is 'super_datagram'"* ]]
	done
	want="doubt.pcap: 1 packet has no length, and its checksum was left to the network card; it counts as one datagram but may be several; switch off offloads before you capture (see ethtool -K)"
	run -0 innet-aom -r doubt.pcap "${bare[@]}" --csv
	[[ $output == *"innet-aom: $want"* ]]
	run -0 innet-aom -r doubt.pcap --sent doubt.pcap --format match --csv
	[[ $output == *"innet-aom: $want"* ]]
	run -0 innet-switch -r doubt.pcap -w out.pcap "${bare[@]}"
	[[ $output == *"innet-switch: $want"* ]]
	run -0 innet-replay -r doubt.pcap -w out.pcap
	[[ $output == *"innet-replay: $want"* ]]
}

@test "messages that contain their length are found in frames of any length" {
	for w in zero first; do
		several 3 4 bare lengths=$w | mkolaf >l.pcap
		run -0 innet-aom -r l.pcap --field cluster=1 --field generated=u64@8 \
			--field length=20 --filter udp --json --total
		[[ $output == *"; 1 datagram with 3 messages; ignored 0"* ]]
	done
}

@test "innet-switch refuses departures that are joined in one frame and therefore have no times" {
	{ at 1 1 0 1; at 2 2 0 1; } | mkolaf >in.pcap
	several 3 4 sum=pseudo | mkolaf >joined.pcap
	run -1 --separate-stderr innet-switch -r in.pcap -w out.pcap --rate 1G \
		--departures joined.pcap
	[ "$stderr" = "innet-switch: joined.pcap: packet 1: this frame has several datagrams, and the time of each is not known; capture with offloads turned off (ethtool -K)" ]
}
