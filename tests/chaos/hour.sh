#!/usr/bin/env bash
# hour.sh [SECONDS] - load a switch in the path for a long time
#
# For SECONDS (default 3600) a switch runs in the path of a rack of network
# namespaces (this needs root), and its workers check every sum.  Job 2 sends
# SEGMENTS (default 100000) segments a second in gradients of 157 kB.  Job 1
# sends gradients of six floats without a pause.  It starts at iteration FIRST
# (default 2^24 - 500000), so that its iteration numbers pass 2^24.  Updates for
# a server wait in an Olaf queue before a link of 5 Mbit/s, which is never idle.
#
# The script prints a line every ten seconds: the time that has passed, segments
# per second since the previous line, the iteration of job 1, kB of memory of
# the switch, and Mbit/s of the queue.  It prints a line of figures at the end.
# The exit status is 1 if a sum was wrong, a worker gave up or counters do not
# add up.  It is also 1 if memory grew by more than 1 MB after the first tenth
# of the time, or if the rate of the queue in the last tenth is off by more than
# 2 %.  In a run of less than a minute memory may grow by 4 MB, and the rate is
# that of the whole run.
set -u
share=$(cd "$(dirname "$0")/../../share" && pwd)
build=$(cd "${BUILD:-.}" && pwd) || exit 2
seconds=${1:-3600} segments=${SEGMENTS:-100000} first=${FIRST:-16277216}
PATH=$share/testbed:$build:$PATH
. "$(dirname "$0")/lasting.bash"
export PYTHONPATH=$share/python PYTHONDONTWRITEBYTECODE=1
dir=$(mktemp -d) && cd "$dir" || exit 2
INNET_TESTBED=$(testbed.sh up rack -n 4 --rate 10gbit --in-path --owner $$) || exit 2
export INNET_TESTBED
trap 'kill "${pids[@]}" 2>/dev/null; wait; testbed.sh down "$INNET_TESTBED"; cd /; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

# run HOST COMMAND...: run the command on a host, in the background
run() {
	local host=$1
	shift
	testbed.sh exec "$host" "$@" &
	pids+=($!)
}
# worker N JOB OPTION...: start a worker that checks every sum
worker() {
	run "w$1" innet-worker -q -p iswitch --switch 10.77.0.1 --worker "$1" --job "$2" --check 2 "${@:3}" 2>>"w$1.$2"
}
# until_said WORD FILE: wait until the file contains the word
until_said() {
	until grep -qs "$1" "$2"; do
		kill -0 "${pids[-1]}" 2>/dev/null || { cat "$2" >&2; exit 1; }
		sleep 0.1
	done
}

# Write the counters of the switch into the file `now`.
counters() {
	local i
	: >switch.out
	kill -USR1 "$switch" || return 1
	for ((i = 0; i < 300; i++)); do
		[ ! -s switch.out ] || ! jq -e .jobs switch.out >numbers 2>&1 || break
		sleep 0.1
	done
	cp switch.out now
}

# Only a worker's command can choose the first iteration of job 1.  The commands
# of two workers therefore run the first 8 and 16 iterations.  Then synthetic
# workers replace these two workers and copy their states.
cat >begin.py <<'END'
import sys
import numpy as np
import innet_stream

first, count = map(int, sys.argv[1:])
with innet_stream.Stream(np.zeros(6, '<f4'), iteration=first,
                         give=lambda: b'', take=lambda state: None) as s:
    for t in range(first, first + count):
        s.exchange(((s.worker * 37 + t * 29 + 13 * np.arange(6)) & 1023)
                   .astype('<f4') - 512)
END
begin() {
	testbed.sh exec "w$1" innet-worker -q -p iswitch --switch 10.77.0.1 --worker "$1" \
		--job 1 -- "$python" begin.py "$first" $((8 * (1 + $1))) 2>>"w$1.1"
}

run switch innet-switch --json --insecure --bridge br0 -p iswitch -H 2 --queue olaf \
	--port-rate server=5Mbit --report end >>switch.out 2>switch.err
switch=${pids[-1]}
until_said 'in the path' switch.err
run server innet-ps -q --insecure --listen 10.77.0.2 2>server.err
until_said listening server.err
begin 1 &
second=$!
begin 0 || { cat w0.1; exit 1; }
worker 0 1 --synthetic 24B --interval 0
wait $second || { cat w1.1; exit 1; }
worker 1 1 --synthetic 24B --interval 0
for w in 0 1; do worker $w 2 --synthetic 157kB --interval $((216000000000 / segments))ns; done
workers=("${pids[@]:2}")
for w in 2 3; do
	run w$w innet-worker -q -p olaf --switch 10.77.0.2 --worker $w --synthetic 40kB --interval 10ms 2>w$w.0
done

# Print one line, and append one to the file `lines`: the time in ns, segments,
# iterations of job 1, kB of memory, bytes that the queue sent.
line() {
	counters || return 1
	jq -r --arg ns "$(date +%s%N)" --arg kb "$(resident "$switch")" '[$ns, ([.jobs[].counters.segments] | add),
		.jobs["1"].counters.results, $kb, .interfaces.server.own_bytes] | @tsv' now >>lines
	tail -n 2 lines | awk -v first="$first" 'NR == 1 { s = $2; q = $5; t = $1 }
		END { d = ($1 - t) / 1e9; printf "%d segments/s, job 1 at iteration %d, %d kB, queue %.2f Mbit/s\n",
			d ? ($2 - s) / d : 0, (first + $3) % 16777216, $4, d ? ($5 - q) * 8e-6 / d : 0 }'
}
sleep 1
line >/dev/null
SECONDS=0 every=$((seconds < 40 ? (seconds + 3) / 4 : 10))
for ((at = every; at <= seconds; at += every)); do
	sleep $((at > SECONDS ? at - SECONDS : 0))
	alive || { finding 'a program has ended'; break; }
	printf '%5d s: ' $at
	line || break
done

# End the workers, then the switch.  A worker that gave up or received a wrong
# sum has printed an error.
kill "${workers[@]}"
for p in "${workers[@]}"; do wait "$p" || finding 'a worker has failed'; done
[ $bad -eq 0 ] || cat w?.[12]
kill "$switch"
wait "$switch" || finding 'the switch has failed'
cp end now
jq -e '.jobs | all(.counters | .segments == .added + .duplicate + .late + .early + .resent + .stale +
	.mismatched + .halted + .no_slot + .no_memory)' now >/dev/null || finding 'segments do not add up'
jq -e '.totals | .arrived.constituents == .delivered.constituents + .superseded.constituents +
	.dropped_full.constituents + .dropped_limit.constituents + .queued.constituents' now >/dev/null ||
	finding "updates do not add up: $(jq -c .totals now)"
jq -e '.packets == .taken + .own + .regular + .passed + (.ignored | add // 0)' now >/dev/null ||
	finding 'packets do not add up'
jq -e '.jobs | all(.counters | .mismatched + .partial + .evicted + .nonfinite == 0)' now >/dev/null ||
	finding "$(jq -c .jobs now)"
awk -v first="$first" '{ t[NR] = $1; s[NR] = $2; m[NR] = $4; q[NR] = $5; n = $3; if ($4 > most) most = $4 }
	END {
		for_all = (t[NR] - t[1]) / 1e9
		# the script reads the clock some time after the counters
		a = int(NR * 0.1) + 1; z = for_all < 60 ? 1 : int(NR * 0.9)
		for_s = (t[NR] - t[z]) / 1e9
		pace = (q[NR] - q[z]) * 8e-6 / for_s
		printf "%d s: %d segments/s, %d iterations of job 1 up to number %d, which passed 2^24 %d times, memory %d kB at first, %d kB at the end, %d kB at most, queue at the end %.2f Mbit/s\n",
		    (t[NR] - t[1]) / 1e9, (s[NR] - s[1]) / ((t[NR] - t[1]) / 1e9), n,
		    (first + n) % 16777216, int((first + n) / 16777216), m[a], m[NR], most, pace
		if (most > m[a] + (for_all < 60 ? 4096 : 1024)) { print "finding: memory grows"; bad = 1 }
		if (pace < 5 * (0.98 - 1 / for_s) || pace > 5 * (1.02 + 1 / for_s)) { print "finding: the rate of the queue is off by more than 2 %"; bad = 1 }
		exit bad
	}' lines || bad=1
exit $bad
