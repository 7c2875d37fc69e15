# Tests of the aggregation switch as a filter: the packets that count as input,
# the addresses that are members, and the reduction of contributions.
load iswitch

@test "the filter skips packets that the switch itself sent, and counts them as its own" {
	{ joins 2; segs 1 1 0 1 2; } | through
	cp out.pcap first.pcap
	frames=$(dumpiswitch first.pcap | wc -l)
	innet-switch -q --program iswitch -r in.pcap -r first.pcap -w out.pcap --report r.json
	[ "$(total own)" -eq "$frames" ]
	diff <(dumpiswitch first.pcap) <(dumpiswitch out.pcap)
}

@test "a segment for another address is regular traffic" {
	{ joins 2; segs 1 1 0 1; segs 2 1 0 2 | sed 's/10\.255\.255\.1:/10.9.9.9:/'; } | through
	[ "$(dumpiswitch out.pcap | grep -c '10.9.9.9:46638 seg 1 1 0 2 2')" -eq 1 ]
	[ "$(counter added)" -eq 1 ]
	[ "$(total passed)" -eq 1 ]
}

@test "--listen gives the address of the switch" {
	{ joins 2; segs 1 1 0 1 2; } | sed 's/10\.255\.255\.1:46638/10.3.3.3:7000/' |
		through --listen 10.3.3.3:7000
	[ "$(dumpiswitch out.pcap | grep -c ' 10.3.3.3:7000 10.0.1.[12]:5000 seg 1 2 0 3 3')" -eq 2 ]
}

@test "packets to the switch's port without its DSCP are forwarded as regular traffic" {
	{ joins 2; echo "$(ns 1) $(addr 1) $S udp 0000010001000000aabbccdd"; } | through
	[ "$(dumpiswitch out.pcap | grep -c ' udp 0000010001000000aabbccdd$')" -eq 1 ]
}

@test "the switch ignores the ECN bits: marked segments count, too" {
	{ joins 2; segs 1 1 0 1; segs 2 1 0 2 | sed 's/$/ tos=31/'; } | through
	[ "$(to 1)" = "seg 1 2 0 3 3" ]
}

@test "--members N: the first N sources are members without a Join" {
	{ segs 1 1 0 1 2; segs 2 1 0 3; segs 3 2 0 1 2; } | through --members 2
	[ "$(to 1)" = "$(printf 'seg 1 2 0 3 3\nseg 2 2 0 3 3')" ]
	[[ "$(to 3)" == "ack help not-member"* ]]
	[ "$(foreign)" -eq 1 ]
}

@test "--members accepts vectors with several segments, in any order" {
	{ seg 1 1 1 0 1 1; seg 1 1 1 1 5; seg 2 2 1 1 6; seg 3 2 1 0 2 2; segs 4 2 0 1 2; } |
		through --members 2
	[ "$(to 2)" = "$(printf 'seg %s\n' '1 2 1 11' '1 2 0 3 3' '2 2 0 3 3')" ]
}

@test "members with IPv6 addresses work like others" {
	{ for w in 1 2; do join -1000 "[fd00::$w]:5000" worker=$w; done
	  for w in 1 2; do seg 1 "[fd00::$w]:5000" 1 0 $w $w; done; } |
		sed 's/10\.255\.255\.1:46638/[fd00::ff]:46638/' | through --listen '[fd00::ff]:46638'
	[ "$(to '[fd00::2]:5000')" = "seg 1 2 0 3 3" ]
}

@test "packets leave with correct checksums" {
	command -v tshark >/dev/null || skip "no tshark"
	{ joins 2; segs 1 1 0 1 2; } | through
	[ "$(tshark -r out.pcap -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE \
		-T fields -e ip.checksum.status -e udp.checksum.status | sort -u)" = "1	1" ]
}

@test "the same input gives the same output, byte for byte" {
	{ joins 3; segs 1 1 0 1 2; ask 2 3 help seg=1.0.0; segs 3 1 0 3; segs 60 2 0 1 2
	  segs 200 3 0 1; } >lines
	through --straggler 50ms <lines
	cp out.pcap first.pcap
	through --straggler 50ms <lines
	cmp first.pcap out.pcap
}

# Tests of reductions. In float32, 1e8 + 1 equals 1e8.

# send VALUE...: print segments in which worker W sends the W-th value, in the
# order of $order
send() {
	joins $#
	for w in ${order:-$(seq $#)}; do seg 1 "$w" 1 0 "${!w}" 1; done
}

# got: print the first value of the result
got() { to 1 | cut -d' ' -f5; }

@test "--reduce sum adds float32 values in order of arrival" {
	order="1 2 3" send 1e8 1 -1e8 | through
	[ "$(got)" = 0 ]
	order="3 1 2" send 1e8 1 -1e8 | through --reduce sum
	[ "$(got)" = 1 ]
}

@test "--reduce ordered adds values in member order, for any order of arrival" {
	for order in "1 2 3" "3 1 2" "2 1 3" "3 2 1" "1 3 2"; do
		send 1e8 -1e8 1 | through --reduce ordered
		[ "$(got)" = 1 ]
	done
	order="1 3 2" send 1e8 1 -1e8 | through --reduce ordered
	[ "$(got)" = 0 ]
}

@test "--reduce ordered adds the present contributions if the slot completes early" {
	{ joins 3; segs 1 1 0 3 1; ask 2 9 fbcast seg=1.0.0; } | through --reduce ordered
	[ "$(to 2)" = "seg 1 2 0 4 4" ]
}

@test "--reduce fixed does not depend on the order and rounds once" {
	for order in "1 2 3" "3 1 2" "2 3 1"; do
		send 1e8 1 -1e8 | through --reduce fixed
		[ "$(got)" = 1 ]
	done
	send 16777216 0.75 0.75 | through --reduce fixed
	[ "$(got)" = 16777218 ]
}

@test "--reduce fixed has 24 fractional bits, or --fixed-bits" {
	send 0x1p-24 0x1p-24 | through --reduce fixed
	[ "$(got)" = 1.1920929e-07 ]
	send 0x1p-26 0x1p-26 | through --reduce fixed
	[ "$(got)" = 0 ]
	send 0.3 0.3 | through --reduce fixed --fixed-bits 2
	[ "$(got)" = 0.5 ]
}

@test "--reduce fixed saturates, and refuses and counts NaN and infinity" {
	send 1e30 1 | through --reduce fixed
	[ "$(got)" = 5.49755814e+11 ]
	send -1e12 -1e12 | through --reduce fixed
	[ "$(got)" = -5.49755814e+11 ]
	for bad in nan inf -inf; do
		send "$bad" 3 | through --reduce fixed
		[ "$(got)" = nan ]
		send 3 "$bad" | through --reduce fixed
		[ "$(got)" = nan ]
		[ "$(counter nonfinite)" -eq 1 ]
	done
}

@test "--reduce median sends the median times the contributions, for odd and even numbers" {
	send 1 9 2 | through --reduce median
	[ "$(to 1)" = "seg 1 3 0 6 3" ]
	send 4 1 1e30 2 | through --reduce median
	[ "$(to 1)" = "seg 1 4 0 12 4" ]
}

@test "--reduce median computes a median for each element" {
	{ joins 3; seg 1 1 1 0 1 9; seg 1 2 1 0 2 7; seg 1 3 1 0 3 8; } | through --reduce median
	[ "$(to 2)" = "seg 1 3 0 6 24" ]
}

@test "--reduce trimmed:b leaves out the b smallest and the b largest values" {
	send 1 2 3 4 1e30 | through --reduce trimmed:1
	[ "$(to 1)" = "seg 1 5 0 15 5" ]
	send -1e30 2 3 4 1e30 9 | through --reduce trimmed:2
	[ "$(got)" = 21 ]
}

@test "--reduce trimmed:b sends no result before there are 2 b + 1 contributions" {
	{ joins 5; seg 1 1 1 0 1 1; seg 1 2 1 0 1e9 1e9; segs 350 1 1 1; } |
		through -H 5 --reduce trimmed:2 --straggler 100ms
	[ -z "$(to 1 | grep '^seg 1 . 0')" ]
	[ "$(counter too_few)" -eq 3 ]
	{ joins 5; seg 1 1 1 0 1 1; seg 1 2 1 0 1e9 1e9; seg 350 3 1 0 2 2; seg 350 4 1 0 3 3; seg 350 5 1 0 4 4; } |
		through -H 5 --reduce trimmed:2 --straggler 100ms
	[ "$(to 1)" = "seg 1 5 0 15 15" ]
	{ joins 5; seg 1 1 1 0 1 1; seg 1 2 1 0 1e9 1e9; ask 2 9 fbcast seg=1.0.0; } | through -H 5 --reduce trimmed:2
	[ "$(to 1)" = '' ]
	[ "$(counter too_few)" -eq 1 ]
}

@test "--reduce median sends no result from fewer than 3 contributions if there are 3 members" {
	{ joins 5; seg 1 1 1 0 1 1; seg 1 2 1 0 1e9 1e9; segs 250 1 1 1; seg 251 3 1 0 2 2; segs 350 1 2 1; } |
		through -H 5 --reduce median --straggler 100ms
	[ "$(to 1 | grep '^seg 1 . 0')" = "seg 1 3 0 6 6" ]
	{ joins 2; seg 1 1 1 0 1 1; seg 1 2 1 0 3 3; } | through -H 2 --reduce median
	[ "$(to 1)" = "seg 1 2 0 4 4" ]
}

@test "--reduce trimmed:b needs at least 2 b + 1 members and an H as large" {
	joins 1 | mkiswitch >in.pcap
	run -2 --separate-stderr innet-switch -q --program iswitch -r in.pcap -w /dev/null -H 4 --reduce trimmed:2
	[ "${stderr_lines[0]}" = "innet-switch: --reduce trimmed:N needs -H of at least 2 N + 1" ]
	{ joins 2; segs 2000 1 0 1 2; } | through --reduce trimmed:1
	[ "$(counter early)" -eq 2 ]
	{ joins 3; segs 2000 1 0 1 2 3; } | through --reduce trimmed:1
	[ "$(to 1)" = "seg 1 3 0 6 6" ]
}

@test "an unknown reduction is misuse" {
	joins 1 | mkiswitch >in.pcap
	for r in mean trimmed: trimmed:x ''; do
		run -2 innet-switch -q --program iswitch -r in.pcap -w /dev/null --reduce "$r"
	done
}
