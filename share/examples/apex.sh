#!/usr/bin/env bash
# apex.sh - measure Ape-X as two papers do: actors, a replay memory, a learner
#
#	share/examples/apex.sh -o DIR [--quick] [--seed N] [--seconds T]
#		[--turns N] [--actors LIST] [--only NAME[,NAME...]]
#		[--give-way fifo|idle|nice]
#
# Actors play and push experiences into a memory. A learner draws experiences
# from the memory, and sets parameters that the actors pull. The memory is
# innet-memory, or a plain redis-server that keeps a list; then the learner has
# the sum tree. REPLAY=memory or REPLAY=redis in the environment selects one of
# the two memories. The script has five parts:
#
# learn: how soon eight actors and a learner solve CartPole.
# latency: how long a push, a pull, a set and a draw take with 1 to 8 actors
#     (--actors 1,2,3,4,5,6,7,8). Each memory runs in each of --turns N (3)
#     turns, for --seconds T (10). The actors play Breakout by MinAtar's rules,
#     push 200 experiences at a time, and pull parameters every 200 steps. The
#     learner draws 512 experiences at a time (Furukawa and Matsutani, Figures
#     10 and 11). With a plain Redis the learner fetches the experiences, and
#     draws them from its own sum tree.
# paper: like latency, but padding makes an experience 213.5 kB and the
#     parameters 13 MB long, which are the paper's sizes. The memory has room
#     for 2048 experiences, and a run takes three times as long.
# network: like latency, with 1, 4 and 8 actors. The memory, the learner and
#     each actor run on hosts of their own. Links carry 1 Gbit/s (rack), or 100
#     Mbit/s with 10 ms more delay each way on the memory's link (wide). A run
#     takes three times as long, because few sets happen at the same time as a
#     push.
#     This needs root.
# rate: gradients per second with and without hidden draws, in batches of 64,
#     256 and 1024, after the actors have ended (Meng et al., Figures 9 and 10).
#     With innet-memory this is also measured with four batches in one exchange
#     (by4).
#
# The papers have one machine each for the memory, the learner and each actor.
# Here all processes share one machine, and they should wait for the memory and
# not for a processor. In latency all processes therefore have class fifo (chrt)
# if that is allowed. The memory has the highest priority; the learner, and an
# actor during an exchange (--realtime), have the next. Otherwise a process
# whose answer has arrived would wait milliseconds for the time slices of
# others. In the other parts links and computations take longer, so actors have
# class idle.
# In paper, where a push has megabytes, and in a quick run, actors are only
# nice, so that they always get some time.
#
# innet-memory touches a gigabyte when it starts (--touch): on a virtual
# machine a large page that is touched first by a push can take 4 ms.
#
# The script writes learn.csv, latency.csv, paper.csv, network.csv and rate.csv
# into DIR, prints them, and lets innet-plot draw bars of them. breakdown.csv
# shows in percent how actors and learner spent their time in latency, paper and
# network (Furukawa and Matsutani, Figure 6). rate-breakdown.csv shows the same
# for the learner in rate (Meng et al., Figure 3). --only selects parts; without
# --only, the script omits network if network cannot run here. --quick does
# short runs, for tests. This needs jq. The exit status is 1 if a run failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
say() { printf 'apex: %s\n' "$*" >&2; }
misuse() { say "$*"; exit 2; }
parts=learn,latency,paper,network,rate
out='' seed=1 seconds='' many_turns='' actors='' only='' quick='' give_way=''
while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=1; shift; continue ;;
	-h|--help) sed -n '2,/^set /{/^set /!p}' "$0" | sed 's/^# \?//'; exit 0 ;;
	esac
	[ $# -ge 2 ] || misuse "$1 is unknown, or its value is missing"
	case $1 in
	-o) out=$2 ;;
	--seed) seed=$2 ;;
	--seconds) seconds=$2 ;;
	--turns) many_turns=$2 ;;
	--actors) actors=$2 ;;
	--only) only=$2 ;;
	--give-way) give_way=$2 ;;
	*) misuse "unknown option '$1'" ;;
	esac
	shift 2
done
[ -n "$out" ] || misuse 'use -o DIR to name a folder for the results'
# A quick run ends when it has learned a little, however busy the machine is.
enough=${quick:+--gradients 50} few_times=${quick:+1}
: "${few_times:=3}"	# how many times as long a run with few gradients takes
: "${many_turns:=${quick:+1}}" "${many_turns:=3}"	# turns of latency
: "${seconds:=${quick:+60}}" "${seconds:=10}"
touch=''
[ -n "$quick" ] || touch='--touch 1G'	# before a client waits for the memory
few=${actors:-${quick:+1}}	# numbers of actors in network
: "${few:=1,4,8}"
: "${actors:=${quick:+1,2}}" "${actors:=1,2,3,4,5,6,7,8}"
[[ $seed =~ ^(0|[1-9][0-9]{0,5})$ ]] || misuse "--seed '$seed' is not a number up to 999999"
[[ $seconds =~ ^[1-9][0-9]{0,3}$ ]] || misuse "--seconds '$seconds' is not a number of seconds"
[[ $many_turns =~ ^[1-9][0-9]?$ ]] ||
	misuse "--turns '$many_turns' is not a number up to 99"
[[ $actors =~ ^[1-9][0-9]?(,[1-9][0-9]?)*$ ]] || misuse "--actors '$actors' is not a list such as 1,4,8"
case ${give_way:=${quick:+nice}} in
''|fifo|idle|nice) ;;
*) misuse "--give-way '$give_way' is none of fifo, idle, nice" ;;
esac
for name in ${only//,/ }; do
	[[ ,$parts, == *,$name,* ]] || misuse "--only: '$name' is none of ${parts//,/, }"
done
[ -x "$top/build/innet-agent" ] && PATH=$top/build:$PATH
for tool in innet-agent innet-memory jq; do
	command -v $tool >/dev/null || { say "$tool is missing"; exit 1; }
done
memories='redis memory'
case ${REPLAY-} in
'') command -v redis-server >/dev/null ||
	{ say 'redis-server is missing: only innet-memory runs'; memories=memory; } ;;
redis|memory) memories=$REPLAY ;;
*) misuse "REPLAY=$REPLAY is neither redis nor memory" ;;
esac

testbed=$here/../testbed/testbed.sh
unset INNET_TESTBED	# this script makes its own testbeds

if [[ ,${only:-$parts}, == *,network,* ]] && ! why=$("$testbed" list 2>&1 >/dev/null); then
	[ -z "$only" ] || { say "$why"; exit 1; }
	say "the part network does not run: $why"
	parts=${parts/network,/}
fi
: "${only:=$parts}"

# End all processes at every exit.  The runs write their files into $work.
running='' server=''
work=$(mktemp -d) || exit 1
end() {
	# shellcheck disable=SC2086	# words
	kill $running $server 2>/dev/null
	wait
	[ -z "${INNET_TESTBED-}" ] || "$testbed" down "$INNET_TESTBED"
	rm -rf "$work"
}
trap end EXIT
trap 'exit 1' INT TERM
mkdir -p "$out" && cd "$out" || exit 1

# on HOST COMMAND...: run the command on the host, or here if there is no
# testbed
on() {
	[ -n "${INNET_TESTBED-}" ] || exec "${@:2}"
	exec "$testbed" exec "$@"
}

# ways CLASS: set the commands that start the memory ($first), the learner
# ($ahead) and the actors ($behind) with their priorities, and the actors'
# option $exchange.  --give-way overrides the class.
ways() {
	first='' ahead='' behind='' exchange=''
	case ${give_way:-$1} in
	fifo) first='chrt --fifo 2' ahead='chrt --fifo 1' exchange=--realtime ;;
	idle) behind='chrt --idle 0' ;;
	nice) behind='nice' ;;
	esac
}

# serve_far MEMORY: start the memory on the host `server` of the testbed
serve_far() {
	local server_port=7000
	if [ "$1" = redis ]; then
		# shellcheck disable=SC2086	# words
		on server $first redis-server --bind 10.77.0.2 \
			--port $server_port --protected-mode no --save '' \
			--dir "$work" >"$work/server.err" 2>&1 &
		at="--redis 10.77.0.2:$server_port"
	else
		# shellcheck disable=SC2086	# words
		on server $first innet-memory -q --insecure \
			--listen 10.77.0.2:$server_port --memory 8G $touch \
			2>"$work/server.err" &
		at="--replay-memory 10.77.0.2:$server_port"
	fi
	server=$!
	for _ in {1..500}; do
		! (on w0 bash -c ": </dev/tcp/10.77.0.2/$server_port") 2>/dev/null || return 0
		kill -0 $server 2>/dev/null || break
		sleep 0.02
	done
	return 1
}

# serve MEMORY: start the memory, and set $at to the option that lets agents
# find it
serve() {
	rm -f "$work/socket"
	[ -z "${INNET_TESTBED-}" ] || { serve_far "$1"; return; }
	if [ "$1" = redis ]; then
		$first redis-server --port 0 --unixsocket "$work/socket" \
			--save '' --dir "$work" >"$work/server.err" 2>&1 &
		at="--redis $work/socket"
	else
		# shellcheck disable=SC2086	# words
		$first innet-memory -q --listen 127.0.0.1:0 \
			--unix "$work/socket" --memory 8G $touch \
			2>"$work/server.err" &
		at="--replay-memory $work/socket"
	fi
	server=$!
	for _ in {1..500}; do
		[ ! -S "$work/socket" ] || return 0
		kill -0 $server 2>/dev/null || break
		sleep 0.02
	done
	return 1
}

unserve() {
	kill "$server"
	wait "$server" 2>/dev/null
	server=''
}

# play N OPTION...: start N actors, which write their reports into $work/aI.json
play() {
	local n=$1 i
	shift
	rm -f "$work"/a*.json "$work"/l.json
	for ((i = 0; i < n; i++)); do
		# shellcheck disable=SC2086	# words
		on w$((i + 1)) $behind innet-agent -q --role actor $at \
			--actor $i/$n --seed "$seed" $exchange \
			--report "$work/a$i.json" "$@" 2>"$work/a$i.err" &
		running="$running $!"
	done
}

# learn SECONDS OPTION...: run a learner for at most that time, and wait for the
# actors.  Return 1 if the learner or an actor failed.
learn() {
	local span=$1 rc=0 p
	shift
	# shellcheck disable=SC2086	# words
	(on w0 timeout -s INT "$span" $ahead innet-agent -q --role learner \
		$at --seed "$seed" --report "$work/l.json" "$@" 2>"$work/l.err")
	[ -s "$work/l.json" ] && [ ! -s "$work/l.err" ] || rc=1
	for p in $running; do wait "$p" || rc=1; done
	running=''
	[ $rc -eq 0 ] || tail -qn 2 "$work"/*.err | cut -c 1-300 >&2
	return $rc
}

failed=''
# attempt WORDS: start the memory, call run(), and end the memory.  WORDS
# describe the run to the user.
attempt() {
	say "$*"
	if ! serve "$memory" || ! run; then
		say "$* failed"
		failed=1
	fi
	unserve
}

learn_run() {
	play 8 --algo dqn
	learn 120 --algo dqn --replay per --solve --gradients 100000 || return
	jq -r --arg m "$memory" '[$m, 8, .elapsed_s, .gradients, .steps, .mean100_reward, .solved] | @csv' \
		"$work/l.json" | tr -d '"' >>learn.csv
}

# The requests whose latencies are measured.  The learner does not prefetch
# draws.
columns='push pull set sample fetch'
latency_run() {
	# a quick run waits for experiences of all actors; otherwise it could
	# end before an actor has started
	local steps='' warmup=1000
	if [ -n "$quick" ]; then
		steps='--steps 3000' warmup=$((3000 * n - 2000))
	fi
	# shellcheck disable=SC2086	# words
	play "$n" --env breakout --algo dqn --push 200 --pull 200 --n-step 3 $steps $sizes
	# shellcheck disable=SC2086	# words
	learn $((seconds * times)) --env breakout --algo dqn --dueling no --n-step 3 \
		--batch 512 --warmup $warmup \
		--replay per --publish $publish --no-prefetch $enough $sizes || return
	# row() reads these files
	cat "$work"/a*.json >>"$work/actors-$memory-$n"
	cat "$work/l.json" >>"$work/learners-$memory-$n"
}

# row: write the results of all turns with $memory and $n actors
row() {
	[ -e "$work/learners-$memory-$n" ] || return
	jq -rs --arg m "$memory" --arg n "$n" --slurpfile l "$work/learners-$memory-$n" '
		def ms: 1e6 * . + 0.5 | floor / 1000;
		def all(f): [.[] | f | select(.count > 0)] | if length == 0 then {} else
			{ mean_s: ((map(.mean_s * .count) | add) / (map(.count) | add)),
			  p50_s: (map(.p50_s) | add / length), p99_s: (map(.p99_s) | max) } end;
		[$m, ($n | tonumber)] +
		([all(.push), all(.pull), ($l | all(.set), all(.sample), all(.fetch))] | map([.mean_s, .p50_s, .p99_s] |
			map(if . == null then "" else ms end)) | add) +
		[($l | map(.gradients_per_s) | add / length), (map(.pushed) | add) / ($l | map(.elapsed_s) | add)] | map(
			if type == "number" then (10000 * . + 0.5 | floor / 10000) else . end) | @csv' \
		"$work/actors-$memory-$n" | tr -d '"' >>"$csv"
	# the shares of the time: means over the actors, then those of the
	# learner
	jq -rs --arg p "$part" --arg m "$memory" --arg n "$n" --slurpfile l "$work/learners-$memory-$n" '
		def share(f): map(100 * (f) / .elapsed_s) | add / length;
		def all(f): f | if . == null then 0 else .count * .mean_s end;
		[$p, $m, ($n | tonumber)] +
		([share(.elapsed_s - all(.push) - all(.pull)), share(all(.push)), share(all(.pull))] +
		($l | [share(.learn_s + .update_s), share(.replay_s), share(all(.set))]) |
			map(10 * . + 0.5 | floor / 10)) | @csv' \
		"$work/actors-$memory-$n" | tr -d '"' >>breakdown.csv
	rm "$work/actors-$memory-$n" "$work/learners-$memory-$n"
}

rate_run() {
	local hide='' all=''
	[ -z "$quick" ] || all='--warmup 20000'	# experiences of both actors
	case $hidden in
	no) hide=--no-prefetch ;;
	by4) hide='--batches 4' ;;
	esac
	# shellcheck disable=SC2086	# words
	play 2 --algo "$algo" --env "$env" --steps 15000
	# shellcheck disable=SC2086	# words
	learn "$seconds" --algo "$algo" --env "$env" --batch "$batch" --replay per --publish 100 $enough $hide $all || return
	jq -r --arg s "$memory" --arg h "$hidden" --arg b "$batch" --arg a "$algo" '
		[$a, ($b | tonumber), $s, $h, .gradients_per_s, 1e6 * (.learn_s + .update_s) / .gradients,
			1e6 * .sample.p50_s, 100 * .replay_s / .elapsed_s] |
		map(if type == "number" then (100 * . + 0.5 | floor / 100) else . end) | @csv' \
		"$work/l.json" | tr -d '"' >>rate.csv
	jq -r --arg s "$memory" --arg h "$hidden" --arg b "$batch" --arg a "$algo" '
		.elapsed_s as $all | [.learn_s, .update_s, .replay_s, .set.count * .set.mean_s] |
		. + [$all - add] | map(1000 * . / $all + 0.5 | floor / 10) |
		[$a, ($b | tonumber), $s, $h] + . | @csv' "$work/l.json" | tr -d '"' >>rate-breakdown.csv
}

# bars NAME LABEL: draw NAME.csv, if gnuplot is installed
bars() {
	! command -v gnuplot >/dev/null || innet-plot bars --label "$2" -w "$1.svg" "$1.csv" ||
		failed=1
}

# beside FILE COLUMN NAME: write NAME.csv, which has that column of FILE for
# each number of actors, with the memories side by side
beside() {
	awk -F, -v c="$2" 'NR == 1 { next }
		{ v[$1 "," $2] = $c; if (!($2 in seen)) { seen[$2] = 1; order[++k] = $2 } if (!($1 in kind)) { kind[$1] = ++m; kinds[m] = $1 } }
		END { printf "actors"; for (i = 1; i <= m; i++) printf ",%s", kinds[i] == "redis" ? "Redis" : "innet-memory"; print ""
		for (j = 1; j <= k; j++) { printf "%s", order[j]; for (i = 1; i <= m; i++) printf ",%s", v[kinds[i] "," order[j]]; print "" } }' \
		"$1" >"$3.csv"
}

latencies() {
	csv=$1.csv
	echo memory,actors,push_ms,push_p50_ms,push_p99_ms,pull_ms,pull_p50_ms,pull_p99_ms,set_ms,set_p50_ms,set_p99_ms,sample_ms,sample_p50_ms,sample_p99_ms,fetch_ms,fetch_p50_ms,fetch_p99_ms,gradients_per_s,experiences_per_s >"$csv"
	run() { latency_run; }
	part=$1
	local turn
	for n in ${actors//,/ }; do for ((turn = 1; turn <= turns; turn++)); do for memory in $memories; do
		if [ -n "$link" ]; then
			# shellcheck disable=SC2086	# words
			INNET_TESTBED=$("$testbed" up rack -n $((n + 1)) --owner $$ $link) || exit 1
			export INNET_TESTBED
		fi
		attempt "$part: $memory, $n actors$([ "$turns" -eq 1 ] || echo ", turn $turn")"
		[ -z "$link" ] || "$testbed" down "$INNET_TESTBED"
		unset INNET_TESTBED
	done; done; done
	for memory in $memories; do for n in ${actors//,/ }; do row; done; done
	local c=4 name
	for name in $columns; do
		beside "$csv" $c "$1-$name"
		[ "$name" = fetch ] || bars "$1-$name" "$name, median, ms"
		c=$((c + 3))
	done
}

wants() { [[ ,$only, == *,$1,* ]]; }

link=''		# options of the testbed, or '' to run without a testbed
publish=25	# gradients from one set of the parameters to the next
times=1		# a run takes --seconds times this
turns=1		# runs for each memory and number of actors
most='nice'	# scheduling class of actors in most parts
! chrt --idle 0 true 2>/dev/null || most=idle
ways $most
echo part,memory,actors,actor_compute_percent,actor_push_percent,actor_pull_percent,learner_compute_percent,learner_sample_percent,learner_set_percent >breakdown.csv

if wants learn; then
	echo memory,actors,seconds,gradients,steps,reward,solved >learn.csv
	run() { learn_run; }
	for memory in $memories; do attempt "learn: $memory, 8 actors"; done
	grep -vq ',true$' <(tail -n +2 learn.csv) && { say 'CartPole was not solved'; failed=1; }
fi
if wants latency; then
	sizes='' turns=$many_turns
	! chrt --fifo 2 true 2>/dev/null || ways fifo
	latencies latency
	turns=1
	ways $most
fi
if wants paper; then
	sizes='--experience 213500 --vector 13MB --buffer 2048 --warmup 512'
	times=$few_times publish=5
	ways nice
	latencies paper
	times=1 publish=25
	ways $most
fi
if wants network; then
	sizes='' actors=$few times=$few_times
	link='--rate 1gbit'
	latencies network-rack
	link='--rate 100mbit --delay 10ms'
	publish=1	# the slow link allows few gradients
	latencies network-wide
	link='' times=1
	{ sed '1s/^/link,/; 2,$s/^/rack,/' network-rack.csv; sed '1d; s/^/wide,/' network-wide.csv; } >network.csv
	rm network-rack.csv network-wide.csv
fi
if wants rate; then
	echo algorithm,batch,memory,hidden,learn_percent,optimizer_percent,waiting_percent,set_percent,rest_percent >rate-breakdown.csv
	echo algorithm,batch,memory,hidden,gradients_per_s,learn_us,sample_p50_us,waiting_percent >rate.csv
	run() { rate_run; }
	for algo in dqn ddpg; do
		env=cartpole
		[ $algo = dqn ] || env=pendulum
		for batch in $([ -n "$quick" ] && echo 64 || echo 64 256 1024); do
			for memory in $memories; do for hidden in no yes $([ "$memory" = redis ] || echo by4); do
				attempt "rate: $algo, batch $batch, $memory, hidden $hidden"
			done; done
		done
	done
	awk -F, 'NR > 1 { k = $1 " " $2; if (!(k in seen)) { seen[k] = 1; order[++n] = k }
		c = ($3 == "redis" ? "Redis" : "innet-memory") ($4 == "yes" ? " hidden" : $4 == "by4" ? " hidden by 4" : ""); if (!(c in kind)) { kind[c] = ++m; kinds[m] = c }
		v[k "," c] = $5 }
		END { printf "batch"; for (i = 1; i <= m; i++) printf ",%s", kinds[i]; print ""
		for (j = 1; j <= n; j++) { printf "%s", order[j]; for (i = 1; i <= m; i++) printf ",%s", v[order[j] "," kinds[i]]; print "" } }' \
		rate.csv >rate-bars.csv
	bars rate-bars 'gradients per second'
fi
for name in learn latency paper network rate; do
	! wants $name || { echo "# $name"; column -s, -t "$name.csv"; echo; }
done
{ ! wants latency && ! wants paper && ! wants network; } || { echo '# breakdown'; column -s, -t breakdown.csv; echo; }
! wants rate || { echo '# rate-breakdown'; column -s, -t rate-breakdown.csv; echo; }
[ -z "$failed" ]
