# Tests of ranks of Open MPI on this machine: their sums, and how they end.
load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	pids=''
	command -v innet-mpi >/dev/null && command -v mpirun >/dev/null || skip 'no Open MPI'
	export ASAN_OPTIONS=detect_leaks=0	# the leaks of the library
}

# ranks ARGUMENT...: run mpirun over loopback only, also as root
ranks() {
	timeout 60 mpirun --allow-run-as-root --oversubscribe --mca btl tcp,self \
		--mca btl_tcp_if_include lo --mca oob_tcp_if_include lo "$@" </dev/null 3>&-
}

ring='--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm 4'

@test "sums are correct for 2 to 4 ranks and 1 to 40,000 elements" {
	for n in 2 3 4; do
		for size in 4B 1468B 160kB; do
			ranks $ring -n $n innet-mpi --synthetic $size --check -c 20 --json >out
			[ "$(grep -o '"iterations":20,' out | wc -l)" -eq $n ]
		done
	done
	grep '"worker":3,' out | jq -e '.ranks == 4 and .elements == 40000 and .round_p10_ns > 0 and
		.round_p50_ns >= .round_p10_ns and .round_p90_ns >= .round_p50_ns and .round_mean_ns > 0'
}

@test "one process without mpirun is a job of one rank" {
	innet-mpi -q --synthetic 4kB --check -c 3
}

# Write a child that contributes its rank and 1, and prints the sums that it
# gets.
child() {
	cat >child.py <<-'E'
		import json, os, struct, sys
		HEAD = struct.Struct('<4sHHIfQII')
		me, n, count = int(os.environ['OMPI_COMM_WORLD_RANK']), int(sys.argv[1]), int(sys.argv[2])
		def say(kind, body=b'', iteration=0):
		    size = len(body) if kind == 1 else len(body) // 4
		    sys.stdout.buffer.write(HEAD.pack(b'INET', kind, 0, size, 0, iteration, 1, 0) + body)
		    sys.stdout.buffer.flush()
		def get():
		    head = sys.stdin.buffer.read(32)
		    if len(head) < 32: sys.exit(0)
		    _, kind, flags, size, _, iteration, count, stale = HEAD.unpack(head)
		    return kind, flags, iteration, count, stale, sys.stdin.buffer.read(size if kind == 1 else 4 * size)
		log = open(f'got{me}', 'w')
		print(os.getpid(), os.getppid(), file=open(f'pids{me}', 'w'))
		say(1, json.dumps({'elements': n}).encode())
		say(4, bytes(4 * n), 7)
		hello = json.loads(get()[5])
		print(hello['mode'], hello['worker'], hello['members'], file=log, flush=True)
		for i in range(count if me == 0 else count + 100):
		    say(2, struct.pack(f'<{n}f', *[me + 1] * n), 7 + i)
		    kind, flags, at, contributions, stale, body = get()
		    print(at, flags, contributions, stale, set(struct.unpack(f'<{n}f', body)), file=log, flush=True)
		say(5)
	E
}

@test "children get the sums as in sync mode; when one child ends, all end" {
	child
	ranks -n 3 innet-mpi -q -- python3 child.py 1000 5
	for w in 0 1 2; do
		diff got$w - <<-E
			sync $w 3
			$(for i in 8 9 10 11 12; do echo "$i 0 3 0 {6.0}"; done)
		E
	done
}

@test "the agents of all ranks keep the same weights, bit for bit" {
	ranks -n 2 innet-mpi -q -- sh -c 'exec innet-agent -q --seed $OMPI_COMM_WORLD_RANK --init-seed 9 \
		--steps 6400 --save p$OMPI_COMM_WORLD_RANK'
	cmp p0 p1
}

@test "a rank whose child fails reports it, and all ranks fail" {
	run ! ranks -n 2 innet-mpi -q -- sh -c 'innet-agent -q --init-seed 1 --steps 6400
		exit $((3 * OMPI_COMM_WORLD_RANK))'
	[[ $output == *'innet-mpi: sh: exited with status 3'* ]]
	[[ $output == *'innet-mpi: rank 0: another rank has failed'* ]]
}

@test "a rank whose child writes no stream reports it, and all ranks fail" {
	run ! ranks -n 1 innet-mpi -q -- echo a line that is no gradient stream : -n 1 innet-mpi -q -- innet-agent -q
	[[ $output == *'innet-mpi: echo: offset 0: "a line that is no gradient stream" is not a message of a gradient stream'* ]]
	[[ $output == *'innet-mpi: rank 1: another rank has failed'* ]]
}

@test "ranks with different vectors or weights refuse to begin" {
	# the first rank that reports the error ends the other one, perhaps
	# before that prints anything
	run ! ranks -n 1 innet-mpi --synthetic 4kB : -n 1 innet-mpi --synthetic 8kB
	[[ $output == *'innet-mpi: rank '[01]': the vector of this rank has '[12]'000 elements, but the vectors of all ranks have 1000 to 2000 elements; give all ranks vectors of the same length'* ]]
	run ! ranks -n 1 innet-mpi -- innet-agent -q --init-seed 1 : -n 1 innet-mpi -- innet-agent -q --init-seed 2
	[[ $output == *'innet-mpi: rank '[01]': the ranks begin with different weights'* ]]
}

@test "innet-mpi waits neither for a silent child nor for its rank" {
	run ! ranks -n 1 innet-mpi -q --give-up 500ms -- sleep 60 : -n 1 innet-mpi -q --give-up 20s -- innet-agent -q
	[[ $output == *'innet-mpi: rank 0: sleep: no hello after 0.5 s'* ]]
	run ! ranks -n 1 innet-mpi -q -- sleep 60 : -n 1 innet-mpi -q --give-up 500ms -- innet-agent -q
	[[ $output == *'innet-mpi: rank 1: the other ranks have not started after 0.5 s; it has received 0 sums'* ]]
}

@test "mpirun names a killed rank, and no process remains" {
	child
	ranks -n 3 innet-mpi -q -- python3 child.py 10 1000000 >out 2>&1 &
	pids=$! all=$!
	await got2
	kill -KILL "$(cut -d' ' -f2 pids2)"
	wait $all || rc=$?
	[ "$rc" -ne 0 ]
	[ "$rc" -ne 124 ]
	grep 'process rank 2 .* exited on signal 9' out
	for pid in $(cat pids?); do
		for _ in $(seq 500); do kill -0 $pid 2>/dev/null || break; sleep 0.02; done
		run ! kill -0 $pid
	done
}

@test "innet-mpi needs a command or --synthetic, and --check needs --synthetic" {
	run -2 --separate-stderr innet-mpi
	[ "$stderr" = 'innet-mpi: a command is missing; give one after --, or --synthetic' ]
	run -2 --separate-stderr innet-mpi --check -- true
	[ "$stderr" = 'innet-mpi: --check needs --synthetic' ]
	run -2 --separate-stderr innet-mpi --synthetic 6B
	[ "$stderr" = "innet-mpi: invalid vector '6B': not a multiple of 4 bytes, the size of an element" ]
	run -1 --separate-stderr innet-mpi -- ./no-such
	[ "$stderr" = 'innet-mpi: ./no-such: No such file or directory' ]
}
