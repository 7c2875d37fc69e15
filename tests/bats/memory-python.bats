# innet_replay.py, the client in Python: each test is a check of
# replay_client.py; and Ape-X in PyTorch.
load common
load memory

# client CHECK [RUNS]: as replay_client.py has it
client() {
	python "${module:-numpy}"
	"$py" -B "$tests/twins/replay_client.py" "$@"
}

@test "what is added is what is drawn: types, shapes, sizes" {
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

@test "a thread draws ahead, and says what goes wrong" {
	client ahead
}

@test "two servers that each send to the other are not asked without a pause" {
	client senders
}

@test "a client of redis-py in the place of an address" {
	module=redis client redis_py
}

@test "torchrl's calls of a sampler" {
	client torchrl
}

@test "Ape-X in PyTorch solves CartPole through innet-memory" {
	once training
	python torch
	memory
	"$py" "$share/examples/torch-apex.py" "$memory" 2 30000 >said
	tail -n 1 said | grep -E 'return (47[5-9]|4[89].|500)'
}

@test "Ape-X in PyTorch solves CartPole through a Redis Cluster of three" {
	once training
	python torch
	setup_module
	"$py" -B "$tests/twins/memory_module.py" apex >said
	tail -n 1 said | grep -E 'return (47[5-9]|4[89].|500)'
}
