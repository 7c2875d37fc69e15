# Kill tools with kill -9 at random moments, and restart them from the file that
# exists then.  The tests do a fifth of the kills,
# unless INNET_KILLS is all.
load common

# kills N: print N, or a fifth of N
kills() { echo $(($1 / (${INNET_KILLS:+-4 +} 5))); }

# versions FILE: print the versions of the ranges of the only cluster in a
# file of innet-ps
versions() {
	local elements n
	elements=$(od -An -tu4 -j12 -N4 "$1")
	n=$(od -An -tu4 -j16 -N4 "$1")
	od -An -v -tu4 -w16 -j20 -N$((16 * ((elements + n - 1) / n))) "$1" | awk '{ print $1 }'
}

# not_older A B: check that no range of A is older than that of B
not_older() {
	paste <(versions "$1") <(versions "$2") >pairs
	[ -s pairs ]
	awk 'NF != 2 || $1 < $2 { print "range " NR ": " $0; bad = 1 } END { exit bad }' pairs
}

# rest MS: sleep for a random time of less than MS
rest() { sleep "$(printf '0.%03d' $((RANDOM % $1)))"; }

# changed FILE SEEN: has FILE been replaced since SEEN became a link to it?
changed() { [ -s "$1" ] && ! [ "$1" -ef "$2" ]; }

@test "after a kill during a save, innet-ps never restarts from an older state than the last one it saved" {
	RANDOM=38
	serve ps innet-ps -q --learning-rate 0.001 --save w.ps --save-every 1s
	# 16 MB, so that many kills happen during a save
	innet-worker -q --switch "$ps" --synthetic 4MB --interval 300ms --duration 1800s 2>worker.err 3>&- &
	pids="$pids $!"
	n=$(kills 40) amid=0
	for ((i = 1; i <= n; i++)); do
		# a reader gets a complete save; then the next save begins
		within 60 changed w.ps seen || { cat worker.err; false; }
		ln -f w.ps seen
		for _ in $(seq 6000); do
			[ ! -e w.ps.tmp ] || break
			! changed w.ps seen || break
			sleep 0.003
		done
		[ $((i % 2)) -eq 0 ] || rest 20
		kill -KILL "$ps_pid"
		wait "$ps_pid" || [ $? -eq 137 ]
		[ ! -e w.ps.tmp ] || amid=$((amid + 1))
		not_older w.ps seen
		ln -f w.ps seen
		# the learner starts from this file and continues
		rm -f ps.port
		innet-ps -q --learning-rate 0.001 --load w.ps --save w.ps --save-every 1s \
			--listen "$ps" --port-file ps.port 2>ps.err 3>&- &
		ps_pid=$! pids="$pids $!"
		await ps.port || { cat ps.err; false; }
	done
	within 60 changed w.ps seen || { cat worker.err; false; }
	not_older w.ps seen
	finish ps
	not_older w.ps seen
	echo "killed $n times, $amid times while the new file was incomplete"
	[ "$amid" -gt 0 ]
	# a kill leaves no file other than the one that the next save replaces
	left=$(find . -name 'w.ps.*' ! -name w.ps.lock)
	[ -z "$left" ] || { echo "left: $left"; false; }
}

@test "innet-agent restarts from each checkpoint that kill -9 leaves, to the same weights" {
	RANDOM=38
	n=$(kills 25)
	set -- -v --alone --algo ppo --save-every 1
	innet-agent "$@" --steps 1G --interval 2ms --save ck 2>err 3>&- &
	steps=0
	for ((i = 1; i <= n; i++)); do
		pids="$pids $!"
		within 60 changed ck seen
		rest 60
		kill -KILL $!
		wait $! || [ $? -eq 137 ]
		# read this only now, so that it does not count a checkpoint of
		# the next agent
		ln -f ck seen
		[ $i -lt "$n" ] || break
		rm err	# the output of the killed agent
		innet-agent "$@" --steps 1G --interval 2ms --load ck --save ck 2>err 3>&- &
		within 60 grep -qs 'ck: iteration .* steps, ' err
		now=$(sed -n 's/.*ck: iteration .* \([0-9]*\) steps, .*/\1/p' err)
		[ "$now" -gt "$steps" ]
		steps=$now
	done
	steps=$((steps + $(few 200000)))
	innet-agent "$@" --load ck --steps $steps --save ck 2>err
	innet-agent -q --alone --algo ppo --steps $steps --save whole --save-every 100000
	echo "restarted $n times, $steps steps"
	cmp ck whole
}
