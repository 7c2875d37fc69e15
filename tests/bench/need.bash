# need.bash - check the requirements of a bench.  If one is missing, print a row
# that says so, and how to get it.
#
# shellcheck shell=bash

# skip ROW WHY [PACKAGE...]: print the row, and end the bench
skip() {
	echo "$1 skipped: $2${3:+; on Debian: apt-get install ${*:3}}"
	exit 0
}

# packages TOOL: print the packages that contain the tool, or are needed to
# build it
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

# need ROW TOOL...: end the bench if one of these tools is missing
need() {
	local row=$1 tool
	shift
	for tool; do
		# shellcheck disable=SC2046	# words
		command -v "$tool" >/dev/null ||
			skip "$row" "no $tool" $(packages "$tool")
	done
}
