# Functions to start redis-server and innet-memory and to query them; load them
# after `load common`.
#
# shellcheck shell=bash disable=SC2034,SC2154
tests=$BATS_TEST_DIRNAME/..

# redis NAME [OPTION...]: start redis-server on the Unix socket $NAME, or skip
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

# memory [OPTION...]: start innet-memory on a port of its own; $memory gets
# HOST:PORT
memory() { serve memory innet-memory -q "$@"; }

# twin CHECK A B [RUNS [FIRST]]: run a check of memory_twin.py
twin() { "$py" -B "$tests/twins/memory_twin.py" "$@"; }

# cli WORD...: run redis-cli on innet-memory
cli() { redis-cli -h "${memory%:*}" -p "${memory##*:}" "$@"; }

# setup_module: skip unless a redis-server can load innet_per.so; MEMORY_MODULE
# gets the path of the module
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
