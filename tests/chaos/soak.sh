#!/usr/bin/env bash
# soak.sh [SECONDS] [LOG] - run live programs with a key for a long time
#
# For SECONDS (default 7200) these programs run on 127.0.0.1 with a low load:
#
# - A job with a key and four workers, two under each of two rack switches,
#   which have a common parent.  All packets carry authentication tags, and each
#   switch and worker loses 2 % of them.
# - Six workers of two clusters send updates through an Olaf queue of 5 Mbit/s
#   to a server that saves its weights.
# - Three actors and a learner use a replay memory, whose table fills up.  An
#   actor and a learner of innet-agent use the same memory for some seconds of
#   each minute.
#
# The script prints a line every minute (in a run of less than 600 s, every
# tenth of the time), and appends it to LOG: iterations, the longest iteration,
# experiences, and kB of memory of each server.  Workers check each sum, and the
# learner checks each experience.
#
# Each fault is a line that begins with "finding", and then the exit status is
# 1.
# Faults are: a wrong sum or experience, a program that ended or gave up, an
# iteration that took longer than LONGEST (default 10) seconds, counters that do
# not add up, and memory that grew by more than 1 MB after the first tenth.
set -u
share=$(cd "$(dirname "$0")/../../share" && pwd)
build=$(cd "${BUILD:-.}" && pwd) || exit 2
seconds=${1:-7200} longest=${LONGEST:-10} log=$(realpath "${2:-/dev/null}") || exit 2
PATH=$build:$PATH
. "$(dirname "$0")/lasting.bash"
export PYTHONPATH=$share/python PYTHONDONTWRITEBYTECODE=1
dir=$(mktemp -d) && cd "$dir" || exit 2
servers=() names=() works=() of=() actor=''
trap 'kill "${pids[@]}" $actor 2>/dev/null; wait; cd /; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

# server NAME COMMAND...: start a server on a free port.  It writes the port
# into NAME.port, and its report into NAME.json when it ends.
server() {
	local name=$1
	shift
	"$@" --listen 127.0.0.1:0 --port-file "$name.port" --json >"$name.json" 2>"$name.err" &
	pids+=($!) servers+=($!) names+=("$name")
	until [ -s "$name.port" ]; do
		kill -0 $! 2>/dev/null || { cat "$name.err"; exit 1; }
		sleep 0.05
	done
}
at() { echo "127.0.0.1:$(cat "$1.port")"; }
# work NAME COMMAND...: run the command in the background until a signal ends it
work() {
	local name=$1
	shift
	"$@" >"$name.json" 2>"$name.err" &
	pids+=($!) works+=($!) of+=("$name")
}

# The command of a worker: it checks each sum and records the longest exchange.
cat >check.py <<'END'
import os, sys, time
import numpy as np
import innet_stream

count, n = int(sys.argv[1]), 10000
made = [(np.arange(n) * (w + 3) % 4096 - 2048).astype('<f4') for w in range(count)]
longest = t = 0
with innet_stream.Stream(np.zeros(n, '<f4'), give=lambda: b'', take=lambda s: None) as s:
    while True:
        begun = time.monotonic()
        sum = s.exchange(made[s.worker] * (t % 61 + 1)).vector
        longest = max(longest, time.monotonic() - begun)
        assert (np.asarray(sum) == np.sum(made, 0) * (t % 61 + 1)).all(), t
        t += 1
        if t % 20 == 0:
            with open('new%d' % s.worker, 'w') as f:
                print(t, longest, file=f)
            os.replace('new%d' % s.worker, 'at%d' % s.worker)
        time.sleep(0.05)
END
# An actor (0 to 2) adds experiences whose observation follows from their key. 
# The learner (3) draws experiences and checks their observations.
cat >replay.py <<'END'
import os, sys, time
import numpy as np
import innet_replay

at, who, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
memory = innet_replay.Memory(at, table='soak', capacity=20000,
                             fields={'key': 'i8', 'obs': ('f4', (64,))})
rng, n, end = np.random.default_rng(who), 0, time.monotonic() + seconds
of = lambda keys: (keys[:, None] % 9973 + np.arange(64)).astype('f4')
while time.monotonic() < end:
    if who < 3:
        keys = np.arange(n, n + 20) * 3 + who
        memory.add(priority=rng.random(20), key=keys, obs=of(keys))
        n += 20
    else:
        batch = memory.sample(64, beta=0.4, timeout=10000)
        assert (batch.obs == of(batch.key)).all(), 'an experience has changed'
        assert batch.weights.max() <= 1 and batch.probs.min() > 0
        memory.update(batch.ids, rng.random(64))
        n += 64
    with open('newr%d' % who, 'w') as f:
        print(n, file=f)
    os.replace('newr%d' % who, 'replay%d' % who)
    time.sleep(0.1)
END

(umask 077; head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >key)
sealed=(--key key --auth all)
server root innet-switch -p iswitch -H 2 --impair loss=0.02 "${sealed[@]}"
for rack in 1 2; do
	server rack$rack innet-switch -p iswitch -H 2 --number $rack --parent "$(at root)" \
		--impair loss=0.02 "${sealed[@]}"
done
server ps innet-ps --save weights --save-every 5s "${sealed[@]}"
server olaf innet-switch --rate 5Mbit --upstream "$(at ps)" "${sealed[@]}"
server memory innet-memory --memory 200MB
for w in 0 1 2 3; do
	work sync$w innet-worker -p iswitch --switch "$(at rack$((1 + w / 2)))" --worker $w --json \
		--impair loss=0.02 "${sealed[@]}" -- "$python" check.py 4
done
for w in 0 1 2 3 4 5; do
	work olaf$w innet-worker --switch "$(at olaf)" --cluster $((1 + w / 3)) --worker $w --json \
		--synthetic 40kB --interval 50ms --control fair "${sealed[@]}"
done
for w in 0 1 2 3; do
	work replay$w "$python" replay.py "$(at memory)" $w $((seconds + 60))
done

# agents N: run an actor and a learner of innet-agent for N gradients
agents() {
	nice innet-agent -q --role actor --replay-memory "$(at memory)" --algo dqn 2>actor.err &
	actor=$!
	nice innet-agent -q --role learner --replay-memory "$(at memory)" --algo dqn --clear \
		--gradients "$1" 2>learner.err || { cat learner.err; return 1; }
	wait $actor || { cat actor.err; return 1; }
}
# line SECOND: print one line; append the memory of all servers to the file
# `lines`.
line() {
	local p kb=()
	for p in "${servers[@]}"; do kb+=("$(resident "$p")"); done
	echo "${kb[*]}" >>lines
	say "$(printf '%5d s: %d iterations, the longest %.3f s, %d experiences added, %d drawn, kB of' "$1" \
		$(sort -g at? | awk '{ if ($2 > l) l = $2; n = NR == 1 ? $1 : n } END { print n, l }') \
		$(cat replay[012] | awk '{ n += $1 } END { print n }') "$(cat replay3)") ${names[*]} ${kb[*]}"
}

say "$(uname -sr), innet $(git -C "$share" describe --always --dirty 2>/dev/null), $(date -u +%F\ %T)"
SECONDS=0 every=$((seconds < 600 ? (seconds + 9) / 10 : 60))
for ((t = every; t <= seconds; t += every)); do
	agents 200 || finding 'an agent has failed'
	sleep $((t > SECONDS ? t - SECONDS : 0))
	alive || { finding "a program has ended: $(cat ./*.err | grep -v listening)"; break; }
	line $t
done

kill "${works[@]}" 2>/dev/null
for ((w = 0; w < ${#works[@]}; w++)); do	# Python scripts end by the signal
	wait "${works[w]}" || [ "$? ${of[w]%?}" = "143 replay" ] || finding "${of[w]} has failed: $(tail -n 2 "${of[w]}.err")"
done
for ((s = ${#servers[@]} - 1; s >= 0; s--)); do
	kill "${servers[s]}"
	wait "${servers[s]}" || finding "${names[s]} has failed: $(cat "${names[s]}.err")"
done
for s in "${names[@]}" sync0 olaf0; do echo "$s $(jq -c . "$s.json")" >>"$log"; done

# holds FINDING FILE CONDITION: report a finding if the condition is false in
# FILE
holds() { jq -e "$3" "$2" >/dev/null || finding "$1: $2"; }
for s in root rack1 rack2; do
	holds 'segments do not add up' $s.json '.jobs | length > 0 and all(.counters | .segments > 0 and
		.segments == .added + .duplicate + .late + .early + .resent + .stale + .mismatched +
		.halted + .no_slot + .no_memory)'
	holds 'a counter of invalid segments is not 0' $s.json '.jobs | all(.counters |
		.mismatched + .partial + .evicted + .nonfinite + .bad_proof == 0)'
done
for s in root rack1 rack2 olaf ps; do
	holds 'packets do not add up' $s.json '.packets == .taken + .own + .regular + .passed + (.ignored | add // 0)'
	holds 'a counter of unauthenticated packets is not 0' $s.json '.switch | .bad_mac + .unproved + .replayed + .reflected + .bad_control == 0'
done
holds 'updates do not add up' olaf.json '.totals | .arrived.packets > 0 and .arrived.constituents ==
	.delivered.constituents + .superseded.constituents + .dropped_full.constituents +
	.dropped_limit.constituents + .queued.constituents'
for f in sync?.json; do holds 'a worker missed iterations' "$f" '.missed + .partial + .bad_proof == 0 and .iterations > 0'; done
[ "$(cat at? | awk -v l="$longest" '$2 > l { n++ } END { print n + 0 }')" = 0 ] ||
	finding "an iteration took longer than $longest s: $(cat at?)"
awk -v names="${names[*]}" '{ for (i = 1; i <= NF; i++) kb[NR, i] = $i; n = NF }
	END {
		split(names, name, " ")
		a = int(NR * 0.1) + 1
		for (i = 1; i <= n; i++)
			if (kb[NR, i] > kb[a, i] + 1024) { print "finding: memory of " name[i] " grows: " kb[a, i] ", " kb[NR, i] " kB"; bad = 1 }
		exit bad
	}' lines | tee -a "$log"
[ "${PIPESTATUS[0]}" = 0 ] || bad=1
[ $bad = 0 ] && say "$seconds s without a finding"
exit $bad
