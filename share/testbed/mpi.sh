#!/usr/bin/env bash
# mpi.sh - run an MPI program in a testbed, with one rank on each worker
#
#	mpi.sh [MPIRUN-OPTION...] PROGRAM [ARGUMENT...]
#
# The program runs in the testbed that INNET_TESTBED names, or in the only
# testbed.
# Open MPI uses TCP over the links of the testbed, and nothing else.  mpirun
# runs on the switch, and its daemons run on the workers.  mpirun starts the
# daemons by this script instead of rsh.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
PATH=$here:$PATH

# mpirun calls this script with ADDRESS COMMAND-LINE.  Each daemon gets its own
# session
# directory: with a common directory, one start in ten would hang.
if [ -n "${INNET_MPI_DIR-}" ]; then
	worker=w$((${1##*.} - 10))
	shift
	export TMPDIR=$INNET_MPI_DIR/$worker
	mkdir "$TMPDIR"
	exec testbed.sh exec $worker sh -c "$*"
fi

[ $# -gt 0 ] || { echo 'mpi: PROGRAM is missing' >&2; exit 2; }
command -v mpirun >/dev/null ||
	{ echo 'mpi: mpirun is missing (package openmpi-bin)' >&2; exit 1; }
workers=$(testbed.sh list | awk -v id="${INNET_TESTBED-}" '
	(id == "" || $1 == id) && $2 ~ /^w/ { list = list sep $3; sep = "," }
	END { print list }')
INNET_MPI_DIR=$(mktemp -d)
export INNET_MPI_DIR
trap 'rm -rf "$INNET_MPI_DIR"' EXIT
trap 'exit 1' INT TERM

# there are more ranks than processors, so ranks yield while they wait
testbed.sh exec switch mpirun --allow-run-as-root -H "$workers" \
	--mca plm_rsh_agent mpi.sh --mca plm_rsh_no_tree_spawn 1 \
	--mca oob_tcp_if_include 10.77.0.0/24 --mca btl_tcp_if_include 10.77.0.0/24 \
	--mca pml ob1 --mca btl tcp,self --mca mpi_yield_when_idle 1 "$@"
