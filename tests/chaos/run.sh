#!/usr/bin/env bash
# run.sh INNET-SIM SECONDS - random trainings under faults for so long, from
# seeds that nobody has tried.  Each finding is a line with its seed; then
# the status is 1.
set -u
sim=$1 end=$((SECONDS + ${2:-60})) runs=0 rc=0
first=$(($(date +%s) * 100000))
echo "seeds from $first on"
while [ $SECONDS -lt $end ]; do
	"$sim" -q --chaos $((first + runs)) --runs 2000
	case $? in
	0) ;;
	1) rc=1 ;;
	*) exit 2 ;;
	esac
	runs=$((runs + 2000))
done
echo "$runs runs"
exit $rc
