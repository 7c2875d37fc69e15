# aggregate.bash - measure rounds of synchronous aggregation
#
# The caller must source rounds.bash first, set $dir, and define `on HOST
# COMMAND...`, which becomes COMMAND on that host.
#
# shellcheck shell=bash disable=SC2034,SC2086,SC2154

declare -A bytes=([40kB]=40020 [157kB]=157520 [3.31MB]=3310000 [6.41MB]=6410000)
sizes='40kB 157kB 3.31MB 6.41MB'
figure=median
trust=''			# options of switch and workers
# The daemons of mpirun stay its children, so that their time is not that of
# others.
mpi='mpi.sh --leave-session-attached'

# HOST ADDRESS WORKERS BYTES ROUNDS FLOATS SERVER...: print the median round in
# ms through a SERVER of innet at that address.  It is the median of the medians
# (means if $mean is set) of the workers.
through() {
	local host=$1 addr=$2 workers=$3 size=$4 rounds=$5 floats=$6 server pids='' i rc=0
	shift 6
	rm -f "$dir"/port "$dir"/err.* "$dir"/out.*
	on "$host" "$@" $trust -q --insecure --listen "$addr:0" -H "$workers" --duration 120s \
		--port-file "$dir/port" 2>"$dir/err.server" &
	server=$!
	await "$dir/port" || rc=1
	for ((i = 0; i < workers && rc == 0; i++)); do
		on w$i timeout 100 innet-worker --switch "$addr:$(cat "$dir/port")" \
			-p iswitch --job 1 --worker $i $trust --synthetic "${size}B" \
			--interval 0 -c "$rounds" --floats "$floats" --json \
			>"$dir/out.w$i" 2>"$dir/err.w$i" &
		pids="$pids $!"
	done
	for i in $pids; do
		wait "$i" || rc=1
	done
	kill "$server" 2>/dev/null || :
	wait "$server" || rc=1
	if [ $rc -ne 0 ]; then
		tail -n 3 "$dir"/err.* >&2
		return 1
	fi
	sed -n "/\"iterations\":${rounds}[,}]/s/.*\"round_${figure/median/p50}_ns\":\([0-9]*\).*/\1/p" \
		"$dir"/out.w* >"$dir/p50"
	if [ "$(wc -l <"$dir/p50")" -ne "$workers" ]; then
		tail -n 1 "$dir"/out.w* "$dir"/err.w* >&2
		return 1
	fi
	awk -v ns="$(median "$dir/p50")" 'BEGIN { print ns / 1e6 }'
}

# MPIRUN... PROGRAM BYTES ROUNDS: print the median round of Open MPI's
# AllReduce.
allreduce() {
	timeout 100 "$@" 2>"$dir/err.mpi" >"$dir/mpi" ||
		{ cat "$dir/err.mpi" >&2; return 1; }
	sed -n 's/.*"'"$figure"'_ms":\([0-9.]*\).*/\1/p' "$dir/mpi"
}
