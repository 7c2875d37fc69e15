# Actors, a learner, and the memory between them; after `load common`.
#
# shellcheck shell=bash disable=SC2034,SC2086,SC2154
# table [OPTION...]: an innet-memory; agents find it by $at
table() {
	serve memory innet-memory "$@"
	at="--replay-memory $memory"
}

# list [OPTION...]: a redis-server, on a path
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

# actors N OPTION...: in the background, each with a report aI.json
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

# begun [COMMAND...]: wait, 10 s at most, until the learner has set parameters,
# or the command (redis-cli behind it) says something that is not 0
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

# cli WORD...: redis-cli on the server
cli() {
	case $at in
	--redis\ ./redis) redis-cli -s redis "$@" ;;
	*) redis-cli -p "${memory#*:}" "$@" ;;
	esac
}

learner() { innet-agent --role learner $at --report l.json "$@"; }

# The actors end, in good order, as their learner has.
ended() {
	local p
	for p in $works; do wait "$p" || { cat a?.err >&2; return 1; }; done
}

# said N WHAT: wait, 10 s at most, until l.err has N lines with WHAT
said() {
	for _ in $(seq 500); do
		[ "$(grep -c "$2" l.err)" -lt "$1" ] || return 0
		sleep 0.02
	done
	cat l.err >&2
	return 1
}
