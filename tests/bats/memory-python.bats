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

@test "n-step returns and sequences agree with a plain loop" {
	client steps "$(few 40)"
}

@test "draws from three servers are proportional over all of them, while priorities change" {
	client union
}

@test "a thread draws in advance and reports errors" {
	client ahead
}

@test "the client pauses between requests if two servers redirect it to each other" {
	client senders
}

@test "the client accepts a client of redis-py instead of an address" {
	module=redis client redis_py
}

@test "one of two servers refuses, stops or disappears: no answer is mistaken for a later one" {
	module=redis client trouble
}

@test "the client reports values that do not fit, and the connection stays usable" {
	client misfits
}

@test "weights from two tables without priorities are 1, as from one table" {
	client others
}

@test "the sampler works in the place of torchrl's" {
	client torchrl
}

@test "torchrl's buffer learns the blind cliff walk sooner by priority than uniformly" {
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

@test "Ape-X in PyTorch trains through a Redis Cluster of three" {
	once training
	python torch
	setup_module
	"$py" -B "$tests/twins/memory_module.py" apex >said
	tail -n 1 said | grep -E 'gradients [0-9]+ return [0-9.]+$'
}
