#!/bin/bash
# E1: measure the steps per second of each environment on one core, with random
# actions and resets. There is no peer to compare with; the target, which is
# printed beside each, is the rate that plain C reached on another machine. Run
# this from the build folder, or name that folder in BUILD.
set -eu
build=${BUILD:-.}
declare -A aim=([cartpole]=23.0 [mountaincar]=39
	[mountaincar-continuous]=22.6 [acrobot]=1.75 [pendulum]=7.3
	[breakout]=5.9)

"$build/tests/bench/env-speed" | while read -r name speed; do
	printf 'E1 env-%s innet %s M steps/s' "$name" "$speed"
	[ -z "${aim[$name]:-}" ] || printf ' aim %s' "${aim[$name]}"
	echo
done
