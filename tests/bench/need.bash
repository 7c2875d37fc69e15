# Requirements of a bench; if one is missing, its row says so and how to get it.
#
# shellcheck shell=bash

# skip ROW WHY [PACKAGE...]: the row, and the end of the bench
skip() {
	echo "$1 skipped: $2${3:+; on Debian: apt-get install ${*:3}}"
	exit 0
}

# packages TOOL: those that bring it, or have make build it
packages() {
	case $1 in
	mpirun) echo openmpi-bin ;;
	mpi-allreduce) echo libopenmpi-dev ;;
	innet-verify) echo libz3-dev ;;
	ns3-figure9) echo g++ libns3-dev ;;
	redis-cli) echo redis-tools ;;
	ip) echo iproute2 ;;
	ping) echo iputils-ping ;;
	redis-server|tcpdump|tshark|tcpreplay|iperf3) echo "$1" ;;
	esac
}

# need ROW TOOL...: all of these, or the end
need() {
	local row=$1 tool
	shift
	for tool; do
		# shellcheck disable=SC2046	# words
		command -v "$tool" >/dev/null ||
			skip "$row" "no $tool" $(packages "$tool")
	done
}
