# lasting.bash - functions that the long runs share
#
# $pids lists the processes that must not end during the run, $python is the
# first python3 that has numpy, and $log is a file for messages.
#
# shellcheck shell=bash disable=SC2034
pids=() bad=0
for python in python3 /usr/bin/python3 ''; do
	! "$python" -c 'import numpy' 2>/dev/null || break
done
[ "$python" ] || { echo "${0##*/}: no python3 with numpy" >&2; exit 2; }

say() { echo "$*" | tee -a "${log:-/dev/null}"; }
finding() { say "finding: $*"; bad=1; }

# resident PID: print the resident memory of the process in kB
resident() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status"; }

alive() {
	local p
	for p in "${pids[@]}"; do
		kill -0 "$p" 2>/dev/null || return 1
	done
}
