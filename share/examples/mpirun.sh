#!/bin/sh
# mpirun.sh - run N workers under Open MPI's mpirun, and a switch on this host
#
#	share/examples/mpirun.sh N COMMAND [ARG...]
#
# COMMAND speaks the gradient stream: innet-agent, or a script that imports
# innet_stream.  To run workers on several hosts, set MPIRUN, for example to
# 'mpirun --hostfile hosts', and set HOST to the name by which the other hosts
# reach this host.  Each worker takes its number from mpirun (--worker auto).
set -eu
[ $# -ge 2 ] || { echo "usage: mpirun.sh N COMMAND [ARG...]" >&2; exit 2; }
n=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
[ ! -x "$here/../../build/innet-worker" ] || PATH=$PATH:$here/../../build
PYTHONPATH=$here/../python${PYTHONPATH:+:$PYTHONPATH}
export PATH PYTHONPATH
dir=$(mktemp -d)
switch=
trap '[ -z "$switch" ] || kill "$switch"; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

innet-switch -q --program iswitch -H "$n" --listen "${HOST:-127.0.0.1}:0" \
	--port-file "$dir/port" &
switch=$!
until [ -s "$dir/port" ]; do
	kill -0 $switch 2>/dev/null || exit 1
	sleep 0.1
done
# shellcheck disable=SC2086	# words
${MPIRUN:-mpirun} -x PATH -x PYTHONPATH -n "$n" innet-worker -q -p iswitch \
	--worker auto --switch "${HOST:-127.0.0.1}:$(cat "$dir/port")" \
	--give-up 2min -- "$@"
