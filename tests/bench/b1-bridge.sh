#!/bin/bash
# B1: send a vector from Python to a C process and back with innet_stream.py,
# which makes its pipes 1 MiB long. Compare this with pipes of 64 KiB, the
# default of the system. The two take turns in ROUNDS (5) rounds, and the result
# of a round is a median itself. Run this from the build folder, or name that
# folder in BUILD.
#
# shellcheck disable=SC1091,SC2069,SC2154
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-.}
export PATH="$build:$build/tests/bats:$PATH" LC_ALL=C PYTHONPATH=$here/../../share/python
for py in python3 /usr/bin/python3 ''; do
	! "${py:-true}" -c 'import numpy' 2>/dev/null || break
done
. "$here/need.bash"
. "$here/rounds.bash"
[ -n "$py" ] || skip 'B1 bridge' 'no python3 with numpy' python3-numpy
need 'B1 bridge' stream-echo
dir=$(mktemp -d -p /dev/shm) && trap 'rm -rf "$dir"' EXIT
. "$here/aggregate.bash"	# sizes

declare -A rounds=([40kB]=2000 [157kB]=1000 [3.31MB]=100 [6.41MB]=50)
declare -A bar=([40kB]=1.20 [157kB]=1.00 [3.31MB]=1.00 [6.41MB]=1.00)

cat >"$dir/child.py" <<'END'
import fcntl, statistics, sys, time
import numpy as np
import innet_stream

size, rounds, pipe = map(int, sys.argv[1:])
vector = np.random.rand(size // 4).astype('f4')
back = np.empty_like(vector)
with innet_stream.Stream(vector) as stream:
    if pipe:
        for fd in (stream._in, stream._out):
            fcntl.fcntl(fd, innet_stream.F_SETPIPE_SZ, pipe)
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        stream.exchange(vector, out=back)
        times.append(time.perf_counter() - start)
assert (back == vector).all()
print(1e6 * statistics.median(times))
END

# SIZE PIPE-BYTES: print the median round trip in us; 0 keeps the size of the
# pipes
trips() {
	timeout 100 stream-echo -s "$py" "$dir/child.py" "${bytes[$1]}" \
		"${rounds[$1]}" "$2" 2>&1 >"$dir/echo"
}

for ((i = 0; i < runs; i++)); do
	for s in $sizes; do
		take "$dir/$s.innet" trips "$s" 0
		take "$dir/$s.peer" trips "$s" 65536
	done
done
for s in $sizes; do
	row "B1 bridge-$s" us "$dir/$s.innet" "$dir/$s.peer" "${bar[$s]}"
done
