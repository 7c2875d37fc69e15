# Tests of share/examples/iswitch-cartpole.sh: agents whose gradients are summed
# by switches learn.
load common

example=$share/examples/iswitch-cartpole.sh

# cartpole OPTION...: run the example; out/ gets its files, and said its output
cartpole() {
	"$example" --out "$PWD/out" "$@" >said 3>&-
}

# counted SWITCH KEY: print a counter of the first run
counted() { tail -n 1 "out/1-$1.out" | jq ".jobs[\"1\"].counters.$2"; }

@test "four synchronous workers reach 475, and a second run gives the same weights bit for bit" {
	once training
	cartpole --seed 3 --twice
	grep -qx 'second run  *bit-identical' said
	[ "$(ls out/2-w?.policy | wc -l)" -eq 4 ]
	# each of the 26 segments gets four contributions and at most one result
	[ "$(counted switch added)" -ge $((4 * $(counted switch results))) ]
	[ "$(counted switch results)" -eq $((26 * $(awk '/^iterations/ { print $2 }' said))) ]
}

@test "four asynchronous workers reach 475, and none is more than 3 rounds behind" {
	once training
	cartpole --async --seed 2
	[ "$(grep -c '^gradients, staleness [0-3] ' said)" -eq 4 ]
	# the last gradient may have been in flight when the run ended
	tail -qn 1 out/1-w?.out | jq -es 'all(.staleness_0 + .staleness_1 + .staleness_2 + .staleness_3 - .sent | . == 0 or . == 1)'
}

@test "12 workers in two racks under a core reach 475" {
	once training
	privileged
	"$example" --out "$PWD/out" --hierarchy --seed 4 >said 3>&- &
	wait $!
	run ! grep -q "innet-$!-" <(ip netns list)
	# each sum of the core has a packet of each rack, and each of these has
	# packets of six workers
	results=$(counted core results)
	[ "$results" -eq $((26 * $(awk '/^iterations/ { print $2 }' said))) ]
	[ "$(counted core added)" -ge $((2 * results)) ]
	[ "$(counted switch1 sent_up)" -ge "$results" ]
	[ "$(counted switch2 added)" -ge $((6 * results)) ]
}

# given FIRST LAST: print the number of gradients that these workers have sent
given() {
	for w in $(seq "$1" "$2"); do tail -n 1 "out/1-w$w.out"; done | jq -s 'map(.sent) | add'
}

# On a busy machine a rack's push can take longer than the next pushes of its
# workers. Pushes for which the rack has no room count as early and are sent
# again.
@test "12 asynchronous workers in two racks reach 475, and nothing is lost" {
	once training
	privileged
	cartpole --async --hierarchy --seed 4
	[ "$(counted core early)" -eq 0 ]
	for rack in 1 2; do	# except for packets in flight at the end
		added=$(counted switch$rack added) sent=$((26 * $(given $((6 * rack - 6)) $((6 * rack - 1)))))
		[ "$added" -le "$sent" ]
		[ "$added" -ge $((sent - 6 * 26)) ]
	done
	[ "$(counted core added)" -ge $((2 * $(counted core results))) ]
}

@test "a training that does not reach 475 reports this, with status 1" {
	run -1 --separate-stderr cartpole --steps 5000
	[[ $stderr == *"iswitch-cartpole: the agents reached a reward of "*", not 475" ]]
}

@test "the hierarchy without privileges: one error line, status 1" {
	drop=''
	[ "$(id -u)" -ne 0 ] || drop='setpriv --reuid=65534 --regid=65534 --clear-groups'
	run -1 --separate-stderr $drop "$example" --hierarchy
	[ -z "$output" ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == *'network namespaces need root '* ]]
}

@test "misuse: status 2" {
	for words in '--mode both' '--async --twice' '--seed x' --seed '--speed 3' '--workers 0' '--hierarchy --workers 4'; do
		run -2 --separate-stderr cartpole $words
		[[ $stderr == 'iswitch-cartpole: '* ]]
	done
}
