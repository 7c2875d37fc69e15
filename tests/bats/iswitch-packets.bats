# Tests of a synchronous aggregation switch, packet by packet: the ten
# behaviours, and every row of the table of slots.
load iswitch

# Tests of the ten behaviours.

@test "each member gets the sum and the number of contributions" {
	{ joins 3; segs 1 1 0 1 2 3; } | through
	for w in 1 2 3; do [ "$(to $w)" = "seg 1 3 0 6 6" ]; done
	[ "$(counter added)" -eq 3 ]
	[ "$(counter results)" -eq 1 ]
	[ "$(unfinished)" -eq 0 ]
}

@test "a result leaves from the switch's address and port, marked as a segment" {
	{ joins 2; segs 1 1 0 1 2; } | through
	[ "$(dumpiswitch out.pcap | grep -c " $S 10.0.1.[12]:5000 seg ")" -eq 2 ]
	[ "$(dumpiswitch out.pcap | grep -c ' seg .*tos=')" -eq 0 ]
}

@test "a retransmission before the slot is complete is added only once" {
	{ joins 2; segs 1 1 0 1 1; seg 2 1 1 0 50 50; segs 3 1 0 2; } | through
	[ "$(to 1)" = "seg 1 2 0 3 3" ]
	[ "$(to 2)" = "seg 1 2 0 3 3" ]
	[ "$(counter duplicate)" -eq 2 ]
	[ "$(counter added)" -eq 2 ]
}

@test "a retransmission after the slot is complete gets the result, sent to its sender alone" {
	{ joins 2; segs 1 1 0 1 2 1; } | through
	[ "$(to 1)" = "$(printf 'seg 1 2 0 3 3\nseg 1 2 0 3 3')" ]
	[ "$(to 2)" = "seg 1 2 0 3 3" ]
	[ "$(counter resent)" -eq 1 ]
}

@test "a retransmission of the previous iteration gets the result of that slot" {
	{ joins 2; segs 1 1 0 1 2; segs 2 2 0 1 2; segs 3 1 0 2; } | through
	[ "$(to 2 | tail -n 1)" = "seg 1 2 0 3 3" ]
	[ "$(to 1 | wc -l)" -eq 2 ]
	[ "$(counter resent)" -eq 1 ]
}

@test "a slot is reused two iterations later and begins at zero" {
	{ joins 2; for t in 1 2 3 4 5; do segs $t $t 0 1 2; done; } | through
	diff - <(to 1) <<-E
		seg 1 2 0 3 3
		seg 2 2 0 3 3
		seg 3 2 0 3 3
		seg 4 2 0 3 3
		seg 5 2 0 3 3
	E
	[ "$(counter results)" -eq 5 ]
}

@test "a late retransmission does not change a slot that is reused" {
	{ joins 2; segs 1 1 0 1 2; segs 2 2 0 1 2; segs 3 3 0 1; seg 4 1 1 0 70 70
	  segs 5 3 0 2; } | through
	[ "$(to 2 | tail -n 1)" = "seg 3 2 0 3 3" ]
	[ "$(to 1 | sed -n 3p)" = "ack help gone seg=1.0" ]
	[ "$(counter stale)" -eq 1 ]
}

@test "a job may begin with either slot, at an even or an odd iteration" {
	for t in 0 1 6 16777215; do
		{ joins 2 next=$t; segs 1 $t 0 1 2; segs 2 $(((t + 1) % 16777216)) 0 1 2; } | through
		[ "$(to 1 | head -n 1)" = "seg $t 2 0 3 3" ]
		[ "$(to 2 | tail -n 1)" = "seg $(((t + 1) % 16777216)) 2 0 3 3" ]
	done
}

@test "both slots serve at once: one fills while the other answers, and indices are independent" {
	{ joins 2 elements=3; segs 1 1 0 1 2; segs 2 2 0 1; seg 3 1 1 1 5; segs 4 1 0 2
	  seg 5 2 1 1 6; segs 6 2 0 2; } | through
	diff - <(to 2) <<-E
		seg 1 2 0 3 3
		seg 1 2 0 3 3
		seg 1 2 1 11
		seg 2 2 0 3 3
	E
	[ "$(to 1 | wc -l)" -eq 3 ]
}

@test "other traffic is forwarded unchanged and in order" {
	{ joins 2; for t in 1 3 5; do
		echo "$(ns $t) 10.9.9.9:53 10.0.1.1:5353 udp 0${t}0203"
		segs $((t + 1)) $t 0 1 2; done; } | through
	dumpiswitch in.pcap | grep ' udp ' >want
	dumpiswitch out.pcap | grep ' udp ' | diff want -
	[ "$(total regular)" -eq 3 ]
}

@test "senders on different ports of one address are different members" {
	{ for p in 1 2 3; do join -1000 10.0.1.9:600$p worker=$p; done
	  for p in 1 2 3; do seg 1 10.0.1.9:600$p 1 0 $p 1; done; } | through
	for p in 1 2 3; do [ "$(to 10.0.1.9:600$p)" = "seg 1 3 0 6 3" ]; done
}

# Tests of the table of slots: the state of a slot, and the segment that
# arrives.

@test "early: an iteration before the job's first result, or two after the last result" {
	{ joins 2; segs 1 2 0 1; segs 2 1 0 1; segs 3 2 0 1; segs 4 3 0 1; segs 5 1 0 2; } | through
	[ "$(to 1)" = "seg 1 2 0 3 3" ]
	[ "$(counter early)" -eq 3 ]
	[ "$(counter added)" -eq 2 ]
	[ "$(unfinished)" -eq 0 ]
}

@test "early: an iteration two after the last result waits for the one between" {
	{ joins 2; segs 1 1 0 1 2; segs 2 3 0 1; segs 3 2 0 1 2; segs 4 3 0 1 2; } | through
	[ "$(counter early)" -eq 1 ]
	[ "$(to 1 | tail -n 1)" = "seg 3 2 0 3 3" ]
}

@test "indices are independent: one may be an iteration ahead" {
	{ joins 2 elements=4; segs 1 1 0 1 2; segs 2 2 0 1 2; segs 3 2 1 1; segs 4 1 1 1 2; } |
		through
	diff - <(to 1) <<-E
		seg 1 2 0 3 3
		seg 2 2 0 3 3
		seg 1 2 1 3 3
	E
	[ "$(counter early)" -eq 1 ]
}

@test "added: the contributions of a packet are added up, but H counts packets" {
	{ joins 2; echo "$(ns 1) 10.0.1.1:5000 $S seg 1 7 0 1 1"
	  echo "$(ns 2) 10.0.1.2:5000 $S seg 1 3 0 1 1"; } | through
	[ "$(to 2)" = "seg 1 10 0 2 2" ]
}

@test "duplicate: a segment of a member that has already contributed" {
	{ joins 3; segs 1 1 0 1 2 2 1; } | through
	[ "$(counter duplicate)" -eq 2 ]
	[ "$(unfinished)" -eq 1 ]
	[ -z "$(to 1)" ]
}

@test "resent: a member whose segment arrives after the sum was complete gets the result" {
	{ joins 3; segs 1 1 0 1 2 3; } | through -H 2
	[ "$(to 3)" = "$(printf 'seg 1 2 0 3 3\nseg 1 2 0 3 3')" ]
	[ "$(counter resent)" -eq 1 ]
	[ "$(counter added)" -eq 2 ]
}

@test "stale: a segment for a reused slot; the Ack says gone if the result is not kept" {
	{ joins 2; for t in 1 2 3; do segs $t $t 0 1 2; done; segs 9 1 0 2; } | through
	[ "$(to 2 | tail -n 1)" = "ack help gone seg=1.0" ]
	[ "$(to 1 | wc -l)" -eq 3 ]
	[ "$(counter stale)" -eq 1 ]
}

@test "the switch drops packets of a non-member and tells it at most once a second" {
	{ joins 2; segs 1 1 0 7; segs 500 1 0 7; segs 1000 1 0 7; segs 1001 1 0 7; segs 1002 1 0 1 2
	} | through
	[ "$(to 7 | cut -d' ' -f1-3 | sort | uniq -c | xargs)" = "2 ack help not-member" ]
	[ "$(foreign)" -eq 4 ]
	[ "$(to 1)" = "seg 1 2 0 3 3" ]
}

@test "the switch tells every non-member that it is not a member, also after it told others" {
	{ joins 1; segs 1 1 0 7 8; } | through
	for w in 7 8; do [[ "$(to $w)" == "ack help not-member"* ]]; done
}

@test "NaN and infinity are added as in IEEE 754, and counted" {
	{ joins 2 elements=6; seg 1 1 1 0 inf 1; seg 2 2 1 0 2 3; seg 3 1 1 1 inf 1
	  seg 4 2 1 1 -inf 1; seg 5 1 1 2 nan 1; seg 6 2 1 2 4 1; } | through
	diff - <(to 1 | sed 's/-nan/nan/') <<-E
		seg 1 2 0 inf 4
		seg 1 2 1 nan 2
		seg 1 2 2 nan 2
	E
	[ "$(counter nonfinite)" -eq 4 ]
}

@test "iterations are serial numbers: after 2^24 - 1 comes 0" {
	{ joins 2 next=16777214; for t in 16777214 16777215 0 1; do segs 1 $t 0 1 2; done
	  segs 2 16777214 0 1; } | through
	[ "$(to 2 | cut -d' ' -f2 | paste -sd' ')" = "16777214 16777215 0 1" ]
	[ "$(counter stale)" -eq 1 ]
}

@test "a segment of a wrong length or beyond the vector is ignored" {
	{ joins 2 elements=3; seg 1 1 1 0 1; seg 2 1 1 0 1 1 1; seg 3 1 1 1 1 1; seg 4 1 1 2 1
	  seg 5 1 1 0 1 1; seg 6 2 1 0 1 1; } | through
	[ "$(to 1)" = "seg 1 2 0 2 2" ]
	[ "$(counter added)" -eq 2 ]
	[ "$(ignored)" -eq 4 ]
}

@test "the last segment of a vector is shorter, and the others have full length" {
	{ joins 2 elements=5; for i in 0 1; do segs 1 1 $i 1 2; done; seg 2 1 1 2 1; seg 2 2 1 2 2
	} | through
	[ "$(to 1 | tail -n 1)" = "seg 1 2 2 3" ]
	[ "$(counter results)" -eq 3 ]
}

@test "the switch ignores incomplete segments and messages, counts the reason and never crashes" {
	{ joins 2; for n in 0 7 8 11 13; do seg 1 1 1 0 "1 1 short=$n"; done
	  seg 2 1 1 0 1 1 sum=bad; ask 3 1 join short=9; ask 3 1 99; segs 4 1 0 1 2; } | through
	[ "$(to 2)" = "seg 1 2 0 3 3" ]
	[ "$(ignored)" -ge 7 ]
}

@test "jobs are separate, and identified by address and port" {
	{ joins 2; JOB=2 join -1000 3 worker=1; JOB=2 join -1000 4 worker=2; segs 1 1 0 1 3 2 4
	} | through
	[ "$(to 1)" = "seg 1 2 0 3 3" ]
	[ "$(to 4)" = "seg 1 2 0 7 7" ]
	[ "$(counter added 2)" -eq 2 ]
}

@test "a repeated segment gets its result four times, then at most ten times a second" {
	{ joins 2; segs 0 1 0 1 2; for i in $(seq 100); do seg "$i" 1 1 0 1 1; done
		for i in $(seq 100); do seg $((1000 + 10 * i)) 1 1 0 1 1; done; } | through -H 2
	[ "$(counter resent)" -ge 14 ]
	[ "$(counter resent)" -le 16 ]
	[ "$(counter withheld)" -eq $((200 - $(counter resent))) ]
	# a worker that contributes gets answers as before
	{ joins 2; for i in $(seq 50); do segs "$i" "$i" 0 1 2; seg "$i" 1 "$i" 0 1 1; done; } | through -H 2
	[ "$(counter withheld)" -eq 0 ]
	[ "$(counter resent)" -eq 50 ]
}
