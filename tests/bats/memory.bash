# A redis-server, an innet-memory, and how to ask them; after `load common`.
#
# shellcheck shell=bash disable=SC2034,SC2154
tests=$BATS_TEST_DIRNAME/..

# redis NAME [OPTION...]: the real server on the Unix socket $NAME, or skip
redis() {
	local name=$1
	shift
	command -v redis-server >/dev/null || skip "no redis-server"
	case $(redis-server --version) in
	*' v='[0-6].*) skip "redis-server is older than 7, whose errors read otherwise" ;;
	esac
	redis-server --port 0 --unixsocket "$name.sock" --databases 1 --save '' "$@" \
		>"$name.log" 2>&1 3>&- &
	pids="$pids $!"
	for _ in $(seq 500); do
		! grep -qs 'eady to accept connections' "$name.log" || break
		sleep 0.02
	done
	grep -q 'eady to accept connections' "$name.log"
	printf -v "$name" %s "$PWD/$name.sock"
}

# memory [OPTION...]: innet-memory on a port of its own, HOST:PORT in $memory
memory() { serve memory innet-memory -q "$@"; }

# twin CHECK A B [RUNS [FIRST]]: as memory_twin.py has it
twin() { "$py" -B "$tests/twins/memory_twin.py" "$@"; }

# cli WORD...: redis-cli to innet-memory
cli() { redis-cli -h "${memory%:*}" -p "${memory##*:}" "$@"; }

# A redis-server that takes innet_per.so, whose path goes into MEMORY_MODULE
setup_module() {
	MEMORY_MODULE=$per_module
	[ -e "$MEMORY_MODULE" ] || skip "innet_per.so was not built"
	command -v redis-server >/dev/null || skip "no redis-server"
	case $(redis-server --version) in
	*' v='[0-6].*) skip "redis-server is older than 7" ;;
	esac
	python numpy
	export MEMORY_MODULE
}
