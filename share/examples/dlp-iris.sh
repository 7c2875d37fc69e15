#!/usr/bin/env bash
# dlp-iris.sh - Byzantine workers in a DLP session: the mean fails, the median
# does not
#
#	share/examples/dlp-iris.sh [--splits N] [--byzantine N]
#		[--behave-like switch|server]
#
# 32 workers, 5 of them Byzantine, learn to tell versicolor from virginica in
# Fisher's irises.  They do 200 steps of logistic regression with 5 parameters.
# Their gradients are integers with a scale of 10,000, and pass through a live
# innet-switch (or innet-ps).  The script prints the share of the 20 held-out
# irises that are classified correctly, for each of five splits.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
cd "$here/.."
[ -x build/innet-switch ] && PATH=$PWD/build:$PATH
splits=5 byzantine=5 as=switch nodes=32
while [ $# -gt 0 ]; do
	case $1 in
	--splits) splits=${2:?--splits needs a number} ;;
	--byzantine) byzantine=${2:?--byzantine needs a number} ;;
	--behave-like) as=${2:?--behave-like needs switch or server} ;;
	*) echo "dlp-iris: unknown option '$1'" >&2; exit 2 ;;
	esac
	shift 2
done
command -v python3 >/dev/null || { echo "${0##*/}: python3 is missing" >&2; exit 1; }
session=nodes=$nodes,iterations=200,eta-scale=5000,inputs=100,features=4,classes=2,scale=10000
dir=$(mktemp -d) pids=''
trap 'kill $pids 2>/dev/null || :; rm -rf "$dir"' EXIT
cd "$dir"

# one SPLIT REDUCTION: train once, and print the accuracy
one() {
	local workers='' lead w
	rm -f port
	if [ "$as" = server ]; then
		innet-ps -q -p dlp --reduce "$2" --session $session \
			--listen :0 --port-file port 2>/dev/null &
	else
		innet-switch -q -p dlp --reduce "$2" --listen :0 --port-file port 2>/dev/null &
	fi
	pids=$!
	until [ -s port ]; do sleep 0.01; done
	for w in $(seq 0 $((nodes - 1))); do
		lead=''
		[ "$w" -gt 0 ] || lead="--session $session"
		innet-worker -q -p dlp --reduce "$2" $lead \
			--switch ":$(cat port)" -- \
			python3 -I -S "$here/examples/iris-worker.py" "$here/data/iris.csv" \
			"$w" $nodes "$1" $([ "$w" -lt $((nodes - byzantine)) ] || echo byzantine) &
		workers="$workers $!"
	done 2>said
	pids="$pids $workers"
	for w in $workers; do
		wait "$w" || { cat said >&2; exit 1; }
	done
	kill "${pids%% *}" && wait "${pids%% *}"
	pids=''
	sed -n 's/^accuracy //p' said
}

printf 'split\tmean\tmedian\n'
for split in $(seq "$splits"); do
	mean=$(one "$split" mean)
	median=$(one "$split" median)
	printf '%s\t%s\t%s\n' "$split" "$mean" "$median"
done | tee table
awk '{ a += $2; b += $3 } END { printf "all\t%.2f\t%.2f\n", a / NR, b / NR }' table
