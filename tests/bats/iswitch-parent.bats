# Tests of the hierarchy: a switch that is a member of its parent. The tests
# play the parent, at 10.9.0.1, and learn the child's source port from a first
# run.
load iswitch
P=10.9.0.1:46638

# child LINES-FILE [OPTION...]: run the lines through a switch that has a parent
child() { through --parent $P "${@:2}" <"$1"; }

# meet [N]: find the port and the xid with which the child joins its parent
# after N workers have joined
meet() {
	joins "${1:-2}" >met
	through --parent $P <met
	read -r up xid_up < <(dumpiswitch out.pcap |
		awk -v p=$P '$3 == p && $4 == "join" { print $2, $6; exit }')
	[ -n "$up" ]
}

# parent prints a message of the parent, acked its answer to the child's Join,
# and opening the opening of a job whose switch has joined its parent: workers
# repeat a Join that is not answered.
parent() { echo "$(ns "$1") $P $up ${*:2}"; }
acked() { parent -1000 "ack 1 $xid_up join done member=1 h=2 members=2 next=1 floats=2 elements=2 timeout=10"; }
opening() { cat met; acked; cat met; }

# up: print the packets to the parent except Joins, without job and xid
up() { to $P | grep -v '^join'; }

@test "the switch joins its parent as a switch, with the vector of the job" {
	meet
	[[ "$(out $P | head -n 1)" == "join 1 "*" type=switch mode=sync "*" elements=2 floats=2 next=1 "* ]]
	[[ $up == 10.255.255.1:* ]]
}

@test "a job uses one source port for all packets to the parent" {
	meet
	{ opening; segs 1 1 0 1 2; ask 2 1 help seg=1.0.0; } >lines
	child lines
	[ "$(dumpiswitch out.pcap | awk -v p=$P '$3 == p { print $2 }' | sort -u)" = "$up" ]
	{ join -1000 1; JOB=2 join -1000 3; } >lines
	child lines
	[ "$(dumpiswitch out.pcap | awk -v p=$P '$3 == p { print $2 }' | sort -u | wc -l)" -eq 2 ]
}

@test "the first local Join gets its Ack only after the parent has accepted the switch" {
	meet
	[ -z "$(acks 1 join)" ]
	opening >lines
	child lines
	for w in 1 2; do [ "$(acks $w join | cut -d' ' -f1 | uniq)" = done ]; done
}

@test "a rack refuses requests that its parent refuses" {
	meet 1
	{ cat met; parent -1000 "ack 1 $xid_up join refused member=0 h=2 members=2 next=9 floats=2 elements=2 timeout=10"
	  cat met; } >lines
	child lines
	[ "$(acks 1 join | cut -d' ' -f1 | uniq)" = refused ]
}

@test "a slot that reaches H is sent as one packet to the parent and to no worker" {
	meet
	{ opening; segs 1 1 0 1 2; } >lines
	child lines
	[ "$(up)" = "seg 1 2 0 3 3" ]
	[ -z "$(to 1)$(to 2)" ]
}

@test "only the parent's result completes the slot, and is sent down unchanged" {
	meet
	{ opening; segs 1 1 0 1 2; parent 2 "seg 1 5 0 40 50"; segs 3 1 0 2; segs 4 2 0 1 2; } >lines
	child lines
	[ "$(to 1)" = "seg 1 5 0 40 50" ]
	[ "$(to 2)" = "$(printf 'seg 1 5 0 40 50\nseg 1 5 0 40 50')" ]
	[ "$(up | tail -n 1)" = "seg 2 2 0 3 3" ]
	[ "$(counter resent)" -eq 1 ]
}

@test "the next iteration is early while the parent has not answered" {
	meet
	{ opening; segs 1 1 0 1 2; segs 2 2 0 1; parent 3 "seg 1 5 0 40 50"; segs 4 2 0 1; } >lines
	child lines
	[ "$(counter early)" -eq 1 ]
	[ "$(unfinished)" -eq 1 ]
}

@test "a slot that was sent up: a member's second packet is a duplicate, a new member's is late" {
	meet 3
	{ opening; segs 1 1 0 1 2; segs 2 1 0 1 3; } >lines
	child lines -H 2
	[ "$(up)" = "seg 1 2 0 3 3" ]
	[ "$(counter duplicate)" -eq 1 ]
	[ "$(counter late)" -eq 1 ]
}

@test "the parent's result completes a slot even if the slot is still filling" {
	meet
	{ opening; segs 1 1 0 1; parent 2 "seg 1 1 0 9 9"; segs 3 1 0 2; segs 4 2 0 1 2; } >lines
	child lines
	[ "$(to 1)" = "seg 1 1 0 9 9" ]
	[ "$(to 2)" = "$(printf 'seg 1 1 0 9 9\nseg 1 1 0 9 9')" ]
	[ "$(up)" = "seg 2 2 0 3 3" ]
}

@test "the contributions of several tiers add up on the way to the root" {
	meet
	{ opening; echo "$(ns 1) $(addr 1) $S seg 1 4 0 1 1"; segs 2 1 0 2; } >lines
	child lines
	[ "$(up)" = "seg 1 5 0 3 3" ]
}

@test "Help from a member for a slot that was sent up goes to the parent, and to no member" {
	meet
	{ opening; segs 1 1 0 1 2; ask 2 1 help seg=1.0.0; } >lines
	child lines
	[ "$(up)" = "$(printf 'seg 1 2 0 3 3\nhelp seg=1.0')" ]
	[ -z "$(to 2)" ]
}

@test "Help from a member for a filling slot goes to the parent and to the missing members" {
	meet
	{ opening; segs 1 1 0 1; ask 2 1 help seg=1.0.0; } >lines
	child lines
	[ "$(up)" = "help seg=1.0" ]
	[ "$(to 2)" = "help seg=1.0" ]
}

@test "the switch itself answers a member's Help for a complete segment" {
	meet
	{ opening; segs 1 1 0 1 2; parent 2 "seg 1 5 0 4 4"; ask 3 1 help seg=1.0.0; } >lines
	child lines
	[ "$(to 1)" = "$(printf 'seg 1 5 0 4 4\nseg 1 5 0 4 4')" ]
	[ "$(up)" = "seg 1 2 0 3 3" ]
}

@test "Help from the parent for a slot that was sent up gets the same packet again" {
	meet
	{ opening; segs 1 1 0 1 2; parent 2 "help 1 1 seg=1.0.0"; parent 3 "help 1 2 seg=1.0.0"; } >lines
	child lines
	[ "$(up | grep -c '^seg 1 2 0 3 3$')" -eq 3 ]
	[ "$(up | grep -c '^help')" -eq 0 ]
	[ -z "$(to 1)$(to 2)" ]
}

@test "Help from the parent for a filling slot goes to the missing members, never up" {
	meet
	{ opening; segs 1 1 0 1; parent 2 "help 1 1 seg=1.0.0"; } >lines
	child lines
	[ "$(to 2)" = "help seg=1.0" ]
	[ -z "$(to 1)" ]
	[ -z "$(up | grep -E '^(seg|help)')" ]
}

@test "FBcast at a child sends a filling slot up" {
	meet
	{ opening; segs 1 1 0 1; ask 2 9 fbcast seg=1.0.0; segs 3 1 0 2; parent 4 "seg 1 3 0 8 8"; } >lines
	child lines
	[ "$(up)" = "seg 1 1 0 1 1" ]
	[ "$(counter late)" -eq 1 ]
	[ "$(to 2)" = "seg 1 3 0 8 8" ]
}

@test "the straggler time-out at a child sends a filling slot up" {
	meet
	{ opening; segs 1 1 0 1; segs 60 1 0 2; } >lines
	child lines --straggler 50ms
	[ "$(up)" = "seg 1 1 0 1 1" ]
	[ -z "$(to 1)" ]
}

@test "Halt, Resume and Reset are passed down" {
	for a in halt resume reset; do
		meet
		{ opening; [ $a != resume ] || parent 1 "halt 1 1"; parent 2 "$a 1 2"; } >lines
		child lines
		[ "$(to 1 | tail -n 1)" = $a ]
		[ "$(to 2 | tail -n 1)" = $a ]
	done
}

@test "of several parents, the switch chooses the one with the smallest address" {
	joins 2 | through --parent 10.9.0.10:46638 --parent 10.9.0.9:46638 --parent 10.10.0.1:46638
	[ "$(dumpiswitch out.pcap | awk '$4 == "join" { print $3 }' | sort -u)" = 10.9.0.9:46638 ]
}

@test "a result from an address other than the parent's is ignored" {
	meet
	{ opening; segs 1 1 0 1 2; parent 2 "seg 1 5 0 4 4" | sed 's/10\.9\.0\.1/10.9.0.2/'; } >lines
	child lines
	[ -z "$(to 1)" ]
}

@test "median and trimmed are refused in a hierarchy" {
	joins 1 | mkiswitch >in.pcap
	for r in median trimmed:1; do
		run -2 innet-switch -q --program iswitch -r in.pcap -w /dev/null --parent $P --reduce $r
		join -1000 1 type=switch | through --reduce $r
		[ "$(statuses 1 join)" = refused ]
		join -1000 1 type=worker | through --reduce $r
		[ "$(statuses 1 join)" = done ]
	done
}

@test "a child switch is a member like others: its packet is one contribution" {
	{ joins 2 type=switch; echo "$(ns 1) $(addr 1) $S seg 1 3 0 6 6"
	  echo "$(ns 2) $(addr 2) $S seg 1 2 0 9 9"; } | through
	[ "$(to 1)" = "seg 1 5 0 15 15" ]
	[ "$(to 2)" = "seg 1 5 0 15 15" ]
}
