#!/bin/bash
# T1: compare training with innet-agent's nets with training in PyTorch: the
# same nets, the same numbers, one thread each. The two take turns. The results
# are medians of ROUNDS (5) runs, per second of processor time, so the machine
# need not be idle. Then compare PPO as a whole, and the three products of a
# layer with OpenBLAS. Run this from the build folder, or name that folder in
# BUILD.
#
# shellcheck disable=SC1091,SC2086
set -eu -o pipefail
build=${BUILD:-.} rounds=${ROUNDS:-5} here=$(cd "$(dirname "$0")" && pwd)
export PATH="$build:$build/tests/bench:$PATH" LC_ALL=C TIMEFORMAT='%U %S'
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
. "$here/need.bash"
need 'T1 nets' innet-agent nets
py=
for p in python3 /usr/bin/python3; do
	! "$p" -c 'import torch' 2>/dev/null || { py=$p; break; }
done
[ -n "$py" ] || skip 'T1 nets' 'no python3 with torch' python3-torch
! "$py" -c 'import torch; print(open("/proc/self/maps").read())' | grep -q /blas/libblas ||
	skip 'T1 nets' 'torch has the slow reference BLAS' libopenblas0-serial
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

# FILE COLUMN: print the median of that column
median() { sort -n -k "$2,$2" "$dir/$1" | sed -n "$(((rounds + 1) / 2))p" | cut -d' ' -f"$2"; }

# NAME INNET PEER BAR: print a row; a larger figure is better
row() {
	awk -v name="$1" -v a="$2" -v b="$3" -v bar="$4" 'BEGIN {
		printf "T1 %s innet %.0f /s peer %.0f /s ratio %.3f bar %.3f %s\n",
		    name, a, b, b / a, bar, b / a <= bar ? "ok" : "short"
	}'
}

# PPO of innet-agent: print steps/s, gradients/s of learning time, and the last
# reward
ppo() {
	local cpu
	cpu=$({ time innet-agent -q --alone --algo ppo --env cartpole --steps "$1" \
		--seed 1 --report "$dir/report"; } 2>&1)
	tr -d '{}"' <"$dir/report" | tr ',' '\n' | awk -F: -v cpu="$cpu" '
		{ v[$1] = $2 }
		END {
			split(cpu, t, " ")
			cpu = t[1] + t[2]
			part = (v["learn_s"] + v["update_s"]) / v["elapsed_s"]
			printf "%.1f %.1f %.1f\n", v["steps"] / cpu,
			    v["gradients"] / (part * cpu), v["mean100_reward"]
		}'
}

# nets of two hidden layers; only the first has a bar
shapes='8-64-64-4-b64:0.100 8-64-64-4-b256:0.250 4-256-256-2-b64:0.550 4-256-256-2-b256:0.550'
for ((i = 0; i < rounds; i++)); do
	for s in $shapes; do
		name=${s%:*}
		IFS=- read -r in hidden _ out batch <<<"$name"
		nets $in $hidden $out ${batch#b} >>"$dir/$name"
		"$py" "$here/nets.py" $in $hidden $out ${batch#b} >>"$dir/$name.py"
	done
	ppo 200k >>"$dir/ppo"
	"$py" "$here/ppo.py" 32768 >>"$dir/ppo.py"
done
for s in $shapes; do
	name=${s%:*}
	a=$(median $name 2) b=$(median $name.py 2)
	row "nets-$name" "$(median $name 1)" "$(median $name.py 1)" "${s#*:}"
	awk -v a="$a" -v b="$b" 'BEGIN { d = a - b; exit !(d * d < 1e-6) }' || {
		echo "T1 nets-$name: not the same training: error $a, and PyTorch's $b" >&2
		exit 1
	}
done
row ppo-cartpole-steps "$(median ppo 1)" "$(median ppo.py 1)" 0.100
row ppo-cartpole-gradients "$(median ppo 2)" "$(median ppo.py 2)" 0.200
echo "# T1 ppo: mean reward $(median ppo 3) after 200,000 steps, PyTorch's $(median ppo.py 3) after 32,768"

need 'T1 product' products
if products >"$dir/products" 2>"$dir/log"; then
	awk '{
		printf "T1 product-%s innet %.1f GFLOP/s peer %.1f GFLOP/s ratio %.3f bar %.3f %s\n",
		    $1, $2, $3, $3 / $2, 1 / 0.95, $3 <= $2 / 0.95 ? "ok" : "short"
	}' "$dir/products"
elif [ $? -eq 77 ]; then
	skip 'T1 product' "$(cat "$dir/log")" libopenblas0-serial
else
	cat "$dir/log" >&2
	exit 1
fi
