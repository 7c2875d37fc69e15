#!/usr/bin/env bash
# run.sh INNET-SIM SECONDS - run random trainings with faults for SECONDS
#
# The seeds come from the clock, so they are new.  Half of the time goes to
# simulation and half to live programs (live.sh, which needs root).  Each
# finding is a line with its seed; if there is one, the exit status is 1.
set -u
sim=$1 seconds=${2:-60} runs=0 lives=0 rc=0
here=$(cd "$(dirname "$0")" && pwd)
PATH=$(cd "$(dirname "$sim")" && pwd):$PATH
first=$(($(date +%s) * 100000))
echo "seeds from $first on"
SECONDS=0
while [ $SECONDS -lt $((seconds / 2)) ]; do
	for more in --runs=1000 '--runs=1000 --auth=all' \
	    '--runs=500 --ring' '--runs=500 --severe --ring --auth=all' \
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
	runs=$((runs + 7000))
done
echo "$runs runs in simulation"
if ! ip netns add "innet-$$-try" 2>/dev/null; then
	echo 'no live runs: network namespaces need root'
	exit $rc
fi
ip netns del "innet-$$-try"
while [ $SECONDS -lt "$seconds" ]; do
	bash "$here/live.sh" $((first + lives)) || rc=1
	lives=$((lives + 1))
done
echo "$lives runs live"
exit $rc
