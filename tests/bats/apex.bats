# Tests of actors, a learner and the memory between them: innet-memory, or plain
# Redis.
load common
load apex

@test "Ape-X: eight actors and a learner solve CartPole, by priority" {
	once training
	table
	actors 8 --algo dqn
	learner --algo dqn --replay per --seed 1 --solve --gradients 20000
	ended
	jq -e '.solved and .mean100_reward >= 475 and .sample.count >= .gradients' l.json
	jq -es 'length == 8 and all(.pushed > 100 and .pulled > 5 and .push.count > 1)' a?.json
}

@test "the same agents learn with a plain Redis server" {
	list
	actors 3 --algo dqn
	learner --algo dqn --replay per --gradients 400 --log l.csv
	ended
	jq -e '.gradients == 400 and .memory == "list" and .fetch.count > 1 and .set.count >= 40' l.json
	[ "$(wc -l <l.csv)" -gt 2 ]
}

@test "the same agents learn with innet-memory used like a plain Redis server" {
	table
	at="--redis $memory"
	actors 2 --algo dqn
	learner --algo dqn --gradients 300
	ended
	jq -e '.memory == "list" and .replay == "uniform"' l.json
}

@test "DDPG in Ape-X: two actors and a learner train" {
	table --unix "$PWD/memory"
	at="--replay-memory $PWD/memory"
	actors 2 --algo ddpg --env pendulum --push 20
	learner --algo ddpg --env pendulum --replay per --gradients 500 --no-prefetch
	ended
	jq -e '.gradients == 500 and .prefetch == false and .left_out == 0' l.json
}

@test "Ape-X learns Breakout with --double, --dueling and 3-step returns" {
	table
	actors 2 --algo dqn --env breakout --dueling yes --n-step 3 --push 100
	learner --algo dqn --env breakout --dueling yes --replay per --warmup 500 --gradients 40
	ended
	jq -e '.gradients == 40 and .experience_bytes == 812 and .left_out == 0' l.json
}

@test "interleaved actors store each frame of Breakout once" {
	table
	actors 2 --algo dqn --env breakout --push 100
	learner --algo dqn --env breakout --replay per --warmup 2000 --gradients 20
	ended
	jq -e '.gradients == 20 and .left_out == 0' l.json
	begun
	cli PER.INFO innet:replay | paste - - >info
	awk '{ v[$1] = $2 } END { exit !(v["have"] >= 2000 && v["frames"] > 1000 && v["frames"] < 1.2 * v["have"]) }' info
}

@test "a memory that is too small for --buffer keeps as many experiences as fit, and the learner continues" {
	table --memory 16MiB
	actors 2 --algo dqn --experience 8000
	innet-agent -q --role learner $at --algo dqn --experience 8000 --report l.json 2>l.err 3>&- &
	lrn=$! pids="$pids $!"
	within 60 evicted 3000
	kill -TERM $lrn
	wait $lrn
	ended
	grep -x "innet-agent: $memory: the server's limit of 16777216 bytes has room for [0-9]* of 50000 experiences; the table keeps as many as fit" l.err
	[ "$(wc -l <l.err)" -eq 1 ]
	learner -q --algo dqn --experience 8000 --buffer 50000 --gradients 1 2>again.err
	cmp l.err again.err
	run -1 learner -q --clear --algo dqn --experience 8000 --warmup 4000
	[[ $output == "innet-agent: $memory: the server's limit of 16777216 bytes has room for "*" experiences, but training needs 4000 to start; lower --warmup or raise the server's --memory" ]]
}
evicted() { [ "$(cli PER.INFO innet:replay | awk '/^evicted/ { getline; print $1 }')" -ge "$1" ]; }

@test "experiences and parameters have the sizes of the paper" {
	table
	actors 1 --algo dqn --experience 213500 --vector 13MB --push 20
	learner --algo dqn --experience 213500 --vector 13MB --warmup 100 --batch 64 --gradients 10
	ended
	jq -e '.experience_bytes == 213500 and .params_bytes > 13000000 and .prefetch' l.json
}

@test "the first actor explores most, with the probabilities of Ape-X" {
	table
	actors 3 --algo dqn --steps 2000
	learner --algo dqn --warmup 4100 --gradients 100	# more steps than two actors make
	ended
	jq -es '[.[].explore] | (.[0] - 0.4 | fabs) < 1e-8 and (.[2] - 0.00065536 | fabs) < 1e-8' a?.json
}

@test "--ratio: actors wait while the learner is behind" {
	table
	actors 4 --algo dqn --push 30
	learner --algo dqn --ratio 64:512 --gradients 300
	ended
	jq -es 'map(.limits) | add > 0' a?.json
	begun
	cli PER.INFO innet:replay >info
	awk '/^inserted/ { getline; i = $1 } /^sampled/ { getline; s = $1 } END { exit !(i <= 2000 + s / 64) }' info
}

@test "--eval plays with the weights that the learner stored" {
	table
	actors 1 --algo dqn
	learner --algo dqn --gradients 50 --save p
	ended
	begun
	cli --raw GET innet:params | head -c -1 >q
	cmp p q
	innet-agent --eval q --episodes 2
}

@test "after a signal, the learner and its actors end with status 0" {
	table
	actors 2 --algo dqn
	innet-agent -q --role learner $at --algo dqn --report l.json 2>l.err 3>&- &
	lrn=$! pids="$pids $!"
	begun LLEN innet:rewards
	kill -TERM $lrn
	wait $lrn
	ended
	[ ! -s l.err ]
	jq -e '.role == "learner"' l.json
}

@test "an actor without a learner reports this and ends" {
	table
	run -1 innet-agent -q --role actor $at --algo dqn --give-up 200ms
	[ "$output" = "innet-agent: $memory: no learner has started within 0.2 s; start innet-agent --role learner with the same servers" ]
}

@test "an actor ends if its learner was killed" {
	table
	actors 1 -q --algo dqn --give-up 500ms
	innet-agent -q --role learner $at --algo dqn 3>&- &
	lrn=$! pids="$pids $!"
	begun LLEN innet:rewards
	kill -9 $lrn
	rc=0
	wait $works || rc=$?
	[ $rc -eq 1 ]
	[ "$(cat a0.err)" = "innet-agent: $memory: no new parameters for 0.5 s; the learner has ended or is not reachable" ]
}

@test "a learner without actors names what it waits for" {
	table
	run -1 learner -q --algo dqn --give-up 200ms
	[ "$output" = "innet-agent: $memory: no experiences to learn from for 0.2 s: the memory has 0 experiences and needs 1000" ]
}

@test "actors and learner name a server that does not answer or that disappears, and end" {
	run -1 innet-agent -q --role actor --redis 127.0.0.1:1 --algo dqn --give-up 200ms
	[ "$output" = "innet-agent: 127.0.0.1:1: no connection for 0.2 s: Connection refused" ]
	table
	actors 2 -q --algo dqn --give-up 500ms
	innet-agent -q --role learner $at --algo dqn --give-up 500ms 2>l.err 3>&- &
	pids="$pids $!" works="$works $!"
	begun
	kill -9 "$memory_pid"
	for p in $works; do
		rc=0
		wait "$p" || rc=$?
		[ $rc -eq 1 ]
	done
	grep -q "^innet-agent: $memory: no connection for 0.5 s: Connection refused" l.err
	grep -q "^innet-agent: $memory: no connection for 0.5 s: Connection refused" a0.err
}

@test "an actor gives up if its server stops answering" {
	table
	kill -STOP "$memory_pid"
	run -1 innet-agent -q --role actor $at --algo dqn --give-up 200ms
	kill -9 "$memory_pid"
	[ "$output" = "innet-agent: $memory: waiting for PING: no progress for 0.2 s" ]
}

# class_of PID NAME: wait up to 10 s until the process has the scheduling class
# NAME
class_of() {
	local n
	for ((n = 0; n < 1000; n++)); do
		[[ $(chrt -p "$1") != *$2* ]] || return 0
		sleep 0.01
	done
	return 1
}

@test "--realtime uses the class fifo for an exchange, and not for play" {
	chrt --fifo 1 true 2>/dev/null || skip 'class fifo is not allowed here'
	table
	actors 1 -q --algo dqn --realtime
	innet-agent -q --role learner $at --algo dqn 2>l.err 3>&- &
	pids="$pids $!"
	begun
	class_of $works SCHED_OTHER
	kill -STOP "$memory_pid"
	rc=0
	class_of $works SCHED_FIFO || rc=$?
	kill -CONT "$memory_pid"
	[ $rc -eq 0 ]
	class_of $works SCHED_OTHER
}

@test "--realtime fails with a message if it is not allowed" {
	local drop='setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice'
	command -v setpriv >/dev/null || skip 'no setpriv'
	[ "$(id -u)" -eq 0 ] || drop=''
	[ "$(ulimit -r)" = 0 ] || skip 'anyone may be of class fifo'
	table
	run -1 $drop innet-agent -q --role actor $at --algo dqn --realtime
	[ "$output" = "innet-agent: --realtime: cannot get a real-time priority, which needs CAP_SYS_NICE or RLIMIT_RTPRIO: Operation not permitted" ]
}

# learns: wait up to 10 s until a learner has set its parameters five times
learns() {
	local n
	command -v redis-cli >/dev/null || skip 'no redis-cli'
	for _ in $(seq 500); do
		n=$(cli INFO commandstats | sed -n 's/^cmdstat_set:calls=\([0-9]*\).*/\1/p')
		[ "${n:-0}" -lt 5 ] || return 0
		sleep 0.02
	done
	return 1
}

@test "a learner without room for its parameters continues, retries, and warns once a second" {
	local since lrn
	for where in table list; do
		$where
		actors 1 --algo dqn
		innet-agent -q --role learner $at --algo dqn --report l.json 2>l.err 3>&- &
		lrn=$! pids="$pids $!"
		learns
		since=$SECONDS
		cli CONFIG SET maxmemory 1mb
		said 2 "^innet-agent: ${at#* }: the server did not accept innet:params: OOM "
		[ "$(wc -l <l.err)" -le $((SECONDS - since + 2)) ]
		cli CONFIG SET maxmemory 1gb
		kill -TERM $lrn
		wait $lrn
		ended
		[ "$(cli EXISTS innet:end)" = 1 ]
		jq -e '.gradients > 20 * .set.count' l.json
	done
}

@test "the learner waits until its parameters fit into the server, and ends if they do not fit in time" {
	table --memory 1MiB
	head -c 1040000 /dev/zero >filler
	cli -x SET filler <filler
	innet-agent -q --role learner $at --algo dqn --buffer 2000 --warmup 20 --gradients 20 2>l.err 3>&- &
	lrn=$! pids="$pids $!"
	said 1 "the server did not accept innet:params: OOM"
	cli DEL filler
	actors 1 --algo dqn
	wait $lrn
	ended
	cli FLUSHALL
	cli PER.DROP innet:replay
	cli -x SET filler <filler
	run -1 innet-agent -q --role learner $at --algo dqn --give-up 900ms
	[ "${#lines[@]}" -eq 2 ]
	[[ ${lines[1]} == "innet-agent: $memory: the server did not accept innet:params within 0.9 s: OOM command not allowed "* ]]
}

# hostile BEGIN MORE: start a server at $at that answers PING. It answers every
# other request with BEGIN and then with MORE without end; both are in the
# notation of printf.
hostile() {
	python socket
	rm -f hostile.port
	"$py" - "$@" 3>&- <<-'END' &
	import os, socket, sys, time
	begin, more = (s.encode().decode("unicode_escape").encode() for s in sys.argv[1:])
	door = socket.create_server(("127.0.0.1", 0))
	with open("port", "w") as f:
	    f.write(str(door.getsockname()[1]))
	os.rename("port", "hostile.port")
	try:
	    c, _ = door.accept()
	    c.recv(65536)
	    c.sendall(b"+PONG\r\n")
	    c.recv(65536)
	    c.sendall(begin)
	    while True:
	        c.sendall(more * (1 << 16) if len(more) > 1 else more)
	        time.sleep(0 if len(more) > 1 else .01)
	except OSError:
	    pass
	END
	pids="$pids $!"
	await hostile.port
	at="--replay-memory 127.0.0.1:$(cat hostile.port)"
}

@test "an agent names its request if a server's reply never ends, fast or slow" {
	local who begin more why size most=67108864
	declare -A clear=([learner]=--clear [actor]=)
	innet-agent -q --alone --algo dqn --steps 10 --save p
	size=$(stat -c %s p)
	while read -r who begin more why; do
		hostile "$begin" "$more"
		run -1 timeout 60 innet-agent -q --role $who ${clear[$who]} $at --algo dqn --give-up 1s
		[ "$output" = "innet-agent: ${at#* }: waiting for $why" ]
	done <<-END
	actor *2\r\n:7\r\n\$$size\r\n x innet:params: still incomplete after 1 s
	actor *2\r\n:7\r\n\$536870912\r\n xx innet:params: the reply has at least 536870934 bytes, but the limit is $((size + most))
	learner : 1 DEL: still incomplete after 1 s
	learner *2147483647\r\n :1\r\n DEL: the reply has at least 6442450954 bytes, but the limit is $((size + most))
	learner :0\r\n*20000000\r\n: 1 PER.DROP: still incomplete after 1 s
	END
}

# locked: check that the right password works, and that a wrong one gives a
# message
locked() {
	local name=${at#* }
	actors 1 --algo dqn --password-file right
	learner --algo dqn --gradients 20 --password-file right
	ended
	echo wrong >wrong
	for role in actor learner; do
		run -1 innet-agent -q --role $role $at --algo dqn --password-file wrong
		[ "$output" = "innet-agent: $name: AUTH: WRONGPASS invalid username-password pair or user is disabled." ]
		run -1 innet-agent -q --role $role $at --algo dqn
		[ "$output" = "innet-agent: $name: PING: NOAUTH Authentication required." ]
	done
}

@test "--password-file authenticates with innet-memory; without it the agent explains the error" {
	printf 'se cret\r\nmore\n' >right
	table --password-file right
	locked
	run -1 innet-agent -q --role actor $at --algo dqn --password-file none
	[ "$output" = "innet-agent: none: No such file or directory" ]
	run -2 innet-agent --alone --algo dqn --password-file right
	[ "$output" = "innet-agent: --password-file needs --role actor or --role learner" ]
}

@test "--password-file authenticates with a plain Redis server" {
	echo 'se cret' >right
	list --requirepass 'se cret'
	locked
}

@test "actors and the learner connect again to a server that restarts" {
	n=$(few 4000)
	list
	actors 2 --algo dqn
	innet-agent --role learner $at --algo dqn --gradients $n --report l.json 2>l.err 3>&- &
	works="$works $!" pids="$pids $!"
	begun
	cli CLIENT KILL TYPE normal SKIPME yes
	ended
	jq -es 'map(.reconnected) | add >= 1' a?.json l.json
	jq -e ".gradients == $n" l.json
}

@test "the learner skips and counts elements that are not experiences" {
	list
	learner -q --algo dqn --warmup 200 --batch 8 --gradients 20 2>l.err 3>&- &
	lrn=$! pids="$pids $!"
	begun
	cli RPUSH innet:list junk '' "$(printf '%48s' x)" >/dev/null
	head -c 48 /dev/zero | cli -x RPUSH innet:list >/dev/null	# with priority 0
	actors 1 --algo dqn
	wait $lrn
	jq -e '.left_out == 4 and .gradients == 20' l.json
	grep -q 'left out 4 invalid experiences; the last one had a' l.err
	ended
}

@test "an agent refuses the parameters of another kind of agent" {
	table
	innet-agent -q --role learner $at --algo dqn --give-up 3s 2>l.err 3>&- &
	pids="$pids $!"
	run -1 innet-agent -q --role actor $at --algo dqn --hidden 32 --give-up 3s
	[ "$output" = "innet-agent: $memory: innet:params: parameters of another length than this agent's" ]
	run -1 innet-agent -q --role actor $at --algo dqn --env mountaincar --give-up 3s
	[[ $output == *"innet:params: parameters of another "* ]]
}

@test "apex.sh produces every table from short runs" {
	once
	"$share/examples/apex.sh" -o out --quick --turns 2 --only latency,rate 2>err 3>&- ||
		{ cat err; false; }
	[ "$(wc -l <out/latency.csv)" -ge 3 ]
	[ "$(grep -c 'latency: memory, . actors, turn [12]$' err)" -eq 4 ]
	[ "$(grep -c "^memory,[12]," out/latency.csv)" -eq 2 ]
	awk -F, 'NR > 1 && !($3 > 0 && $6 > 0 && $9 > 0 && $12 > 0 && $18 > 0) { exit 1 }' out/latency.csv
	awk -F, 'NR > 1 && !($5 > 0) { exit 1 }' out/rate.csv
	! command -v gnuplot || [ -s out/rate-bars.svg ]
	# the actors' three shares add up to 100 %, and the learner has shares
	# too;
	# in the table of rates all shares are those of a learner
	[ "$(wc -l <out/breakdown.csv)" -eq "$(wc -l <out/latency.csv)" ]
	awk -F, 'NR > 1 && !($4 + $5 + $6 > 99 && $4 + $5 + $6 < 101 && $7 > 0 && $8 > 0 && $7 + $8 + $9 < 101) { exit 1 }' \
		out/breakdown.csv
	awk -F, 'NR > 1 && !($5 > 0 && $7 > 0 && $5 + $6 + $7 + $8 + $9 > 99) { exit 1 }' out/rate-breakdown.csv
	run -2 "$share/examples/apex.sh" -o out --only x
	run -2 "$share/examples/apex.sh" -o out --turns 0
	run -2 "$share/examples/apex.sh" -o out --give-way x
	[ "$output" = "apex: --give-way 'x' is none of fifo, idle, nice" ]
}

@test "apex.sh over shaped links: 10 ms more in each direction appear in every latency" {
	once
	REPLAY=memory "$share/examples/apex.sh" -o out --quick --only network 2>err 3>&- ||
		{ cat err; false; }
	[ "$(cut -d, -f 1-3 out/network.csv | tr '\n' ' ')" = 'link,memory,actors rack,memory,1 wide,memory,1 ' ]
	awk -F, '$1 == "wide" && !($4 > 20 && $10 > 20 && $13 > 20) { exit 1 }' out/network.csv
}

@test "roles: options that exclude each other are misuse" {
	run -2 innet-agent --role actor --algo dqn
	[ "$output" = "innet-agent: --role needs --replay-memory or --redis, the server that stores the experiences" ]
	run -2 innet-agent --role learner --redis x --algo ppo
	[[ $output == *"--role cannot be used with --algo ppo; use --algo dqn or ddpg"* ]]
	run -2 innet-agent --role learner --redis x --replay-memory y --algo dqn
	run -2 innet-agent --alone --redis x --algo dqn
	run -2 innet-agent --role actor --redis x --algo dqn --actor 8/8
	[[ $output == *"invalid actor '8/8'"* ]]
	run -2 innet-agent --role learner --redis x --algo dqn --ratio 8:4
	run -2 innet-agent --role learner --redis x --algo dqn --ratio 4
	[[ $output == *"--ratio needs --replay-memory"* ]]
	run -2 innet-agent --role learner --redis x --algo dqn --batches 4
	[[ $output == *"--batches needs --replay-memory and --role learner"* ]]
	run -2 innet-agent --role actor --replay-memory x --algo dqn --batches 4
	run -2 innet-agent --alone --algo dqn --batches 4
	[[ $output == *"--batches needs --role learner"* ]]
	run -2 innet-agent --role learner --replay-memory x --algo dqn --batch 2048 --batches 1024
	[[ $output == *"--batch times --batches can be at most 131072 with --role"* ]]
	run -2 innet-agent --role learner --replay-memory x --algo dqn --realtime
	[[ $output == *"--realtime needs --role actor"* ]]
	run -2 innet-agent --alone --algo dqn --realtime
	run -2 innet-agent --alone --algo dqn --alpha 0.5
	[[ $output == *"need --replay per"* ]]
	run -1 innet-agent --role actor --redis nonsense:x --algo dqn
	[[ $output == *"nonsense:x: not HOST:PORT"* ]]
}

@test "--batches: one exchange draws several batches, and each experience gets its own priority" {
	local how
	table
	actors 1 --algo dqn --steps 1100	# so that each experience is drawn at first
	learner --algo dqn --replay per --gradients 1
	ended
	cli PER.DUMP innet:replay count 9999 >given
	# a step of 1e-30 changes no weight, so an experience keeps its priority
	set -- --algo dqn --replay per --learning-rate 1e-30
	learner "$@" --gradients 1500
	cli PER.DUMP innet:replay count 9999 >one
	run ! cmp -s given one
	for how in '' --no-prefetch '--experience 4000'; do
		[[ $how != *exp* ]] || {
			table
			actors 1 --algo dqn --steps 1100 $how
			learner --algo dqn --replay per --gradients 1 $how
			ended
			learner "$@" --gradients 1500 $how
			cli PER.DUMP innet:replay count 9999 >one
		}
		learner "$@" --gradients 302 --batches 4 $how
		jq -e '.gradients == 302 and .sample.count >= 76 and .sample.count <= 78' l.json
		cli PER.DUMP innet:replay count 9999 | cmp - one
	done
	tables=$(cli PER.INFO innet:replay | paste - - | awk '$1 == "updated" { print $2 }')
	[ "$tables" -gt 1000 ]
}

@test "the default algorithm of a role in Ape-X uses a replay memory" {
	serve memory innet-memory -q
	for env in cartpole pendulum; do
		innet-agent -q --role actor --env $env --replay-memory "$memory" --give-up 200ms 2>err || true
		run ! grep 'use --algo dqn or ddpg' err
	done
	run -2 --separate-stderr innet-agent --role actor --algo ppo --replay-memory "$memory"
	[[ $stderr == *'--role cannot be used with --algo ppo; use --algo dqn or ddpg' ]]
}
