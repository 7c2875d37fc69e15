#!/bin/bash
# E1: measure the steps per second of each environment on one core, with random
# actions and resets, in ROUNDS (5) rounds. There is no peer to compare with; the
# target, which is printed beside each, is the rate that plain C reached on
# another machine. Run this from the build folder, or name that folder in BUILD.
#
# shellcheck disable=SC1091,SC2154
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/rounds.bash"
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
build=${BUILD:-.}
declare -A aim=([cartpole]=23.0 [mountaincar]=39
	[mountaincar-continuous]=22.6 [acrobot]=1.75 [pendulum]=7.3
	[breakout]=5.9)

for ((i = 0; i < runs; i++)); do
	take "$dir/all" "$build/tests/bench/env-speed"
done
while read -r name speed; do
	[ -e "$dir/$name" ] || names="${names-}$name "
	echo "$speed" >>"$dir/$name"
done <"$dir/all"
for name in $names; do
	echo "E1 env-$name innet $(spread "$dir/$name") M steps/s${aim[$name]:+ aim ${aim[$name]}}$(others "$dir/all")"
done
