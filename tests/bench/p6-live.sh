#!/bin/bash
# P6: compare a live switch with an Olaf queue with the same switch with
# drop-tail
#
# udp-blast sends runs of updates of 1 kB, more than either queue can receive. 
# There are 60 clusters, 64 slots and a link of 20 Gbit/s, so that about half of
# the arriving updates leave, as in P3.  The switch's own counters give the
# arrivals.  The bar for the cost of merging is the processor time of an update,
# which does not depend on other programs on the machine; both rates are
# printed.  Lines with # show the result for 9 clusters, 8 slots and a link that
# carries a twentieth: there Olaf merges nearly all updates, and drop-tail drops
# nearly all.
# Then the bench compares Olaf with and without --key.  With a key each update
# has an authentication tag, which the switch checks, and computes again when
# the update leaves.
# The upstream is a server that is stopped, so no process reads the updates that leave.
# Run this from the build folder, or name that folder in BUILD.
#
# shellcheck disable=SC1091,SC2154
set -eu
. "$(dirname "$0")/rounds.bash"
build=${BUILD:-.} seconds=${SECONDS_EACH:-1}
export PATH="$build:$build/tests/bench:$PATH" LC_ALL=C TIMEFORMAT='%U %S'
dir=$(mktemp -d -p /dev/shm)
ps='' keyed=''
trap '[ -z "$ps$keyed" ] || kill -KILL $ps $keyed; rm -rf "$dir"' EXIT

# on N COMMAND...: run the command on the N-th processor, if there is more than
# one
on() {
	local n=$1
	shift
	[ "$(nproc)" -lt 2 ] || set -- taskset -c "$n" "$@"
	"$@"
}
# packets NAME: print a total of the report
packets() { sed -n "/\"$1\"/{n;s/[^0-9]//gp;q}" "$dir/r"; }
# run PROGRAM CLUSTERS SLOTS RATE [KEY]: measure for some seconds, and append
# the results to the files that are named after PROGRAM
run() {
	local name=$dir/$1${5:+-proved}-$2 switch at=$server
	[ -z "${5-}" ] || at=$proving
	rm -f "$dir/port" "$dir/r"
	begin
	{ time on 0 innet-switch -q --queue "$1" --listen 127.0.0.1:0 --upstream "127.0.0.1:$at" \
		--slots "$3" --rate "$4" --port-file "$dir/port" --report "$dir/r" \
		${5:+--key "$5"} --duration $((seconds + 1))s 2>"$dir/err"; } 2>"$dir/cpu" &
	switch=$!
	await "$dir/port"
	# a switch answers an Open after the server has answered the switch's
	# own Open
	[ -z "${5-}" ] || { kill -CONT $keyed && { sleep 0.3 && kill -STOP $keyed; } & }
	on 1 udp-blast "127.0.0.1:$(cat "$dir/port")" "$seconds" "$2" ${5:+1024 1 0 "$5"} >"$dir/sent"
	wait $switch
	end "$name.rate" "$name.cost"
	packets arrived | awk -v s="$seconds" '{ print $1 / s / 1e6 }' >>"$name.rate"
	awk -v n="$(packets arrived)" '{ print ($1 + $2) / n * 1e9 }' "$dir/cpu" >>"$name.cost"
	awk -v n="$(packets arrived)" -v d="$(packets delivered)" 'BEGIN { print 100 * d / n }' >>"$name.out"
	awk -v n="$(packets arrived)" '{ print 100 * (1 - n / $1) }' "$dir/sent" >>"$name.lost"
}

innet-ps -q --listen 127.0.0.1:0 --port-file "$dir/server" 2>"$dir/ps.err" &
ps=$!
await "$dir/server"
server=$(cat "$dir/server")
kill -STOP $ps
(umask 077; head -c 32 /dev/urandom >"$dir/key")
innet-ps -q --listen 127.0.0.1:0 --port-file "$dir/proving" --key "$dir/key" 2>"$dir/ps.err" &
keyed=$!
await "$dir/proving"
proving=$(cat "$dir/proving")
kill -STOP $keyed
run olaf 60 64 20G && rm -f "$dir"/olaf-*	# once to warm up
for ((i = 0; i < runs; i++)); do
	run olaf 60 64 20G
	run fifo 60 64 20G
	run olaf 9 8 1G
	run fifo 9 8 1G
	run olaf 60 64 20G "$dir/key"
done
row 'P6 live-4M-in' M/s "$dir/olaf-60.rate" 4 1 inverse
row 'P6 live-merging' ns "$dir/olaf-60.cost" "$dir/fifo-60.cost" 1.15
echo "# P6 with proofs: $(spread "$dir/olaf-proved-60.rate") M/s in, $(spread "$dir/olaf-proved-60.cost") ns each," \
	"$(ratio "$dir/olaf-proved-60.cost" "$dir/olaf-60.cost") times that without"
echo "# P6 fifo takes $(spread "$dir/fifo-60.rate") M/s: $(ratio "$dir/fifo-60.rate" "$dir/olaf-60.rate") times olaf's"
for p in olaf fifo; do
	echo "# P6 $p: $(spread "$dir/$p-60.out") % leave, the kernel drops $(spread "$dir/$p-60.lost") %"
done
echo "# P6 of 9 clusters to a slow link: olaf $(spread "$dir/olaf-9.rate") M/s in, $(spread "$dir/olaf-9.cost") ns each," \
	"fifo $(spread "$dir/fifo-9.rate") M/s, $(spread "$dir/fifo-9.cost") ns"
