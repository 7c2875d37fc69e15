# Tests of workers whose vectors have any length: a ring of segments.
load common

RING=2928	# elements: 8 segments of 366

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	pids=''
	python numpy
}

# job N [OPTION...]: start a switch for N members
job() {
	local n=$1
	shift
	serve switch innet-switch -q -p iswitch -H "$n" --json "$@"
}

# child W ARGUMENT...: start worker W, whose child gets these arguments; wW.err
# gets the messages of both
child() {
	local w=$1
	shift
	innet-worker -q -p iswitch --switch "$switch" --worker "$w" --give-up 20s \
		--duration 2min $options -- \
		"$py" "$BATS_TEST_DIRNAME/ring-child.py" "$@" 2>"w$w.err" >"w$w.out" 3>&- &
	pids="$pids $!" children="$children $!"
}

# ring N DEPTH LENGTH...: send vectors of these lengths with N workers, and check
# that all their sums are right
ring() {
	local n=$1 w
	shift
	children=''
	for ((w = 0; w < n; w++)); do child "$w" "$n" "$RING" "$@"; done
	all_right
}

# all_right: wait for the workers, each of which has printed that its sums are
# right
all_right() {
	local p
	for p in $children; do
		wait "$p" || { cat w?.err; return 1; }
	done
	for p in w?.err; do
		grep -q '^[0-9]* right$' "$p" || { cat "$p"; return 1; }
	done
}

@test "a ring: vectors of any length have exact sums, in order" {
	job 2
	ring 2 1 1 365 366 367 $((RING - 1)) $RING $((RING + 1)) $((5 * RING + 7)) 1
	ring 2 4 1 365 366 367 $((RING - 1)) $RING $((RING + 1)) $((5 * RING + 7)) 1
	[ "$(grep -c '^9 right' w0.err)" -eq 1 ]
}

@test "a ring: the child may send vectors before the worker's hello" {
	job 2
	children=''
	for w in 0 1; do RING_EARLY=$w child $w 2 "$RING" 4 100 5000 1 366; done
	all_right
}

@test "a ring: three workers send many random lengths, several at a time" {
	job 3
	RING=74664 ring 3 16 1-4000x500 1-200000x20
	[ "$(cat w2.err)" = '520 right' ]
}

@test "a ring: a vector is much longer than the ring" {
	job 2
	RING=74664 ring 2 2 10000000 7
}

@test "a ring: packets are lost" {
	job 2 --impair loss=0.05,dup=0.02
	options='--impair loss=0.05' ring 2 8 1-6000x100
}

@test "a ring: two racks, a key, and fewer slots than segments" {
	head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >key
	chmod 600 key
	children=''
	serve root innet-switch -q -p iswitch -H 2 --key key --slots-of-sums 12
	for k in 0 1; do
		serve rack innet-switch -q -p iswitch -H 1 --key key --parent "$root" --number $k
		switch=$rack options='--key key' child $k 2 $RING 4 1-6000x60 20000
	done
	all_right
}

@test "a ring: below a rack, --ranks shows that a sum lacks contributions" {
	children=''
	serve root innet-switch -q -p iswitch -H 1
	serve rack innet-switch -q -p iswitch -H 1 --parent "$root"
	switch=$rack options='--ranks 2' child 0 1 $RING 1 1000
	! wait $! || false
	grep 'flags 2, 1000 elements, .*, 1 contributions' w0.err
}

@test "a ring: a worker with a ring and one without cannot join the same job" {
	job 2
	children=''
	child 0 2 $RING 1 10
	joined() { innet-ctl "$switch" --job 1 members | grep -q '1 of 2 have joined'; }
	within 10 joined
	cat >plain.py <<-'END'
		import json, struct, sys, time
		def send(kind, body, n):
		    sys.stdout.buffer.write(struct.pack('<4sHHIfQII', b'INET', kind, 0, n, 0, 0, 1, 0) + body)
		    sys.stdout.buffer.flush()
		hello = json.dumps({'elements': int(sys.argv[1])}).encode()
		send(1, hello, len(hello))
		send(4, bytes(4 * int(sys.argv[1])), int(sys.argv[1]))
		sys.stdin.buffer.read()
	END
	run -1 timeout 30 innet-worker -q -p iswitch --switch "$switch" --worker 1 -- "$py" plain.py $RING
	[[ "$output" = *refused* ]]
}

@test "a ring: infinities and values that are not a number pass on request" {
	job 2
	RING_NONFINITE=1 ring 2 2 1-5000x30
	RING_HELLO='{"nonfinite":false}' RING_NONFINITE=1 child 0 2 $RING 1 10
	! wait $! || false
	grep -q 'a value that is not finite' w0.err
}

@test "a ring: the switch restarts and loses its state, but no sum" {
	local k
	job 2
	children=''
	for k in 0 1; do RING_PAUSE=0.02 child $k 2 $RING 3 1-9000x150; done
	for k in 1 2 3; do
		sleep 0.8
		finish switch
		"$(type -P innet-switch)" -q -p iswitch -H 2 --listen "$switch" 2>>switch.err 3>&- &
		switch_pid=$! pids="$pids $!"
	done
	all_right
	grep -qx '150 right' w1.err
}

# turned N: has the job completed N segments?
turned() {
	[ "$(innet-ctl "$switch" --job 1 stats --json | jq .counters.results)" -ge "$1" ]
}

@test "a ring: if a worker is killed, the others end, and no new worker can join" {
	job 2
	options='--give-up 3s' children=''
	for k in 0 1; do RING_PAUSE=0.05 child $k 2 $RING 1 1-3000x1000; done
	within 60 turned 20
	set -- $children
	kill -KILL "$2"
	child 2 2 $RING 1 10
	! wait $! || false
	grep -q 'a worker with a ring cannot join a job that has begun' w2.err || { cat w2.err; false; }
	! wait "$1" || false
	grep -q 'no result for segment' w0.err
}

@test "a ring: a hello that the worker does not support is refused" {
	job 1
	RING_HELLO='{"state":true}' child 0 1 $RING 1 10
	! wait $! || false
	grep -q 'hello with both "ring" and "state"' w0.err
	RING_HELLO='{"ring":false,"nonfinite":true}' child 0 1 $RING 1 10
	! wait $! || false
	grep -q '"nonfinite" but without "ring"' w0.err
	options=--async child 0 1 $RING 1 10
	! wait $! || false
	grep -q 'hello with "ring", which --program iswitch --async does not support' w0.err
}

@test "innet-worker --stdio: exchange vectors on standard input and output" {
	local child="$py $BATS_TEST_DIRNAME/ring-child.py"
	job 1
	mkfifo up down
	$child 1 "$RING" 2 1-5000x20 >up <down 2>child.err 3>&- & pids="$pids $!"
	innet-worker -q -p iswitch --switch "$switch" --worker 0 --stdio <up >down
	wait $!
	[ "$(cat child.err)" = '20 right' ]
}

@test "innet-worker --stdio: the worker ends with the other program, even if the ring is full" {
	local child="$py $BATS_TEST_DIRNAME/ring-child.py" other rc=0
	job 2
	children=''
	RING_PAUSE=60 child 1 2 "$RING" 1 1
	mkfifo up down
	$child 2 "$RING" 64 20000-20000x64 >up <down 2>child.err 3>&- & other=$!
	innet-worker -q -p iswitch --switch "$switch" --worker 0 --stdio <up >down 2>w0.err 3>&- &
	worker=$!
	pids="$pids $other $worker"
	joined() { innet-ctl "$switch" --job 1 members | grep -q "h 2, open"; }
	within 10 joined
	sleep 1
	kill -KILL "$other"
	within 5 grep 'the program at the other end has ended' w0.err
	status=0
	wait "$worker" || status=$?
	[ "$status" -eq 1 ]
}

@test "innet-worker --stdio: misuse is an error" {
	local worker='innet-worker -q -p iswitch --worker 0 --switch :9 --stdio'
	run -2 $worker cat
	[ "${lines[0]}" = "innet-worker: unexpected argument 'cat'" ]
	run -2 $worker --synthetic 4B
	[ "$output" = 'innet-worker: --stdio cannot be combined with --synthetic' ]
	run -2 $worker -w -
	[ "$output" = 'innet-worker: -w and --stdio both write standard output' ]
	run -1 $worker <<<'hello, worker; this is no message'
	[[ "$output" = "innet-worker: standard input: offset 0: "* ]]
}
