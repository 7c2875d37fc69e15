#!/usr/bin/env bash
# testbed.sh - make one or two racks of network namespaces with shaped links
#
#	testbed.sh rack [OPTION...] -- COMMAND...	build, run COMMAND, tear down
#	testbed.sh two-racks [OPTION...] -- COMMAND...
#	testbed.sh up rack|two-racks --owner PID [OPTION...]	build; print its id
#	testbed.sh exec HOST COMMAND...			run COMMAND on a host
#	testbed.sh addr HOST				print the address of a host
#	testbed.sh switch HOST OPTION...		run innet-switch on a switch
#	testbed.sh list					print id, host, address, owner
#	testbed.sh down [ID]				tear down
#
#	-n N			number of workers (4); two racks have half of them each
#	--rate RATE		rate of a host's link, each way (100mbit)
#	--core-rate RATE	rate of a rack's link to the core (the value of --rate)
#	--burst BYTES		size of a link's token bucket (250 us, at least 2 frames)
#	--queue BYTES		size of the queue before a link (1500000)
#	--loss SHARE		share of IPv4 packets that a link loses, each way: 1%, 0.001 (0)
#	--delay TIME		delay of the server's link, each way: 10ms (0)
#	--in-path		run innet-switch in the path, not at an address
#	--owner PID		up: remove the testbed after this process has ended
#
# innet-testbed(7) describes the hosts and links.  A testbed consists only of
# its namespaces, innet-ID-HOST; there is no file that could be out of date. 
# The next up or down removes the testbeds whose owner has ended.
set -eu
die() { printf 'testbed: %s\n' "$*" >&2; exit 1; }
misuse() { printf 'testbed: %s\n' "$*" >&2; exit 2; }

# Network namespaces need CAP_NET_ADMIN (12) and CAP_SYS_ADMIN (21).  sed reads
# the file at once.  bash's read would seek, and read the wrong bytes if an
# earlier line of the file changed.
privileged() {
	local have
	have=$(sed -n 's/^CapEff:[^0-9a-f]*//p' /proc/self/status)
	(((0x$have >> 12) & (0x$have >> 21) & 1)) ||
		die 'network namespaces need root (CAP_NET_ADMIN and CAP_SYS_ADMIN)'
	command -v tc >/dev/null || die 'ip and tc are missing (package iproute2)'
}

# bits RATE: print the rate in bit/s; RATE is 100mbit, 100Mbit, 1G or 12500000.
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

# ids: print the ids of all testbeds.  hosts ID: print the hosts of one.  Both
# use only the names of files, because `ip netns list` opens each namespace, and
# fails if one is removed meanwhile.
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

# empty ID: send signals to the processes in a testbed until all have ended:
# TERM for one second, then KILL.
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

# host HOST: make a namespace with a loopback interface.  claim() has already
# made the namespace of the first host.
host() {
	[ "$1" = "$first" ] || ip netns add "innet-$id-$1"
	ip -n "innet-$id-$1" link set lo up
}

# switch HOST ADDRESS: make a host that is also an Ethernet switch
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
# holds the bytes of 250 us.  From 200 Mbit/s on it also holds an offloaded run
# of 46 frames.  Otherwise tbf would split the run and set a timer for each
# frame.  These timers would use most of the processor time, and the link would
# not reach its rate.
shape() {
	local bucket=$(($3 / 32000)) least=3028
	(($3 < 200000000)) || least=70000
	((bucket >= least)) || bucket=$least
	bucket=${burst:-$bucket}
	tc -n "innet-$id-$1" qdisc add dev "$2" root tbf rate "$3bit" \
		burst "$bucket" limit "$queue"
}

# lose HOST INTERFACE: lose a share of the incoming packets.  A BPF program of
# four instructions drops a packet if a random number is at or above the
# threshold.
lose() {
	[ -n "$keep" ] || return 0
	# lose single frames, not whole trains of frames from segmentation
	# offload
	ip -n "innet-$id-$1" link set dev "$2" gso_max_segs 1
	tc -n "innet-$id-$1" qdisc add dev "$2" clsact
	tc -n "innet-$id-$1" filter add dev "$2" ingress protocol ip bpf da \
		bytecode "4,32 0 0 4294963256,53 0 1 $keep,6 0 0 2,6 0 0 4294967295"
}

# link HOST INTERFACE SWITCH PORT BITS: connect a host to the bridge of a switch
# by a link that is shaped both ways
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

# wire HOST SWITCH: connect a host to a switch.  With --delay, the server's link
# goes through the host `far`, which delays frames, because the kernel may lack
# netem.
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
	for ((i = 0; i < 100; i++)); do	# until delay.py has opened both interfaces
		[ "$(ip netns exec "innet-$id-far" sed 1d /proc/net/packet | wc -l)" -lt 2 ] || return 0
		kill -0 $! 2>/dev/null || break
		sleep 0.05
	done
	die 'delay.py did not start'
}

# leaf HOST ADDRESS SWITCH: make a host with one link, to that switch
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

# options KIND OPTION... [-- COMMAND...]: set the options of a testbed, and
# $command
options() {
	workers=4 rate=100mbit core_rate='' burst='' queue=1500000 owner=''
	keep='' in_path='' delay=''
	kind=${1-}
	case $kind in
	rack|two-racks) shift ;;
	'') misuse 'name the kind of testbed: rack or two-racks' ;;
	*) misuse "unknown kind of testbed '$kind': use rack or two-racks" ;;
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

# number OPTION VALUE MIN MAX: fail unless the value is a number from MIN to MAX
number() {
	[[ $2 =~ ^[1-9][0-9]{0,9}$ ]] && (($2 >= $3 && $2 <= $4)) && return
	misuse "invalid $1 '$2': not a number from $3 to $4"
}

# Remove the testbed and end COMMAND at every exit.
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

# claim: set $id to an unused id, by making the first namespace of that id
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
	# in the background, so that this script handles a signal at once
	env --default-signal=INT,QUIT "${command[@]}" <&0 &
	child=$!
	wait $child || rc=$?
	child=''
	exit $rc
}

# which_one: set $id to the testbed in INNET_TESTBED, or to the only testbed
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

# known HOST: fail unless the testbed has this host
known() {
	local all
	which_one
	all=$(hosts "$id")
	grep -qxF -e "$1" <<<"$all" ||
		die "no host '$1' in testbed $id; there are: ${all//$'\n'/ }"
}

# start_switch HOST OPTION...: run innet-switch on a host: in the path of its
# bridge if the testbed has --in-path, otherwise at its address.  In the path,
# innet-switch needs no --upstream, so that option is removed.
start_switch() {
	local on=innet-$id-$1 given=()
	[[ $(ip -n "$on" -o link show br0 2>/dev/null) ]] || die "$1 is not a switch"
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
			a=$(address "$i" "$h" 2>/dev/null)	# the host may be removed meanwhile
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
	[ ${#command[@]} -gt 0 ] || misuse "add -- COMMAND..., or use 'up $verb'"
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
'') misuse 'use rack, two-racks, up, exec, addr, switch, list or down' ;;
*) misuse "unknown command '$verb'; use rack, two-racks, up, exec, addr, switch, list or down" ;;
esac
