# Tests of membership: opening, joining and leaving a job, H, Halt and Reset.
load iswitch

@test "with -H N a job opens when N workers have joined; segments before that count as early" {
	{ join -3 1; seg -2 1 1 0 1 1; join -1 2; segs 0 1 0 1 2; } | through -H 2
	[ "$(counter early)" -eq 1 ]
	[ "$(to 1)" = "seg 1 2 0 3 3" ]
}

@test "SetH opens a job too, once H workers have joined" {
	{ join -9 1; ask -8 9 set-h h=2; seg -7 1 1 0 1 1; join -6 2; segs -5 1 0 1 2; } | through
	[ "$(counter early)" -eq 1 ]
	[ "$(to 2)" = "seg 1 2 0 3 3" ]
}

@test "without -H, a job opens when no Join has arrived for a second" {
	{ join -1500 1; join -1000 2; seg -400 1 1 0 1 1; echo "$(($(ns 0) - 1)) $(addr 1) $S seg 1 1 0 1 1"
	  segs 0 1 0 1 2; } | through
	[ "$(counter early)" -eq 2 ]
	[ "$(to 1)" = "seg 1 2 0 3 3" ]
}

@test "the Ack of a Join gives H, the members and the length of the segments" {
	{ join -1000 1 elements=5 floats=3; join -900 2 elements=5 floats=3; } | through
	[[ "$(acks 2 join)" == "done member="*" h=2 members=2 next=1 floats=3 elements=5 timeout=10" ]]
	[ "$(acks 1 join | cut -d' ' -f2)" != "$(acks 2 join | cut -d' ' -f2)" ]
}

@test "a Join without F gets the F of the job" {
	{ join -1000 1 elements=5 floats=3; join -900 2 elements=5 floats=0; } | through
	[[ "$(acks 2 join)" == "done "*" floats=3 elements=5 "* ]]
	join -1000 1 elements=900 floats=0 | through
	[[ "$(acks 1 join)" == "done "*" floats=366 elements=900 "* ]]
}

@test "a Join with another length or F gets bad-value and the values of the job" {
	{ joins 2 elements=5 floats=3; join -999 3 elements=6 floats=3; join -998 4 elements=5 floats=2
	} | through
	for w in 3 4; do [[ "$(acks $w join)" == "bad-value "*" floats=3 elements=5 "* ]]; done
	[[ "$(to 3)" == "" ]]
}

@test "a Join with an F that does not fit in a datagram gets bad-value" {
	{ join -1000 1 elements=70000 floats=16375; join -999 2 elements=70000 floats=16374; } | through
	[ "$(statuses 1 join) $(statuses 2 join)" = "bad-value done" ]
}

@test "contributions of a later member count from the iteration after the newest one" {
	{ joins 2; segs 1 1 0 1 2; segs 2 2 0 1; join 3 3 next=2; segs 4 2 0 2; segs 5 3 0 1 2
	  segs 6 3 0 3; } | through
	[ "$(to 1)" = "$(printf 'seg %s\n' '1 2 0 3 3' '2 2 0 3 3' '3 3 0 6 6')" ]
	[[ "$(acks 3 join)" == "done "*" h=3 members=3 next=3 "* ]]
	[ "$(to 3)" = "$(printf 'seg %s\n' '2 2 0 3 3' '3 3 0 6 6')" ]
}

@test "a later member may not add to slots that were filling when it joined" {
	{ joins 2; segs 1 1 0 1; join 2 3; segs 3 1 0 3 2; } | through
	[ "$(to 1)" = "seg 1 2 0 3 3" ]
}

@test "contributions of a member that left remain in filling slots, but do not count for H" {
	{ joins 3; segs 1 1 0 1; ask 2 1 leave; segs 3 1 0 2; segs 4 1 0 3; } | through
	[ "$(to 2)" = "seg 1 3 0 6 6" ]
	[ "$(unfinished)" -eq 0 ]
	[ -z "$(to 1)" ]
	[ "$(statuses 1 leave)" = done ]
}

@test "Leave lowers H at once and completes a slot that has all other contributions" {
	{ joins 3 elements=4; for i in 0 1; do segs 1 1 $i 1 2; done; ask 2 3 leave; segs 3 1 0 3; } |
		through
	[ "$(to 1 | sort)" = "$(printf 'seg %s\n' '1 2 0 3 3' '1 2 1 3 3')" ]
	[ "$(counter results)" -eq 2 ]
	[[ "$(to 3)" == "ack help not-member"* ]]
}

@test "SetH takes effect at once on every filling slot, and its Ack gives the previous H" {
	{ joins 3 elements=4; segs 1 1 0 1 2; segs 1 1 1 3; ask 2 9 set-h h=2; ask 3 9 set-h h=1
	  ask 4 9 set-h h=0; segs 5 2 0 1 2; } | through
	diff - <(to 1) <<-E
		seg 1 2 0 3 3
		seg 1 1 1 3 3
	E
	[ "$(acks 9 set-h | paste -sd' ')" = "done h=0 done h=2 done h=1" ]
	[ "$(unfinished)" -eq 1 ]
}

@test "SetH above the number of members: results wait for workers that join later" {
	{ joins 2; ask 1 9 set-h h=3; segs 2 1 0 1 2; join 3 3; segs 4 1 0 3; } | through
	[ "$(to 3)" = "seg 1 3 0 6 6" ]
}

@test "a job without members takes the next iteration of the first Join" {
	{ joins 2 next=8; segs 1 8 0 1 2; ask 2 1 leave; ask 2 2 leave; join 3 1 next=5
	  segs 1004 5 0 1; } | through
	[ "$(to 1 | tail -n 1)" = "seg 5 1 0 1 1" ]
}

@test "later Joins need the same next iteration and checksum; checksum 0 means unknown" {
	{ join -1000 1 next=4 crc=77; join -999 2 next=4 crc=77; join -998 3 next=4 crc=78
	  join -997 4 next=4 crc=0; join -996 5 next=3 crc=77; } | through
	for w in 1 2 4; do [ "$(statuses $w join)" = done ]; done
	for w in 3 5; do [ "$(statuses $w join)" = refused ]; done
}

@test "a worker that restarts without its weights is refused" {
	{ joins 2 crc=5; for t in 1 2 3; do segs $t $t 0 1 2; done
	  join 4 10.0.1.2:5001 worker=2 crc=5; segs 5 4 0 1 2; } | through
	[ "$(statuses 10.0.1.2:5001 join)" = refused ]
	[ "$(to 2 | tail -n 1)" = "seg 4 2 0 3 3" ]
}

@test "a Join is accepted if all results from its next iteration on are kept" {
	{ joins 3; for t in 1 2 3 4 5; do segs $t $t 0 1 2; done; join 6 4 next=3; join 7 5 next=6; } |
		through -H 2
	[ "$(statuses 4 join) $(statuses 5 join)" = "done done" ]
	{ joins 3; for t in 1 2 3 4 5 6 7; do segs $t $t 0 1 2; done; join 8 4 next=2; join 9 5 next=5
	} | through -H 2 --keep 3
	[ "$(statuses 4 join) $(statuses 5 join)" = "refused done" ]
}

@test "a Join under the number of a present worker replaces that member" {
	{ joins 2; segs 1 1 0 1 2; join 2 10.0.1.2:5001 worker=2 next=2; segs 3 2 0 2
	  segs 4 2 0 1; seg 5 10.0.1.2:5001 2 0 8 8; } | through
	[ "$(statuses 10.0.1.2:5001 join)" = done ]
	[[ "$(acks 10.0.1.2:5001 join)" == *" members=2 "* ]]
	[ "$(to 10.0.1.2:5001)" = "seg 2 2 0 9 9" ]
	[[ "$(to 2 | tail -n 1)" == "ack help not-member"* ]]
}

@test "a repeated Join, as a sign of life, changes nothing" {
	{ joins 2; segs 1 1 0 1; join 2 1; join 3 2 next=1; segs 4 1 0 1 2; } | through
	[ "$(to 2)" = "seg 1 2 0 3 3" ]
	[ "$(counter duplicate)" -eq 1 ]
	[[ "$(acks 1 join | tail -n 1)" == "done "*" h=2 members=2 "* ]]
}

@test "the switch evicts a member that is silent for the member time-out" {
	{ joins 3; segs 1 1 0 1 2; segs 8000 1 0 1 2; segs 9001 1 0 1; } | through
	[ "$(to 1 | head -n 1)" = "seg 1 2 0 3 3" ]
	{ joins 3; segs 1 1 0 1 2; segs 1500 1 0 1 2; } | through --member-timeout 2s
	[ "$(to 1 | head -n 1)" = "seg 1 2 0 3 3" ]
	[[ "$(acks 1 join)" == *" timeout=2" ]]
}

@test "a member that sends a sign of life is not evicted" {
	{ joins 3; segs 1 1 0 1 2; join 6000 3; segs 8000 1 0 1 2; segs 9500 1 0 1; } | through
	[ -z "$(to 1)" ]
}

@test "Reset clears incomplete slots and the counters, and the job continues" {
	{ joins 2; segs 1 1 0 1; ask 2 9 reset; segs 3 1 0 2; segs 4 1 0 1; segs 5 2 0 1 2; } | through
	[ "$(statuses 9 reset)" = done ]
	# the first contribution was discarded; it is added once, when it
	# arrives again
	[ "$(to 1 | grep -c '^seg')" -eq 2 ]
	[ "$(jq '.jobs["1"].counters.added' r.json)" -eq 4 ]
}

@test "Reset of the members empties slots, removes all members and is passed on" {
	{ joins 2; segs 1 1 0 1; ask 2 9 reset body=01; segs 3 1 0 2; } | through
	for w in 1 2; do [ "$(to $w | head -n 1)" = reset ]; done
	[[ "$(to 2 | tail -n 1)" == "ack help not-member"* ]]
	[ "$(unfinished)" -eq 0 ]
	[ "$(statuses 9 reset)" = done ]
}

@test "Halt is sent to every member, and answers segments and Help" {
	{ joins 2; ask 1 9 halt; segs 2 1 0 1; ask 3 2 help seg=1.0.0; } | through
	[ "$(to 1)" = "$(printf 'halt\nhalt')" ]
	[ "$(to 2 | grep -v '^ack help not-ready')" = "$(printf 'halt\nhalt')" ]
	[ "$(counter added)" -eq 0 ]
	[ "$(statuses 9 halt)" = done ]
}

@test "a Join while the job is halted gets not-ready until Resume" {
	{ joins 2; segs 1 1 0 1; ask 2 9 halt; join 3 1; ask 4 9 resume; join 5 1; join 5 2
	  segs 6 1 0 2; } | through
	[ "$(statuses 1 join)" = "done not-ready done" ]
	[ "$(to 1 | tail -n 1)" = "seg 1 2 0 3 3" ]
}

# Tests of the transaction id (xid).

@test "a repeated xid gets the same Ack, and the request is not executed again" {
	{ joins 3; segs 1 1 0 1 2; echo "$(ns 2) $(addr 9) $S set-h 1 7 h=4"
	  echo "$(ns 3) $(addr 9) $S set-h 1 8 h=5"; echo "$(ns 4) $(addr 9) $S set-h 1 8 h=2"; } | through
	[ "$(acks 9 set-h | paste -sd' ')" = "done h=0 done h=4 done h=4" ]
	[ "$(unfinished)" -eq 1 ]
}

@test "a request with an older xid, as a serial number, is dropped" {
	{ joins 2; echo "$(ns 1) $(addr 9) $S set-h 1 4294967295 h=3"
	  echo "$(ns 2) $(addr 9) $S set-h 1 1 h=4"; echo "$(ns 3) $(addr 9) $S set-h 1 4294967294 h=5"
	} | through
	[ "$(acks 9 set-h | paste -sd' ')" = "done h=0 done h=3" ]
}

@test "Acks repeat the job and the xid of the request" {
	echo "$(ns 0) $(addr 1) $S join 300 4000000000 worker=1 elements=2 floats=2 next=1" | through
	[[ "$(out 1)" == "ack 300 4000000000 join done "* ]]
}

@test "a request for an unknown job gets no-such-job" {
	{ joins 1; for a in reset "set-h h=1" "fbcast seg=1.0.0" halt resume; do
		JOB=7 ask 1 9 $a; done; } | through
	[ "$(out 9 | cut -d' ' -f5 | sort | uniq -c | xargs)" = "5 no-job" ]
}

@test "a Leave of a non-member gets not-member" {
	{ joins 2; ask 1 9 leave; segs 2 1 0 1 2; } | through
	[ "$(statuses 9 leave)" = not-member ]
	[ "$(to 1)" = "seg 1 2 0 3 3" ]
}

@test "Members and Stats answer with JSON in pages that form one text" {
	{ joins 40; ask 1 9 members page=0; for p in 1 2 3 4 5 6 7; do ask 2 9 members page=$p; done
	  ask 3 9 stats page=0; } | through
	pages=$(acks 9 members | head -n 1 | sed -E 's/.*pages=([0-9]+).*/\1/')
	[ "$pages" -gt 1 ]
	acks 9 members | head -n "$pages" | sed 's/.*text=//' | tr -d '\n' >m.json
	[ "$(jq -c . m.json | grep -o '10\.0\.1\.40' | head -n 1)" = 10.0.1.40 ]
	acks 9 stats | sed 's/.*text=//' | jq -e . >s.json
}

# Tests of cookies (pass) and MACs (seal). A trace gets the same answers as the
# live switch gave.

# tail_of PASS COUNTER MESSAGE [WAY]: print the pass and the seal, made with the
# key in the file "key"
tail_of() { python3 -B "$BATS_TEST_DIRNAME/trust.py" tail key "$@"; }

@test "a switch with a key ignores messages without a MAC or with a wrong one" {
	(umask 077; printf 'a secret of 16 bytes\n' >key)
	pass=6e6f6e63652d2d410000000000000001a0a1a2a3a4a5a6a7 zero=$(printf %048d 0)
	join=0106000100000005010000000000000100000002000200000001
	words="worker=1 elements=2 floats=2 next=1"
	{ join -1000 1; join -1000 2 flags=6 tail=$pass$zero
	  join -1000 3 flags=2 tail=6e6f6e63652d2d410000000000000000$(printf %016d 0)
	  echo "$(ns -999) $(addr 1) $S join 1 5 $words flags=6 tail=$(tail_of $pass 1 ${join}00000000)"
	  echo "$(ns -998) $(addr 1) $S join 1 5 $words flags=6 tail=$(tail_of $pass 1 ${join}00000000)"
	  echo "$(ns -997) $(addr 1) $S join 1 5 $words flags=6 tail=$pass$(tail_of $pass 2 ${join}00000000$pass 2)"
	  segs 1 1 0 1; } | through --key key --auth control
	# without a pass, a hint that the MAC is wrong; with a wrong seal or
	# without a time, a challenge
	[[ "$(out 2)" == "ack 1 2 pass=$pass join bad-mac"* ]]
	[[ "$(out 3)" == "ack 1 3 pass=6e6f6e63652d2d41"*"0000000000000000 join prove"* ]]
	[ "$(out 1 | sed -E 's/ (seal|pass)=[0-9a-f]{48}//' | cut -d' ' -f1-5 | paste -sd,)" = \
		"ack 1 5 join done,ack 1 5 join bad-mac,seg 1 1 0 1" ]
	ack=080400010000000501000000000100010000000100020000000200
	[ "$(out 1 | sed -n 's/^ack 1 5 seal=\([0-9a-f]*\) .*/\1/p')" = "$(tail_of $pass 1 ${ack}0a 2)" ]
	jq -e '.switch | .bad_mac == 2 and .replayed == 1 and .unproved == 1 and .challenged == 1' r.json
}
