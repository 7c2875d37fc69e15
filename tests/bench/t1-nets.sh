#!/bin/bash
# T1: compare training with innet-agent's nets with training in PyTorch: the
# same nets, the same numbers, one thread each. The two take turns in ROUNDS (5)
# rounds. The results are per second of processor time, so the machine
# need not be idle. Then compare PPO as a whole, and the three products of a
# layer with OpenBLAS. Run this from the build folder, or name that folder in
# BUILD.
#
# shellcheck disable=SC1091,SC2016,SC2086,SC2154
set -eu -o pipefail
build=${BUILD:-.} here=$(cd "$(dirname "$0")" && pwd)
export PATH="$build:$build/tests/bench:$PATH" LC_ALL=C TIMEFORMAT='%U %S'
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
. "$here/need.bash"
. "$here/rounds.bash"
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

# FILE COLUMN: write that column of a file to FILE.COLUMN, and print its name
column() {
	derive "$dir/$1" "$dir/$1.$2" "\$$2"
	echo "$dir/$1.$2"
}

# NAME FILE COLUMN BAR: print a row; a larger figure is better
compare() {
	row "T1 $1" /s "$(column "$2" "$3")" "$(column "$2.py" "$3")" "$4" inverse
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
for ((i = 0; i < runs; i++)); do
	for s in $shapes; do
		name=${s%:*}
		IFS=- read -r in hidden _ out batch <<<"$name"
		take "$dir/$name" nets $in $hidden $out ${batch#b}
		take "$dir/$name.py" "$py" "$here/nets.py" $in $hidden $out ${batch#b}
	done
	take "$dir/ppo" ppo 200k
	take "$dir/ppo.py" "$py" "$here/ppo.py" 32768
done
for s in $shapes; do
	name=${s%:*}
	a=$(median "$(column $name 2)") b=$(median "$(column $name.py 2)")
	compare "nets-$name" $name 1 "${s#*:}"
	awk -v a="$a" -v b="$b" 'BEGIN { d = a - b; exit !(d * d < 1e-6) }' || {
		echo "T1 nets-$name: not the same training: error $a, and PyTorch's $b" >&2
		exit 1
	}
done
compare ppo-cartpole-steps ppo 1 0.100
compare ppo-cartpole-gradients ppo 2 0.200
echo "# T1 ppo: mean reward $(spread "$(column ppo 3)") after 200,000 steps," \
	"PyTorch's $(spread "$(column ppo.py 3)") after 32,768"

need 'T1 product' products
for ((i = 0; i < runs; i++)); do
	begin
	products >"$dir/products" 2>"$dir/log" || {
		[ $? -ne 77 ] || skip 'T1 product' "$(cat "$dir/log")" libopenblas0-serial
		cat "$dir/log" >&2
		exit 1
	}
	end "$dir"/{forward,back,gradient}
	while read -r name a b; do
		echo "$a $b" >>"$dir/$name"
	done <"$dir/products"
done
for name in forward back gradient; do
	row "T1 product-$name" GFLOP/s "$(column $name 1)" "$(column $name 2)" \
		"$(awk 'BEGIN { print 1 / 0.95 }')" inverse
done
