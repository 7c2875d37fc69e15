# Programs that link with libinnet.so.
load common

RING=2928	# elements: 8 segments of 366

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	pids=''
	[ -e "$library/libinnet.so" ] || skip 'this build has no libinnet.so'
	export LD_LIBRARY_PATH=$library
}

# job N [OPTION...]: start a switch for N members
job() {
	local n=$1
	shift
	serve switch innet-switch -q -p iswitch -H "$n" "$@"
}

# member RANK RANKS WORD...: start a member with $options; wRANK.err gets its
# messages
member() {
	timeout 60 libinnet-member $options "$switch" "$@" >"w$1.out" 2>"w$1.err" 3>&- &
	pids="$pids $!" members="$members $!"
}

# sums RANKS WORD...: start all members, and check that all their sums are right
sums() {
	local n=$1 r
	shift
	members=''
	for ((r = 0; r < n; r++)); do member "$r" "$n" "$@"; done
	all_right
}

all_right() {
	local p
	for p in $members; do
		wait "$p" || { cat w?.err; return 1; }
	done
	for p in w?.err; do
		grep -q '^[0-9]* right$' "$p" || { cat "$p"; return 1; }
	done
}

# failed RANK PID REGEX: wait for a member, which must fail with this message
failed() {
	local rc=0
	wait "$2" || rc=$?
	[ $rc -eq 1 ] && grep -E "$3" "w$1.err" || { echo "status $rc"; cat "w$1.err"; false; }
}

# joined: has the first of two members joined?
joined() { innet-ctl "$switch" --job 1 members | grep -q '1 of 2 have joined'; }

lengths="1 365 366 367 $((RING - 1)) $RING $((RING + 1)) $((5 * RING + 7)) 0 1000000 1"

@test "libinnet: two and three members get exact sums of any length" {
	for n in 2 3; do
		job $n
		sums $n $lengths
		finish switch
	done
	[ "$(cat w2.err)" = '11 right' ]
}

@test "libinnet: operations in flight complete in order, also in place" {
	job 2
	options='-d 4' sums 2 $lengths
	options='-d 4 -i' sums 2 $lengths
	options='-d 2000 -u -i' sums 2 1-50x3000 1-6000x50
	[ "$(cat w1.err)" = '3050 right' ]
}

@test "libinnet: an operation begins at once" {
	job 2
	SECONDS=0
	sums 2 1-1x400
	[ "$SECONDS" -le 5 ]	# if the thread sleeps first: 10 s or more
}

@test "libinnet: a vector is much longer than the default ring" {
	job 2
	options='-m 0 -d 2' sums 2 10000000 7
}

@test "libinnet: infinities and values that are not a number pass" {
	job 2
	options='-n' sums 2 1-5000x30
}

@test "libinnet: packets are lost" {
	job 2 --impair loss=0.05,dup=0.02
	options='-f loss=0.05 -d 8' sums 2 1-6000x100 0 100000
}

@test "libinnet: a key, two racks, and fewer slots than segments" {
	local k
	head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >key
	chmod 600 key
	members=''
	serve root innet-switch -q -p iswitch -H 2 --key key --slots-of-sums 12
	for k in 0 1; do
		serve rack innet-switch -q -p iswitch -H 1 --key key --parent "$root" --number $k
		switch=$rack options='-k key -d 4' member $k 2 1-6000x60 20000
	done
	all_right
	serve switch innet-switch -q -p iswitch -H 2 --key key --auth all
	options='-k key -a all -d 4' sums 2 1-6000x60 20000
}

@test "libinnet: members with the library and with innet-worker sum together" {
	python numpy
	job 2
	members=''
	options='-d 3' member 0 2 1 366 5000 40000
	innet-worker -q -p iswitch --switch "$switch" --worker 1 --ranks 2 -- \
		"$py" "$BATS_TEST_DIRNAME/ring-child.py" 2 $RING 3 1 366 5000 40000 2>w1.err 3>&- &
	members="$members $!" pids="$pids $!"
	all_right
}

@test "libinnet: the switch restarts and loses its state, but no sum" {
	local k
	job 2
	members=''
	for k in 0 1; do options='-d 3 -p 20' member $k 2 1-9000x150; done
	for k in 1 2; do
		sleep 0.8
		finish switch
		innet-switch -q -p iswitch -H 2 --listen "$switch" 2>>switch.err 3>&- &
		switch_pid=$! pids="$pids $!"
	done
	all_right
	grep -qx '150 right' w1.err
}

@test "libinnet: several threads wait, and one process has several members" {
	job 2
	sums 2 threads 100 threads
	members=''
	options='-j 2' member 0 2 both
	all_right
}

@test "libinnet: without a switch, or with a wrong address, no member joins" {
	switch=127.0.0.1:9 members=''
	options='-g 400' member 0 2 1
	failed 0 $! '^127.0.0.1:9: job 1: no answer to a Join after 0.4 s; is a switch running there\?$'
	switch=127.0.0.1:x member 0 2 1
	failed 0 $! "^address: '127.0.0.1:x': "
}

@test "libinnet: a member that differs from the others is refused" {
	job 2
	options='-s one' member 0 2 5
	within 10 joined
	options='-s two' member 1 2 5
	failed 1 $! "^$switch: job 1: refused: the other workers began with other weights"
	options='-s one -m 3000' member 1 2 5
	failed 1 $! "^$switch: job 1: refused: "
	options='-s one' member 1 3 5
	failed 1 $! "^$switch: job 1: refused: "
	options='-s one' members='' member 1 2 5
	wait $!
}

@test "libinnet: with another key than the switch, no member joins" {
	printf 0123456789abcdef0 >key && printf 1123456789abcdef0 >other && chmod 600 key other
	job 2 --key key
	options='-g 1000 -k other' member 0 2 1
	failed 0 $! "^$switch: job 1: .*key"
	options='-g 1000' member 0 2 1
	failed 0 $! "^$switch: job 1: .*key"
	chmod 644 key
	options='-k key' member 0 2 1
	failed 0 $! '^key: key: other users can read or write this file'
}

# busy RANK N: has the member's job summed N segments?
busy() {
	[ "$(innet-ctl "$switch" --job 1 stats --json | jq .counters.results)" -ge "$1" ]
}

@test "libinnet: if a member is killed, the others fail within 2 s and name it" {
	local survivor
	job 2 --member-timeout 1s
	options='-p 5' member 0 2 1-3000x5000
	survivor=$!
	libinnet-member -p 5 "$switch" 1 2 1-3000x5000 2>/dev/null 3>&- & pids="$pids $!"
	within 30 busy 50
	kill -KILL $!
	SECONDS=0
	failed 0 $survivor "^$switch: job 1: worker 1 .* fell silent and was removed .* ago, and 1 of 2 members remain$"
	[ "$SECONDS" -le 2 ]
}

@test "libinnet: if a member leaves while others wait, they fail at once and name it" {
	local w0 w1
	job 3
	member 0 3 100 200
	w0=$!
	member 1 3 100 200
	w1=$!
	SECONDS=0
	members='' options=-p100 member 2 3 100
	wait $!
	for r in "0 $w0" "1 $w1"; do
		failed $r "^$switch: job 1: worker 2 .* left .* ago, and [12] of 3 members remain$"
	done
	[ "$SECONDS" -le 2 ]
}

@test "libinnet: a member leaves without waiting for its sums" {
	local w0
	job 2
	options=-d50 member 0 2 1-6000x50
	w0=$!
	within 10 joined
	members='' options=-l member 1 2 1-6000x20
	wait $!
	failed 0 $w0 "worker 1 .* left .* ago"
}

@test "libinnet: a wait that takes too long names the missing member" {
	job 2
	options='-t 1500' member 0 2 1000
	failed 0 $! '^'"$switch"': job 1: operation 1, of 1000 elements, is not complete after 1.5 s; .*1 of 2 members have joined$'
	finish switch
	job 2
	options='-p 3000' member 1 2 1000
	options='-t 1500' member 0 2 1000
	failed 0 $! 'is not complete after 1.5 s; no result of iteration 0 for 1.0 s; missing: worker 1 \('
}

@test "libinnet: the worker fails after --give-up and after --silence" {
	job 2
	options='-g 500' member 0 2 1000
	failed 0 $! "^$switch: job 1: no result for segment 0 of iteration 0 in 0.5 s; "
	serve switch innet-switch -q -p iswitch -H 1
	options='-q 300 -p 700' member 0 1 10
	failed 0 $! "^$switch: job 1: the program has started no operation for 0.3 s$"
}

@test "libinnet: a sum without a straggler's contribution is a failure, unless allowed" {
	local w0
	job 2 --straggler 100ms
	members=''
	options=-c member 0 2 5000 5000 5000
	options='-c -p 400' member 1 2 5000 5000 5000
	all_right
	grep -qx '1 1' w0.out
	finish switch
	job 2 --straggler 100ms
	member 0 2 5000 5000
	w0=$!
	options='-p 400 -c' member 1 2 5000 5000
	failed 0 $w0 'a sum has 1 of 2 contributions; does the switch run with --straggler'
}

@test "libinnet: the members choose the reduction and the time for stragglers" {
	job 2
	members=''
	options='-c -R ordered -S 100' member 0 2 5000 5000 5000
	options='-c -R ordered -S 100 -p 400' member 1 2 5000 5000 5000
	all_right
	grep -qx '1 1' w0.out
	options='-j 2 -R ordered' sums 2 366 5000
	options='-R trimmed:1' member 0 2 1
	failed 0 $! "^reduce: 'trimmed:1': trimmed:N needs at least 2 N \+ 1 members$"
	options='-R mean' member 0 2 1
	failed 0 $! "^reduce: 'mean': "
	options='-S 100' member 0 0 1
	failed 0 $! '^ranks: the option is missing; reduce and straggler_ns need it$'
}

@test "libinnet: wrong arguments are errors, and the worker continues" {
	job 1
	members=''
	member 0 1 misuse 100
	all_right
	[ "$(sed -n 1p w0.out)" = "$switch: job 1: no operation has the ticket 99" ]
	grep "an operation has 4294967296 elements, but at most 4294967295 are possible" w0.out
}

@test "libinnet: the library exports innet_worker_* alone, and cannot print or exit" {
	[ "$(nm -D --defined-only "$library/libinnet.so" | awk '{ print $3 }' | grep -v '^innet_worker_' |
		grep -vc '^_\|asan\|ubsan')" -eq 0 ]
	run -1 grep -wE 'exit|_exit|std(out|err)|printf|puts|sigaction|signal|err|warn' \
		<(nm -D --undefined-only "$library/libinnet.so")
}

# installed COMPILER FILE: compile a program with the installed header and library
installed() {
	PKG_CONFIG_PATH=$PWD/lib/pkgconfig $1 $2 -o program \
		$(PKG_CONFIG_PATH=$PWD/lib/pkgconfig pkg-config --cflags --libs innet)
}

@test "libinnet: programs in C and C++ link with the library after make install" {
	command -v pkg-config >/dev/null || skip 'no pkg-config'
	[ "$library" = "$builddir" ] || skip 'another library is installed'
	case $COMPILE in *-fsanitize*) skip 'the library needs a sanitizer' ;; esac
	make -s -C "$builddir" install-libinnetPROGRAMS install-includeHEADERS \
		install-pkgconfigDATA install-data-hook DESTDIR="$PWD" prefix=/ >/dev/null
	sed -i "s|^prefix=.*|prefix=$PWD|; s|^exec_prefix=.*|exec_prefix=$PWD|" lib/pkgconfig/innet.pc
	[ -L lib/libinnet.so ]
	job 1
	for c in "cc -std=c99 -pedantic -Wall -Wextra -Werror" "c++ -x c++ -Wall -Wextra -Werror"; do
		command -v ${c%% *} >/dev/null || continue
		installed "$c" "$srcdir/share/examples/all-reduce.c"
		run -0 env LD_LIBRARY_PATH=lib ./program "$switch" 0 1
		[ "$output" = 'rank 0: the sum is 0' ]
	done
	[ "$(wc -l <"$srcdir/share/examples/all-reduce.c")" -le 40 ]
}
