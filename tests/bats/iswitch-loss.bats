# Tests of how a synchronous switch handles loss: Help, FBcast, stragglers, and
# the results that it keeps.
load iswitch

# three: print the Joins of three members, whose vectors have the segments 0 and
# 1
three() { joins 3 elements=4; }

# results N: print segments of workers 1 and 2 that complete iterations 1 to N
# at 1 to N ms
results() { for t in $(seq "$1"); do segs $t $t 0 1 2; done; }

@test "Help for a complete segment sends the result to the asking member alone" {
	{ three; segs 1 1 0 1 2 3; ask 2 2 help seg=1.0.0; } | through
	[ "$(to 2)" = "$(printf 'seg 1 3 0 6 6\nseg 1 3 0 6 6')" ]
	[ "$(to 1)" = "seg 1 3 0 6 6" ]
}

@test "Help for the previous iteration sends its result if the slot still has it" {
	{ three; segs 1 1 0 1 2 3; segs 2 2 0 1 2; ask 3 3 help seg=1.0.0; segs 4 2 0 3; } | through
	[ "$(to 3)" = "$(printf 'seg %s\n' '1 3 0 6 6' '1 3 0 6 6' '2 3 0 6 6')" ]
}

@test "Help for an incomplete segment goes to every member that has not contributed" {
	{ three; segs 1 1 0 1; ask 2 2 help seg=1.0.0; } | through
	[ "$(to 2)" = "help seg=1.0" ]
	[ "$(to 3)" = "help seg=1.0" ]
	{ three; segs 1 1 0 1 2; ask 2 1 help seg=1.0.0; } | through
	[ "$(to 3)" = "help seg=1.0" ]
	[ -z "$(to 2)" ]
}

@test "Help for an empty or older slot goes to all members, including the asking one" {
	{ three; segs 1 1 0 1 2 3; ask 2 2 help seg=1.0.1; ask 3 1 help seg=2.0.0
	  ask 4 1 help seg=3.0.0; } | through
	for w in 1 2 3; do
		diff - <(to $w) <<-E
			seg 1 3 0 6 6
			help seg=1.1
			help seg=2.0
			help seg=3.0
		E
	done
}

@test "Help for a result that the switch has dropped gets an Ack with status gone" {
	{ three; for t in 1 2 3; do segs $t $t 0 1 2 3; done; ask 4 2 help seg=1.0.0; } | through
	[[ "$(acks 2 help)" == "gone seg=1."*".0" ]]
	[ "$(to 1 | wc -l)" -eq 3 ]
}

@test "Help from a non-member gets an Ack with status not-member" {
	{ three; segs 1 1 0 1; ask 2 9 help seg=1.0.0; } | through
	[ "$(statuses 9 help)" = not-member ]
	[ -z "$(to 2)" ]
}

@test "a worker answers Help, and the job continues" {
	{ three; segs 1 1 0 1 2; ask 9 1 help seg=1.0.0; segs 10 1 0 3; segs 11 2 0 1 2 3; } | through
	[ "$(to 3)" = "$(printf '%s\n' 'help seg=1.0' 'seg 1 3 0 6 6' 'seg 2 3 0 6 6')" ]
}

@test "FBcast sends the sum so far, marked with its number of contributions" {
	{ three; segs 1 1 0 1 2; ask 2 9 fbcast seg=1.0.0; } | through
	for w in 1 2 3; do [ "$(to $w)" = "seg 1 2 0 3 3" ]; done
	[ "$(acks 9 fbcast)" = "done contributions=2" ]
	[ "$(counter results)" -eq 1 ]
	[ "$(unfinished)" -eq 0 ]
}

@test "FBcast completes the slot: a late worker gets the result, and all continue" {
	{ three; segs 1 1 0 1 2; ask 2 9 fbcast seg=1.0.0; segs 3 1 0 3; segs 4 2 0 1 2 3; } | through
	[ "$(to 3)" = "$(printf 'seg %s\n' '1 2 0 3 3' '1 2 0 3 3' '2 3 0 6 6')" ]
	[ "$(counter resent)" -eq 1 ]
}

@test "FBcast of an empty slot sends no result" {
	{ three; ask 1 9 fbcast seg=1.0.0; segs 2 1 0 1 2 3; } | through
	[ "$(to 1)" = "seg 1 3 0 6 6" ]
	[ "$(statuses 9 fbcast)" != done ]
}

@test "--straggler completes a slot that has been filling for this time" {
	{ three; segs 1 1 0 1; segs 40 1 0 2; segs 51 1 1 1; } | through --straggler 50ms
	for w in 1 2 3; do [ "$(to $w)" = "seg 1 2 0 3 3" ]; done
	[ "$(unfinished)" -eq 1 ]
}

@test "a time-out fires before packets with its timestamp or a later one, and not sooner" {
	{ three; segs 1 1 0 1 2; segs 51 1 0 3; } | through --straggler 50ms
	[ "$(to 3)" = "$(printf 'seg 1 2 0 3 3\nseg 1 2 0 3 3')" ]
	{ three; segs 1 1 0 1 2; segs 50 1 0 3; segs 99 1 1 1; } | through --straggler 50ms
	[ "$(to 3)" = "seg 1 3 0 6 6" ]
}

@test "time-outs fire in order of time, then index" {
	{ three; segs 1 1 1 1; segs 2 1 0 1; segs 99 1 0 3; } | through --straggler 50ms
	[ "$(to 2 | cut -d' ' -f4 | paste -sd' ')" = "1 0" ]
	{ three; segs 1 1 1 1; segs 1 1 0 1; segs 99 1 0 3; } | through --straggler 50ms
	[ "$(to 2 | cut -d' ' -f4 | paste -sd' ')" = "0 1" ]
}

@test "the straggler timer starts again when a slot is reused" {
	{ joins 2; segs 1 1 0 1 2; segs 2 2 0 1 2; segs 40 3 0 1; segs 60 3 0 2; segs 99 4 0 1
	} | through --straggler 50ms
	[ "$(to 1 | tail -n 1)" = "seg 3 2 0 3 3" ]
	[ "$(counter results)" -eq 3 ]
}

@test "slots that are incomplete at the end of the input remain unfinished" {
	{ three; segs 1 1 0 1; segs 2 1 1 1 2; } | through --straggler 50ms
	[ "$(unfinished)" -eq 2 ]
	[ -z "$(to 1)" ]
}

@test "with H below the number of members, the last 16 results are kept" {
	{ joins 3; results 20; segs 30 5 0 3; segs 31 2 0 3; segs 32 19 0 3; } | through -H 2
	diff - <(to 3 | tail -n 3) <<-E
		seg 5 2 0 3 3
		ack help gone seg=2.0
		seg 19 2 0 3 3
	E
	[ "$(counter stale)" -eq 2 ]
	[ "$(counter resent)" -eq 1 ]
}

@test "--keep sets the number of kept results, in addition to those in the two slots" {
	{ joins 3; results 9; segs 30 6 0 3; segs 31 3 0 3; } | through -H 2 --keep 4
	[ "$(to 3 | tail -n 2)" = "$(printf 'seg 6 2 0 3 3\nack help gone seg=3.0')" ]
}

@test "each segment has its own kept results" {
	{ joins 3 elements=4; results 9; segs 20 1 1 1 2; segs 30 2 0 3; segs 31 1 1 3; } |
		through -H 2 --keep 8
	[ "$(to 3 | tail -n 2)" = "$(printf 'seg 2 2 0 3 3\nseg 1 2 1 3 3')" ]
}

@test "Help for a result that is no longer in its slot gets the kept result" {
	{ joins 3; results 7; ask 8 3 help seg=4.0.0; ask 9 3 help seg=1.0.0; } | through -H 2 --keep 4
	[ "$(to 3 | tail -n 2)" = "$(printf 'seg 4 2 0 3 3\nack help gone seg=1.0')" ]
}

@test "with --straggler, results are kept too" {
	{ joins 3; segs 1 1 0 1 2; segs 60 2 0 1 2; segs 120 3 0 1 2; segs 180 4 0 1 2
	  segs 181 1 0 3; } | through --straggler 50ms
	[ "$(to 3 | tail -n 1)" = "seg 1 2 0 3 3" ]
	[ "$(counter stale)" -eq 1 ]
}

@test "after FBcast, results are kept too" {
	{ joins 3; segs 1 1 0 1 2; ask 2 9 fbcast seg=1.0.0; segs 3 2 0 1 2 3; segs 4 3 0 1 2 3
	  segs 5 1 0 3; } | through
	[ "$(to 3 | tail -n 1)" = "seg 1 2 0 3 3" ]
}

@test "no event makes the switch send a result a second time unasked" {
	{ joins 3; segs 1 1 0 1 2 3; ask 2 9 fbcast seg=1.0.0; ask 3 9 set-h h=1
	  ask 4 3 leave; segs 60 2 0 1; } | through --straggler 50ms
	[ "$(to 1 | grep -c 'seg 1')" -eq 1 ]
	[ "$(counter results)" -eq 2 ]
}
