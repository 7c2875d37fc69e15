#!/usr/bin/env bash
# live.sh SEED... - run the trainings and faults of innet-sim --chaos with live
# programs
#
# The programs run in network namespaces (this needs root).  Each seed chooses
# the workers, racks, approach and mode, the shares of lost, duplicated and late
# packets, and faults, which happen one after another.  A link goes down; a
# worker is stopped, or every second time killed and restarted; a switch or a
# server is killed and restarted.
# In synchronous mode every sum must be right (--check).  In asynchronous mode
# all workers must have equal weights at each round after the faults.  All
# programs must end in time.
# The script prints a line for each seed.  If there is a finding, the exit
# status is 1 and the script keeps the logs of that seed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
PATH=$here/../../share/testbed:$PATH
port=5000 rc=0

# jq: the training of the seed: workers racks mode approach bytes loss late
# twice
training='.trainings[0] as $t | .links as $l | [([[$t.workers, 2] | max, 6] | min),
	(if $t.rack > 0 then 1 else 0 end), $t.mode, $t.approach,
	([$t.vector | rtrimstr("B") | tonumber, 400000] | min),
	([$l.loss + $l.burst * 5, 0.1] | min * 10000 | floor / 10000),
	([$l.late, 0.05] | min), ([$l.twice, 0.05] | min)] | @tsv'
# jq: the first six faults of the seed: kind, index, ms
faults='.faults[:6][] | [(if .link then "link-" + .link elif .pause then "pause"
	else .switch end), .index, ([[((.to | rtrimstr("ns") | tonumber) -
	(.from | rtrimstr("ns") | tonumber)) / 1e6 | floor, 20] | max, 400] | min)] | @tsv'

# on HOST NAME COMMAND...: run the command on a host in the background, and set
# ${pid[NAME]}
declare -A pid
on() {
	local host=$1 name=$2
	shift 2
	ip netns exec "innet-$id-$host" "$@" >>"$name.out" 2>>"$name.err" &
	pid[$name]=$!
}
address() { INNET_TESTBED=$id testbed.sh addr "$1"; }

# begin NAME: start the switch, server or worker with the options of the seed
begin() {
	local sum='' out='--check '$workers' -c '$count rack=0
	[ "$mode" = sync ] || { sum=--async out='--async --every 1'; }
	[ "$racks" -eq 0 ] || [[ $1 != w* ]] || rack=$((${1#w} < (workers + 1) / 2 ? 1 : 2))
	case $1 in
	server) on server "$1" innet-ps --json -p iswitch $sum -H "$workers" \
		--insecure --listen "$(address server):$port" ;;
	switch) on switch "$1" innet-switch --json -p iswitch $sum -H "$workers" \
		--insecure --listen "$(address switch):$port" ;;
	core) on core "$1" innet-switch --json -p iswitch $sum -H 2 \
		--insecure --listen "$(address core):$port" ;;
	switch?) on "$1" "$1" innet-switch --json -p iswitch $sum --number "${1#switch}" \
		-H $(((workers + (${1#switch} == 1)) / 2)) --insecure --listen "$(address "$1"):$port" \
		--parent "$(address core):$port" ;;
	w*)	local to=$top
		[ $rack -eq 0 ] || to=switch$rack
		# shellcheck disable=SC2086	# words
		on "$1" "$1" innet-worker --json -p iswitch --switch "$(address $to):$port" \
			--worker "${1#w}" --synthetic "${bytes}B" --interval 4ms \
			--give-up 40s --impair "dup=$twice,reorder=$late" $out ;;
	esac
}

# again NAME MS: kill the program, and restart it after MS ms
again() {
	kill -9 "${pid[$1]}" 2>/dev/null || return 0
	wait "${pid[$1]}" 2>/dev/null
	sleep "$(printf '0.%03d' "$2")"
	begin "$1"
}

# fault N KIND INDEX MS: cause the Nth fault, and undo it after MS ms
fault() {
	local host=w$(($3 % workers)) link=eth0 wait
	wait=$(printf '0.%03d' "$4")
	case $2 in
	link-rack|link-server) [ "$racks" -eq 0 ] ||
		{ host=switch$(($3 % 2 + 1)) link=uplink; } ;;&
	link-*)
		ip -n "innet-$id-$host" link set $link down
		sleep "$wait"
		ip -n "innet-$id-$host" link set $link up ;;
	pause)
		if (($1 % 2)); then
			again "$host" "$4"
		elif kill -STOP "${pid[$host]}" 2>/dev/null; then
			sleep "$wait"
			kill -CONT "${pid[$host]}"
		fi ;;
	rack) again switch$(($3 % 2 + 1)) "$4" ;;
	*) again "$top" "$4" ;;
	esac
}

# Wait until all workers have ended.  Fail if one has not ended after 60 s, or
# if its exit status is not 0.
ended() {
	local k
	for ((k = 0; k < workers; k++)); do
		timeout 60 tail --pid="${pid[w$k]}" -f /dev/null
		kill -0 "${pid[w$k]}" 2>/dev/null && { echo "w$k is still running after 60 s"; return 1; }
		wait "${pid[w$k]}" || { echo "w$k: $(tail -n 1 "w$k.err")"; return 1; }
	done
}

# rounds: print the latest round that a worker has reported
rounds() { tail -qn 1 w?.out | jq -s 'map(.round // 0) | max'; }

judge() {
	local k from seen=0
	if [ "$mode" = sync ]; then
		ended
		return
	fi
	sleep 1
	from=$(rounds)
	for ((k = 0; k < 300 && seen < from + 50; k++)); do
		sleep 0.2
		seen=$(tail -qn 1 w?.out | jq -s 'map(.round // 0) | min')
	done
	for ((k = 0; k < workers; k++)); do kill -TERM "${pid[w$k]}" 2>/dev/null; done
	ended || return
	((seen >= from + 50)) || { echo "a worker has reached only round $seen; another was at $from"; return 1; }
	[ "$approach" = switch ] || return 0	# a server sends each worker other weights
	jq -sc --argjson from "$from" '[.[] | select(.crc and .round > $from)] |
		group_by(.round) | map(select(map(.crc) | unique | length > 1)) | .[0]' w?.out |
		grep -qx null || { echo 'workers have different weights at the same round'; return 1; }
}

# play SEED: run one training in the current folder
play() {
	local drawn why list name n=0 what index ms kind=rack
	drawn=$(innet-sim -v --chaos "$1" --runs 1 2>/dev/null | head -n 1)
	# synchronous: enough iterations to outlast the faults
	count=$((300 + $(jq -r "$faults" <<<"$drawn" | awk '{ n += $3 + 300 } END { print int(n / 2) }')))
	read -r workers racks mode approach bytes loss late twice < <(jq -r "$training" <<<"$drawn")
	top=switch list=switch
	[ "$racks" -eq 0 ] || { kind=two-racks top=core list='core switch1 switch2'; }
	[ "$approach" = switch ] || { racks=0 kind=rack top=server list=server; }
	id=$(testbed.sh up $kind -n "$workers" --rate 1gbit --owner $$ --loss "$loss") || exit 2
	for name in $list $(seq -f w%g 0 $((workers - 1))); do begin "$name"; done
	sleep 0.5
	while read -r what index ms; do
		fault $((n++)) "$what" "$index" "$ms"
		sleep 0.1
	done < <(jq -r "$faults" <<<"$drawn")
	judge >why || rc=1	# not in a subshell, because it waits for children
	why=$(<why)
	printf 'seed %s: %s %s, %s workers%s, %s B, loss %s, %s faults: %s\n' "$1" "$approach" \
		"$mode" "$workers" "$([ "$racks" -eq 0 ] || echo ' in racks')" "$bytes" "$loss" \
		"$n" "${why:-no finding}"
	kill "${pid[@]}" 2>/dev/null
	wait
	pid=()
	testbed.sh down "$id"
	[ -z "$why" ]
}

id=''
trap '[ -z "$id" ] || { kill -9 "${pid[@]}"; testbed.sh down "$id"; } 2>/dev/null' EXIT
trap 'exit 1' INT TERM
for seed; do
	dir=$(mktemp -d) && cd "$dir" || exit 2
	if play "$seed"; then
		cd / && rm -r "$dir"
	else
		echo "  the logs are in $dir; the last messages were:"
		tail -qn 1 ./*.err | sed 's/^/    /'
	fi
done
exit $rc
