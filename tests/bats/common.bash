# Functions that several bats files use.  skip works only in tests and setup():
# bats 1.8 fails when setup_file() calls it, and in $(...) or a pipe it is lost.
#
# 10 ms, the time of a 78-byte frame at $SLOW.
bats_require_minimum_version 1.5.0
SLOW=62400

# Before a command whose time is measured: it runs ahead of what else there is,
# where that is allowed.
ahead=''
! chrt -f 1 true 2>/dev/null || ahead='chrt -f 1'

# Likewise of what would take both processors for itself.
favoured=''
[ "$(nice -n -10 nice 2>/dev/null)" != -10 ] || favoured='nice -n -10'

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	pids=''
}

# End by pid what a test left running.
end_all() {
	[ -z "$pids" ] || kill $pids 2>/dev/null || true
	[ -z "$pids" ] || wait $pids 2>/dev/null || true
}
teardown() { end_all; }

# Take down the testbed a test has built.
end_testbed() {
	[ -z "${INNET_TESTBED-}" ] || "$testbed/testbed.sh" down "$INNET_TESTBED"
}

# at MS CLUSTER WORKER SEQUENCE [WORD...]: a line for mkolaf, one element
at() {
	local ms=$1 c=$2 w=$3 s=$4
	shift 4
	echo "${ms}000000 $c $w $s 1 ${ms}000000 1 1 $*"
}

# count FILE.json what [packets]: a total of a report
count() { jq ".totals.$2.${3:-constituents}" "$1"; }

# Wait until a file has something in it, 10 s at most.
await() {
	for _ in $(seq 500); do
		[ -s "$1" ] && return 0
		sleep 0.02
	done
	echo "nothing in $1 after 10 s" >&2
	return 1
}

# within SECONDS COMMAND...: wait until that succeeds
within() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || { echo "in vain: $*" >&2; return 1; }
		sleep 0.05
	done
}

# serve NAME COMMAND...: start a live tool, its port in $NAME (file NAME.port),
# what it prints in NAME.out, what it says in NAME.err
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

# results AT N: wait until job 1 at AT has made N results
results() {
	local n
	for _ in $(seq 1000); do
		n=$(innet-ctl "$1" --job 1 stats --json 2>/dev/null | jq '.counters.results // 0') || true
		[ "${n:-0}" -lt "$2" ] || return 0
		sleep 0.02
	done
	return 1
}

# End a live tool as a user would: NAME
finish() {
	local pid=${1}_pid
	kill -TERM "${!pid}"
	wait "${!pid}"
}

# python [MODULE]: a Python that has it in $py, or skip
python() {
	for py in python3 /usr/bin/python3; do
		! "$py" -c "${1:+import $1}" 2>/dev/null || return 0
	done
	skip "no python3 with $1"
}

# Files that are installed with the tools: those of the tree, or of check-installed.
share=${share:-$BATS_TEST_DIRNAME/../../share}
testbed=$share/testbed

# Skip where there is no right to namespaces, or no veth, bridge or tbf.
privileged() {
	local why
	why=$("$testbed/testbed.sh" list 2>&1 >list) || skip "$why"
	why=$(unshare -n sh -c 'ip link add x type veth && ip link add y type bridge &&
		tc qdisc add dev x root tbf rate 1mbit burst 3028 limit 9000' 2>&1) ||
		skip "no namespaces with shaped links: ${why//$'\n'/; }"
}

# few N: N, or a fifth of it in the builds of CI after the first
few() { echo $(($1 / (${INNET_TESTS_ONCE:+4 +} 1))); }

# once [training]: skip what need not run in every build of CI, which says in
# INNET_TESTS_ONCE whether that is all of it or only the training for minutes.
once() {
	case ${INNET_TESTS_ONCE-}/${1-} in
	all/*|training/training) skip 'ran in the first build' ;;
	esac
}
