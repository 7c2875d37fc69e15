# Tests of actors and a learner that use several memories.
load common
load apex

# tables N: start N servers; $at gets the option by which agents find them, and
# memory0, memory1... get their addresses
tables() {
	local k name list=''
	for ((k = 0; k < $1; k++)); do
		serve "memory$k" innet-memory
		name=memory$k
		list=$list${list:+,}${!name}
	done
	at="--replay-memory $list"
}

# even K [MOST]: check that all experiences drawn from server K have got new
# priorities or were evicted, except for at most MOST experiences (default: 512,
# two batches)
even() {
	local left=$(($(of $1 sampled) - $(of $1 updated) - $(of $1 stale)))
	[ $left -ge 0 ] && [ $left -le ${2:-512} ]
}

# of K WHAT: print one value of PER.INFO for the table of server K
of() {
	local name=memory$1 port
	command -v redis-cli >/dev/null || skip 'no redis-cli'
	port=${!name#*:}
	redis-cli -p "$port" PER.INFO "$(redis-cli -p "$port" PER.LIST)" |
		awk -v what="$2" '$1 == what { getline; print $1 }'
}

@test "actors spread experiences over three servers, and the learner draws from all by priority" {
	local k
	tables 3
	actors 2 --algo dqn
	learner --algo dqn --replay per --gradients 300 --buffer 300000
	ended
	jq -e '.gradients == 300 and .shards == 3 and .left_out == 0' l.json
	for k in 0 1 2; do
		[ "$(of $k inserted)" -ge 334 ]
		[ "$(of $k sampled)" -gt 3000 ]
		[ "$(of $k updated)" -gt 3000 ]
		[ "$(of $k stale)" -eq 0 ]
	done
	# two batches may still be in flight
	jq -e --argjson n $(($(of 0 sampled) + $(of 1 sampled) + $(of 2 sampled))) \
		'128 * .sample.count <= $n and $n <= 128 * (.sample.count + 2)' l.json
}

@test "one actor can fill two servers, for each way to draw" {
	local how
	for how in '' --no-prefetch '--experience 4000' '--batches 3'; do
		tables 2
		actors 1 --algo dqn ${how%--[nb]*}
		learner --algo dqn --replay per --gradients 100 $how
		ended
		[ "$(of 0 sampled)" -gt 1000 ]
		[ "$(of 1 sampled)" -gt 1000 ]
	done
}

@test "the learner names the server whose table differs from the other" {
	local name is
	tables 2
	actors 1 --algo dqn
	learner --algo dqn --gradients 1
	ended
	name=$(redis-cli -p "${memory1#*:}" PER.LIST)
	redis-cli -p "${memory1#*:}" PER.DROP "$name"
	redis-cli -p "${memory1#*:}" PER.CREATE "$name" capacity 600 \
		selector uniform
	run -1 learner -q --algo dqn --buffer 9999 --gradients 1
	is="$(redis-cli -p "${memory0#*:}" PER.LIST): the capacity of the table is 25000, not 5000"
	[[ $output == "innet-agent: $memory0: $is; "*"leave out --buffer to use it" ]]
	run -1 learner -q --algo dqn --buffer 50000 --gradients 1
	is="$name: the capacity of the table is 600, not 25000"
	[[ $output == "innet-agent: $memory1: $is; "*"leave out --buffer to use it" ]]
}

@test "the learner sends a new priority to the server that holds the experience" {
	local name
	tables 2
	actors 1 --algo dqn
	learner --algo dqn --replay per --buffer 1000000 --gradients 1
	ended
	name=$(redis-cli -p "${memory0#*:}" PER.LIST)
	# after a while, ids of this table have generations that the other table
	# does not have
	redis-cli -p "${memory0#*:}" PER.DROP "$name"
	redis-cli -p "${memory0#*:}" PER.CREATE "$name" capacity 600
	actors 1 --algo dqn
	learner --algo dqn --replay per --gradients 200 --batches 2
	ended
	[ "$(of 0 evicted)" -gt 600 ]
	[ "$(of 1 evicted)" -eq 0 ]
	[ "$(of 1 updated)" -gt 1000 ]
	[ "$(of 1 stale)" -eq 0 ]
	even 0 768 && even 1 768
}

# dies N: start N servers and kill the last one; the learner and the actors must
# report it
dies() {
	local last=memory$(($1 - 1)) pid=memory$(($1 - 1))_pid p rc
	tables "$1"
	actors 2 -q --algo dqn --give-up 4s
	innet-agent -q --role learner $at --algo dqn --give-up 4s 2>l.err 3>&- &
	pids="$pids $!" works="$works $!"
	within 60 updated $(($1 - 1))
	kill -9 "${!pid}"
	for p in $works; do
		rc=0
		wait "$p" || rc=$?
		[ $rc -eq 1 ]
	done
	cat l.err
	[[ $(tail -n 1 l.err) == "innet-agent: ${!last}: no connection for 4 s: "* ]]
	grep -q "^innet-agent: ${!last}: no connection for 4 s: " a?.err
}
updated() { [ "$(of "$1" updated)" -gt 0 ]; }

@test "if one of two servers dies, all agents end and name it" {
	dies 2
}

@test "if one of three servers dies, all agents end and name it" {
	dies 3
}

@test "actors fill a server that restarts empty, and the learner draws from it again" {
	tables 3
	actors 2 -q --algo dqn
	innet-agent -q --role learner $at --algo dqn --report l.json 2>l.err 3>&- &
	lrn=$! pids="$pids $!"
	within 60 updated 2
	kill -9 "$memory2_pid"
	wait "$memory2_pid" || true
	innet-memory -q --listen "$memory2" 3>&- &
	pids="$pids $!"
	within 60 updated 2
	kill -TERM $lrn
	wait $lrn
	ended
	[ ! -s l.err ]
	jq -e '.reconnected >= 1' l.json
}

@test "an invalid list of servers is misuse" {
	run -2 innet-agent --role learner --replay-memory a,,b
	[ "$output" = "innet-agent: --replay-memory: an address is missing" ]
	run -2 innet-agent --role learner --replay-memory "$(seq -s, 65)"
	[ "$output" = "innet-agent: --replay-memory: at most 64 servers can be given" ]
	run -1 innet-agent -q --role actor --replay-memory :1,nonsense:x --give-up 100ms
	[[ $output == "innet-agent: "*:1:* ]]
}
