# For bash to source: $python is the first python3 that has numpy.
#
# shellcheck shell=bash
for python in python3 /usr/bin/python3 ''; do
	! "$python" -c 'import numpy' 2>/dev/null || break
done
[ "$python" ] || { echo "${0##*/}: no python3 with numpy" >&2; exit 2; }
