#!/usr/bin/env bash
# mutations.sh [NAME...] - break the code that repairs losses in small ways, one
# at a time in a copy, and check that innet-sim --chaos finds each fault
#
# Run this in a build folder.  Each fault gets RUNS (default 40000) simulated
# runs with the seeds from CHAOS (default 1) on.  The script prints a line for
# each
# fault: its name, and the first finding or "not found".
set -u
build=$PWD
src=$(cd "$(dirname "$0")/../.." && pwd)
runs=${RUNS:-40000} seed=${CHAOS:-1} rc=0

# NAME|FILE in common/|the old code|the new code, both quoted for sed
#
# Faults whose names begin with "ring-" are searched for with --ring.
#
# Three faults are not in the list because no run would find them.  A lost
# notice costs only a timeout.  A resend that ignores the floor sends one packet
# twice, because resent packets are marked.  A STATE that sets a worker back
# twice still leads to the right end.
mutations='accept-duplicate|iswitch/job-segments.h|} else if (sums_has(&j->sums, at, id)) {|} else if (id % 2 \&\& sums_has(\&j->sums, at, id)) {
accept-old-push|iswitch/job-segments.h|\*last != 0 && !seg_before(\*last - 1, g->iteration)|*last == g->iteration + 1 \&\& g->index % 2
restart-too-early|iswitch/job-segments.h|return t >= j->start && sums_may_begin(&j->sums, j->done_before, t, i);|return t >= j->start;
results-not-resent|iswitch/switch-repair.h|job_resend_result(j, m, kept);|(void)m;
lacks-forgotten|arq/loss-detect.h|if (loss_detect_has(v, t, i)|if (i % 8 == 7 \|\| loss_detect_has(v, t, i)
later-ones-are-there|arq/retransmit.h|control_newer(s->serial, st->seen))|false)
no-time-out|arq/retransmit.h|if (now_ns >= retransmit_expires_ns(m)) {|if (false) {
notice-ends-push|arq/retransmit.h|if (m->acks && st->notice)|if (false)
asked-while-closed|iswitch/switch-repair.h|if (m->loss_detect->held_upto > 0 \|\| !j->open) {|if (false) {
push-behind-push|iswitch/job.h|j->sums.slot\[at\].iteration > j->sending;|j->sums.slot[at].iteration > j->sending + 1;
rounds-in-any-order|iswitch/switch-repair.h|return t < j->missing_round \|\||return job_is_whole(j, t) \|\|
queue-overflows|arq/retransmit.h|if ((s->flags & RETRANSMIT_QUEUED) == 0)|
first-comes-founds|iswitch/switch-join.h|iswitch_should_restart_at(&job->core, &join)|false
sender-behind|iswitch/switch-join.h|if (id != MEMBERS_NONE \&\& iswitch_state_is_old(&job->core, &k)) {|if (false) {
gives-what-it-lacks|iswitch/job.h|j->members.m\[i\].can_give_from >= next|false
redo-goes-on|iswitch/sync-worker-control.h|l->redo = false;|;
windows-of-results|arq/retransmit.h|return m->order != NULL \|\| m->acks|return m->acks
ring-of-two-turns|iswitch/sync-ring.h|SYNC_RING_TURNS = 3|SYNC_RING_TURNS = 2
ring-repeats-a-part|iswitch/sync-worker.h|const uint32_t n = l->redo ? l->segs : l->filled;|const uint32_t n = l->filled;
ring-takes-repeated|iswitch/sync-ring.h|l->redo ? 0 : sync_worker_find|sync_worker_find
ring-fills-three-turns|iswitch/sync-ring.h|r->filled < 2 \* l->segs|r->filled < 3 * l->segs
ring-sends-what-is-empty|iswitch/sync-worker.h|const uint32_t n = l->redo ? l->segs : l->filled;|const uint32_t n = l->segs;
ring-forgets-what-is-filled|iswitch/sync-ring.h|r->filled -= l->segs;|r->filled = 0;
ring-repeats-this-turn|iswitch/sync-ring.h|? 0 : SYNC_RING_TURNS - 1);|? 0 : 0);
ring-reads-the-other-turn|iswitch/sync-ring.h|r->result\[l->t & 1\] +|r->result[(l->t + 1) \& 1] +
ring-keeps-the-count|iswitch/sync-worker.h|l->filled = 0;|;
ring-never-ends-a-turn|iswitch/sync-ring.h|r->taken = 0;|;'

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
libs=$(sed -nE 's/^(PCAP|NETTLE|CSV|CJSON)_LIBS = //p' Makefile | tr '\n' ' ')

# mutate NAME FILE FROM TO: replace FROM by TO in a copy, and compile the copy
mutate() {
	local file=$copy/common/$2 was=$src/common/$2
	local from=${3//\\|/\\x7c}
	rm -rf "$copy"/*
	cp -r "$src"/cmd "$src"/common "$copy"
	sed "s~$from~$4~" "$was" >"$file"
	if cmp -s "$file" "$was"; then
		echo "$1: nothing to change in $2"
		return 1
	fi
	(cd "$copy" && find cmd/innet-sim -name '*.c' | sed 's/\.c$//' | xargs -P 2 -I {} \
		"${CC:-cc}" -O1 -w -D_GNU_SOURCE -I. -I"$build" -c -o {}.o {}.c)
	# shellcheck disable=SC2046,SC2086	# words
	"${CC:-cc}" -o "$copy/sim" $(find "$copy/cmd/innet-sim" -name '*.o') \
		$libs -lpthread -lm
}

while IFS= read -r line; do
	line=${line//\\|/$'\x01'}	# a | of the code
	IFS='|' read -r name file from to <<<"$line"
	[ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
	mutate "$name" "$file" "${from//$'\x01'/|}" "${to//$'\x01'/|}" || { rc=1; continue; }
	ring=
	[[ $name != ring-* ]] || ring=--ring
	# shellcheck disable=SC2086	# no word or one
	"$copy/sim" -q --chaos "$seed" --runs "$runs" --jobs 2 $ring 2>"$copy/found"
	first=$(head -n 1 "$copy/found")
	[ -n "$first" ] || rc=1
	echo "$name: ${first:-not found}"
done <<<"$mutations"
exit $rc
