# Tests of the testbed's network namespaces: they are created, carry what their
# links allow, and are removed.
load common

PATH=$testbed:$PATH

setup() {
	once
	cd "$BATS_TEST_TMPDIR" || return
	pids=''
}

teardown() { [ -z "${INNET_TESTBED-}" ] || testbed.sh down; }

# until_true COMMAND...: wait up to 10 s until a command succeeds
until_true() {
	for _ in $(seq 500); do
		"$@" && return 0
		sleep 0.02
	done
	echo "not within 10 s: $*" >&2
	return 1
}

present() { testbed.sh list >list && grep -q "^$1 $2 " list; }
absent() { ! present "$@"; }
gone() { ! ls /run/netns | grep -E "^innet-$1[-.]"; }
running() { grep -q '^State:.[^XZ]' "/proc/$1/status"; }

# rate FROM TO BYTES: print the rate of frames in Mbit/s
rate() {
	rm -f rate
	testbed.sh exec "$2" $ahead python3 "$srcdir/tests/bats/udpload.py" recv 9000 "$3" >rate 3>&- &
	await rate
	testbed.sh exec "$1" $ahead python3 "$srcdir/tests/bats/udpload.py" \
		send "$(testbed.sh addr "$2")" 9000 "$3"
	wait $!
	tail -n 1 rate
}

# between A B X: check that X is at least A and at most B
between() { awk -v x="$3" -v a="$1" -v b="$2" 'BEGIN { exit !(x >= a && x <= b) }'; }

@test "without privileges: one clear line, status 1" {
	drop=''
	[ "$(id -u)" -ne 0 ] || drop='setpriv --reuid=65534 --regid=65534 --clear-groups'
	for words in 'rack -- true' 'up two-racks --owner 1' list down 'exec w0 true'; do
		run -1 --separate-stderr $drop bash -s -- $words <"$testbed/testbed.sh"
		[ -z "$output" ]
		[ "${#stderr_lines[@]}" -eq 1 ]
		[[ $stderr == 'testbed: network namespaces need root '* ]]
	done
}

@test "misuse: status 2, and the error quotes the wrong word" {
	for words in '' frob 'up ring' 'up rack' 'rack -n' 'rack -n 0 -- true' rack \
	    'rack --rate fast -- true' 'rack --loss 100% -- true' \
	    'rack --loss 2 -- true' 'rack --colour 3 -- true' 'exec w0'; do
		run -2 --separate-stderr testbed.sh $words
		[[ -z $output && $stderr == "testbed: "* ]]
	done
	[[ $stderr == *"exec needs a HOST"* ]]
}

@test "a rack has a switch, a server and its workers, and is removed when its command ends" {
	privileged
	testbed.sh rack -n 3 -- sh -c 'echo $INNET_TESTBED; testbed.sh list' >out
	id=$(head -n 1 out)
	[ "$(grep -c "^$id " out)" -eq 5 ]
	grep -qx "$id switch 10.77.0.1 alive" out
	grep -qx "$id w2 10.77.0.12 alive" out
	gone "$id"
}

@test "the testbed exits with the command's status, and the command has the caller's input" {
	privileged
	run -3 testbed.sh rack -n 1 -- sh -c 'exit 3'
	[ "$(echo hello | testbed.sh rack -n 1 -- testbed.sh exec w0 cat)" = hello ]
}

@test "a link of 50 Mbit/s carries that rate up, down and across" {
	privileged
	export INNET_TESTBED=$(testbed.sh up rack -n 2 --rate 50mbit --owner $$)
	for ends in 'w0 switch' 'switch w0' 'w0 w1' 'w1 server'; do
		got=$(rate $ends 1300000)
		echo "$ends: $got Mbit/s"
		between 35 65 "$got"
	done
	testbed.sh down "$INNET_TESTBED"
}

@test "from 200 Mbit/s on, a token bucket has room for a run of 46 frames" {
	privileged
	while read -r rate bucket option; do
		export INNET_TESTBED=$(testbed.sh up rack -n 1 --rate $rate $option --owner $$)
		testbed.sh exec w0 tc qdisc show dev eth0 >shaped
		# the kernel counts in ticks, so it may round a little down
		got=$(sed -n 's/.* burst \([0-9]*\)b.*/\1/p' shaped)
		echo "$rate: $got bytes"
		between $((bucket * 99 / 100)) $bucket "$got"
		testbed.sh down "$INNET_TESTBED"
	done <<-'END'
		20mbit 3028
		100mbit 3125
		200mbit 70000
		1gbit 70000
		10gbit 312500
		1gbit 5000 --burst 5000
	END
}

@test "two racks have links of 50 Mbit/s and a core of 20" {
	privileged
	export INNET_TESTBED=$(testbed.sh up two-racks -n 5 --rate 50mbit \
		--core-rate 20mbit --owner $$)
	testbed.sh list >list
	[ "$(grep -c "^$INNET_TESTBED " list)" -eq 9 ]
	for ends in 'w0 w4 14 28' 'w0 w2 35 65' 'switch2 core 14 28'; do
		read -r a b low high <<<"$ends"
		got=$(rate $a $b 800000)
		echo "$a $b: $got Mbit/s"
		between $low $high "$got"
	done
	testbed.sh down "$INNET_TESTBED"
}

@test "several testbeds at once do not affect each other" {
	privileged
	a=$(testbed.sh up rack -n 1 --owner $$)
	b=$(testbed.sh up rack -n 1 --owner $$)
	[ "$a" != "$b" ]
	INNET_TESTBED=$a testbed.sh exec w0 ip link set eth0 down
	INNET_TESTBED=$b testbed.sh exec w0 ip -o link show up dev eth0 | grep eth0
	testbed.sh down "$a"
	present "$b" w0
	testbed.sh down "$b"
	gone $$
}

@test "INT and TERM remove the testbed and the programs in it" {
	privileged
	for signal in INT TERM; do
		env --default-signal=INT testbed.sh rack -n 1 -- \
			testbed.sh exec w0 sh -c 'echo $$ >inside; exec sleep 1000' 3>&- &
		await inside
		kill -s $signal $!
		wait $! || :
		until_true absent $! w0
		run ! running "$(cat inside)"
		rm inside
	done
}

# This uses its own /run/netns, because building another testbed would remove
# ours.
killed() {
	mount -t tmpfs none /run/netns
	testbed.sh rack -n 1 -- \
		testbed.sh exec w0 sh -c 'echo $$ >inside; exec sleep 1000' &
	dead=$!
	await inside
	kill -9 $dead
	wait $dead || true
	present $dead w0
	running "$(cat inside)"
	testbed.sh down
	absent $dead w0
	if running "$(cat inside)"; then false; fi	# bash -e has no `run`
}

@test "the next down removes the remains of a killed run" {
	privileged
	mkdir -p /run/netns
	export -f await present absent running killed
	unshare -m bash -euc killed 3>&-
}

@test "concurrent calls for one owner each create a testbed" {
	privileged
	for i in 1 2 3; do
		testbed.sh up rack -n 1 --owner $$ >id$i 3>&- &
		pids="$pids $!"
	done
	wait $pids
	[ "$(sort -u id1 id2 id3 | wc -l)" -eq 3 ]
	for i in 1 2 3; do
		INNET_TESTBED=$(cat id$i) testbed.sh exec w0 ip link show dev eth0
		testbed.sh down "$(cat id$i)"
	done
	gone $$
}

@test "error messages of ip about other namespaces are not shown" {
	privileged
	mkdir bin
	printf '#!/bin/sh\necho noise >&2\ncase $1 in netns) exit 1;; esac\n' >bin/ip
	chmod +x bin/ip
	run -0 --separate-stderr env PATH="$PWD/bin:$PATH" testbed.sh list
	[ -z "$stderr" ]
	run -1 --separate-stderr env PATH="$PWD/bin:$PATH" testbed.sh down 1.999
	[ "$stderr" = 'testbed: no testbed 1.999' ]
}

@test "a failure during setup leaves nothing behind" {
	privileged
	mkdir bin
	printf '#!/bin/sh\nexit 1\n' >bin/tc
	chmod +x bin/tc
	run ! env PATH="$PWD/bin:$PATH" testbed.sh up rack --owner $$
	gone $$
}

@test "an error names a missing host or testbed" {
	privileged
	export INNET_TESTBED=$(testbed.sh up rack -n 1 --owner $$)
	run -1 --separate-stderr testbed.sh exec w7 true
	[ "$stderr" = "testbed: no host 'w7' in testbed $$; there are: server switch w0" ]
	testbed.sh down "$INNET_TESTBED"
	run -1 --separate-stderr testbed.sh addr w0
	[ "$stderr" = "testbed: no testbed $$" ]
}

@test "MPI ranks run on the workers and sum over the links" {
	privileged
	program=$(dirname "$(command -v mkolaf)")/bench/mpi-allreduce
	[ -x "$program" ] && command -v mpirun || skip 'no Open MPI'
	export INNET_TESTBED=$(testbed.sh up rack -n 2 --rate 20mbit --owner $$)
	export ASAN_OPTIONS=detect_leaks=0	# the leaks of the library
	timeout 60 mpi.sh -n 2 "$program" 100000 5 >out 2>err || { cat err; false; }
	cat out
	jq -e '.ranks == 2 and .median_ms >= 38' out
}

@test "--loss: this share of the packets is lost in each direction, and a job repairs the losses" {
	privileged
	unshare -n sh -c 'ip link add x type veth && tc qdisc add dev x clsact && tc filter add dev x ingress \
		protocol ip bpf da bytecode "1,6 0 0 2"' 2>why || skip "no filters of packets: $(cat why)"
	cat >job <<-'END'
	testbed.sh exec switch innet-switch -q -p iswitch -H 2 --insecure --listen "$(testbed.sh addr switch):0" --port-file port &
	switch=$!
	until [ -s port ]; do sleep 0.05; done
	for w in 0 1; do
		testbed.sh exec w$w innet-worker -p iswitch --json --worker $w --check 2 --synthetic 40kB --interval 0 \
			-c 200 --switch "$(testbed.sh addr switch):$(cat port)" >w$w.json &
		workers="${workers-} $!"
	done
	for w in $workers; do wait "$w"; done
	kill "$switch"
	wait "$switch"
	END
	testbed.sh rack -n 2 --rate 1gbit --loss 5% -- bash -eu job
	# 5 % of the segments are lost on the way up; for those lost on the way
	# down, workers ask and do not retransmit
	jq -se '(map(.retransmitted) | add) / (map(.segments_sent) | add) | . > 0.03 and . < 0.08' w?.json
}

@test "--delay: packets to and from the server are delayed and arrive complete" {
	export INNET_TESTBED=$(testbed.sh up two-racks -n 2 --delay 15ms --owner $$)
	testbed.sh exec server python3 - >got 3>&- <<-'END' &
	import hashlib, socket
	s = socket.create_server(('10.77.0.2', 7000))
	print('ready', flush=True)
	c, _ = s.accept()
	h = hashlib.sha256()
	while b := c.recv(1 << 16):
	    h.update(b)
	c.sendall(h.hexdigest().encode())
	END
	await got
	testbed.sh exec w1 python3 - >sent <<-'END'
	import hashlib, random, socket, time
	b = random.Random(1).randbytes(1000000)
	at = time.monotonic()
	c = socket.create_connection(('10.77.0.2', 7000))
	print(time.monotonic() - at >= 0.030)	# there and back again
	c.sendall(b)
	c.shutdown(socket.SHUT_WR)
	print(c.recv(100).decode() == hashlib.sha256(b).hexdigest())
	END
	[ "$(cat sent)" = $'True\nTrue' ]
	wait
	ip netns pids "innet-$INNET_TESTBED-far" >relay
	testbed.sh down
	run ! running "$(cat relay)"
	run -2 testbed.sh rack --delay 10 -- true
	[[ $output == "testbed: invalid delay '10': not such as 10ms" ]]
}

@test "--in-path: a switch can run in the path or at an address" {
	privileged
	unshare -n sh -c 'ip link add br0 type bridge &&
		innet-switch -q --bridge br0 --listen 127.0.0.1:0 --duration 1ms' 2>why ||
		skip "no frames can be taken here: $(tail -n 1 why)"
	cat >job <<-'END'
	testbed.sh switch switch -p iswitch -H 2 --report report.json &
	switch=$!
	for w in 0 1; do
		testbed.sh exec w$w innet-worker -q -p iswitch --worker $w --check 2 --synthetic 40kB --interval 0 \
			-c 50 --switch "$(testbed.sh addr switch)" &
		workers="${workers-} $!"
	done
	for w in $workers; do wait "$w"; done
	kill "$switch"
	wait "$switch"
	END
	testbed.sh rack -n 2 -- bash -eu job
	jq -e '.jobs["1"].counters.results == 50 * 28 and (has("interfaces") | not)' report.json
	testbed.sh rack -n 2 --in-path -- bash -eu job
	jq -e '.jobs["1"].counters.results == 50 * 28 and .interfaces.frames > 0' report.json
	run -1 --separate-stderr testbed.sh rack -n 1 -- testbed.sh switch w0
	[[ $stderr == *'w0 is not a switch' ]]
}
