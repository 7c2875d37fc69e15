# Functions that several bats files use.  skip works only in tests and setup():
# bats 1.8 fails when setup_file() calls it, and in $(...) or a pipe it is lost.
#
# A frame of 78 bytes takes 10 ms at the rate $SLOW.
bats_require_minimum_version 1.5.0
SLOW=62400

# $ahead is a prefix for commands whose time is measured: it gives them
# real-time priority, if that is allowed.
ahead=''
! chrt -f 1 true 2>/dev/null || ahead='chrt -f 1'

# $favoured is a prefix for commands that would use both processors: it raises
# their priority, if that is allowed.
favoured=''
[ "$(nice -n -10 nice 2>/dev/null)" != -10 ] || favoured='nice -n -10'

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	pids=''
}

# End the processes that a test has left running, by their ids.
end_all() {
	[ -z "$pids" ] || kill $pids 2>/dev/null || true
	[ -z "$pids" ] || wait $pids 2>/dev/null || true
}
teardown() { end_all; }

# Take down the testbed that a test has built.
end_testbed() {
	[ -z "${INNET_TESTBED-}" ] || "$testbed/testbed.sh" down "$INNET_TESTBED"
}

# at MS CLUSTER WORKER SEQUENCE [WORD...]: print a line for mkolaf, an update of
# one element
at() {
	local ms=$1 c=$2 w=$3 s=$4
	shift 4
	echo "${ms}000000 $c $w $s 1 ${ms}000000 1 1 $*"
}

# count FILE.json NAME [packets]: print a total of a report
count() { jq ".totals.$2.${3:-constituents}" "$1"; }

# await FILE: wait up to 10 s until a file is not empty
await() {
	for _ in $(seq 500); do
		[ -s "$1" ] && return 0
		sleep 0.02
	done
	echo "nothing in $1 after 10 s" >&2
	return 1
}

# jq ...: jq, but -e also fails if the input is empty; jq 1.6 would succeed, and
# a test of the output of a command that failed would pass
jq() {
	local out rc=0
	case " $* " in
	*' -e '*|*' -es '*|*' -se '*)
		out=$(command jq "$@") || rc=$?
		[ -z "$out" ] || printf '%s\n' "$out"
		[ -n "$out" ] || [ $rc -ne 0 ] || rc=4
		return $rc ;;
	*) command jq "$@" ;;
	esac
}

# within SECONDS COMMAND...: repeat the command until it succeeds
within() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || { echo "in vain: $*" >&2; return 1; }
		sleep 0.05
	done
}

# serve NAME COMMAND...: start a live tool; $NAME gets its address, NAME.port its
# port, NAME.out its standard output and NAME.err its messages
serve() {
	local name=$1
	shift
	rm -f "$name.port"
	"$@" --listen 127.0.0.1:0 --port-file "$name.port" >"$name.out" 2>"$name.err" 3>&- &
	pids="$pids $!"
	printf -v "${name}_pid" %s "$!"
	await "$name.port"
	printf -v "$name" %s "127.0.0.1:$(cat "$name.port")"
}

# results AT N: wait until job 1 of the switch at AT has made N results
results() {
	local n
	for _ in $(seq 1000); do
		n=$(innet-ctl "$1" --job 1 stats --json 2>/dev/null | jq '.counters.results // 0') || true
		[ "${n:-0}" -lt "$2" ] || return 0
		sleep 0.02
	done
	return 1
}

# finish NAME: end a live tool as a user would
finish() {
	local pid=${1}_pid
	kill -TERM "${!pid}"
	wait "${!pid}"
}

# python [MODULE]: set $py to a Python that has the module, or skip
python() {
	for py in python3 /usr/bin/python3; do
		! "$py" -c "${1:+import $1}" 2>/dev/null || return 0
	done
	skip "no python3 with $1"
}

# free_port: print a TCP port that no program uses, and that the kernel does not
# give to programs that ask for any port
free_port() {
	"${py:-python3}" - <<-'END'
		import random, socket
		path = "/proc/sys/net/ipv4/ip_local_port_range"
		low = int(open(path).read().split()[0])
		while True:
		    port = random.randrange(low // 2, low)
		    try:
		        socket.socket().bind(("127.0.0.1", port))
		        break
		    except OSError:
		        pass
		print(port)
	END
}

# Files that are installed with the tools come from the source tree, or from the
# folder that check-installed sets.
share=${share:-$BATS_TEST_DIRNAME/../../share}
testbed=$share/testbed

# privileged: skip if the test may not create namespaces, or if veth, bridge or
# tbf is missing
privileged() {
	local why
	why=$("$testbed/testbed.sh" list 2>&1 >list) || skip "$why"
	why=$(unshare -n sh -c 'ip link add x type veth && ip link add y type bridge &&
		tc qdisc add dev x root tbf rate 1mbit burst 3028 limit 9000' 2>&1) ||
		skip "no namespaces with shaped links: ${why//$'\n'/; }"
}

# few N: print N, or a fifth of N in the builds of CI after the first
few() { echo $(($1 / (${INNET_TESTS_ONCE:+4 +} 1))); }

# once [training]: skip tests that need not run in every build of CI.
# INNET_TESTS_ONCE says whether this applies to all of them or only to trainings
# that take minutes.
once() {
	case ${INNET_TESTS_ONCE-}/${1-} in
	all/*|training/training) skip 'ran in the first build' ;;
	esac
}
