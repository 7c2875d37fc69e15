# Tests of the backend "innet" of torch.distributed: innet_torch(3)
load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	pids=''
	python torch
	export PYTHONPATH=$share/python MASTER_ADDR=127.0.0.1 OMP_NUM_THREADS=1
	unset INNET_KEY
}

# job N [OPTION...]: start a switch for N members
job() {
	local n=$1
	shift
	serve switch innet-switch -q -p iswitch -H "$n" --json "$@"
	export INNET_SWITCH=$switch
}

# start N COMMAND...: start N ranks of a process group; rank R writes to rankR.out
# and rankR.err
start() {
	local n=$1 r
	shift
	MASTER_PORT=$("$py" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	export MASTER_PORT WORLD_SIZE=$n
	ranks=''
	for ((r = 0; r < n; r++)); do
		RANK=$r "$@" >"rank$r.out" 2>"rank$r.err" 3>&- &
		ranks="$ranks $!" pids="$pids $!"
	done
}

# ranks N FUNCTION [ARGUMENT...]: run N ranks, which must all succeed
ranks() {
	local p n=$1
	shift
	start "$n" timeout 300 "$py" "$BATS_TEST_DIRNAME/torch-rank.py" "$@"
	for p in $ranks; do
		wait "$p" || { cat rank*.err; return 1; }
	done
	[ "$(cat rank*.out | grep -c '^rank [0-9]*: right$')" -eq "$n" ]
}

@test "two ranks get the bits of gloo, at lengths around segments and the ring" {
	job 2
	ranks 2 lengths 1 364 365 366 367 ring-2 ring-1 ring ring+1 10**6
}

@test "a thousand vectors of random lengths are right, and memory does not grow" {
	job 2
	ranks 2 many 1000 50000
}

@test "tensors of any stride and type, infinities and means have the right sums" {
	job 2
	ranks 2 shapes
}

@test "many sums are under way at once, and their futures and callbacks complete" {
	job 2
	ranks 2 several
}

@test "DistributedDataParallel and its hooks give the weights that gloo gives" {
	job 2
	ranks 2 ddp
}

@test "gloo computes all other collectives, and new groups have jobs of their own" {
	job 3
	ranks 3 others
}
