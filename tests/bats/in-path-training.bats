# Tests of training with Olaf through two tiers of switches in the path, which
# are killed during training.
load common
load in-path

# tiers: start switches at the bridges of two racks and of the core; $tiers gets
# their process ids
tiers() {
	local s link
	tiers=''
	for s in core switch1 switch2; do
		link=uplink
		[ $s != core ] || link=server
		testbed.sh exec $s $favoured innet-switch -q --insecure --bridge br0 --port-rate $link=4Mbit --report $s.json \
			>$s.out 2>switch.err 3>&- &
		tiers="$tiers $!"
		pids="$pids $!"
		said 'in the path of br0: '
	done
}

# Print the mean reward of the last 25 episodes of each worker, without the
# first $behind lines.
behind=0
reward() {
	local w
	for w in w?.csv; do tail -n +$((behind + 1)) "$w" | tail -n 25; done |
		awk -F, '$3 + 0 { n++; s += $3 } END { printf "%d", n < 100 ? 0 : s / n }'
}

rewarded() {
	last=$(reward)
	[ "$last" -ge "$1" ]
}

# each [N]: print ten times the number of updates in a packet, as the mean over
# the next 1000 / N packets
each() {
	local is was
	beyond $(($(updates 10.77.0.2) + 100))		# skip the updates in flight
	was=$(came)
	beyond $((${was% *} + 1000 / ${1:-1}))
	is=$(came)
	echo $((10 * (${is#* } - ${was#* }) / (${is% *} - ${was% *})))
}
came() { on server innet-ctl 10.77.0.2 stats --json | jq -r '"\(.counters.updates) \(.counters.constituents)"'; }

@test "in the path: agents under two tiers learn CartPole to 475 with Olaf although all switches are killed" {
	once training
	rack
	testbed.sh down "$INNET_TESTBED"
	INNET_TESTBED=$(testbed.sh up two-racks -n 4 --rate 1gbit --owner $$)
	server --optimizer adam --average none --learning-rate 0.005 --reply cluster
	tiers
	for w in 0 1 2 3; do
		worker $w --duration 300s -- innet-agent -q --algo a2c --seed $w --interval 30ms --log w$w.csv
	done
	[ "$(each 4)" -gt 20 ]
	within 60 rewarded 60
	kill -KILL $tiers
	for t in $tiers; do wait "$t" || true; done
	[ "$(each)" -eq 10 ]			# as the workers sent them
	behind=$(wc -l w?.csv | awk '$2 != "total" && $1 > n { n = $1 } END { print n }')
	within 120 rewarded 475 || { echo "reward $last"; false; }
	tiers
	[ "$(each 4)" -gt 20 ]
	kill $tiers
	for t in $tiers; do wait "$t"; done
	# both tiers have merged updates
	jq -se 'all(.totals.aggregated.packets > 100 and .models > 10)' core.json switch?.json
	kill $workers
	join_workers
}
