# Tests of bad input to the filter: it prints one clear line, has the right
# status and loses nothing.
load common

three() { at 1 1 0 1; at 2 2 0 1; at 3 3 0 1; }
ignored() { jq -c .ignored "$1"; }

# filter WORD...: filter an update with these words, followed by a good update
filter() {
	{ at 1 1 0 1 "$@"; at 2 2 0 1; } | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --rate $SLOW --report r.json
	[ "$(count r.json delivered)" -eq 1 ]
}

@test "the switch ignores invalid packets and counts each fault under its reason" {
	filter fragment; [ "$(ignored r.json)" = '{"fragment":1}' ]
	filter version=2; [ "$(ignored r.json)" = '{"version":1}' ]
	filter kind=9; [ "$(ignored r.json)" = '{"kind":1}' ]
	filter sum=bad; [ "$(ignored r.json)" = '{"checksum":1}' ]
	filter nan; [ "$(ignored r.json)" = '{"nonfinite":1}' ]
	filter short=20; [ "$(ignored r.json)" = '{"short":1}' ]
	filter extra=2; [ "$(ignored r.json)" = '{"length":1}' ]
	filter lie; [ "$(ignored r.json)" = '{"length":1}' ]
	filter cut=60; [ "$(ignored r.json)" = '{"snaplen":1}' ]
	filter following=1; [ "$(ignored r.json)" = '{"length":1}' ]
}

@test "a packet with a merged count of zero is ignored" {
	echo "1 1 0 1 0 1 1 1" | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --report r.json
	[ "$(ignored r.json)" = '{"merged":1}' ]
}

@test "a packet whose reward is not a number is ignored" {
	echo "1 1 0 1 1 1 nan 1" | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --report r.json
	[ "$(ignored r.json)" = '{"nonfinite":1}' ]
}

@test "frames that are not IP bypass the queue unchanged" {
	{ mkolaf </dev/null
	  printf '\1\0\0\0\0\0\0\0\52\0\0\0\52\0\0\0'
	  printf '\377\377\377\377\377\377\2\0\12\0\1\1\10\6\0\1\10\0\6\4\0\1'
	  head -c 20 /dev/zero; } >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --report r.json
	cmp in.pcap out.pcap
	[ "$(jq .regular r.json)" -eq 1 ]
}

@test "packets from PPP or 802.11 leave as Ethernet, and those that are not IP are left out" {
	for l in ppp hdlc pppoe wifi radiotap; do
		{ at 1 1 0 1; at 2 2 0 1 type=0xc0; at 3 3 0 1 tos=0; } |
			mkolaf -l $l >in.pcap
		run -0 innet-switch -r in.pcap -w $l.pcap --report r.json
		[[ $output == *", 1 left out (not IP)" ]]
		[ "$(jq -c '[.packets,.regular,.no_ethernet]' r.json)" = '[3,2,1]' ]
	done
	{ at 1 1 0 1; at 3 3 0 1 tos=0; } | mkolaf | tcpdump -txxnr - >want
	for l in ppp hdlc pppoe wifi radiotap; do
		tcpdump -txxnr $l.pcap | cmp - want
	done
}

@test "the switch accepts checksums of zero and of the pseudo header alone" {
	{ at 1 1 0 1 sum=none; at 2 2 0 1 sum=pseudo; } | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --report r.json
	[ "$(count r.json delivered)" -eq 2 ]
}

@test "a truncated file: the switch writes the complete packets and names the bad one, status 1" {
	three | mkolaf >in.pcap
	head -c -5 in.pcap >cut.pcap
	run -1 --separate-stderr innet-switch -q -r cut.pcap -w out.pcap
	[[ $stderr == "innet-switch: cut.pcap: packet 3: truncated dump file; tried to read 78 captured bytes, only got 73" ]]
	[ "$(dumpolaf out.pcap | wc -l)" -eq 2 ]
}

@test "a corrupt record length: the switch writes the packets before it, status 1" {
	three | mkolaf >in.pcap
	printf '\377\377\377\177' | dd of=in.pcap bs=1 seek=$((24 + 94 + 8)) conv=notrunc status=none
	run -1 --separate-stderr innet-switch -q -r in.pcap -w out.pcap
	[[ $stderr == *"in.pcap: packet 2: invalid packet capture length"* ]]
	[ "$(dumpolaf out.pcap | wc -l)" -eq 1 ]
}

@test "a capture with a header alone is accepted, and an empty file is refused" {
	mkolaf </dev/null >in.pcap
	innet-switch -q -r in.pcap -w out.pcap --report r.json
	[ "$(count r.json arrived)" -eq 0 ]
	run -1 --separate-stderr innet-switch -r /dev/null -w out.pcap
	[ "$stderr" = "innet-switch: /dev/null: the file is empty; it has not even a header" ]
	run -1 --separate-stderr innet-switch -r "$BATS_TEST_FILENAME" -w out.pcap
	[ "${#stderr_lines[@]}" -eq 1 ]
	run -1 --separate-stderr innet-switch -r no-such.pcap -w out.pcap
	[ "$stderr" = "innet-switch: no-such.pcap: No such file or directory" ]
}

@test "a timestamp that goes back counts as that of the previous packet, with one warning" {
	{ at 5 1 0 1; at 3 2 0 1; at 4 3 0 1; at 6 4 0 1; } | mkolaf >in.pcap
	run -0 --separate-stderr innet-switch -q -r in.pcap -w out.pcap --rate $SLOW --report r.json
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == *"in.pcap: packet 2: its time is 2000000 ns earlier than that of the previous packet"* ]]
	[ "$(jq .time_backwards r.json)" -eq 2 ]
	[ "$(dumpolaf out.pcap | cut -d' ' -f1 | tr '\n' ' ')" = "15000000 25000000 35000000 45000000 " ]
}

@test "a full disk: one error line, status 1" {
	three | mkolaf >in.pcap
	run -1 --separate-stderr innet-switch -q -r in.pcap -w /dev/full
	[ "$stderr" = "innet-switch: /dev/full: the output is incomplete: No space left on device" ]
	run -1 --separate-stderr innet-switch -q -r in.pcap -w out.pcap --report /dev/full
	[ "$stderr" = "innet-switch: /dev/full: cannot write the report: No space left on device" ]
}

@test "the switch overwrites no input file, and refuses two outputs to one file" {
	three | mkolaf >in.pcap
	cp in.pcap kept.pcap
	run -2 innet-switch -r in.pcap -w in.pcap
	cmp in.pcap kept.pcap
	run -2 innet-switch -r in.pcap --report -
	run -2 innet-switch --listen :0 --upstream :0
	run -2 innet-switch -r in.pcap --departures in.pcap --regular queued
	echo 10.0.0.0/8,1 >t.csv
	run -2 innet-switch -r in.pcap -w out.pcap --departures in.pcap --format bare --cluster-table t.csv
	[[ $output == *"--departures cannot be used with --format bare"* ]]
}

@test "the summary counts the packets of a trace that --impair lost" {
	three | mkolaf >in.pcap
	run -0 --separate-stderr innet-switch -r in.pcap -w out.pcap --impair loss=100%
	[[ $stderr == *", 3 lost by --impair" ]]
}

@test "a closed pipe: one line, status 1" {
	innet-gen -q --clusters 9 -c 5000 -w in.pcap
	innet-switch -q -r in.pcap 2>err | head -c 100 >/dev/null || true
	run -1 bash -c 'set -o pipefail; innet-switch -q -r in.pcap 2>err | head -c 100 >/dev/null'
	[ "$(cat err)" = "innet-switch: standard output: the output is incomplete: Broken pipe" ]
}

@test "a signal completes the output, and the status shows the signal" {
	three | mkolaf >in.pcap
	mkfifo pipe
	innet-switch -q -r pipe -w out.pcap --rate 1G 2>err 3>&- &
	pid=$!
	exec 4>pipe
	head -c $((24 + 94)) in.pcap >&4
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	[ $status -eq 143 ]
	exec 4>&-
	dumpolaf out.pcap
}

@test "impossible values are refused with status 2" {
	for a in '--slots 0' '--slots 20000000' '--rate 0' '--rate 10x' '--program p4' \
		'--combine max' '--reward-threshold x' '--until soon' '--listen 127.0.0.1' \
		'--upstream 127.0.0.1:1' '--listen :0 --upstream :1 -r x' '--format bare' \
		'--impair loss=200%' '--impair luck=1%' '--listen [::1 --upstream :1'; do
		run -2 --separate-stderr innet-switch $a
		[ -z "$output" ]
	done
}

@test "the switch reads pcapng and microsecond captures" {
	three | mkolaf >in.pcap
	innet-switch -q -r in.pcap -w want.pcap --rate $SLOW
	editcap -F pcapng in.pcap in.pcapng
	innet-switch -q -r in.pcapng -w out.pcap --rate $SLOW
	cmp want.pcap out.pcap
	editcap -F pcap in.pcap us.pcap
	innet-switch -q -w out.pcap --rate $SLOW <us.pcap
	cmp want.pcap out.pcap
}
