#!/bin/bash
# run.sh - the benches that are here, or those that BENCH names: BENCH=P3
#
# Each prints lines such as
#	P3 olaf-filter innet 0.61 s peer 0.80 s ratio 0.76 bar 1.00 ok
# and may add comments that begin with #.  Status 1 if any is short.
set -u
here=$(cd "$(dirname "$0")" && pwd)
want=$(printf %s "${BENCH:+$BENCH-}" | tr A-Z a-z)	# P1 is not P10
short=0 ran=0
for bench in "$here"/${want:-[a-z][0-9]}*.sh; do
	[ -e "$bench" ] || continue
	ran=1
	out=$(bash "$bench") || { printf '# %s failed\n' "$bench" >&2; short=1; }
	printf '%s\n' "$out"
	case $out in *' short'*) short=1 ;; esac
done
[ $ran -eq 1 ] || { printf 'run.sh: no bench %s\n' "${BENCH:-}" >&2; exit 2; }
exit $short
