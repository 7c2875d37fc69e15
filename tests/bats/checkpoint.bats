# Tests of checkpoints of a running agent, and of resuming from them.
load common

alone() {
	innet-agent -q --alone "$@"
}

# iteration FILE: print the iteration of the weights in the checkpoint, as the
# stream numbers it
iteration() {
	local n
	n=$(od -An -tu4 -j8 -N4 "$1")
	od -An -tu8 -j$((32 + n + 16)) -N8 "$1" | tr -d ' '
}

# pair NAME OPTION...: start a job of two synchronous workers, the process ids of
# their agents in pid0 and pid1; W in an option is the worker's number
pair() {
	local name=$1 w
	shift
	serve switch innet-switch -q -p iswitch -H 2 --reduce ordered
	works=''
	for w in 0 1; do
		rm -f pid$w
		timeout -k 5 120 innet-worker -q -p iswitch --switch "$switch" --worker $w -- \
			sh -c 'echo $$ >$0.tmp; mv $0.tmp $0; exec "$@"' pid$w \
			innet-agent -v --seed $w --init-seed 9 --save "$name$w" "${@//W/$w}" 2>log.$name$w 3>&- &
		works="$works $!" pids="$pids $!"
	done
}

@test "an agent that is killed during a run resumes to the same weights, bit for bit" {
	once
	for algo in a2c ppo; do
		rm -f ck
		alone --algo $algo --steps 200k --save whole
		innet-agent -q --alone --algo $algo --steps 1G --save ck --save-every 3 --interval 5ms 3>&- &
		await ck
		kill -KILL $!
		wait $! || [ $? -eq 137 ]
		run ! cmp -s -n "$(stat -c %s whole)" whole ck
		alone --algo $algo --steps 200k --load ck --save again --save-every 3
		cmp -n "$(stat -c %s whole)" whole again
	done
}

@test "every environment resumes, and ends with the same files as without a stop" {
	once
	for env in cartpole mountaincar mountaincar-continuous acrobot pendulum breakout \
		lunarlander lunarlander-continuous; do
		set -- --env $env --horizon 100 --envs 4 --save-every 2 --entropy 0.01
		alone "$@" --steps 6000 --save whole
		alone "$@" --steps 2999 --save ck --seed 1
		alone "$@" --steps 6000 --load ck --save ck --seed 7
		cmp whole ck || { echo $env; false; }
	done
}

@test "a signal saves the last complete lesson, and the agent resumes from it" {
	alone --algo ppo --steps 200k --save whole --save-every 1000
	innet-agent -q --alone --algo ppo --steps 1G --save ck --save-every 10 --interval 1ms 3>&- &
	await ck
	kill -TERM $!
	wait $!
	alone --algo ppo --steps 200k --load ck --save ck --save-every 1000
	cmp whole ck
	[ ! -e ck.tmp ] && [ ! -e ck.old ]
}

@test "a checkpoint works as a policy for --eval, and the log and the report continue" {
	alone --steps 5k --save ck --save-every 2
	innet-agent --eval ck --episodes 1
	run -0 innet-agent -v --alone --steps 9k --load ck --log log --report r
	[[ $output == *"innet-agent: ck: iteration 0, 4608 steps, 9 gradients"* ]]
	jq -e '.steps == 9000 and .gradients == 17' r
	[ "$(sed -n 2p log | cut -d, -f1)" -gt 4608 ]
}

@test "with a gradient stream, the weights of a child include their iteration" {
	stream-echo -s -n 20 innet-agent -q --save ck --save-every 4
	[ "$(iteration ck)" -eq 20 ]
	[ "$(iteration ck.old)" -eq 20 ] || [ "$(iteration ck.old)" -eq 16 ]
	timeout 20 innet-agent -q --load ck </dev/null | head -c 20000 >out
	[ "$(iteration out)" -eq 20 ]
}

@test "a job whose workers were killed resumes to the same weights" {
	once
	set -- --steps 60k --save-every 5
	pair whole "$@"
	for w in $works; do wait "$w"; done
	finish switch
	pair ck --steps 1G --save-every 5 --interval 5ms
	await ck0.old
	kill -KILL $(cat pid0 pid1)
	for w in $works; do wait "$w" || true; done
	finish switch || true
	[ "$(iteration ck0)" -le "$(iteration ck1)" ] || mv ck0.old ck0
	[ "$(iteration ck1)" -le "$(iteration ck0)" ] || mv ck1.old ck1
	pair ck "$@" --load ckW
	for w in $works; do wait "$w" || { cat log.ck?; false; }; done
	grep -q "^innet-agent: ck0: iteration [1-9]" log.ck0
	finish switch
	cmp whole0 ck0
	cmp whole1 ck1
}

@test "if the checkpoints of two workers differ, both continue from the later iteration" {
	stream-echo -s -n 6 innet-agent -q --save a --save-every 6 --init-seed 9
	stream-echo -s -n 7 innet-agent -q --save b --save-every 7 --init-seed 9
	serve switch innet-switch -q -p iswitch -H 2
	innet-worker -p iswitch --switch "$switch" --worker 0 -w w0.pcap -- \
		innet-agent -q --load a --steps 20k 2>w0 3>&- &
	pids="$pids $!" first=$!
	await w0.pcap
	timeout 60 innet-worker -q -p iswitch --switch "$switch" --worker 1 -- innet-agent -q --load b --steps 20k
	wait $first || { cat w0; false; }
	grep 'job 1: took over the state of worker 1 (.* bytes) after iteration 7$' w0
}

# refuses TEXT OPTION...: check that --load ck fails with status 1 and only this
# line
refuses() {
	local text=$1
	shift
	run -1 innet-agent --alone --load ck --log log "$@"
	[ "$output" = "innet-agent: ck: $text" ] || { echo "$output"; return 1; }
	[ ! -e log ]
}

@test "an agent refuses a truncated, damaged or foreign checkpoint in one line" {
	refuses "No such file or directory"
	alone --steps 2k --save good --save-every 2
	len=$(stat -c %s good)
	for n in 0 20 100 2000; do head -c $n good >ck; refuses "the file ends too early"; done
	head -c $((len - 1)) good >ck; refuses "the file is damaged or cut short: its checksum is wrong"
	cp good ck; printf x | dd of=ck bs=1 seek=$((len - 99)) conv=notrunc status=none
	refuses "the file is damaged or cut short: its checksum is wrong"
	cp good ck; refuses "the checkpoint was written by a2c on cartpole, not by ppo on cartpole; give the same --algo and --env" --algo ppo
	refuses "the checkpoint was written by a2c on cartpole, not by a2c on acrobot; give the same --algo and --env" --env acrobot
	refuses "the checkpoint has another number of --envs" --envs 4
	refuses "the checkpoint has another number of weights; give the same --hidden" --hidden 32
	refuses "the checkpoint has another --optimizer" --optimizer sgd
	alone --steps 2k --save ck; refuses "this is a saved policy, not a checkpoint of --save-every"
	echo 'no checkpoint, but long enough for a header' >ck; refuses "does not begin with INET"
	rm ck; mkdir ck; refuses "not a regular file, so it cannot be a checkpoint"
}

@test "an agent that cannot write a checkpoint prints an error, and its exit status is 1" {
	mkdir here
	innet-agent -q --alone --steps 60k --interval 10ms --save here/ck --save-every 1 2>err 3>&- &
	await here/ck
	mv here gone
	await err
	rc=0
	wait $! || rc=$?
	[ $rc -eq 1 ]
	[ "$(sort -u err)" = "innet-agent: here/ck: No such file or directory" ]
	innet-agent --eval gone/ck --episodes 1
}

@test "errors name the misuse" {
	run -2 innet-agent --alone --save-every 3
	[ "$output" = "innet-agent: --save-every needs --save" ]
	run -2 innet-agent --alone --algo dqn --save p --save-every 3
	[[ $output == "innet-agent: --save-every and --load cannot be used with --algo dqn, because a checkpoint would contain all experiences;"* ]]
	run -2 innet-agent --eval p --load q
	run -2 innet-agent --alone --save p --save-every 0
}
