#!/usr/bin/env bash
# testbed.sh - a rack of network namespaces with shaped links, or two and a core
#
#	testbed.sh rack [OPTION...] -- COMMAND...	build, run COMMAND, tear down
#	testbed.sh two-racks [OPTION...] -- COMMAND...
#	testbed.sh up rack|two-racks --owner PID [OPTION...]	build; print its id
#	testbed.sh exec HOST COMMAND...			run COMMAND on a host
#	testbed.sh addr HOST				its address
#	testbed.sh switch HOST OPTION...		an innet-switch on a switch
#	testbed.sh list					id, host, address, owner
#	testbed.sh down [ID]				tear down
#
#	-n N			workers (4), in two racks half of them in each
#	--rate RATE		of a host's link, each way (100mbit)
#	--core-rate RATE	of a rack's link to the core (as --rate)
#	--burst BYTES		of a link's token bucket (see innet-testbed(7))
#	--queue BYTES		before a link (1500000)
#	--loss SHARE		of a link's IPv4 packets, each way: 1%, 0.001 (0)
#	--delay TIME		of the server's link, each way: 10ms (0)
#	--in-path		a switch stands in the path, not at an address
#	--owner PID		up: the testbed may go when this process is dead
#
# innet-testbed(7) says what stands where.  There is no file to go stale: the
# namespaces, innet-OWNER-HOST, are all there is, and those whose owner is dead
# go with the next up or down.
set -eu
die() { printf 'testbed: %s\n' "$*" >&2; exit 1; }
misuse() { printf 'testbed: %s\n' "$*" >&2; exit 2; }

# Network namespaces need CAP_NET_ADMIN (12) and CAP_SYS_ADMIN (21).  Read in one
# go: bash's read, which seeks, loses its place when a line before it changes.
privileged() {
	local have
	have=$(sed -n 's/^CapEff:[^0-9a-f]*//p' /proc/self/status)
	(((0x$have >> 12) & (0x$have >> 21) & 1)) ||
		die 'network namespaces need root (CAP_NET_ADMIN and CAP_SYS_ADMIN)'
	command -v tc >/dev/null || die 'ip and tc are missing (package iproute2)'
}

# Bits a second in RATE: 100mbit, 100Mbit, 1G, 12500000.
bits() {
	local rate=${1,,} unit=1
	[[ $rate =~ ^([1-9][0-9]{0,11})([kmg]?)(bit)?$ ]] ||
		misuse "invalid rate '$1': not such as 100mbit"
	case ${BASH_REMATCH[2]} in
	k) unit=1000 ;;
	m) unit=1000000 ;;
	g) unit=1000000000 ;;
	esac
	echo $((BASH_REMATCH[1] * unit))
}

# Convert a share of loss (1%, 0.01) to 2^32 times the share that arrives; print
# nothing if nothing is lost.
kept() {
	[[ $1 =~ ^(0|0?\.[0-9]{1,6}|[0-9]{1,2}(\.[0-9]{1,4})?%)$ ]] ||
		misuse "invalid loss '$1': not a share such as 1% or 0.01"
	awk -v p="$1" 'BEGIN {
		share = p ~ /%/ ? p / 100 : p + 0
		if (share > 0)
			printf "%.0f", (1 - share) * 4294967296
	}'
}

# The ids there are, or the hosts of one.  From the names alone: ip netns list
# asks after each, and fails when one goes meanwhile.
names() { printf '%s\n' /run/netns/innet-*; }
ids() { names | sed -nE 's/.*-([0-9]+(\.[0-9]+)?)-[a-z0-9]+$/\1/p' | sort -u; }
hosts() { names | sed -nE "s/.*-${1/./\\.}-([a-z0-9]+)$/\1/p" | sort -V; }
alive() { [ -e "/proc/${1%.*}" ]; }

# Print the processes that run on the hosts of a testbed.
inside() {
	local host
	for host in $(hosts "$1"); do
		ip netns pids "innet-$1-$host" 2>/dev/null || :
	done
}

# Signal what runs there until nothing does: a second of TERM, then KILL.
empty() {
	local signal=TERM pids i
	for ((i = 0; i < 60; i++)); do
		pids=$(inside "$1")
		[ -n "$pids" ] || return 0
		((i < 20)) || signal=KILL
		# shellcheck disable=SC2086	# words
		((i % 20)) || kill -s $signal $pids 2>/dev/null || :
		sleep 0.05
	done
}

raze() {
	local host
	empty "$1"
	for host in $(hosts "$1"); do
		ip netns del "innet-$1-$host" 2>/dev/null || :
	done
}

sweep() {
	local i
	for i in $(ids); do
		alive "$i" || raze "$i"
	done
}

# HOST: a namespace with its loopback; the first may be there already.
host() {
	[ "$1" = "$first" ] || ip netns add "innet-$id-$1"
	ip -n "innet-$id-$1" link set lo up
}

# HOST ADDRESS: one that is an Ethernet switch too.
switch() {
	host "$1"
	ip -n "innet-$id-$1" -batch - <<-END
	link add br0 type bridge mcast_snooping 0
	link set br0 addrgenmode none up
	address add $2/24 brd + dev br0
	END
	[ -z "$in_path" ] || ip -n "innet-$id-$1" link set br0 alias in-path
}

# HOST INTERFACE BITS: limit the rate of the packets that leave.  The bucket
# holds the bytes of 250 us.  From 200 Mbit/s on it also holds an offloaded run of
# 46 frames; otherwise tbf would split the run, and a timer for each frame would
# cost the machine so much time that the link could not reach its rate.
shape() {
	local bucket=$(($3 / 32000)) least=3028
	(($3 < 200000000)) || least=70000
	((bucket >= least)) || bucket=$least
	bucket=${burst:-$bucket}
	tc -n "innet-$id-$1" qdisc add dev "$2" root tbf rate "$3bit" \
		burst "$bucket" limit "$queue"
}

# HOST INTERFACE: lose a share of what comes in, by a program of four
# instructions: a random number at or above the threshold is a loss.
lose() {
	[ -n "$keep" ] || return 0
	# frames are lost, not trains of them that a host hands over as one
	ip -n "innet-$id-$1" link set dev "$2" gso_max_segs 1
	tc -n "innet-$id-$1" qdisc add dev "$2" clsact
	tc -n "innet-$id-$1" filter add dev "$2" ingress protocol ip bpf da \
		bytecode "4,32 0 0 4294963256,53 0 1 $keep,6 0 0 2,6 0 0 4294967295"
}

# HOST INTERFACE SWITCH PORT BITS: a link, shaped both ways, into a bridge.
link() {
	ip link add "$2" netns "innet-$id-$1" type veth \
		peer name "$4" netns "innet-$id-$3"
	ip -n "innet-$id-$1" link set "$2" addrgenmode none up
	ip -n "innet-$id-$3" link set "$4" addrgenmode none master br0 up
	shape "$1" "$2" "$5"
	shape "$3" "$4" "$5"
	lose "$1" "$2"
	lose "$3" "$4"
}

# HOST SWITCH: a host's link; that to a server which is far goes by a host that
# holds what passes, for there need be no netem.
wire() {
	local i
	if [ "$1" != server ] || [ -z "$delay" ]; then
		link "$1" eth0 "$2" "$1" "$rate"
		return
	fi
	host far
	link far away "$2" "$1" "$rate"
	ip link add eth0 netns "innet-$id-$1" type veth peer name near netns "innet-$id-far"
	ip -n "innet-$id-$1" link set eth0 addrgenmode none up
	ip -n "innet-$id-far" link set near addrgenmode none up
	shape "$1" eth0 "$rate"
	ip netns exec "innet-$id-far" "$here/delay.py" near away "$delay" \
		>/dev/null 2>&1 </dev/null 3>&- &
	for ((i = 0; i < 100; i++)); do	# until it has both interfaces
		[ "$(ip netns exec "innet-$id-far" sed 1d /proc/net/packet | wc -l)" -lt 2 ] || return 0
		kill -0 $! 2>/dev/null || break
		sleep 0.05
	done
	die 'delay.py did not start'
}

# HOST ADDRESS SWITCH: a host with one link, to that switch.
leaf() {
	host "$1"
	wire "$1" "$3"
	ip -n "innet-$id-$1" address add "$2/24" brd + dev eth0
}

build() {
	local i rack
	case $kind in
	rack)
		switch switch 10.77.0.1
		leaf server 10.77.0.2 switch
		;;
	two-racks)
		switch core 10.77.0.1
		leaf server 10.77.0.2 core
		for rack in 1 2; do
			switch switch$rack 10.77.0.$((2 + rack))
			link switch$rack uplink core switch$rack "$core_rate"
			ip -n "innet-$id-switch$rack" link set uplink master br0
		done
		;;
	esac
	for ((i = 0; i < workers; i++)); do
		rack=$((i < (workers + 1) / 2 ? 1 : 2))
		[ "$kind" = two-racks ] || rack=''
		leaf w$i 10.77.0.$((10 + i)) switch$rack
	done
}

# Take the options of a kind of testbed; what follows is the COMMAND.
options() {
	workers=4 rate=100mbit core_rate='' burst='' queue=1500000 owner=''
	keep='' in_path='' delay=''
	kind=${1-}
	case $kind in
	rack|two-racks) shift ;;
	'') misuse 'which kind of testbed: rack or two-racks' ;;
	*) misuse "unknown kind of testbed '$kind': rack or two-racks" ;;
	esac
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		if [ "$1" = --in-path ]; then
			in_path=1
			shift
			continue
		fi
		[ $# -ge 2 ] || misuse "option $1 needs a value"
		case $1 in
		-n) workers=$2 ;;
		--rate) rate=$2 ;;
		--core-rate) core_rate=$2 ;;
		--burst) burst=$2 ;;
		--queue) queue=$2 ;;
		--owner) owner=$2 ;;
		--loss) keep=$(kept "$2") ;;
		--delay)
			[[ $2 =~ ^[0-9]{1,6}(us|ms|s)$ ]] ||
				misuse "invalid delay '$2': not such as 10ms"
			command -v python3 >/dev/null || die '--delay needs python3'
			delay=$2
			;;
		*) misuse "unknown option '$1'" ;;
		esac
		shift 2
	done
	rate=$(bits "$rate")
	core_rate=$(bits "${core_rate:-$rate}")
	number -n "$workers" 1 240
	number --queue "$queue" 1514 1000000000
	[ -z "$burst" ] || number --burst "$burst" 1514 1000000000
	[ -z "$owner" ] || number --owner "$owner" 1 4194304
	[ $# -eq 0 ] || shift
	command=("$@")
}

# OPTION VALUE LEAST MOST
number() {
	[[ $2 =~ ^[1-9][0-9]{0,9}$ ]] && (($2 >= $3 && $2 <= $4)) && return
	misuse "invalid $1 '$2': not a number from $3 to $4"
}

# Whatever ends us, the testbed goes, and COMMAND.
child='' id=''
end() {
	trap '' INT TERM HUP
	[ -z "$child" ] || kill "$child" 2>/dev/null || :
	[ -z "$id" ] || raze "$id"
	[ -z "$child" ] || wait "$child" 2>/dev/null || :
}
on_signal() {
	end
	trap - EXIT "$1"
	kill -s "$1" $$
}
guard() {
	local s
	trap end EXIT
	for s in INT TERM HUP; do
		# shellcheck disable=SC2064	# now
		trap "on_signal $s" $s
	done
}

# An id of our own: whose first namespace we, and no other, could make.
claim() {
	local n=1 try=$owner why
	first=switch
	[ "$kind" = rack ] || first=core
	until why=$(ip netns add "innet-$try-$first" 2>&1); do
		[ -n "$(hosts "$try")" ] || die "$why"
		try=$owner.$((n += 1))
	done
	id=$try
}

up() {
	sweep
	guard
	claim
	build
}

run() {
	local rc=0
	owner=$$
	up
	export INNET_TESTBED=$id PATH="$here:$PATH"
	# in the background, for a signal to us must not wait for it to end
	env --default-signal=INT,QUIT "${command[@]}" <&0 &
	child=$!
	wait $child || rc=$?
	child=''
	exit $rc
}

# The testbed meant: of the environment, or the only one there is.
which_one() {
	local all
	id=${INNET_TESTBED-}
	if [ -z "$id" ]; then
		all=$(ids)
		[ "$(wc -w <<<"$all")" -eq 1 ] ||
			die "which testbed? set INNET_TESTBED to one of:" "${all//$'\n'/ }"
		id=$all
	fi
	[ -n "$(hosts "$id")" ] || die "no testbed $id"
}

# HOST: is it there?
known() {
	local all
	which_one
	all=$(hosts "$id")
	grep -qxF -e "$1" <<<"$all" ||
		die "no host '$1' in testbed $id; there are: ${all//$'\n'/ }"
}

# HOST OPTION...: an innet-switch there: in the path of its bridge, where
# packets find it without --upstream, or at its address.
start_switch() {
	local on=innet-$id-$1 given=()
	[[ $(ip -n "$on" -o link show br0 2>/dev/null) ]] || die "$1 is no switch"
	if [[ $(ip -n "$on" link show br0) != *'alias in-path'* ]]; then
		exec ip netns exec "$on" innet-switch --insecure --listen "$(address "$id" "$1")" "${@:2}"
	fi
	shift
	while [ $# -gt 0 ]; do
		case $1 in
		--upstream) shift 2 ;;
		--upstream=*) shift ;;
		*) given+=("$1"); shift ;;
		esac
	done
	exec ip netns exec "$on" innet-switch --insecure --bridge br0 "${given[@]}"
}

address() {
	ip -n "innet-$1-$2" -4 -o address show scope global |
		sed -nE 's/.* inet ([0-9.]+).*/\1/p'
}

list() {
	local i h a
	for i in $(ids); do
		for h in $(hosts "$i"); do
			a=$(address "$i" "$h" 2>/dev/null)	# it may go meanwhile
			printf '%s %s %s %s\n' "$i" "$h" "${a:--}" \
				"$(alive "$i" && echo alive || echo dead)"
		done
	done
}

here=$(cd "$(dirname "$0")" && pwd)
verb=${1-}
[ $# -eq 0 ] || shift
case $verb in
rack|two-racks)
	options "$verb" "$@"
	[ ${#command[@]} -gt 0 ] || misuse "-- COMMAND... must follow, or say up $verb"
	privileged
	run
	;;
up)
	options "$@"
	[ ${#command[@]} -eq 0 ] || misuse "unexpected argument '${command[0]}'"
	[ -n "$owner" ] || misuse "up needs --owner PID, such as \$\$"
	privileged
	up
	trap - EXIT INT TERM HUP
	echo "$id"
	;;
exec)
	[ $# -ge 2 ] || misuse 'exec needs a HOST and a COMMAND'
	privileged
	known "$1"
	host=$1
	shift
	exec ip netns exec "innet-$id-$host" "$@"
	;;
addr)
	[ $# -eq 1 ] || misuse 'addr needs a HOST'
	privileged
	known "$1"
	address "$id" "$1"
	;;
switch)
	[ $# -ge 1 ] || misuse 'switch needs a HOST'
	privileged
	known "$1"
	start_switch "$@"
	;;
list)
	[ $# -eq 0 ] || misuse "unexpected argument '$1'"
	privileged
	list
	;;
down)
	[ $# -le 1 ] || misuse "unexpected argument '$2'"
	privileged
	[ $# -eq 0 ] || { [ -n "$(hosts "$1")" ] || die "no testbed $1"; raze "$1"; }
	[ $# -ne 0 ] || [ -z "${INNET_TESTBED-}" ] || raze "$INNET_TESTBED"
	sweep
	;;
-h|--help)
	sed -n '2,/^#$/{/^#$/!p};/^#\t/p' "$0" | sed 's/^# \?//' ;;
'') misuse 'rack, two-racks, up, exec, addr, switch, list or down' ;;
*) misuse "unknown word '$verb'; rack, two-racks, up, exec, addr, switch, list or down" ;;
esac
