#!/bin/bash
# P9: compare the replay memory over loopback TCP with redis-server and hiredis
#
# The tasks are: push 200 experiences of 213.5 kB (42.7 MB) into a memory of
# 2,000;
# set and get 13 MB; sample 512 experiences.  Then the same with frames: 200 or
# 512 experiences of eight frames of 7,056 B and a tail, out of 10,000, which
# innet-memory receives and sends by reference.  We compare this with the time
# of Redis for the same experiences by value, 56,464 B each; lines with # show
# as many experiences of 213.5 kB, the size in the paper.  More lines have
# hiredis on both sides, which compares only the servers.
#
# Then the bench compares innet_per.so with innet-memory, and innet_replay.py
# with LRANGE by redis-py; each result is the least of TURNS (200).  Then eight
# actors of apex.sh run in each round for SECONDS_EACH (6) with each
# memory; the results are the medians of the times of a pull, a set and a push.
#
# With Redis, a push is RPUSH of 200 and LTRIM, and a sample is LINDEX in a
# pipeline or MGET, whichever is faster; the others are SET and GET.  The two
# take turns for ROUNDS (5); the result of each round is the median of 5.
# Run this from the build folder, or name that folder in BUILD.
#
# shellcheck disable=SC1091,SC2086,SC2154
set -eu -o pipefail
build=$(cd "${BUILD:-.}" && pwd) here=$(cd "$(dirname "$0")" && pwd)
export PATH="$build:$build/tests/bench:$PATH" LC_ALL=C
. "$here/need.bash"
. "$here/rounds.bash"
need 'P9 memory' innet-memory replay-load redis-server redis-cli
[[ $(replay-load hiredis no:0 get 2>&1) != *'built without'* ]] ||
	skip 'P9 memory' 'no hiredis' libhiredis-dev
dir=$(mktemp -d -p /dev/shm)
trap 'running=$(jobs -p); [ -z "$running" ] || kill $running 2>/dev/null || :; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

# Redis cannot let the kernel choose a port, so try some.
for ((k = 0; k < 20; k++)); do
	port=$((20000 + RANDOM % 12000))
	redis-server --bind 127.0.0.1 --port $port --save '' --appendonly no >"$dir/log" 2>&1 &
	peer=$!
	until grep -qs 'eady to accept' "$dir/log" || ! kill -0 $peer 2>/dev/null; do sleep 0.02; done
	! kill -0 $peer 2>/dev/null || break
done
redis=127.0.0.1:$port
innet-memory -q --listen 127.0.0.1:0 --memory 4GB --port-file "$dir/port" 2>"$dir/err" &
await "$dir/port"
innet=127.0.0.1:$(cat "$dir/port")

# t NAME CLIENT ADDR TASK [BYTES [HELD]]: run the task once, and append its time
# to NAME
t() { take "$dir/$1" replay-load "$2" "$3" "$4" 5 "${@:5}"; }
# note WHAT FILE FILE: print a line with # and the ratio
note() { row "# P9 $1:" ms "$2" "$3" ''; }
small='56464 10000'	# bytes and number of the experiences with frames
for size in '213500 2000' "$small"; do
	for task in list keys; do
		replay-load hiredis $redis fill-push-$task 1 $size
	done
done
replay-load ours "$innet" fill-push-table 1 213500 2000
replay-load ours "$innet" fill-push-frames 1 $small
for ((i = 0; i < runs; i++)); do
	for task in push-list sample-list sample-keys set get; do
		t redis-$task hiredis $redis $task
	done
	for task in push-list sample-list sample-keys; do
		t redis-small-$task hiredis $redis $task $small
	done
	for client in ours hiredis; do
		for task in push-table sample-table set get; do
			t $client-$task $client "$innet" $task
		done
		for task in push-frames sample-frames; do
			t $client-$task $client "$innet" $task $small
		done
	done
done
cd "$dir"
echo "# P9 redis-server samples 512 in $(spread redis-sample-list) ms with LINDEX, $(spread redis-sample-keys) ms with MGET;" \
	"$(redis-server --version | cut -d' ' -f3)"
sample=$(least redis-sample-list redis-sample-keys)
small=$(least redis-small-sample-list redis-small-sample-keys)
note "sample with hiredis" hiredis-sample-table "$sample"
note "frames-push with hiredis" hiredis-push-frames redis-small-push-list
note "frames-sample with hiredis" hiredis-sample-frames "$small"
note "sample by value" ours-sample-table "$sample"
note "frames-push, peer with 213.5 kB" ours-push-frames redis-push-list
note "frames-sample, peer with 213.5 kB" ours-sample-frames "$sample"
row 'P9 push' ms ours-push-table redis-push-list 0.333
row 'P9 set' ms ours-set redis-set 0.333
row 'P9 get' ms ours-get redis-get 0.500
row 'P9 frames-push' ms ours-push-frames redis-small-push-list 0.100
row 'P9 frames-sample' ms ours-sample-frames "$small" 0.100
# hiredis is the client on both sides
row 'P9 hiredis-push' ms hiredis-push-table redis-push-list 0.700
row 'P9 hiredis-set' ms hiredis-set redis-set 0.750
row 'P9 hiredis-get' ms hiredis-get redis-get 0.500

for py in python3 /usr/bin/python3 ''; do
	[ -z "$py" ] || ! "$py" -c 'import numpy, redis' 2>/dev/null || break
done
module=$build/innet_per.so
if [ -n "$py" ] && [ -e "$module" ]; then
	PATH="$build:$PATH" MEMORY_MODULE=$module take rows "$py" -B \
		"$here/memory-module.py" "${TURNS:-200}" rows
	while read -r name a b; do
		echo "$a" >module
		cp rows.others module.others
		case $name in
		python*) row "P9 $name" ms module "$b" 1 ;;
		*-56000B) note "$name" module "$b" ;;	# this size has no bar
		*) row "P9 $name" ms module "$b" 1.5 ;;
		esac
	done <rows
else
	echo "P9 module skipped: no python3 with numpy and redis, or no innet_per.so;" \
		"on Debian: apt-get install python3-numpy python3-redis"
fi

need 'P9 actors' innet-agent jq
for ((i = 0; i < runs; i++)); do
	begin
	"$here/../../share/examples/apex.sh" -o apex --only latency --actors 8 \
		--turns 1 --seconds "${SECONDS_EACH:-6}" >log 2>&1 || { cat log; exit 1; }
	end actors-memory-{pull,set,push}
	for what in push:4 pull:7 set:10; do
		for memory in redis memory; do
			awk -F, -v m=$memory -v c=${what#*:} 'NR > 1 && $1 == m && $c > 0 { print $c; n++ } END { exit !n }' \
				apex/latency.csv >>"actors-$memory-${what%:*}" ||
				{ echo "P9 actors: no figure of $memory's ${what%:*}" >&2; exit 1; }
		done
	done
done
row 'P9 actors-pull' ms actors-memory-pull actors-redis-pull 1
row 'P9 actors-set' ms actors-memory-set actors-redis-set 2
row 'P9 actors-push' ms actors-memory-push actors-redis-push 0.6
