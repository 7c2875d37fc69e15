#!/bin/bash
# E1: steps a second of the environments on one core, with random actions and
# resets.  There is no peer; beside each is what plain C reached on another
# machine, which we aim at.  Run from the build folder, or say where it is in
# BUILD.
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
