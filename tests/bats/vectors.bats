# Run the hand-checked test vectors for one switch as captures through the
# filter.
load common

vectors=$BATS_TEST_DIRNAME/../data/olaf-vectors.txt

# lines NAME EVENT: print the "arrive" or "depart" lines of a vector
lines() {
	awk -v name="## $1" -v what="$2" '/^## / { on = index($0, name " ") == 1 || $0 == name }
		on && $2 == "S" && $3 == what' "$vectors"
}

# check NAME OPTION...: filter the arrivals, and check that the departures are
# as listed
check() {
	local name=$1
	shift
	# the rewards of cluster 2 of V3, in this order; all others are 0
	lines "$name" arrive | awk -v v3="$([ "$name" = 'V3 reward' ] && echo 1)" '
		BEGIN { split("1.0 1.25 0.5 1.5 0.1", r, " ") }
		{ t = $1 "000000"; print t, $4, $5, NR, 1, t, v3 && $4 == 2 ? r[++i] : 0, 1 }' |
		mkolaf >in.pcap
	innet-switch -q -r in.pcap -w out.pcap "$@"
	lines "$name" depart | awk '{ print $1 "000000", $4, $5, $6 }' >want
	[ -s want ]
	diff want <(dumpolaf out.pcap | cut -d' ' -f1,3,4,6)
}

@test "V1 from innet-olaf(7): append, replace, aggregate, lock" {
	check 'V1 append/replace/aggregate/lock' --rate $SLOW --slots 4
}

@test "V2: a full queue merges, and a drop-tail queue drops" {
	check 'V2 full' --rate $SLOW --slots 2
	check 'V2 FIFO' --queue fifo --rate $SLOW --slots 2
}

@test "V3: rewards decide what merges" {
	check 'V3 reward' --rate $SLOW --slots 4 --reward-threshold 0.25
}

@test "V4: one update is locked while another waits" {
	check 'V4 lock then second' --rate $SLOW --slots 4
}

@test "V5: if an arrival and a departure have the same time, the departure is first" {
	check 'V5 tie departure first' --rate $SLOW --slots 1
}

@test "V6: ages have the values computed by hand" {
	check 'V6 AoM' --rate 312000 --slots 4
}
