# Tests of the backend "innet" of torch.distributed: innet_torch(3)
#
# The ranks use innet-worker.  With INNET_LIBRARY in the environment, all ranks use
# this library, except in tests of innet-worker.
load common

torch_rank=$BATS_TEST_DIRNAME/torch-rank.py

# All ranks of this file are forked from one process, which has imported torch.
setup_file() {
	export PYTHONPATH=$share/python MASTER_ADDR=127.0.0.1 OMP_NUM_THREADS=1
	for py in python3 /usr/bin/python3; do
		"$py" -c 'import torch' 2>/dev/null || continue
		mkfifo "$BATS_FILE_TMPDIR/calls"
		"$py" "$torch_rank" "$BATS_FILE_TMPDIR/calls" \
			>"$BATS_FILE_TMPDIR/out" 2>&1 3>&- &
		echo $! >"$BATS_FILE_TMPDIR/pid"
		return 0
	done
}

teardown_file() {
	local pid=$BATS_FILE_TMPDIR/pid
	[ ! -e "$pid" ] || kill "$(cat "$pid")"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	pids=''
	# the repeated builds of CI run two tests
	case $BATS_TEST_DESCRIPTION in
	'two ranks get the bits'*|'if a rank is killed, '*) ;;
	*) once ;;
	esac
	python torch
	unset INNET_KEY
	# the switch must find out that a process with the library was killed
	gone='left .* ago, and [12] of [23] members remain' more=''
	[ -z "${INNET_LIBRARY-}" ] || gone='was removed .* ago' more='--member-timeout 1s'
}

# job [OPTION...]: start a switch
job() {
	serve switch innet-switch -q -p iswitch --json $more "$@"
	export INNET_SWITCH=$switch
}

# start N FUNCTION [ARGUMENT...]: start N ranks of a process group, which call a
# function of torch-rank.py; rank R writes to rankR.out and rankR.err
start() {
	local n=$1 r
	MASTER_PORT=$(free_port)
	export MASTER_PORT
	rm -f rank*.pid rank*.out rank*.err
	env -0 >env
	{ printf '%q ' "$PWD" "$@"; echo; } |
		timeout 60 tee "$BATS_FILE_TMPDIR/calls" >/dev/null ||
		{ cat "$BATS_FILE_TMPDIR/out"; return 1; }
	ranks=''
	for ((r = 0; r < n; r++)); do
		await "rank$r.pid"
		ranks="$ranks $(cat "rank$r.pid")"
	done
	pids="$pids$ranks"
}

# start_each N COMMAND...: start the command as each of N ranks
start_each() {
	local n=$1 r
	shift
	MASTER_PORT=$(free_port)
	export MASTER_PORT WORLD_SIZE=$n
	ranks=''
	for ((r = 0; r < n; r++)); do
		RANK=$r "$@" >"rank$r.out" 2>"rank$r.err" 3>&- &
		ranks="$ranks $!" pids="$pids $!"
	done
}

# ended PID: this process has ended
ended() { ! kill -0 "$1"; }

# ranks N FUNCTION [ARGUMENT...]: run N ranks, which must all succeed
ranks() {
	local p
	start "$@"
	for p in $ranks; do within 300 ended "$p"; done
	[ "$(cat rank*.out | grep -c '^rank [0-9]*: right$')" -eq "$1" ] ||
		{ tail -n 5 rank*.err; return 1; }
}

@test "two ranks get the bits of gloo, at lengths around segments and the ring" {
	job
	ranks 2 lengths 1 364 365 366 367 ring-2 ring-1 ring ring+1 10**6
}

@test "a thousand vectors of random lengths are right, and memory does not grow" {
	job
	ranks 2 many 1000 50000
}

@test "tensors of any stride and type, infinities and means have the right sums" {
	job
	ranks 2 shapes
}

@test "tensors of inference mode have the right sums" {
	job
	ranks 2 inference
}

@test "if a sum cannot be written to its tensor, its rank raises an exception" {
	job
	ranks 2 unwritable
}

@test "a rank that starts many sums does not wait for the others until it needs a sum" {
	job
	INNET_TIMEOUT=20 ranks 2 crossed
}

@test "a rank can have more than 1024 open files" {
	[ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -gt 1200 ] || skip 'the limit of open files is low'
	job
	ranks 2 descriptors 1030
}

@test "many sums are under way at once, and their futures and callbacks complete" {
	job
	ranks 2 several
}

@test "DistributedDataParallel and its hooks give the weights that gloo gives" {
	job
	ranks 2 ddp
}

@test "gloo computes all other collectives, and new groups of some ranks have own jobs" {
	job
	ranks 3 others
}

@test "a group can ask for the median, a trimmed mean, or sums whose bits are always the same" {
	job
	ranks 3 rules
}

@test "DistributedDataParallel with the median learns while a rank sends noise" {
	job
	ranks 3 byzantine
}

@test "with straggler, the ranks do not wait for one that is late, and it receives their sums" {
	job
	ranks 3 straggler
}

@test "if the ranks ask for different rules, or for none that exists, all raise an exception" {
	job
	start 2 wrong_rule median sum 0
	for r in 0 1; do failed $r "it has reduce='sum', straggler=0, but rank 0 has reduce='median'"; done
	start 2 wrong_rule mode mode 0
	for r in 0 1; do failed $r "'mode': not one of sum, ordered"; done
	start 2 wrong_rule median sum -1
	for r in 0 1; do failed $r 'straggler: -1 s is not between'; done
	start 2 wrong_rule trimmed:1 trimmed:1 0
	for r in 0 1; do failed $r 'needs at least 2 N + 1 members'; done
}

# summing R: wait until rank R has summed, and set $rank to its process
summing() {
	await "rank$1.out"
	rank=$(sed -n 's/^pid //p' "rank$1.out")
}

# failed R TEXT: check that rank R ends with one exception, whose text has TEXT
failed() {
	local p
	p=$(cut -d' ' -f$(($1 + 1)) <<<"${ranks# }")
	within 60 ended "$p"
	grep "^rank $1: error: .*rank [0-9]*: .*$2" "rank$1.out" ||
		{ tail -n 5 "rank$1".*; return 1; }
}

@test "if a rank is killed, the others raise an exception that names it" {
	job
	start 3 until_error
	for r in 0 1 2; do summing $r; done
	kill -KILL "$rank"
	failed 0 "worker 2 .* $gone"
	failed 1 "worker 2 .* $gone"
}

@test "if a rank is killed during DDP, backward() of the others raises an exception" {
	job
	start 2 ddp_until_error
	for r in 0 1; do summing $r; done
	kill -KILL "$rank"
	failed 0 "worker 1 .* $gone"
}

@test "if the switch ends, all ranks raise an exception" {
	job
	INNET_TIMEOUT=3 start 2 until_error
	for r in 0 1; do summing $r; done
	kill -KILL "$switch_pid"
	failed 0 "$switch: .*the switch does not say"
	failed 1 "$switch: .*the switch does not say"
}

# continuing: check that rank 0 continues to sum
continuing() {
	local n
	n=$(wc -l <rank0.out)
	within 60 eval '[ "$(wc -l <rank0.out)" -gt $((n + 1)) ]'
}

@test "a group continues after a rank was stopped and after the switch was restarted" {
	job
	start 2 until_error
	for r in 0 1; do summing $r; done
	kill -STOP "$rank"
	within 60 grep -q 'missing: worker 1 ' rank0.err
	kill -CONT "$rank"
	continuing
	kill -KILL "$switch_pid"
	within 60 grep -q 'the switch does not say' rank0.err
	innet-switch -q -p iswitch --listen "$switch" 3>&- & pids="$pids $!"
	continuing
}

@test "if a part of a sum lacks contributions, all ranks raise an exception" {
	job
	cat >worker <<-END
		#!$(command -v "$py")
		import signal, struct, subprocess, sys
		worker = subprocess.Popen(['innet-worker', *sys.argv[1:]], stdout=subprocess.PIPE)
		signal.signal(signal.SIGTERM, lambda *_: worker.terminate())
		results = 0
		while head := bytearray(worker.stdout.read(32)):
		    kind, flags, n = struct.unpack_from('<HHI', head, 4)
		    results += kind == 3
		    struct.pack_into('<H', head, 6, flags | (2 if results == 5 else 0))
		    sys.stdout.buffer.write(head + worker.stdout.read(n if kind == 1 else 4 * n))
		    sys.stdout.buffer.flush()
		sys.exit(worker.wait())
	END
	chmod +x worker
	INNET_LIBRARY='' INNET_WORKER=$PWD/worker start 2 until_error
	for r in 0 1; do failed $r 'a part of a sum has fewer than 2 contributions'; done
}

@test "without a switch, or without its address, no group begins" {
	export INNET_TIMEOUT=2
	start 1 until_error
	failed 0 'INNET_SWITCH is not set'
	INNET_SWITCH=127.0.0.1:9 start 2 until_error
	failed 0 'no answer to a Join'
}

@test "if one rank cannot start, all ranks raise its exception at once" {
	job
	for late in 0 1; do
		TORCH_UNSET=$late INNET_SWITCH=$switch start 2 until_error
		for r in 0 1; do failed $r 'INNET_SWITCH is not set'; done
		[ "$(grep -h "error: rank $late: " rank?.out | wc -l)" -eq 2 ]
	done
	INNET_GIVE_UP=long start 2 until_error
	for r in 0 1; do failed $r 'INNET_GIVE_UP: long is not a number'; done
}

@test "if one rank stops while it starts, the others raise an exception that names it" {
	job
	for late in 0 1; do
		INNET_GIVE_UP=3 TORCH_STOP=$late start 2 until_error
		failed $((1 - late)) "rank $late has not "
		kill $ranks || true
	done
}

@test "if innet-worker is killed, its rank and the others raise an exception" {
	job --member-timeout 1s
	INNET_LIBRARY='' start 2 until_error
	for r in 0 1; do summing $r; done
	kill -KILL "$(pgrep -P "$rank" innet-worker)"
	failed 1 'innet-worker was ended by signal 9'
	failed 0 'worker 1 .* was removed .* ago'
}

# library: let the ranks use libinnet.so, or skip
library() {
	[ -e "$library/libinnet.so" ] || skip 'this build has no libinnet.so'
	case $COMPILE in *-fsanitize*) skip 'the library needs a sanitizer' ;; esac
	export INNET_LIBRARY=$library/libinnet.so
}

@test "ranks with libinnet.so get the bits of gloo, also beside a rank with innet-worker" {
	library
	job
	ranks 2 lengths 1 364 365 366 367 ring-2 ring-1 ring ring+1 10**6
	TORCH_WORKER=1 ranks 2 lengths 1 364 365 366 367 ring-2 ring-1 ring ring+1 10**6
	ranks 2 several
	ranks 2 ddp
}

@test "with libinnet.so, a group has the same rules" {
	library
	job
	ranks 3 rules
	ranks 3 straggler
}

@test "if a rank with libinnet.so is killed, the others raise an exception that names it" {
	library
	job --member-timeout 1s
	start 2 until_error
	for r in 0 1; do summing $r; done
	kill -KILL "$rank"
	failed 0 'worker 1 .* was removed .* ago'
	INNET_LIBRARY=$PWD/none start 2 until_error
	failed 0 'INNET_LIBRARY: .*none'
}

@test "with another key than the switch, no group begins" {
	printf 0123456789abcdef0 >key && printf 1123456789abcdef0 >other && chmod 600 key other
	job --key key
	INNET_KEY=key ranks 2 lengths 1000
	INNET_KEY=other INNET_TIMEOUT=2 start 2 until_error
	failed 0 'give both the same --key'
	INNET_KEY=none start 2 until_error
	failed 0 'none: No such file'
}

@test "if the ranks call different sums, all raise an exception that names the calls" {
	job
	INNET_TIMEOUT=20 start 3 until_error 100 100 5000
	for r in 0 1 2; do failed $r 'call 1 of all_reduce differs .*rank 1: 100 elements of float32, SUM; rank 2: 5000 elements'; done
}

@test "the ranks try another job if another group uses the number of a job" {
	job
	start 2 taken 7 1
	for r in 0 1; do summing $r; done
	first=$ranks
	ranks 2 taken 7 2
	kill -KILL $first
}

@test "a group that pauses for longer than the time-out of members can continue" {
	job --member-timeout 1s
	ranks 2 idle 3
}

@test "a class for ray.util.collective sums in the network, and gloo does the rest" {
	job
	ranks 2 ray
}

# crcs N COMMAND...: run the command on two ranks, and print the checksum of the
# weights, which must be the same on both
crcs() {
	start_each 2 "$@"
	for p in $ranks; do wait "$p" || { cat rank*.err >&2; return 1; }; done
	sed 's/.* weights //' rank?.out | uniq
}

@test "python3 -m innet_torch runs a script that only takes the name of a backend" {
	job
	cp "$share/examples/torch-backend-ddp.py" .
	sed -i '1,/^"""$/s/innet/net/g' torch-backend-ddp.py
	set -- torch-backend-ddp.py --steps 40 --backend
	crcs "$py" "$1" --steps 40 --backend gloo >gloo
	crcs "$py" -m innet_torch "$@" innet >innet
	crcs "$py" -m innet_torch -m torch-backend-ddp --steps 40 --backend innet >module
	[ "$(wc -l <gloo)" -eq 1 ] && cmp gloo innet && cmp gloo module
}

@test "a script with one flat all_reduce a step gets the weights that gloo gives" {
	job
	set -- "$share/examples/torch-backend-flat.py" --episodes 12 --backend
	crcs "$py" "$@" gloo >gloo
	crcs "$py" "$@" innet >innet
	[ "$(wc -l <gloo)" -eq 1 ] && cmp gloo innet
}

@test "init_method may name the switch and the key" {
	printf 0123456789abcdef0 >key && chmod 600 key
	job --key key
	unset INNET_SWITCH
	INNET_URL="innet://$switch?key=key" ranks 2 lengths 1 5000
}

@test "python3 -m innet_torch without a script prints how to use it" {
	run -2 --separate-stderr "$py" -m innet_torch
	[ -z "$output" ] && [[ "$stderr" = 'usage: python3 -m innet_torch SCRIPT'* ]]
	run -0 "$py" -m innet_torch --help
	run -1 "$py" -m innet_torch none.py
	[[ "${lines[-1]}" = *'none.py'* ]]
}
