# Tests of cookies, MACs and authentication tags over three levels of switches,
# through a NAT that changes its mapping, and with several hosts that send
# commands.
load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	pids=''
	(umask 077; head -c 32 /dev/urandom >key)
}

# again NAME OPTION...: start a switch of two members with the options in
# $keyed; if it has run before, kill it first and use its port again
again() {
	local name=$1 pid=${1}_pid
	if [ -n "${!name-}" ]; then
		kill -KILL "${!pid}"
		wait "${!pid}" || true
	fi
	rm -f "$name.port"
	# shellcheck disable=SC2086	# words, or none
	innet-switch -q -p iswitch -H 2 $keyed --listen "${!name-127.0.0.1:0}" --port-file "$name.port" "${@:2}" 3>&- &
	printf -v "$name" %s "${!name-}"
	printf -v "${name}_pid" %s "$!"
	pids="$pids $!"
	await "$name.port"
	printf -v "$name" %s "127.0.0.1:$(cat "$name.port")"
}

# ask AT VERB...: run innet-ctl, with the key if there is one
ask() {
	case $keyed in
	--key*) innet-ctl --key key "$@" ;;
	*) innet-ctl "$@" ;;
	esac
}

# further AT: check that the switch has at least ten results more than at the
# last call
further() {
	local n
	n=$(ask "$1" stats --job 1 --json 2>/dev/null | jq '.counters.results + .counters.from_parent')
	[ "${n:-0}" -ge $((10 + ${was:-0})) ] && was=$n
}

ports() { ask "$root" members --json | jq -c '[.members[].port] | sort'; }

# worker N AT [OPTION...]: start a worker that checks the sums of COUNT workers
worker() {
	# shellcheck disable=SC2086
	innet-worker -q -p iswitch --worker "$1" --switch "$2" $keyed --synthetic 4kB --interval 5ms \
		--json "${@:3}" >"w$1.json" 3>&- &
	workers="$workers $!"
	pids="$pids $!"
}
end_workers() {
	local w
	kill $workers
	for w in $workers; do wait "$w"; done
	jq -es 'all(.iterations > 30)' w?.json
}

@test "three levels with a key, with tokens, and without: after a restart of each switch, sums continue" {
	for keyed in '--key key' '--auth all' ''; do
		unset root mid1 mid2 rack1 rack2 rack3 rack4
		workers='' was=0
		again root
		for m in 1 2; do again mid$m --parent "$root" --number $m; done
		for r in 1 2; do again rack$r --parent "$mid1" --number $r; done
		for r in 3 4; do again rack$r --parent "$mid2" --number $r; done
		for w in 0 1 2 3 4 5 6 7; do
			at=rack$((w / 2 + 1))
			worker $w "${!at}" --check 8
		done
		within 30 further "$rack1"
		again rack3 --parent "$mid2" --number 3
		within 30 further "$rack1"
		again mid1 --parent "$root" --number 1
		within 30 further "$rack4"
		again root
		was=0
		within 30 further "$root"
		end_workers
		for s in root mid1 mid2 rack1 rack2 rack3 rack4; do finish $s; done
	done
}

@test "a worker behind a NAT continues when its port changes, and three clients can send commands at once" {
	python
	cat >nat.py <<-'END'
	import os, select, signal, socket, sys
	def new():
	    s = socket.socket(type=socket.SOCK_DGRAM)
	    s.bind(("127.0.0.1", 0))
	    return s
	host, port = sys.argv[1].split(":")
	there, inside, out, who = (host, int(port)), new(), [new()], None
	signal.signal(signal.SIGUSR1, lambda *_: out.insert(0, new()))
	with open("nat.new", "w") as f:
	    f.write(str(inside.getsockname()[1]))
	os.rename("nat.new", "nat.port")
	tos = (socket.IPPROTO_IP, socket.IP_TOS)
	inside.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
	def relay(s, to, by):
	    p, more, _, src = s.recvmsg(65536, 64)
	    for _, kind, value in more:
	        by.setsockopt(*tos, value[0])
	    by.sendto(p, to or src)
	    return src
	while True:
	    for s in out:
	        s.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
	    ready, _, _ = select.select([inside, *out], [], [], 0.1)
	    for s in ready:
	        if s is inside:
	            who = relay(inside, there, out[0])
	        elif s is out[0] and who:
	            relay(s, who, inside)
	        else:
	            s.recv(65536)	# packets for an old port are lost
	END
	for keyed in '--key key' '--auth all'; do
		unset root
		workers='' was=0
		rm -f nat.port
		again root
		python3 nat.py "$root" 3>&- &
		nat=$!
		pids="$pids $nat"
		await nat.port
		worker 0 "127.0.0.1:$(cat nat.port)" --check 2
		worker 1 "$root" --check 2
		within 30 further "$root"
		for _ in 1 2 3; do
			before=$(ports)
			kill -USR1 $nat
			within 30 further "$root"
			[ "$(ports)" != "$before" ]
		done
		asks=''
		for k in 1 2 3; do
			(for _ in $(seq 20); do
				ask "$root" halt && ask "$root" resume || exit
			done) 3>&- >said.$k 2>&1 &
			asks="$asks $!"
		done
		for k in $asks; do wait "$k"; done
		ask "$root" resume
		within 30 further "$root"
		end_workers
		kill $nat
		finish root
	done
}
