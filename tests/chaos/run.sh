#!/usr/bin/env bash
# run.sh INNET-SIM SECONDS - random trainings under faults for SECONDS, from
# untried seeds: half the time in simulation, half of it live
# (live.sh; that takes root).  Each finding is a line with its seed; then the
# status is 1.
set -u
sim=$1 seconds=${2:-60} runs=0 lives=0 rc=0
here=$(cd "$(dirname "$0")" && pwd)
PATH=$(cd "$(dirname "$sim")" && pwd):$PATH
first=$(($(date +%s) * 100000))
echo "seeds from $first on"
SECONDS=0
while [ $SECONDS -lt $((seconds / 2)) ]; do
	for more in --runs=1000 '--runs=1000 --auth=all' \
	    '--runs=500 --kill-racks' '--runs=500 --kill-racks --auth=all' \
	    '--runs=1000 --severe' '--runs=1000 --severe --auth=all' \
	    '--runs=500 --severe --kill-racks' \
	    '--runs=500 --severe --kill-racks --auth=all'; do
		# shellcheck disable=SC2086 # several options
		"$sim" -q --chaos $((first + runs)) $more
		case $? in
		0) ;;
		1) rc=1 ;;
		*) exit 2 ;;
		esac
	done
	runs=$((runs + 6000))
done
echo "$runs runs in simulation"
if ! ip netns add "innet-$$-try" 2>/dev/null; then
	echo 'none live: network namespaces need root'
	exit $rc
fi
ip netns del "innet-$$-try"
while [ $SECONDS -lt "$seconds" ]; do
	bash "$here/live.sh" $((first + lives)) || rc=1
	lives=$((lives + 1))
done
echo "$lives runs live"
exit $rc
