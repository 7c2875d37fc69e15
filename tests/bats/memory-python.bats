# Tests of the Python client innet_replay.py, and of Ape-X in PyTorch. Each test
# of the client is a check of replay_client.py.
load common
load memory

# client CHECK [RUNS]: run a check of replay_client.py
client() {
	python "${module:-numpy}"
	"$py" -B "$tests/twins/replay_client.py" "$@"
}

@test "a draw returns the elements as they were added: types, shapes, sizes" {
	client arrays 1
}

@test "stacks of frames are sent and stored once each" {
	client frames
}

@test "returns of n steps and sequences, against a plain loop" {
	client steps "$(few 40)"
}

@test "draws over three servers are proportional over the union, while priorities change" {
	client union
}

@test "a thread draws ahead and reports errors" {
	client ahead
}

@test "two servers that each send to the other are not asked without a pause" {
	client senders
}

@test "a client of redis-py in the place of an address" {
	module=redis client redis_py
}

@test "one of two servers refuses, stops or goes: no answer is taken for a later one" {
	module=redis client trouble
}

@test "the client reports values that do not fit, and the connection stays usable" {
	client misfits
}

@test "from two tables that draw by no priority weights are 1, as from one" {
	client others
}

@test "in the place of torchrl's sampler" {
	client torchrl
}

@test "torchrl's buffer learns the blind cliff walk by priority sooner than uniformly" {
	python torch
	memory --seed 1
	"$py" -B "$share/examples/torchrl-sampler.py" "$memory" 8 >said
	grep -E '^[0-9]+ updates by priority, [0-9]+ uniformly$' said
}

@test "Ape-X in PyTorch solves CartPole through innet-memory" {
	once training
	python torch
	memory
	"$py" "$share/examples/torch-apex.py" "$memory" 2 30000 >said
	tail -n 1 said | grep -E 'return (47[5-9]|4[89][0-9]|500)'
}

@test "Ape-X in PyTorch solves CartPole through a Redis Cluster of three" {
	once training
	python torch
	setup_module
	"$py" -B "$tests/twins/memory_module.py" apex >said
	tail -n 1 said | grep -E 'return (47[5-9]|4[89][0-9]|500)'
}
