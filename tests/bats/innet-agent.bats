# Tests of innet-agent: training alone, training as a child of the gradient
# stream, and playing a saved policy.
load common

alone() {
	innet-agent -q --alone "$@"
}

@test "PPO solves CartPole within 150,000 steps, two seeds" {
	once training
	alone --algo ppo --solve --steps 150k --seed 1
	alone --algo ppo --solve --steps 150k --seed 2
}

@test "A2C solves CartPole within 150,000 steps" {
	once training
	run -0 innet-agent --alone --algo a2c --solve --steps 150k --seed 2
	[[ $output == *"mean reward 47"* ]]
}

@test "the same seed gives the same log, and another seed gives another log" {
	for s in 3 3 4; do
		alone --algo ppo --steps 5k --seed $s --log log
		cut -d, -f1-3 log >>all.$s
	done
	n=$(($(wc -l <all.3) / 2))
	cmp <(head -n $n all.3) <(tail -n $n all.3)
	run ! cmp -s <(head -n $n all.3) all.4
	[ "$(head -n 1 log)" = "step,episode,reward,seconds" ]
	grep -qE '^[0-9]+,1,[0-9]+,[0-9]+\.[0-9]{3}$' log
}

@test "a saved policy gets a reward as high as at the end of its training" {
	once training
	alone --algo ppo --save p --seed 1
	innet-agent --eval p --json | jq -e '.episodes == 100 and .mean_reward >= 475'
}

@test "--eval plays --episodes games with a saved policy and prints text or JSON" {
	alone --algo ppo --steps 2k --save p
	run -0 innet-agent --eval p --episodes 10
	[[ $output == "cartpole: mean reward "* ]]
	innet-agent --eval p --episodes 3 --json | jq -e '.env == "cartpole" and .episodes == 3'
}

@test "--steps and --episodes end the training after that number" {
	run -0 innet-agent --alone --steps 1234
	[[ $output == *" 1234 steps"* ]]
	run -0 innet-agent --alone --episodes 7 --log log
	[[ $output == "innet-agent: 7 episodes"* ]]
	[ "$(wc -l <log)" -eq 8 ]
}

@test "--solve exits with status 1 if the agent does not solve, and prints the reward reached" {
	run -1 innet-agent --alone --solve --steps 2k
	[[ $output == *"not solved: the mean reward of the last 100 episodes is "*", but 475 is needed"* ]]
}

@test "--json prints an object a line, the last one for the complete training" {
	innet-agent -q --alone --horizon 8 --steps 1000 --json >out 2>err
	[ ! -s err ]
	jq -se 'length > 5 and .[-1].steps == 1000' out
}

@test "the child sends hello, weights and gradients, and adopts models" {
	run -0 --separate-stderr stream-echo -n 50 innet-agent --env cartpole
	[[ $output == *'"elements":9155'*'"env":"cartpole"'* ]]
	[[ $output == *"50 gradients, 0 stale"* ]]
	[[ $stderr == *" 51 gradients, 50 results, 50 models and 0 sums received"* ]]
}

@test "a child of a worker learns the same as the agent alone" {
	n=$(few 20000)
	stream-echo -s innet-agent -q --algo ppo --steps $n --log child.csv
	alone --algo ppo --steps $n --log alone.csv
	cmp <(cut -d, -f1-3 child.csv) <(cut -d, -f1-3 alone.csv)
}

@test "a server's Adam solves CartPole through the stream" {
	once training
	run -0 stream-echo -a 2e-3 innet-agent --algo ppo --solve --steps 150k
	[[ $output == *"bye"* ]]
	[[ $output == *"mean reward 47"* ]]
}

@test "the last of several results counts" {
	stream-echo -m 3 -n 40 innet-agent -q --log three.csv
	stream-echo -n 40 innet-agent -q --log one.csv
	cmp <(cut -d, -f1-3 three.csv) <(cut -d, -f1-3 one.csv)
}

@test "at the end of the stream the agent saves policy and log, and exits with status 0" {
	stream-echo -n 20 innet-agent -q --save p --log log
	innet-agent --eval p --episodes 1
	[[ $(tail -c 1 log | od -An -c) == *'\n'* ]]
	run -0 innet-agent </dev/null
}

@test "training ends if the reader of its output ends" {
	mkfifo down
	run -0 bash -c 'innet-agent -q <>down | head -c 100 >/dev/null; exit ${PIPESTATUS[0]}'
}

@test "a damaged stream: the agent names the byte and the fault, and exits with status 1" {
	run -1 stream-echo -x magic innet-agent
	[[ $output == *"standard input: byte "*": does not begin with INET"* ]]
	run -1 stream-echo -x length innet-agent
	[[ $output == *"the result and the gradient have different lengths"* ]]
	run -1 stream-echo -x nan innet-agent
	[[ $output == *"result is not finite"* ]]
	run -1 stream-echo -n 1 -x cut innet-agent
	[[ $output == *"ends in the middle of a message"* ]]
}

@test "an agent that gets no answer gives up and names the message" {
	run -1 stream-echo -x silent innet-agent --give-up 200ms
	[[ $output == *"standard input: the worker sent no result for gradient 1 within 0.2 s"* ]]
}

@test "an agent names a reader that never reads, and gives up" {
	run -1 stream-echo -x deaf innet-agent --give-up 200ms
	[[ $output == *"standard output: the worker did not read gradient "*" within 0.2 s"* ]]
}

@test "SIGTERM ends a lesson of many gradients, and not only play" {
	innet-agent -q --alone --algo ppo --horizon 4096 --epochs 1000 \
		--steps 1M --report r --log log 3>&- &
	until [ "$(tail -n 1 log | cut -d, -f1)" -gt 32700 ] 2>/dev/null; do
		kill -0 $!
	done
	kill $!
	wait $!
	jq -e '.steps <= 32768 and .gradients < 128000' r
}

@test "after SIGTERM the agent saves policy and log, and exits with status 0" {
	mkfifo err
	innet-agent -v --alone --steps 1G --save p --log log 2>err 3>&- &
	pid=$!
	exec 8<err
	read -r _ <&8		# the agent trains
	while [ "$(wc -l <log)" -lt 3 ]; do :; done
	kill -TERM $pid
	wait $pid
	innet-agent --eval p --episodes 1
	[ "$(tail -n 1 log | tr -cd , | wc -c)" -eq 3 ]
}

@test "SIGTERM ends a child that waits for a result" {
	mkfifo down up
	exec 8<>down 9<>up
	innet-agent -q --save p <down >up 3>&- 8>&- 9>&- &
	pid=$!
	head -c 40000 <&9 >/dev/null	# hello, weights and a few gradients
	kill -TERM $pid
	wait $pid
	[ -s p ]
}

@test "--compute lengthens each gradient by this time, which counts as computing" {
	stream-echo -n 20 innet-agent -q --compute 20ms --report r.json >/dev/null
	jq -e '.gradients >= 20 and .play_s + .learn_s >= 0.02 * .gradients' r.json
	run -2 innet-agent --role actor --replay-memory :1 --algo dqn --compute 1s
}

@test "--interval holds gradients back" {
	SECONDS=0
	alone --interval 20ms --horizon 16 --steps 3k --log log
	tail -n 1 log | awk -F, '{ exit !($4 >= 0.02 * 20) }'
}

@test "--report gives the work done and the time of each part" {
	alone --algo ppo --steps 5k --report r
	jq -e '.env == "cartpole" and .algo == "ppo" and .params == 9155 and
	    .vector_bytes == 36620 and .steps == 5000 and .gradients == 144 and
	    .sent == 0 and .exchange_s == 0 and .play_s > 0 and .learn_s > 0 and
	    .update_s > 0 and (.play_s + .learn_s + .update_s) <= .elapsed_s' r
	stream-echo -a 1e-3 -n 20 innet-agent -q --report r
	jq -e '.results == 20 and .exchange_s > 0 and .update_s == 0' r
	run -1 innet-agent --alone --report no/such
	[ "$output" = "innet-agent: no/such: No such file or directory" ]
}

@test "--vector pads vectors with zeros and does not change what is learned" {
	n=$(few 20000)
	stream-echo -s innet-agent -q --steps $n --log plain.csv
	run -0 stream-echo -s innet-agent -q --steps $n --log wide.csv --vector 157.52kB --report r
	[[ $output == *'"elements":39380'* ]]
	jq -e '.vector_bytes == 157520 and .params == 9155' r
	cmp <(cut -d, -f1-3 plain.csv) <(cut -d, -f1-3 wide.csv)
}

@test "a server that adds whole deltas gets the weights that the agent gets alone" {
	once training
	# both runs are equal to the bit while old + (new - old) equals new,
	# which holds for the first lessons
	alone --algo ppo --steps 40k --log alone.csv
	stream-echo -s innet-agent -q --algo ppo --steps 40k --send deltas \
		--log deltas.csv --report r
	cmp <(cut -d, -f1-3 alone.csv | head -n 60) <(cut -d, -f1-3 deltas.csv | head -n 60)
	jq -e '.gradients == 16 * .sent and .mean100_reward > 150' r
}

@test "errors name the misuse" {
	run -2 innet-agent --env pong
	[[ $output = "innet-agent: invalid environment 'pong': not one of cartpole, "* ]]
	run -2 innet-agent --algo magic
	[[ $output == *"invalid algorithm 'magic': not one of a2c, ppo, dqn, ddpg" ]]
	run -2 innet-agent --alone --algo ppo --batch 100
	[[ $output == *"--batch 100 must divide the 512 steps"* ]]
	run -2 innet-agent --alone --algo a2c --epochs 2
	[ "$output" = "innet-agent: --epochs cannot be used with --algo a2c" ]
	run -2 innet-agent --alone --send deltas
	run -2 innet-agent --alone --vector 1MB
	for option in "--save q" "--log q" "--steps 5" --solve; do
		run -2 innet-agent --eval p $option
	done
	for n in 0 -1 1x ''; do
		run -2 innet-agent --alone --steps "$n"
		[[ $output == *"invalid steps '$n'"* ]]
	done
}

@test "errors name files that cannot be opened, before training starts" {
	run -1 innet-agent --alone --log no/such.csv
	[ "$output" = "innet-agent: no/such.csv: No such file or directory" ]
	run -1 innet-agent --alone --save no/such
	[ "$output" = "innet-agent: no/such: No such file or directory" ]
	run -1 innet-agent --eval none
	[ "$output" = "innet-agent: none: No such file or directory" ]
	run -1 innet-agent --eval /dev/null
	[ "$output" = "innet-agent: /dev/null: byte 0: the file ends too early" ]
}

@test "a full disk is an error" {
	[ -w /dev/full ] || skip "no /dev/full"
	run -1 innet-agent -q --alone --steps 1k --log /dev/full
	[[ $output == *"/dev/full: "* ]]
	run -1 sh -c "innet-agent --alone --steps 1k --json >/dev/full"
}

@test "--json to a closed pipe ends the training" {
	run -1 --separate-stderr bash -c 'innet-agent -q --alone --steps 1G --json | head -n 1 >/dev/null
		exit ${PIPESTATUS[0]}'
	[ "$stderr" = "innet-agent: standard output: Broken pipe" ]
}

@test "the agent refuses a file that is not a policy" {
	alone --steps 100 --save p
	head -c 500 p >cut
	run -1 innet-agent --eval cut
	[[ $output == *"file ends too early"* ]]
	sed 's/cartpole/cartpond/' p >other
	run -1 innet-agent --eval other
	[[ $output == *"the file names an unknown environment"* ]]
}
