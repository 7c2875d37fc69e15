# Tests of DQN and DDPG: they learn, and two runs with the same seed give the
# same results.
load common

alone() {
	innet-agent -q --alone "$@"
}

# same OPTION...: check that two runs write the same log, except for the time
same() {
	alone "$@" --log one.csv
	alone "$@" --log two.csv
	[ "$(wc -l <one.csv)" -gt 5 ]
	cmp <(cut -d, -f1-3 one.csv) <(cut -d, -f1-3 two.csv)
}

@test "DQN solves CartPole within 60,000 steps, two seeds" {
	once training
	alone --algo dqn --solve --steps 60k --seed 4
	alone --algo dqn --solve --steps 60k --seed 6
}

@test "DQN learns CartPole with --dueling, with a single network that chooses and evaluates actions" {
	once training
	alone --algo dqn --double no --dueling yes --steps 40k --report r
	jq -e '.params == 4675 and .mean100_reward > 200' r
}

@test "DDPG swings Pendulum up, better than -200 within 30,000 steps, two seeds" {
	once training
	alone --algo ddpg --env pendulum --solve --steps 30k --seed 2
	alone --algo ddpg --env pendulum --solve --steps 30k --seed 3
}

@test "DDPG's saved policy gets a reward as high as at the end of its training" {
	once training
	alone --algo ddpg --env pendulum --steps 20k --save p
	innet-agent --eval p --episodes 50 --json | jq -e '.mean_reward > -250'
}

@test "a saved policy whose network has two heads can play" {
	alone --algo dqn --dueling yes --hidden 32 --steps 3k --save q
	run -0 innet-agent --eval q --episodes 3
	[[ $output == "cartpole: mean reward "* ]]
}

@test "the same seed gives the same log" {
	once training
	same --algo dqn --steps 8k --dueling yes --double no --tau 0
	same --algo dqn --steps 5k --replay per --alpha 0.6
	same --algo ddpg --env pendulum --steps 4k
	alone --algo ddpg --env pendulum --steps 4k --seed 2 --log other.csv
	run ! cmp -s <(cut -d, -f1-3 one.csv) <(cut -d, -f1-3 other.csv)
}

@test "--warmup and --horizon determine the number of gradients" {
	alone --algo dqn --warmup 500 --horizon 10 --steps 1501 --report r
	jq -e '.gradients == 101' r
	alone --algo ddpg --env pendulum --warmup 1 --horizon 1 --n-step 5 \
	    --steps 100 --report r
	jq -e '.gradients == 95' r
}

@test "with the weights of a server, DQN learns like an agent that trains alone" {
	n=$(few 10000)
	stream-echo -s innet-agent -q --algo dqn --steps $n --log child.csv
	alone --algo dqn --steps $n --log alone.csv
	cmp <(cut -d, -f1-3 child.csv) <(cut -d, -f1-3 alone.csv)
	stream-echo -s innet-agent -q --algo dqn --replay per --steps $n --log child.csv
	alone --algo dqn --replay per --steps $n --log alone.csv
	cmp <(cut -d, -f1-3 child.csv) <(cut -d, -f1-3 alone.csv)
}

@test "with a server that computes the steps itself DQN solves CartPole too" {
	once training
	run -0 stream-echo -a 2e-3 innet-agent --algo dqn --solve --steps 80k
	[[ $output == *"mean reward 47"* ]]
}

@test "an environment or option that an algorithm cannot use is misuse" {
	run -2 innet-agent --alone --algo dqn --env pendulum
	[ "$output" = "innet-agent: dqn cannot learn pendulum: the environment's actions are continuous; use --algo a2c, ppo or ddpg" ]
	run -2 innet-agent --alone --algo ddpg --env cartpole
	[ "$output" = "innet-agent: ddpg cannot learn cartpole: the environment's actions are discrete; use --algo a2c, ppo or dqn" ]
	run -2 innet-agent --alone --algo ddpg --env pendulum --dueling yes
	[[ $output == *"--dueling cannot be used with --algo ddpg"* ]]
	run -2 innet-agent --alone --algo dqn --envs 2
	[[ $output == *"--envs cannot be used with --algo dqn"* ]]
	run -2 innet-agent --alone --algo dqn --target 50
	[ "$output" = "innet-agent: --target needs --tau 0; with --tau 0.03 the target network moves at every gradient" ]
	alone --algo dqn --target 50 --tau 0 --steps 2k
	run -2 innet-agent --alone --algo dqn --n-step 0
	[[ $output == *"invalid n-step '0'"* ]]
}
