# Functions to start actors, a learner, and the memory between them; load them
# after `load common`.
#
# shellcheck shell=bash disable=SC2034,SC2086,SC2154
# table [OPTION...]: start innet-memory; $at gets the option by which agents
# find it
table() {
	serve memory innet-memory "$@"
	at="--replay-memory $memory"
}

# list [OPTION...]: start redis-server on a Unix socket
list() {
	command -v redis-server >/dev/null || skip 'no redis-server'
	redis-server --port 0 --unixsocket "$PWD/redis" --save '' "$@" >redis.log 2>&1 3>&- &
	pids="$pids $!"
	for _ in $(seq 500); do
		[ ! -S redis ] || break
		sleep 0.02
	done
	at='--redis ./redis'
}

# actors N OPTION...: start N actors in the background; each writes a report
# aI.json
actors() {
	local n=$1 i
	shift
	works=''
	for ((i = 0; i < n; i++)); do
		innet-agent --role actor $at --actor $i/$n --report a$i.json "$@" 2>a$i.err 3>&- &
		works="$works $!"
		pids="$pids $!"
	done
}

# begun [COMMAND...]: wait up to 10 s until the learner has set parameters, or
# until the command, which redis-cli sends, returns something other than 0
begun() {
	local said
	command -v redis-cli >/dev/null || skip 'no redis-cli'
	[ $# -gt 0 ] || set -- EXISTS innet:params
	for _ in $(seq 500); do
		said=$(cli "$@" | tail -n 1)
		[ "${said:-0}" = 0 ] || return 0
		sleep 0.02
	done
	echo "no answer to $* but $said after 10 s" >&2
	return 1
}

# cli WORD...: run redis-cli on the server
cli() {
	case $at in
	--redis\ ./redis) redis-cli -s redis "$@" ;;
	*) redis-cli -p "${memory#*:}" "$@" ;;
	esac
}

learner() { innet-agent --role learner $at --report l.json "$@"; }

# Check that all actors exit with status 0 after their learner has ended.
ended() {
	local p
	for p in $works; do wait "$p" || { cat a?.err >&2; return 1; }; done
}

# said N WHAT: wait up to 10 s until l.err has N lines that match WHAT
said() {
	for _ in $(seq 500); do
		[ "$(grep -c "$2" l.err)" -lt "$1" ] || return 0
		sleep 0.02
	done
	cat l.err >&2
	return 1
}
