# Tests of the asynchronous switch: any H contributions make a round.
load iswitch

# async N [WORD...]: print the Joins of N workers
async() { joins "$1" mode=async "${@:2}"; }

@test "a slot completes after any H contributions, from any workers" {
	{ async 3; seg 1 1 1 0 1 1; seg 2 1 2 0 2 1; seg 3 1 3 0 4 1; } | through --async
	for w in 1 2 3; do [ "$(to $w)" = "seg 1 3 0 7 3" ]; done
	[ "$(counter added)" -eq 3 ]
	[ "$(counter results)" -eq 1 ]
}

@test "a slot restarts at once; in results, the iteration counts the rounds of the slot" {
	{ async 2; for n in 1 2 3; do seg $n 1 $n 0 $n 1; seg $n 2 $n 0 1 1; done; } | through --async
	diff - <(to 2) <<-E
		seg 1 2 0 2 2
		seg 2 2 0 3 2
		seg 3 2 0 4 2
	E
}

@test "each segment has its own rounds" {
	{ async 2 elements=4; for n in 1 2; do segs $n $n 0 1 2; done; segs 3 1 1 1 2; } |
		through --async
	[ "$(to 1 | cut -d' ' -f2,4 | paste -sd,)" = "1 0,2 0,1 1" ]
}

@test "rounds begin at the next iteration of the first Join" {
	{ async 2 next=9; segs 1 1 0 1 2; segs 2 2 0 1 2; } | through --async
	[ "$(to 1 | cut -d' ' -f2 | paste -sd' ')" = "9 10" ]
}

@test "a push that is not newer than the member's last push of this index is a duplicate" {
	{ async 3 elements=4; seg 1 1 5 0 1 1; seg 2 1 5 0 1 1; seg 3 1 4 0 1 1; seg 4 1 4 1 1 1
	  seg 5 2 4 0 1 1; seg 6 1 6 0 1 1; } | through --async
	[ "$(counter duplicate)" -eq 2 ]
	[ "$(counter added)" -eq 4 ]
	[ "$(to 3)" = "seg 1 3 0 3 3" ]
}

@test "the switch also drops a worker's duplicate in the next round, but no other worker's segment" {
	{ async 2; segs 1 1 0 1 2 1 2; segs 2 2 0 1 2; } | through --async
	[ "$(counter duplicate)" -eq 2 ]
	[ "$(to 1 | cut -d' ' -f2 | paste -sd' ')" = "1 2" ]
}

@test "pushes are compared as serial numbers" {
	{ async 2; seg 1 1 16777215 0 1 1; seg 2 1 0 0 1 1; seg 3 1 16777215 0 1 1; } |
		through --async
	[ "$(to 1)" = "seg 1 2 0 2 2" ]
	[ "$(counter duplicate)" -eq 1 ]
}

@test "pushes may have gaps: the next contribution takes the place of a lost one" {
	{ async 2; segs 1 1 0 1 2; segs 2 7 0 1 2; segs 3 100 0 2 1; } | through --async
	[ "$(to 1 | cut -d' ' -f2 | paste -sd' ')" = "1 2 3" ]
}

@test "a new Join resets the member's last push" {
	{ async 2; segs 1 50 0 1 2; join 2 10.0.1.1:5001 worker=1 mode=async next=2
	  seg 3 10.0.1.1:5001 1 0 1 1; segs 4 51 0 2; } | through --async
	[ "$(to 2 | tail -n 1)" = "seg 2 2 0 3 3" ]
	[ "$(counter duplicate)" -eq 0 ]
}

@test "pushes before the job opens count as early, and those of a non-member as foreign" {
	{ async 1; seg -500 1 1 0 1 1; seg 1 1 2 0 1 1; seg 2 9 1 0 1 1; } | through --async
	[ "$(counter early)" -eq 1 ]
	[ "$(foreign)" -eq 1 ]
	[ "$(to 1)" = "seg 1 1 0 1 1" ]
	[[ "$(to 9)" == "ack help not-member"* ]]
}

@test "-H sets the number of contributions that complete a round" {
	{ async 2; for n in 1 2 3; do segs $n $n 0 1 2; done; } | through --async -H 3
	[ -z "$(to 1)" ]
	{ async 3; for n in 1 2 3; do segs $n $n 0 1 2; done; } | through --async -H 3
	[ "$(to 3)" = "$(printf 'seg 1 3 0 4 4\nseg 2 3 0 5 5')" ]
}

@test "SetH takes effect at once" {
	{ async 3; segs 1 1 0 1 2; ask 2 9 set-h h=2; segs 3 2 0 1; ask 4 9 set-h h=1; } |
		through --async
	[ "$(to 3)" = "$(printf 'seg 1 2 0 3 3\nseg 2 1 0 1 1')" ]
}

@test "contributions of a member that joins later count" {
	{ async 1; segs 1 1 0 1; join 2 2 mode=async next=2; segs 1003 2 0 1; segs 1004 1 0 2; } |
		through --async
	[ "$(to 2)" = "seg 2 2 0 3 3" ]
}

@test "Help for a kept round sends its result to the asking member alone" {
	{ async 2; for n in $(seq 20); do segs $n $n 0 1 2; done; ask 30 2 help seg=5.0.0
	  ask 31 2 help seg=20.0.0; } | through --async
	[ "$(to 2 | tail -n 2)" = "$(printf 'seg 5 2 0 3 3\nseg 20 2 0 3 3')" ]
	[ "$(to 1 | wc -l)" -eq 20 ]
}

@test "the switch keeps at least 16 rounds and answers a Help for older ones with gone" {
	{ async 2; for n in $(seq 200); do segs $n $n 0 1 2; done; ask 300 2 help seg=185.0.0
	  ask 301 2 help seg=2.0.0; } | through --async --keep 1B
	[ "$(to 2 | tail -n 2)" = "$(printf 'seg 185 2 0 3 3\nack help gone seg=2.0')" ]
}

@test "--keep is a number of bytes, and as many rounds are kept as fit" {
	{ async 2 elements=100 floats=100; for n in $(seq 100); do
		for w in 1 2; do seg $n $w $n 0 "1*100"; done; done
	  ask 300 2 help seg=1.0.0; } >lines
	through --async --keep 1MB <lines
	[[ "$(to 2 | tail -n 1)" == "seg 1 2 0 2 2 "* ]]
	through --async --keep 4kB <lines
	[ "$(to 2 | tail -n 1)" = "ack help gone seg=1.0" ]
}

@test "FBcast ends a round with the contributions so far" {
	{ async 3; segs 1 1 0 1; ask 2 9 fbcast seg=1.0.0; segs 3 2 0 1 2 3; } | through --async
	[ "$(to 2)" = "$(printf 'seg 1 1 0 1 1\nseg 2 3 0 6 6')" ]
}

@test "--straggler is misuse with --async" {
	joins 1 | mkiswitch >in.pcap
	run -2 innet-switch -q --program iswitch --async -r in.pcap -w o --straggler 50ms
}

@test "the contributions of each packet add up, but H counts packets" {
	{ async 2; echo "$(ns 1) $(addr 1) $S seg 1 5 0 1 1"; segs 2 1 0 2; } | through --async
	[ "$(to 1)" = "seg 1 6 0 3 3" ]
}
